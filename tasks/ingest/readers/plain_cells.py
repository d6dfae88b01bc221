"""Read text tables in which every quote opens or closes a cell, at Arrow's speed; all others are left to `delimited`."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Iterator
from functools import reduce
from io import SEEK_END, BufferedIOBase

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from tasks.ingest.columns.cell_patterns import may_all_match
from tasks.ingest.columns.compiled_numbers import is_machine_code_loaded, parse_plainest_doubles, parse_plainest_integers
from tasks.ingest.columns.numerals import INTEGER, NUMBER
from tasks.ingest.columns.plain_numbers import Parser, parse_by_parts, parse_exact_doubles, parse_plain_integers
from tasks.microdata.chunks import join_chunks

_PATTERNS: dict[Parser, str] = {parse_plain_integers: INTEGER, parse_exact_doubles: NUMBER}
_COMPILED: dict[Parser, Parser] = {parse_plain_integers: parse_plainest_integers, parse_exact_doubles: parse_plainest_doubles}
_UNCOMPILED = 16  # pieces: of fewer the machine code would not make up for the time to load it
Places = npt.NDArray[np.int32]
_QUOTE, _LINE_FEED, _CARRIAGE_RETURN = b'"\n\r'
_BLOCK_BYTES = 8 << 20  # of a piece: more than a row of ordinary cells
_AT_ONCE, _PLACES_AT_ONCE = 1 << 16, 1 << 13  # letters that are searched: they stay in the processor's cache
_TAIL_BYTES = 1 << 16  # in which the last row of nearly every file ends


def parse_plain_cells(
    file: BufferedIOBase, names: list[str], delimiter: str, longest_cell: int, numeric: Collection[str] = ()
) -> list[pa.ChunkedArray] | None:
    """The cells below a header as columns of text, the empty cell null; None where only a strict parser can tell what is meant.

    file: open where the first row begins, behind a line feed; it can be sought. names: at least two. delimiter: one character
    of ASCII. longest_cell: in bytes. numeric: the columns that are to be numbers where all of their cells are plain ones: whole
    numbers, or doubles that lose no digit.

    None is returned for bytes that are not UTF-8, zero bytes, quotes inside a cell that has none around it, quotes that are not
    closed or are followed by anything but the end of the cell, a carriage return alone or inside a cell, empty lines (and two
    line feeds in a cell where all cells of a row are empty), rows of another length, too long cells and rows, and a byte order
    mark at the beginning of a row, which Arrow might drop.
    What is returned equals what the module `csv` reads in its strict mode. The file is read in pieces, so that neither it nor
    the texts of its numbers are ever in memory as a whole; a second time if a later piece shows that a column is none of
    numbers, or of others. Cost: 1 s for 40 million cells of text.
    """
    if len(names) < 2 or not delimiter.isascii():
        return None
    is_loaded = is_machine_code_loaded()
    begin, parsers = file.tell(), dict.fromkeys(numeric, tuple(_PATTERNS))
    columns: dict[str, list[pa.ChunkedArray]] = {name: [] for name in names}
    for number, (buffer, end, quotes) in enumerate(_read_whole_rows(file)):
        table = _parse_rows(buffer, end, quotes, names, delimiter)
        if table is None or _has_longer_cell(table, buffer, end, longest_cell, is_quoted=len(quotes) > 0):
            return None
        for name, pieces in columns.items():
            pieces.append(_parse_numbers(name, table.column(name), parsers, compiled=number >= _UNCOMPILED or is_loaded))
    of_several_kinds = {name for name, pieces in columns.items() if len({piece.type for piece in pieces}) > 1}
    if of_several_kinds:
        columns.clear()  # it is read again, which takes as much memory
        file.seek(begin)
        return parse_plain_cells(file, names, delimiter, longest_cell, set(numeric) - of_several_kinds)
    return [_join_pieces(columns.pop(name)) for name in names] if columns[names[0]] else None


def _join_pieces(pieces: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    """A column of all pieces: of numbers in one array, so that the memory of its pieces is free for the next column."""
    whole = pa.chunked_array([part for piece in pieces for part in piece.chunks])
    return whole if whole.type == pa.string() else pa.chunked_array([join_chunks(whole)])


def _parse_numbers(
    name: str, cells: pa.ChunkedArray, parsers: dict[str, tuple[Parser, ...]], *, compiled: bool
) -> pa.ChunkedArray:
    """The cells as numbers, if a parser of the column can read them all; it, or none, is that of all later pieces."""
    asked = parsers.get(name, ())
    if cells.null_count == len(cells) and len(asked) > 1:
        asked = ()  # nobody knows of which kind the column is
    for parser in asked:
        numbers = parse_by_parts(cells, _COMPILED[parser]) if compiled else None
        if numbers is None and may_all_match(cells, _PATTERNS[parser]):
            numbers = parse_by_parts(cells, parser)
        if numbers is not None:
            parsers[name] = (parser,)
            return numbers
    parsers[name] = ()
    return cells


def _read_whole_rows(file: BufferedIOBase) -> Iterator[tuple[bytearray, int, Places]]:
    """The rows in pieces: a buffer that holds a line feed and then whole rows, where these end, and the places of their quotes.

    The next piece overwrites it. A row ends at a line feed with an even number of quotes before it; the last one, and line
    feeds after it, with the file. The piece is empty for a row that does not fit, and where the file grows while it is read.
    """
    begin = file.tell()
    whole = file.seek(0, SEEK_END)
    n_bytes = min(whole - begin + 1, _BLOCK_BYTES)
    file.seek(begin)
    buffer = bytearray(n_bytes + 1)
    buffer[0] = _LINE_FEED
    view, filled, is_last = memoryview(buffer), 1, False
    while not is_last:
        while filled < len(buffer) and (n_read := file.readinto(view[filled:])):
            filled += n_read
        if file.tell() > whole:  # it grows: read where there is a limit to that
            yield buffer, 0, _find_letters(buffer, 0, b'"')
            return
        is_last = filled < len(buffer)
        quotes = _find_letters(buffer, filled, b'"')
        end = _find_end(buffer, filled) if is_last else _find_last_row(buffer, quotes)
        if end > 1 or not is_last:
            yield buffer, end, quotes[: np.searchsorted(quotes, np.int32(end))]
        rest = bytes(view[end:filled])
        view[1 : 1 + len(rest)] = rest
        filled = 1 + len(rest)


def _find_end(buffer: bytearray, filled: int) -> int:
    """Where the last row of a file ends, not counting line ends behind it."""
    begin = max(filled - _TAIL_BYTES, 0)
    tail = buffer[begin:filled].rstrip(b"\r\n")
    return begin + len(tail) if tail else len(buffer[:begin].rstrip(b"\r\n"))


def _find_last_row(buffer: bytearray, quotes: Places) -> int:
    """The end of the last row that ends in a full buffer; 0 where none does."""
    end = buffer.rfind(b"\n", 1) + 1
    if np.searchsorted(quotes, np.int32(end)) % 2 == 0:
        return end
    line_feeds = _find_letters(buffer, end, b"\n")[1:]  # the first is before the rows
    ends = line_feeds[np.searchsorted(quotes, line_feeds) % 2 == 0]
    return int(ends[-1]) + 1 if len(ends) else 0


def _find_letters(buffer: bytearray, end: int, letter: bytes) -> Places:
    if buffer.find(letter, 1, end) < 0:
        return np.empty(0, dtype=np.int32)
    letters = np.frombuffer(buffer, dtype=np.uint8)[:end]
    places, n = np.empty(end, dtype=np.int32), 0  # the system gives memory for what is written alone
    for begin in range(0, end, _AT_ONCE):
        found = np.flatnonzero(letters[begin : begin + _AT_ONCE] == letter[0])
        places[n : n + len(found)] = found + begin
        n += len(found)
    return places[:n]


def _parse_rows(buffer: bytearray, end: int, quotes: Places, names: list[str], delimiter: str) -> pa.Table | None:
    """The cells of the rows in a buffer, behind a line feed; None as in `parse_plain_cells`."""
    if end <= 1 or buffer.startswith((b"\n", b"\r", codecs.BOM_UTF8), 1) or buffer.find(b"\0", 1, end) >= 0:
        return None
    returns, is_quoted = _find_letters(buffer, end, b"\r"), len(quotes) > 0
    if len(returns) and not _ends_lines_only(buffer, 1, end):
        return None
    if is_quoted and not _encloses_whole_cells(np.frombuffer(buffer, dtype=np.uint8)[:end], quotes, returns, ord(delimiter)):
        return None
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(pa.py_buffer(buffer).slice(1, end - 1)),
            pa_csv.ReadOptions(use_threads=False, column_names=names, block_size=len(buffer)),
            pa_csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if is_quoted else False,
                newlines_in_values=is_quoted,
                ignore_empty_lines=False,
            ),
            pa_csv.ConvertOptions(
                check_utf8=not buffer.isascii(),
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
            memory_pool=pa.system_memory_pool(),  # Arrow's own gives each block back to the system
        )
    except pa.ArrowInvalid:
        return None
    # Arrow makes a row of nulls of an empty line
    return None if _has_row_of_nulls(table) and buffer.find(b"\n\n", 1, end) >= 0 else table


def _has_row_of_nulls(table: pa.Table) -> bool:
    if not all(column.null_count for column in table.columns):
        return False
    return not pc.all(reduce(pc.or_, (column.is_valid() for column in table.columns))).as_py()


def _ends_lines_only(content: bytearray, begin: int, end: int) -> bool:
    """Is each carriage return followed by a line feed, and none preceded by one?"""
    alone = content.count(b"\r", begin, end) != content.count(b"\r\n", begin, end)
    return not alone and content.find(b"\n\r", begin, end) < 0


def _encloses_whole_cells(letters: npt.NDArray[np.uint8], quotes: Places, returns: Places, delimiter: int) -> bool:
    """Does every quote open a cell at its beginning, close one at its end, or stand doubled inside one, and none of these
    cells hold a carriage return?

    letters: of whole rows, behind one letter that cells can begin after.
    Of the quotes in their order every second one closes what the one before it opened; a doubled one closes and opens at once.
    """
    if len(quotes) % 2 or (np.searchsorted(quotes, returns) % 2).any():
        return False
    may_open_after, may_close_before = np.zeros(256, dtype=bool), np.zeros(256, dtype=bool)
    may_open_after[[delimiter, _LINE_FEED, _QUOTE]] = True
    may_close_before[[delimiter, _LINE_FEED, _CARRIAGE_RETURN, _QUOTE]] = True
    opening, closing = quotes[0::2], quotes[1::2]
    if closing[-1] == len(letters) - 1:  # the end of the last cell
        closing = closing[:-1]
    return _all_in(may_open_after, letters, opening, -1) and _all_in(may_close_before, letters, closing, 1)


def _all_in(allowed: npt.NDArray[np.bool_], letters: npt.NDArray[np.uint8], places: Places, shift: int) -> bool:
    """Are the letters so far beside all these places allowed ones?"""
    parts = (places[begin : begin + _PLACES_AT_ONCE] + np.int32(shift) for begin in range(0, len(places), _PLACES_AT_ONCE))
    return all(allowed.take(letters.take(part)).all() for part in parts)


def _has_longer_cell(table: pa.Table, buffer: bytearray, end: int, longest_cell: int, *, is_quoted: bool) -> bool:
    """Is a cell longer? Looked at one by one only where a row may be, or a cell goes over several lines."""
    if end <= longest_cell:
        return False
    half = max(longest_cell // 2, 1)
    if not is_quoted and all(buffer.find(b"\n", begin, begin + half) >= 0 for begin in range(1, end - half, half)):
        return False
    return max(pc.max(pc.binary_length(column)).as_py() or 0 for column in table.columns) > longest_cell
