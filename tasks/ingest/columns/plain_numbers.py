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
Parser = Callable[[pa.Array], pa.Array | None]  # of cells of text
EXACT_DOUBLE = 2**53  # from here on a whole number and its neighbour may be one double
_FIRST, _PART = 1 << 6, 1 << 17  # cells
_DIGITS = range(1, 19)  # of whole numbers within 64 bits there are up to 19
_PLUS, _MINUS, _ZERO, _NINE = b"+-09"


def parse_by_parts(column: pa.ChunkedArray, parse: Parser) -> pa.ChunkedArray | None:
    """The cells as numbers, in parts that stay in the processor's cache; None where a part cannot be parsed.

    The first cells are tried alone: for each cell that is no number Arrow makes an error of a microsecond.
    """
    if column.num_chunks and parse(column.chunk(0)[:_FIRST]) is None:
        return None
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
    written, filled = get_letters(_drop_hidden_texts(cells)), _fill_null(numbers)
    magnitude = np.abs(filled).view(np.uint64)  # of the least number too
    needed = len(cells) - cells.null_count + np.count_nonzero(filled < 0) + _count_further_digits(magnitude)
    return numbers if len(written) == needed and written.max(initial=0) <= _NINE else None


def parse_plain_doubles(cells: pa.Array) -> pa.Array | None:
    """The cells as doubles, where all match `numerals.NUMBER` and are finite; else None.

    Arrow also takes a plus sign, leading zeros, and words for infinities and for what is no number.
    """
    try:
        numbers = cells.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    is_finite = np.isfinite(_fill_null(numbers)).all()
    return numbers if is_finite and not _has_odd_beginning(_drop_hidden_texts(cells)) else None


def parse_exact_doubles(cells: pa.Array) -> pa.Array | None:
    """`parse_plain_doubles`, None too where a number may have lost digits: it is no zero and too small, or too large."""
    numbers = parse_plain_doubles(cells)
    if numbers is None or has_vanished(cells, numbers):
        return None
    filled = _fill_null(numbers)
    return numbers if max(-filled.min(initial=0.0), filled.max(initial=0.0)) < EXACT_DOUBLE else None


def has_vanished(cells: pa.Array | pa.ChunkedArray, numbers: pa.Array) -> bool:
    """Is a number 0.0 whose cell says otherwise? numbers: the cells as doubles."""
    is_zero = _fill_null(numbers) == 0.0
    zeros = cells.filter(pa.array(is_zero)) if is_zero.any() else cells[:0]
    return bool(pc.any(pc.match_substring_regex(zeros, r"^[^eE]*[1-9]")).as_py())


def _fill_null(numbers: pa.Array) -> npt.NDArray[Any]:
    """The numbers, 1 where there is none: of one digit, and no zero."""
    filled: npt.NDArray[Any] = (pc.fill_null(numbers, 1) if numbers.null_count else numbers).to_numpy()
    return filled


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
    odd = np.flatnonzero(first <= _ZERO)
    begins, lengths, first = begins[odd], offsets[odd + 1] - offsets[odd], first[odd]
    signed = first == _MINUS
    zero, following = (letters.take(begins + signed + k, mode="clip") for k in range(2))
    digits_after_zero = (zero == _ZERO) & (lengths > 1 + signed) & (following >= _ZERO) & (following <= _NINE)
    return bool(((first == _PLUS) | digits_after_zero).any())


def has_hidden_texts(cells: pa.Array) -> bool:
    """Do null cells still hold a text in memory?"""
    return cells.null_count > 0 and len(get_letters(cells)) > (pc.sum(pc.binary_length(cells)).as_py() or 0)


def get_offsets(cells: pa.Array) -> Offsets:
    """Where the text of each cell begins in memory, and the last ends."""
    offsets: Offsets = np.frombuffer(cells.buffers()[1], dtype=np.int32)
    return offsets[cells.offset : cells.offset + len(cells) + 1]


def get_letters(cells: pa.Array) -> Letters:
    """The texts of the cells, one behind the other."""
    offsets, texts = get_offsets(cells), cells.buffers()[2]
    return np.frombuffer(texts or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]


def _drop_hidden_texts(cells: pa.Array) -> pa.Array:
    """The cells, without the null ones where some of these still hold a text in memory."""
    return cells.drop_null() if has_hidden_texts(cells) else cells
