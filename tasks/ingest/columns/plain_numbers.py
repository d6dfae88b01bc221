"""Cells of text as numbers where every cell is a plain one: parsed by Arrow, and what Arrow takes besides is looked for after.

Nobody has to find a pattern in each cell then. What is not settled here is left to the patterns of `numerals`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Offsets = npt.NDArray[np.int32]
Letters = npt.NDArray[np.uint8]
Doubles = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Parser = Callable[[pa.Array], pa.Array | None]  # of cells of text
EXACT_DOUBLE = 2**53  # from here on a whole number and its neighbour may be one double
_PART = 1 << 17  # cells
_DIGITS = range(1, 19)  # of whole numbers within 64 bits there are up to 19
_PLUS, _MINUS, _ZERO, _NINE = b"+-09"


def parse_by_parts(column: pa.ChunkedArray, parse: Parser) -> pa.ChunkedArray | None:
    """The cells as numbers, in parts that stay in the processor's cache; None where a part cannot be parsed.

    Each cell that is no number costs Arrow a microsecond: whoever asks has asked `may_all_match` before.
    """
    parts = []
    for cells in column.chunks:
        for begin in range(0, len(cells), _PART):
            part = parse(cells[begin : begin + _PART])
            if part is None:
                return None
            parts.append(part)
    return pa.chunked_array(parts)


def parse_plain_integers(cells: pa.Array) -> pa.Array | None:
    """The cells as whole numbers, where all match `numerals.INTEGER` and are within 64 bits; else None.

    Arrow also takes leading zeros, -0 and hexadecimal digits. The last have letters. Without these, plain cells are the
    shortest that say the same numbers: so all are plain if together they have no character more than the numbers need.
    """
    try:
        numbers = cells.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    nulls = _find_nulls(cells)
    written, filled = get_letters(_drop_hidden_texts(cells, nulls)), _fill_null(numbers, nulls)
    magnitude = np.abs(filled).view(np.uint64)  # of the least number too
    needed = len(cells) - cells.null_count + np.count_nonzero(filled < 0) + _count_further_digits(magnitude)
    return numbers if len(written) == needed and written.max(initial=0) <= _NINE else None


def parse_plain_doubles(cells: pa.Array) -> pa.Array | None:
    """The cells as doubles, where all match `numerals.NUMBER` and are finite; else None.

    Arrow also takes a plus sign, leading zeros, and words for infinities and for what is no number.
    """
    found = _parse_doubles(cells)
    return None if found is None else found[0]


def parse_exact_doubles(cells: pa.Array) -> pa.Array | None:
    """`parse_plain_doubles`, None too where a number may have lost digits: it is no zero and too small, or too large."""
    found = _parse_doubles(cells)
    if found is None:
        return None
    numbers, filled = found
    is_exact = max(-filled.min(initial=0.0), filled.max(initial=0.0)) < EXACT_DOUBLE and not _has_vanished(cells, filled)
    return numbers if is_exact else None


def _parse_doubles(cells: pa.Array) -> tuple[pa.Array, Doubles] | None:
    """`parse_plain_doubles`, and the numbers without gaps (`_fill_null`)."""
    try:
        numbers = cells.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    nulls = _find_nulls(cells)
    filled = _fill_null(numbers, nulls)
    is_plain = np.isfinite(filled).all() and not _has_odd_beginning(_drop_hidden_texts(cells, nulls))
    return (numbers, filled) if is_plain else None


def has_vanished(cells: pa.Array | pa.ChunkedArray, numbers: pa.Array) -> bool:
    """Is a number 0.0 whose cell says otherwise? numbers: the cells as doubles."""
    return _has_vanished(cells, _fill_null(numbers, _find_nulls(numbers)))


def _has_vanished(cells: pa.Array | pa.ChunkedArray, filled: Doubles) -> bool:
    is_zero = filled == 0.0
    if not is_zero.any():
        return False
    zeros = cells.filter(pa.array(is_zero))
    return bool(pc.any(pc.match_substring_regex(zeros, r"^[^eE]*[1-9]")).as_py())


def _fill_null(numbers: pa.Array, nulls: Places) -> npt.NDArray[Any]:
    """The numbers, 1 where there is none: of one digit, and no zero."""
    if not len(nulls):
        return np.asarray(numbers)
    bare = pa.Array.from_buffers(numbers.type, len(numbers), [None, numbers.buffers()[1]], 0, numbers.offset)
    filled: npt.NDArray[Any] = bare.to_numpy().copy()
    filled[nulls] = 1
    return filled


def _find_nulls(cells: pa.Array) -> Places:
    """Where the nulls are; in memory that the C library keeps, where Arrow asks for new."""
    if not cells.null_count:
        return np.empty(0, dtype=np.intp)
    begin, skipped = divmod(cells.offset, 8)
    validity = np.frombuffer(cells.buffers()[0], dtype=np.uint8)[begin:]
    return np.flatnonzero(np.unpackbits(validity, count=skipped + len(cells), bitorder="little")[skipped:] == 0)


def _count_further_digits(magnitude: npt.NDArray[np.uint64]) -> int:
    """How many digits the numbers have besides one each."""
    largest, counted = int(magnitude.max(initial=0)), 0
    for power in _DIGITS:
        if 10**power > largest:
            break
        counted += int(np.count_nonzero(magnitude >= np.uint64(10**power)))
    return counted


def _has_odd_beginning(cells: pa.Array) -> bool:
    """Does a cell begin with a plus sign, or a zero before another digit? No present cell is empty; null ones are."""
    letters, offsets = get_letters(cells), get_offsets(cells)
    if not len(letters):
        return False
    begins = offsets[:-1] - offsets[0]
    first = letters.take(begins, mode="clip")
    if first.min(initial=_NINE) > _ZERO:  # digits, which no zero or sign comes before
        return False
    if (first == _PLUS).any():
        return True
    begins += first == _MINUS
    (zeros,) = np.nonzero(letters.take(begins, mode="clip") == _ZERO)
    following = begins[zeros] + 1
    digit = letters.take(following, mode="clip")
    return bool(((following < offsets[zeros + 1] - offsets[0]) & (digit >= _ZERO) & (digit <= _NINE)).any())


def has_hidden_texts(cells: pa.Array) -> bool:
    """Do null cells still hold a text in memory?"""
    return _has_texts(cells, _find_nulls(cells))


def _has_texts(cells: pa.Array, nulls: Places) -> bool:
    if not len(nulls):
        return False
    offsets = get_offsets(cells)
    return bool((offsets[nulls] < offsets[nulls + 1]).any())


def get_offsets(cells: pa.Array) -> Offsets:
    """Where the text of each cell begins in memory, and the last ends."""
    offsets: Offsets = np.frombuffer(cells.buffers()[1], dtype=np.int32)
    return offsets[cells.offset : cells.offset + len(cells) + 1]


def get_letters(cells: pa.Array) -> Letters:
    """The texts of the cells, one behind the other."""
    offsets, texts = get_offsets(cells), cells.buffers()[2]
    return np.frombuffer(texts or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]


def _drop_hidden_texts(cells: pa.Array, nulls: Places) -> pa.Array:
    """The cells, without the null ones where some of these still hold a text in memory."""
    return cells.drop_null() if _has_texts(cells, nulls) else cells
