"""Cells of text as numbers where every cell is a plain one: parsed by Arrow, and what Arrow takes besides is looked for after.

Nobody has to find a pattern in each cell then. What is not settled here is left to the patterns of `numerals`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_DIGITS = range(1, 19)  # of whole numbers within 64 bits there are up to 19
_PLUS, _MINUS, _ZERO, _NINE = b"+-09"


def parse_plain_integers(cells: pa.Array) -> pa.Array | None:
    """The cells as whole numbers, where all match `numerals.INTEGER` and are within 64 bits; else None.

    Arrow also takes leading zeros, -0 and hexadecimal digits. The last have letters. Without these, plain cells are the
    shortest that say the same numbers: so all are plain if together they have no character more than the numbers need.
    """
    try:
        numbers = cells.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    written, present = _get_bytes(_drop_hidden_texts(cells)), numbers.drop_null().to_numpy()
    magnitude = np.abs(present).view(np.uint64)  # of the least number too
    needed = len(present) + np.count_nonzero(present < 0) + _count_further_digits(magnitude)
    return numbers if len(written) == needed and not (written > _NINE).any() else None


def parse_plain_doubles(cells: pa.Array) -> pa.Array | None:
    """The cells as doubles, where all match `numerals.NUMBER` and are finite; else None.

    Arrow also takes a plus sign, leading zeros, and words for infinities and for what is no number.
    """
    try:
        numbers = cells.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    is_finite = np.isfinite(numbers.drop_null().to_numpy()).all()
    return numbers if is_finite and not _has_odd_beginning(_drop_hidden_texts(cells)) else None


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
    letters = np.append(_get_bytes(cells), np.zeros(3, dtype=np.uint8))  # no digits, so that the last cells can be looked into
    offsets = _get_offsets(cells)
    begins = offsets[:-1] - offsets[0]
    first = letters[begins]
    if first.min(initial=_NINE) > _ZERO:  # digits, which no zero or sign comes before
        return False
    odd = np.flatnonzero(first <= _ZERO)
    begins, lengths, first = begins[odd], np.diff(offsets)[odd], first[odd]
    signed = first == _MINUS
    zero, following = letters[begins + signed] == _ZERO, letters[begins + signed + 1]
    digits_after_zero = zero & (lengths > 1 + signed) & (following >= _ZERO) & (following <= _NINE)
    return bool(((first == _PLUS) | digits_after_zero).any())


def _drop_hidden_texts(cells: pa.Array) -> pa.Array:
    """The cells, without the null ones where some of these still hold a text in memory."""
    if cells.null_count == 0:
        return cells
    hidden = np.diff(_get_offsets(cells))[cells.is_null().to_numpy(zero_copy_only=False)]
    return cells.drop_null() if hidden.any() else cells


def _get_offsets(cells: pa.Array) -> npt.NDArray[np.int32]:
    offsets: npt.NDArray[np.int32] = np.frombuffer(cells.buffers()[1], dtype=np.int32)
    return offsets[cells.offset : cells.offset + len(cells) + 1]


def _get_bytes(cells: pa.Array) -> npt.NDArray[np.uint8]:
    offsets, texts = _get_offsets(cells), cells.buffers()[2]
    return np.frombuffer(texts or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
