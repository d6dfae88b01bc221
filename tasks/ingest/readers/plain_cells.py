"""Read text tables in which every quote opens or closes a cell, at Arrow's speed; all others are left to `delimited`."""

from __future__ import annotations

import codecs
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

_QUOTE, _LINE_FEED, _CARRIAGE_RETURN = b'"\n\r'
_LETTERS_AT_ONCE = 1 << 20  # which stay in the processor's cache
_BLOCK_BYTES = 8 << 20  # more than a row of ordinary cells; a longer one is left to the other parser


def parse_plain_cells(
    content: bytes, begin: int, names: list[str], delimiter: str, longest_cell: int
) -> list[pa.ChunkedArray] | None:
    """The cells below a header as columns of text, the empty cell null; None where only a strict parser can tell what is meant.

    content: UTF-8. begin: where the first row begins, behind a line feed. names: at least two. delimiter: one character of
    ASCII. longest_cell: in bytes.

    None is returned for quotes inside a cell that has none around it, quotes that are not closed or are followed by anything
    but the end of the cell, a carriage return alone or inside a cell (where one of Arrow's blocks ends after it, the line feed
    would be lost), empty lines (and two line feeds in a cell where all cells of a row are empty), rows of another length, too
    long cells, and a byte order mark before the first cell, which Arrow would drop.
    What is returned equals what the module `csv` reads in its strict mode. Cost: 1 s for 40 million cells.
    """
    end = len(content)
    while end > begin and content[end - 1] in (_LINE_FEED, _CARRIAGE_RETURN):
        end -= 1
    if begin == end or len(names) < 2 or not delimiter.isascii() or content.startswith((b"\n", b"\r", codecs.BOM_UTF8), begin):
        return None
    has_returns = content.find(b"\r", begin, end) >= 0
    if has_returns and not _ends_lines_only(content, begin, end):
        return None
    body = pa.py_buffer(content).slice(begin, end - begin)
    quoted = content.find(b'"', begin, end) >= 0
    letters = np.frombuffer(content, dtype=np.uint8)[begin - 1 : end]  # with the line feed after the header
    if quoted and not _encloses_whole_cells(letters, ord(delimiter), has_returns=has_returns):
        return None
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(body),
            pa_csv.ReadOptions(use_threads=False, column_names=list(names), block_size=_BLOCK_BYTES),
            pa_csv.ParseOptions(
                delimiter=delimiter, quote_char='"' if quoted else False, newlines_in_values=quoted, ignore_empty_lines=False
            ),
            pa_csv.ConvertOptions(
                check_utf8=False, column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
            ),
            memory_pool=pa.system_memory_pool(),  # Arrow's own gives each block back to the system
        )
    except pa.ArrowInvalid:
        return None
    # Arrow makes a row of nulls of an empty line
    if _has_row_of_nulls(table) and content.find(b"\n\n", begin, end) >= 0:
        return None
    longest = max(pc.max(pc.binary_length(column)).as_py() or 0 for column in table.columns)
    return None if longest > longest_cell else list(table.columns)


def _has_row_of_nulls(table: pa.Table) -> bool:
    if not all(column.null_count for column in table.columns):
        return False
    return bool(pc.any(reduce(pc.and_, (column.is_null() for column in table.columns))).as_py())


def _ends_lines_only(content: bytes, begin: int, end: int) -> bool:
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
