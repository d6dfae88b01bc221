"""Cells of text as numbers where all are written in the plainest way, in machine code: in half the time of `plain_numbers`.

Whole numbers of up to 18 digits, and decimals whose digits are a whole number below 2^53. That number and the power of ten that
it is divided by are doubles themselves, so that their quotient is the double nearest to the decimal (W. D. Clinger, "How to
read floating point numbers accurately", 1990). To load the machine code takes half a second, once in a process and those that
are forked from it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tasks.ingest.columns.plain_numbers import EXACT_DOUBLE, Letters, Offsets, get_letters, get_offsets, has_hidden_texts
from tasks.microdata.compiled import njit
from tasks.microdata.table import Integers

_MOST_DIGITS = 18
_MINUS, _POINT, _ZERO = b"-.0"
_POWERS = np.array([float(10**exponent) for exponent in range(_MOST_DIGITS + 1)])


def parse_plainest_integers(cells: pa.Array) -> pa.Array | None:
    """`parse_plain_integers` of cells that are all written as above; else None. Cost: 5 to 10 ns a cell."""
    return _parse(cells, _parse_integers, pa.int64())


def parse_plainest_doubles(cells: pa.Array) -> pa.Array | None:
    """`parse_exact_doubles` of cells that are all written as above; else None. Cost: 15 to 20 ns a cell."""
    return _parse(cells, _parse_doubles, pa.float64())


def load_machine_code() -> None:
    """Load it for this process, and those that are forked from it; compile it where that was never done."""
    cells = pa.array(["1"])
    parse_plainest_integers(cells)
    parse_plainest_doubles(cells)


def is_machine_code_loaded() -> bool:
    return _parse_integers.is_loaded and _parse_doubles.is_loaded


def _parse(cells: pa.Array, parse: Callable[[Offsets, Letters, Integers], int], kind: pa.DataType) -> pa.Array | None:
    if cells.offset % 8 or has_hidden_texts(cells):
        return None
    values = np.empty(len(cells), dtype=np.int64)
    n_empty = parse(get_offsets(cells), get_letters(cells), values)
    if n_empty != cells.null_count:
        return None
    validity = cells.buffers()[0].slice(cells.offset // 8) if n_empty else None
    return pa.Array.from_buffers(kind, len(cells), [validity, pa.py_buffer(values)], n_empty)


@njit
def _parse_integers(offsets: Offsets, letters: Letters, values: Integers) -> int:
    """Write the number of each cell, 0 for an empty one; how many are empty, or -1 where one is not written as above."""
    n_empty, first = 0, offsets[0]
    for i in range(len(values)):
        begin, end = offsets[i] - first, offsets[i + 1] - first
        values[i] = 0
        if begin == end:
            n_empty += 1
            continue
        is_negative = letters[begin] == _MINUS
        begin += is_negative
        n_digits = end - begin
        if n_digits < 1 or n_digits > _MOST_DIGITS or (letters[begin] == _ZERO and (n_digits > 1 or is_negative)):
            return -1
        number = np.int64(0)
        for at in range(begin, end):
            digit = np.int64(letters[at]) - _ZERO
            if digit < 0 or digit > 9:
                return -1
            number = 10 * number + digit
        values[i] = -number if is_negative else number
    return n_empty


@njit
def _parse_doubles(offsets: Offsets, letters: Letters, values: Integers) -> int:
    """As `_parse_integers`; the doubles are written into the memory of the values."""
    n_empty, first, doubles = 0, offsets[0], values.view(np.float64)
    for i in range(len(values)):
        begin, end = offsets[i] - first, offsets[i + 1] - first
        doubles[i] = 0.0
        if begin == end:
            n_empty += 1
            continue
        is_negative = letters[begin] == _MINUS
        begin += is_negative
        if end - begin < 1 or end - begin > _MOST_DIGITS + 1:
            return -1
        if letters[begin] == _ZERO and end - begin > 1 and letters[begin + 1] != _POINT:
            return -1
        number, point = np.int64(0), end
        for at in range(begin, end):
            digit = np.int64(letters[at]) - _ZERO
            if letters[at] == _POINT and point == end and begin < at < end - 1:
                point = at
            elif digit < 0 or digit > 9:
                return -1
            else:
                number = 10 * number + digit
        n_digits = end - begin - (point < end)
        if n_digits > _MOST_DIGITS or number >= EXACT_DOUBLE or (number == 0 and is_negative):
            return -1
        magnitude = number / _POWERS[max(end - point - 1, 0)]
        doubles[i] = -magnitude if is_negative else magnitude
    return n_empty
