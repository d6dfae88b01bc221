"""Read text tables in which every quote opens or closes a cell, at Arrow's speed; all others are left to `delimited`."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import reduce
from io import SEEK_END, BufferedIOBase

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

_QUOTE, _LINE_FEED, _CARRIAGE_RETURN = b'"\n\r'
_LETTERS_AT_ONCE = 1 << 20  # which stay in the processor's cache
_BLOCK_BYTES = 8 << 20  # of a piece: more than a row of ordinary cells


def parse_plain_cells(
    file: BufferedIOBase, names: list[str], delimiter: str, longest_cell: int
) -> list[pa.ChunkedArray] | None:
    """The cells below a header as columns of text, the empty cell null; None where only a strict parser can tell what is meant.

    file: open where the first row begins, behind a line feed; it can be sought. names: at least two. delimiter: one character
    of ASCII. longest_cell: in bytes.

    None is returned for bytes that are not UTF-8, zero bytes, quotes inside a cell that has none around it, quotes that are not
    closed or are followed by anything but the end of the cell, a carriage return alone or inside a cell, empty lines (and two
    line feeds in a cell where all cells of a row are empty), rows of another length, too long cells and rows, and a byte order
    mark at the beginning of a row, which Arrow might drop.
    What is returned equals what the module `csv` reads in its strict mode. The file is read in pieces, so that it is never in
    memory as a whole. Cost: 1 s for 40 million cells.
    """
    if len(names) < 2 or not delimiter.isascii():
        return None
    tables = []
    for buffer, end in _read_whole_rows(file):
        table = _parse_rows(buffer, end, names, delimiter)
        if table is None or max(pc.max(pc.binary_length(column)).as_py() or 0 for column in table.columns) > longest_cell:
            return None
        tables.append(table)
    return list(pa.concat_tables(tables).columns) if tables else None


def _read_whole_rows(file: BufferedIOBase) -> Iterator[tuple[bytearray, int]]:
    """The rows in pieces: a buffer that holds a line feed and then whole rows, and where these end. The next overwrites it.

    A row ends at a line feed with an even number of quotes before it; the last one, and line feeds after it, with the file. A
    row that does not fit ends nowhere: its piece is empty.
    """
    begin = file.tell()
    n_bytes = min(file.seek(0, SEEK_END) - begin + 1, _BLOCK_BYTES)
    file.seek(begin)
    buffer = bytearray(b"\n") + bytearray(n_bytes)
    view, filled, is_last = memoryview(buffer), 1, False
    while not is_last:
        while filled < len(buffer) and (n_read := file.readinto(view[filled:])):
            filled += n_read
        is_last = filled < len(buffer)
        end = len(buffer[:filled].rstrip(b"\r\n")) if is_last else _find_last_row(buffer)
        if end > 1 or not is_last:
            yield buffer, end
        rest = bytes(view[end:filled])
        view[1 : 1 + len(rest)] = rest
        filled = 1 + len(rest)


def _find_last_row(buffer: bytearray) -> int:
    """The end of the last row that ends in a full buffer; 0 where none does."""
    end = buffer.rfind(b"\n", 1) + 1
    quotes = np.flatnonzero(np.frombuffer(buffer, dtype=np.uint8)[:end] == _QUOTE) if buffer.find(b'"', 1, end) >= 0 else ()
    while np.searchsorted(quotes, end) % 2:
        end = buffer.rfind(b"\n", 1, end - 1) + 1
    return end


def _parse_rows(buffer: bytearray, end: int, names: list[str], delimiter: str) -> pa.Table | None:
    """The cells of the rows in a buffer, behind a line feed; None as in `parse_plain_cells`."""
    if end <= 1 or buffer.startswith((b"\n", b"\r", codecs.BOM_UTF8), 1) or buffer.find(b"\0", 1, end) >= 0:
        return None
    has_returns, is_quoted = buffer.find(b"\r", 1, end) >= 0, buffer.find(b'"', 1, end) >= 0
    if has_returns and not _ends_lines_only(buffer, 1, end):
        return None
    letters = np.frombuffer(buffer, dtype=np.uint8)[:end]
    if is_quoted and not _encloses_whole_cells(letters, ord(delimiter), has_returns=has_returns):
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
    return bool(pc.any(reduce(pc.and_, (column.is_null() for column in table.columns))).as_py())


def _ends_lines_only(content: bytearray, begin: int, end: int) -> bool:
    """Is each carriage return followed by a line feed, and none preceded by one?"""
    alone = content.count(b"\r", begin, end) != content.count(b"\r\n", begin, end)
    return not alone and content.find(b"\n\r", begin, end) < 0


def _encloses_whole_cells(letters: npt.NDArray[np.uint8], delimiter: int, *, has_returns: bool) -> bool:
    """Does every quote open a cell at its beginning, close one at its end, or stand doubled inside one, and none of these
    cells hold a carriage return?

    letters: of whole rows, behind one letter that cells can begin after.
    Of the quotes in their order every second one closes what the one before it opened; a doubled one closes and opens at once.
    """
    may_open_after, may_close_before = np.zeros(256, dtype=bool), np.zeros(256, dtype=bool)
    may_open_after[[delimiter, _LINE_FEED, _QUOTE]] = True
    may_close_before[[delimiter, _LINE_FEED, _CARRIAGE_RETURN, _QUOTE]] = True
    is_open = False
    for begin in range(1, len(letters), _LETTERS_AT_ONCE):
        block = letters[begin : begin + _LETTERS_AT_ONCE]
        quotes = np.flatnonzero(block == _QUOTE)
        if has_returns:
            returns = np.flatnonzero(block == _CARRIAGE_RETURN)
            if ((np.searchsorted(quotes, returns) + is_open) % 2).any():
                return False
        opening, closing = quotes[int(is_open) :: 2], quotes[int(not is_open) :: 2]
        if len(closing) and begin + closing[-1] == len(letters) - 1:  # the end of the last cell
            closing = closing[:-1]
        if not may_open_after[letters[begin - 1 :][opening]].all() or not may_close_before[letters[begin + 1 :][closing]].all():
            return False
        is_open ^= bool(len(quotes) % 2)
    return not is_open
