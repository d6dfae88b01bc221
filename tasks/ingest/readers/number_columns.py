"""Read large text tables column by column: numbers as numbers, without their text, and all other cells as text.

A column is held as numbers if every cell is empty or a plain number. They are the numbers that `typing_rules` would make of the
text: whole numbers of 64 bits, or doubles of which none is too large, too small, or a whole number that a double cannot hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tasks.ingest.readers.compiled_cells import (
    DECIMAL,
    SKIPPED,
    STOPPED,
    TEXT,
    WHOLE,
    Body,
    Columns,
    Lengths,
    Places,
    copy_cells,
    count_lines,
    parse_rows,
)
from tasks.microdata.regular_files import LARGEST_TABLE
from tasks.microdata.table import Booleans, Floats, Integers

_BLOCK_ROWS, _FIRST_ROWS = 1 << 16, 1 << 10
_BLOCK_BYTES = 1 << 26
_POWERS: Floats = 10.0 ** np.arange(23, dtype=np.float64)
_LINE_ENDS = (10, 13)
_HAS_DIGIT = r"^[^eE]*[1-9]"


@dataclass(frozen=True, slots=True)
class TypedCells:
    """The columns of a text table, and its bytes, from which columns can be read again as text."""

    columns: dict[str, pa.ChunkedArray]
    body: Body

    def read_text(self, name: str) -> pa.ChunkedArray:
        """One column as text; the empty cell is null. A pass over the whole table."""
        position = list(self.columns).index(name)
        return _read_texts(self.body, np.arange(len(self.columns)) == position)[position]


def parse_number_columns(
    content: bytes | memoryview, names: Sequence[str], delimiter: str, longest_cell: int
) -> TypedCells | None:
    """The cells below a header, or None where only a strict parser can tell what is meant.

    content: UTF-8 without zero bytes and without the header line. names: at least two. longest_cell: in bytes.
    None is returned for all that `plain_cells` does not read either, and for numbers that would take more than a table may.
    Cost: a pass, 0.1 s for 1,000,000 rows of 6 numbers, and another one if some columns turn out to be no numbers far down. 8
    bytes a number; a column of texts is held twice while its pieces are joined.
    """
    characters = np.frombuffer(content, dtype=np.uint8)
    end = len(characters)
    while end and characters[end - 1] in _LINE_ENDS:
        end -= 1
    if not end or len(names) < 2 or not delimiter.isascii():
        return None
    body = Body(characters, end, ord(delimiter), longest_cell)
    kinds = _find_kinds(body, len(names))
    found = None if kinds is None else _read_columns(body, kinds)
    return None if found is None else TypedCells(dict(zip(names, found, strict=True)), body)


def _find_kinds(body: Body, width: int) -> Integers | None:
    """Which columns are texts, by the first rows; WHOLE for all others. None: cannot be parsed."""
    columns = _create_columns(np.zeros(width, dtype=np.int64), _FIRST_ROWS)
    position, _ = parse_rows(body, columns, _create_places(columns.kinds), _POWERS, 0, 0, _FIRST_ROWS, _BLOCK_BYTES)
    return None if position == STOPPED else np.where(columns.kinds == SKIPPED, TEXT, WHOLE)


def _read_columns(body: Body, kinds: Integers) -> list[pa.ChunkedArray] | None:
    n = count_lines(body)  # at most, for a line may end inside quotes
    if n * 8 * int((kinds == WHOLE).sum()) > LARGEST_TABLE:
        return None
    columns = _create_columns(kinds, n)
    texts = _parse_blocks(body, columns, n)
    if texts is None:
        return None
    n_rows = int(columns.rows[0])
    is_late = (columns.kinds == SKIPPED) | ((columns.kinds <= DECIMAL) & (columns.missing == n_rows))
    if is_late.any():
        texts |= _read_texts(body, is_late)
    return [texts.pop(j) if j in texts else _build_numbers(columns, j, n_rows) for j in range(len(kinds))]


def _build_numbers(columns: Columns, column: int, n_rows: int) -> pa.ChunkedArray:
    slot, missing = columns.slots[column], int(columns.missing[column])
    kind = pa.float64() if columns.kinds[column] == DECIMAL else pa.int64()
    present = pa.py_buffer(columns.present[slot]) if missing else None
    values = pa.py_buffer(columns.numbers[slot])
    return pa.chunked_array([pa.Array.from_buffers(kind, n_rows, [present, values], missing)])


def _read_texts(body: Body, is_wanted: Booleans) -> dict[int, pa.ChunkedArray]:
    """Some columns as text, of a table that was parsed before."""
    found = _parse_blocks(body, _create_columns(np.where(is_wanted, TEXT, SKIPPED), 0), body.end)
    if found is None:
        raise RuntimeError("a table that was parsed once can be parsed again")
    return found


def _parse_blocks(body: Body, columns: Columns, n: int) -> dict[int, pa.ChunkedArray] | None:
    """Read all rows, at most n: numbers into `columns`, texts as they are returned. None where it stops."""
    pieces: dict[int, list[pa.Array]] = {int(column): [] for column in np.flatnonzero(columns.kinds == TEXT)}
    places, position, row = _create_places(columns.kinds), 0, 0
    while position < body.end:
        places.used[0], first = 0, row
        last = min(row + _BLOCK_ROWS, n)
        position, row = parse_rows(body, columns, places, _POWERS, position, first, last, _BLOCK_BYTES)
        if position == STOPPED:
            return None
        _read_long_numbers(body, columns, places)
        for column, found in pieces.items():
            slot, some = columns.slots[column], slice(row - first)
            found.append(_build_texts(body.characters, places.starts[slot, some], places.lengths[slot, some]))
    columns.rows[0] = row
    return {column: _join_pieces(pieces.pop(column)) for column in list(pieces)}


def _create_columns(kinds: Integers, n: int) -> Columns:
    slots, is_text, width = np.zeros(len(kinds), dtype=np.int64), kinds == TEXT, len(kinds)
    is_number = kinds <= DECIMAL
    slots[is_text], slots[is_number] = np.arange(is_text.sum()), np.arange(is_number.sum())
    numbers = np.empty((int(is_number.sum()), n), dtype=np.int64)
    present = np.full((len(numbers), (n + 7) // 8), 255, dtype=np.uint8)
    counts = np.zeros((2, width), dtype=np.int64)
    return Columns(kinds.copy(), counts[0], counts[1], np.zeros(1, dtype=np.int64), slots, numbers, present)


def _create_places(kinds: Integers) -> Places:
    shape, most = (int((kinds == TEXT).sum()), _BLOCK_ROWS), max(_BLOCK_ROWS, len(kinds))
    starts, lengths = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int32)
    return Places(starts, lengths, np.empty((3, most), dtype=np.int64), np.empty(most, dtype=np.int32), np.zeros(1, np.int64))


def _read_long_numbers(body: Body, columns: Columns, places: Places) -> None:
    """Numbers of many digits are read as the text of a column would be; one that is no double ends its column."""
    count = int(places.used[0])
    if not count:
        return
    column, row, start = places.long[:, :count]
    cells = _build_texts(body.characters, start, places.long_length[:count])
    values = cells.cast(pa.float64())
    doubles = values.to_numpy()
    vanished = (doubles == 0) & pc.match_substring_regex(cells, _HAS_DIGIT).to_numpy(zero_copy_only=False)
    columns.kinds[column[vanished | np.isinf(doubles)]] = SKIPPED
    is_kept = columns.kinds[column] == DECIMAL
    columns.numbers.view(np.float64)[columns.slots[column[is_kept]], row[is_kept]] = doubles[is_kept] + 0.0


def _build_texts(characters: npt.NDArray[np.uint8], starts: Integers, lengths: Lengths) -> pa.Array:
    """Cells as an Arrow array of text; the empty cell is null."""
    size = int(np.where(lengths < 0, -1 - lengths, lengths).sum(dtype=np.int64))
    joined, ends = np.empty(size, dtype=np.uint8), np.zeros(len(starts) + 1, dtype=np.int32)
    used = copy_cells(characters, starts, lengths, joined, ends)
    missing = int((lengths == 0).sum())
    present = pa.py_buffer(np.packbits(lengths != 0, bitorder="little")) if missing else None
    buffers = [present, pa.py_buffer(ends), pa.py_buffer(joined[:used])]
    return pa.Array.from_buffers(pa.string(), len(starts), buffers, missing)


def _join_pieces(pieces: list[pa.Array]) -> pa.ChunkedArray:
    """In one piece, where its texts have room in one."""
    if sum(piece.nbytes for piece in pieces) < np.iinfo(np.int32).max:
        pieces = [pa.concat_arrays(pieces)]
    return pa.chunked_array(pieces, pa.string())
