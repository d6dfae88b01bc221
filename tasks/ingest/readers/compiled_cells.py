"""Go once through the bytes of a text table: numbers are read where they stand, and of texts it is noted where they stand.

The grammar of numbers is that of `numerals.INTEGER` and `numerals.NUMBER`, that of rows and quotes is that of the module `csv`
in its strict mode. A table that is written otherwise is not read here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

Bytes = npt.NDArray[Any]  # of np.uint8; less a whole number they are whole numbers of 64 bits
Lengths = npt.NDArray[np.int32]

WHOLE, DECIMAL, TEXT, SKIPPED = 0, 1, 2, 3  # what the cells of a column are read as
STOPPED = -1  # a strict parser has to tell what the table is

_QUOTE, _MINUS, _PLUS, _POINT, _ZERO, _NINE, _LINE_FEED, _CARRIAGE_RETURN = 34, 45, 43, 46, 48, 57, 10, 13
_SMALL_E, _LARGE_E = 101, 69
_NO_NUMBER, _INTEGER, _EXACT, _LONG = 0, 1, 2, 3
_FEW_DIGITS = 15  # of a number below 2^53
_EXACT_DOUBLE = 2**53  # up to here whole numbers are doubles
_EXACT_POWER = 22  # up to here powers of ten are doubles: one division or product of two doubles is rounded once
_MOST_KEPT = 10**17  # another digit still fits into 64 bits
_FAR_EXPONENT = 100_000
_NEITHER, _CELL, _ROW = 0, 1, 2


class Body(NamedTuple):
    """The rows of a text table in UTF-8: the bytes from the first row to `end`; cells of more than `longest` bytes stop all."""

    characters: Bytes
    end: int
    delimiter: int
    longest: int


class Columns(NamedTuple):
    """What is read of each of the w columns, which is changed by reading.

    kinds: shape (w,): WHOLE, DECIMAL, TEXT or SKIPPED. missing, large: shape (w,), of columns of numbers: how many cells are
    empty; 1 if a whole number from 2^53 on is among them. rows: shape (1,): how many rows were read.
    slots: shape (w,): which row of `numbers` and `present` a column of numbers has, or a text of the arrays in `Places`.
    numbers: shape (columns of numbers, n): whole numbers, or the bits of doubles. present: a bit for each cell, as Arrow's are.
    """

    kinds: Integers
    missing: Integers
    large: Integers
    rows: Integers
    slots: Integers
    numbers: Integers
    present: Bytes


class Places(NamedTuple):
    """Where cells of some rows stand.

    starts, lengths: shape (texts, rows): of texts; the length is -1 - l where l bytes hold doubled quotes, and 0 where the cell
    is empty. long: shape (3, most): of numbers too long to be read exactly here: column, row and start; long_length: shape
    (most,). used: shape (1,): how many.
    """

    starts: Integers
    lengths: Lengths
    long: Integers
    long_length: Lengths
    used: Integers


@njit
def count_lines(body: Body) -> int:
    """The line feeds between the rows, and one more."""
    count, characters = 1, body.characters
    for i in range(body.end):
        count += characters[i] == _LINE_FEED
    return count


@njit
def parse_rows(
    body: Body, columns: Columns, places: Places, powers: Floats, position: int, first: int, last: int, most_bytes: int
) -> tuple[int, int]:
    """Read rows from `first` on, which begins at `position`, up to before `last`.

    Ends earlier after `most_bytes` or where `places.long` is full. A column of numbers becomes DECIMAL at its first decimal,
    and SKIPPED at a cell that is no number, or a whole one that is not read exactly.
    powers: 10^0 to 10^22. Returns where the next row begins, or STOPPED, and its number.
    """
    # Arrays leave their tuples once, and functions are called for uncommon cells alone: each time their holders are counted.
    characters, end, delimiter = body.characters, body.end, body.delimiter
    kinds, slots, numbers, count = columns.kinds, columns.slots, columns.numbers, places.used
    present, missing, starts, lengths, longest = columns.present, columns.missing, places.starts, places.lengths, body.longest
    decimals = numbers.view(np.float64)
    width, most, full, row = len(kinds), position + most_bytes, len(places.long_length) - len(kinds), first
    while row < last and position < min(end, most) and count[0] <= full:
        for column in range(width):
            slot, kind, ending, after = slots[column], kinds[column], delimiter if column < width - 1 else _LINE_FEED, -1
            if kind <= DECIMAL:
                # The common number: without quotes and exponent, of so few digits that one division of doubles is exact.
                negative = characters[position] == _MINUS if position < end else False
                digits = position + 1 if negative else position
                i, mantissa, point = digits, 0, -1
                while i < end:
                    digit = characters[i] - _ZERO
                    if 0 <= digit <= 9:
                        mantissa = mantissa * 10 + digit
                    elif digit == _POINT - _ZERO and point < 0:
                        point = i
                    else:
                        break
                    i += 1
                n_digits = i - digits - (1 if point >= 0 else 0)
                is_common = 0 < n_digits <= _FEW_DIGITS and i < end and characters[i] == ending
                if is_common and (characters[digits] != _ZERO or i == digits + 1 or point == digits + 1):
                    if kind == DECIMAL:
                        value = float(mantissa) if point < 0 else float(mantissa) / powers[i - point - 1]
                        decimals[slot, row] = -value if negative and mantissa > 0 else value
                        position = i + 1
                        continue
                    if point < 0 and (mantissa > 0 or not negative):
                        numbers[slot, row] = -mantissa if negative else mantissa
                        position = i + 1
                        continue
                if position < end and characters[position] == ending:
                    numbers[slot, row] = 0
                    present[slot, row >> 3] &= ~np.uint8(1 << (row & 7))
                    missing[column] += 1
                    position += 1
                    continue
                after = _parse_number_cell(body, columns, places, powers, position, column, row)
            else:
                # The common text: its quotes, if it has any, enclose it, and none is inside.
                begin, i = position, position
                if position < end and characters[position] == _QUOTE:
                    begin, i = position + 1, position + 1
                    while i < end and characters[i] != _QUOTE:
                        i += 1
                    stop, i = i, i + 1
                else:
                    while i < end:
                        character = characters[i]
                        if character == delimiter or character == _QUOTE:  # noqa: SIM109 - a tuple is slower here
                            break
                        if character == _LINE_FEED or character == _CARRIAGE_RETURN:  # noqa: SIM109
                            break
                        i += 1
                    stop = i
                if i < end and characters[i] == ending and stop - begin <= longest:
                    if kind == TEXT:
                        starts[slot, row - first], lengths[slot, row - first] = begin, stop - begin
                    position = i + 1
                    continue
            # All other cells.
            if after < 0:
                after = _pass_cell(body, columns, places, position, column, row - first)
                if after < 0:
                    return STOPPED, row
            if after < end and characters[after] == ending:
                position = after + 1
                continue
            position, what = _find_next(characters, end, delimiter, after)
            if what != (_ROW if column == width - 1 else _CELL):
                return STOPPED, row
        row += 1
    return position, row


@njit
def _parse_number_cell(
    body: Body, columns: Columns, places: Places, powers: Floats, position: int, column: int, row: int
) -> int:
    """Read any cell of a column of numbers; returns where it ends, or -1 where it is no number, which ends the column."""
    characters, end, slot, kinds = body.characters, body.end, columns.slots[column], columns.kinds
    quoted = position < end and characters[position] == _QUOTE
    start = position + 1 if quoted else position
    if _ends_here(characters, end, body.delimiter, start, quoted):
        columns.numbers[slot, row] = 0
        columns.present[slot, row >> 3] &= ~np.uint8(1 << (row & 7))
        columns.missing[column] += 1
        return start + 1 if quoted else start
    form, mantissa, exponent, stop = _parse_number(characters, start, end)
    if form == _INTEGER and not -_EXACT_DOUBLE < mantissa < _EXACT_DOUBLE:
        columns.large[column] = 1
    becomes_decimal = kinds[column] == WHOLE and form >= _EXACT
    unfit = columns.large[column] == 1 and (becomes_decimal or kinds[column] == DECIMAL)
    too_long = stop - start > body.longest
    if form == _NO_NUMBER or unfit or too_long or not _ends_here(characters, end, body.delimiter, stop, quoted):
        kinds[column] = SKIPPED
        return -1
    decimals = columns.numbers.view(np.float64)
    if becomes_decimal:
        kinds[column] = DECIMAL
        for before in range(row):
            decimals[slot, before] = float(columns.numbers[slot, before])
    if form == _LONG:
        at = places.used[0]
        places.long[0, at], places.long[1, at], places.long[2, at] = column, row, start
        places.long_length[at] = stop - start
        places.used[0] += 1
    elif kinds[column] == WHOLE:
        columns.numbers[slot, row] = mantissa
    else:
        decimals[slot, row] = _compute_double(mantissa, exponent, powers)
    return stop + 1 if quoted else stop


@njit
def _pass_cell(body: Body, columns: Columns, places: Places, position: int, column: int, row: int) -> int:
    """Find where a cell ends, and note where a text stands; -1 where a strict parser has to tell."""
    characters, end, slot = body.characters, body.end, columns.slots[column]
    quoted = position < end and characters[position] == _QUOTE
    start, doubled = (position + 1 if quoted else position), False
    if quoted:
        stop, doubled = _find_quoted_end(characters, start, end)
    else:
        stop = _find_end(characters, start, end, body.delimiter)
    if stop < 0 or stop - start > body.longest:
        return -1
    if columns.kinds[column] == TEXT:
        places.starts[slot, row] = start
        places.lengths[slot, row] = -1 - (stop - start) if doubled else stop - start
    return stop + 1 if quoted else stop


@njit
def _parse_number(characters: Bytes, start: int, end: int) -> tuple[int, int, int, int]:
    """The number that begins at `start`, as far as it goes: its form, mantissa, power of ten, and where it ends."""
    i = start
    negative = i < end and characters[i] == _MINUS
    if negative:
        i += 1
    first, mantissa, dropped = i, 0, False
    while i < end and _ZERO <= characters[i] <= _NINE:
        dropped |= mantissa > _MOST_KEPT
        if not dropped:
            mantissa = mantissa * 10 + (characters[i] - _ZERO)
        i += 1
    whole, fraction = i - first, 0
    if whole > 1 and characters[first] == _ZERO:
        return _NO_NUMBER, 0, 0, i
    is_decimal = i < end and characters[i] == _POINT
    if is_decimal:
        i += 1
        point = i
        while i < end and _ZERO <= characters[i] <= _NINE:
            dropped = dropped or mantissa > _MOST_KEPT
            if not dropped:
                mantissa = mantissa * 10 + (characters[i] - _ZERO)
            i += 1
        fraction = i - point
    if whole + fraction == 0:
        return _NO_NUMBER, 0, 0, i
    exponent = 0
    if i < end and (characters[i] == _SMALL_E or characters[i] == _LARGE_E):
        is_decimal = True
        exponent, i = _parse_exponent(characters, i + 1, end)
        if i < 0:
            return _NO_NUMBER, 0, 0, i
    signed = -mantissa if negative else mantissa
    if not is_decimal and not (negative and mantissa == 0):
        return (_NO_NUMBER if dropped else _INTEGER), signed, 0, i
    exponent -= fraction
    is_exact = not dropped and mantissa <= _EXACT_DOUBLE and (mantissa == 0 or -_EXACT_POWER <= exponent <= _EXACT_POWER)
    return (_EXACT if is_exact else _LONG), signed, exponent, i


@njit
def _parse_exponent(characters: Bytes, start: int, end: int) -> tuple[int, int]:
    """The exponent whose sign or first digit is at `start`, and where it ends; -1 if it has no digit."""
    i, exponent = start, 0
    negative = i < end and characters[i] == _MINUS
    if negative or (i < end and characters[i] == _PLUS):
        i += 1
    first = i
    while i < end and _ZERO <= characters[i] <= _NINE:
        exponent = min(exponent * 10 + (characters[i] - _ZERO), _FAR_EXPONENT)
        i += 1
    return (-exponent if negative else exponent), (i if i > first else -1)


@njit
def _compute_double(mantissa: int, exponent: int, powers: Floats) -> float:
    """Of two doubles, so that it is rounded once; 0.0 also where it is written with a minus."""
    if mantissa == 0:
        return 0.0
    found: float = float(mantissa) / powers[-exponent] if exponent < 0 else float(mantissa) * powers[exponent]
    return found


@njit
def _ends_here(characters: Bytes, end: int, delimiter: int, position: int, quoted: bool) -> bool:
    """Does the cell end at `position`, which is its closing quote if it is quoted?"""
    if quoted:
        if position >= end or characters[position] != _QUOTE:
            return False
        position += 1
    return _find_next(characters, end, delimiter, position)[1] != _NEITHER


@njit
def _find_next(characters: Bytes, end: int, delimiter: int, position: int) -> tuple[int, int]:
    """Where the next cell begins, if one ends at `position`, and whether it begins a row."""
    if position >= end:
        return end, _ROW
    character = characters[position]
    if character == delimiter:
        return position + 1, _CELL
    if character == _LINE_FEED:
        return position + 1, _ROW
    if character == _CARRIAGE_RETURN and position + 1 < end and characters[position + 1] == _LINE_FEED:
        return position + 2, _ROW
    return position, _NEITHER


@njit
def _find_end(characters: Bytes, start: int, end: int, delimiter: int) -> int:
    """Where a cell without quotes ends; -1 where a quote stands in it."""
    i = start
    while i < end:
        character = characters[i]
        if character == delimiter or character == _LINE_FEED or character == _CARRIAGE_RETURN:  # noqa: SIM109
            return i
        if character == _QUOTE:
            return -1
        i += 1
    return i


@njit
def _find_quoted_end(characters: Bytes, start: int, end: int) -> tuple[int, bool]:
    """Where the closing quote stands, -1 if there is none, and whether there are doubled quotes before it."""
    i, doubled = start, False
    while i < end:
        if characters[i] == _QUOTE:
            if i + 1 >= end or characters[i + 1] != _QUOTE:
                return i, doubled
            doubled = True
            i += 1
        i += 1
    return -1, doubled


@njit
def copy_cells(characters: Bytes, starts: Integers, lengths: Lengths, joined: Bytes, ends: Lengths) -> int:
    """Write cells one after the other into `joined`, doubled quotes once, and where each ends into `ends` from 1 on.

    lengths: as in `Places`; `joined` must have room for all of them. Returns how many bytes were written.
    """
    used = 0
    for row in range(len(starts)):
        start, length = starts[row], lengths[row]
        if length >= 0:
            for i in range(start, start + length):
                joined[used] = characters[i]
                used += 1
        else:
            i = start
            while i < start - 1 - length:
                joined[used] = characters[i]
                used += 1
                i += 2 if characters[i] == _QUOTE else 1
        ends[row + 1] = used
    return used
