"""Whole numbers for rows, so that rows that are equal in some columns can be grouped and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pyarrow as pa

from tasks.microdata.column_stack import stack_columns
from tasks.microdata.table import Floats, Integers, Microdata, encode_jointly
from tasks.microdata.units import Units
from tasks.microdata.value_ranks import has_both_zeros, rank_by_count, rank_values

_LARGEST = 2**62
_LOOKED_AT = 1024  # rows first, which mostly answer
_FAR = 2**31
_MANY = 8  # a column of more values than this part of the rows is worth a look at what it leaves to tell
_SPREAD = 4  # times as many numbers as rows are counted one by one; of more the distinct ones are sorted


def row_codes(data: Microdata, names: tuple[str, ...]) -> Integers:
    """Shape (n,): equal numbers for rows that are equal in all of `names`; a missing value equals a missing value.

    Numbers 0..c-1 in the order of the rows. Where columns of many values tell all rows apart, those after them are not read;
    where they tell most apart, those after them are ranked for the other rows alone. A column that is constant in each class
    so far, as means of groups are, is not ranked where every class may have two rows.
    """
    classes, waiting, n_classes = np.zeros(data.n, dtype=np.int64), list[Integers](), 1
    for name in names if data.n else ():
        column = data.column(name)
        if n_classes > data.n // _MANY:
            if n_classes == data.n:
                break
            if _has_single_rows(n_classes, data.n) or not _is_constant_within(column, classes):
                classes, n_classes = _refine_shared(classes, n_classes, partial(_rank_some, column))
            continue
        waiting.append(encode_jointly(column)[0])
        if waiting[-1].max() > data.n // _MANY:
            classes, waiting = joint_codes([classes, *waiting], data.n), []
            n_classes = int(classes.max()) + 1
    return joint_codes([classes, *waiting], data.n) if waiting else classes


def joint_codes(columns: Iterable[Integers], n: int) -> Integers:
    """Shape (n,): codes 0..c-1 of the distinct rows of several columns of codes, in the order of the rows; all 0 for no column.

    Meaning: the columns are the digits of one number, which is ranked as soon as it could leave 62 bits. Columns after those in
    which all rows differ change nothing, and are not read.
    Cost: O(n) a column, and a sort of the distinct numbers where they are spread too far to be counted: 0.03 s for 1,000,000
    rows of 4 columns, where pandas takes 0.1 (`benchmarks/class_codes.py`).
    """
    joint, size = np.zeros(n, dtype=np.int64), 1
    for column in columns if n else ():
        digit, base = _shift_to_zero(column)
        if size * base > _LARGEST:
            joint, size = _rank(joint, size)
            if size == n:
                return joint
        if size > 1:
            joint = joint * base
            joint += digit
        else:
            joint = digit
        size *= base
    return rank_codes(joint, size) if n else joint


def rank_codes(codes: Integers, size: int) -> Integers:
    """Shape (n,): numbers 0..c-1 in the place of c distinct numbers from 0 to `size` - 1, in their order."""
    return _rank(codes, size)[0]


def code_rows(columns: Iterable[Floats], n: int) -> Integers:
    """Shape (n,): codes 0..c-1 of the distinct rows of several columns of numbers, in the order of the rows; NaN is the last.

    Once a column or two have made many classes, a column that is constant in each is not sorted where every class may have two
    rows, of another one only the rows that are not alone in their class, and of those after the last class of two rows none.
    Cost: O(n) a column, and a sort of the rows that the columns before leave alike.
    """
    codes, n_classes = np.zeros(n, dtype=np.int64), 1
    for column in columns if n else ():
        if n_classes == n:
            break
        if n_classes == 1:
            codes, n_classes = rank_values(column)
        elif n_classes <= n // _MANY:
            codes, n_classes = _refine(codes, n_classes, column)
        elif _has_single_rows(n_classes, n) or not _is_same_within(column, codes):
            codes, n_classes = _refine_shared(codes, n_classes, partial(_rank_some_numbers, column))
    return codes


def find_first_rows(codes: Integers) -> Integers:
    """The first row of each of the codes 0..c-1, all of which occur."""
    first = np.empty(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


def count_units(codes: Integers, units: Units) -> Integers:
    """Shape (largest code + 1,): how many units, of those of the rows, show each of the codes from 0 on."""
    if units.n_units == len(codes):  # every unit has one row
        return np.bincount(codes)
    pairs = joint_codes([codes, units.of_row], len(codes))
    return np.bincount(codes[find_first_rows(pairs)])


def find_distinct_rows(values: Floats) -> tuple[Floats, Integers]:
    """The distinct rows in ascending order, and which of them each row is; NaN equals NaN."""
    codes = code_rows(values.T, len(values))
    return np.ascontiguousarray(values[find_first_rows(codes)]), codes


def stack_distinct_rows(columns: list[Floats]) -> tuple[Floats, Integers]:
    """`find_distinct_rows` of the rows of columns, at least one, which are let go: those of large tables fill the memory."""
    codes = code_rows(columns, len(columns[0]))
    first = find_first_rows(codes)
    distinct = stack_columns(columns, len(first), first)
    columns.clear()
    return distinct, codes


def _has_single_rows(n_classes: int, n: int) -> bool:
    """Must some rows be alone in their class? Then it is no table of groups, and only the other rows are looked at."""
    return 2 * n_classes > n


def _is_constant_within(column: pa.Array, classes: Integers) -> bool:
    """Has a column of numbers without gaps one value in each of the classes, bit for bit? Of other columns it is not asked."""
    if column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return False
    return _is_same_within(column.to_numpy().view(np.int64), classes)


def _is_same_within(values: Floats | Integers, classes: Integers) -> bool:
    """Do numbers equal each other within each of the classes? A NaN equals nothing."""
    first = find_first_rows(classes)
    some = slice(0, _LOOKED_AT)
    return bool((values[first[classes[some]]] == values[some]).all()) and bool((values[first][classes] == values).all())


def _refine(codes: Integers, n_classes: int, column: Floats) -> tuple[Integers, int]:
    """Codes of the rows that are equal in a column too, and how many there are."""
    ranks, n_ranks = rank_values(column)
    return _rank(codes * n_ranks + ranks, n_classes * n_ranks)


def _rank_some(column: pa.Array, rows: Integers) -> tuple[Integers, int]:
    """The ranks of some rows in a column, 0 where missing, and how many there can be."""
    some = column.take(pa.array(rows))
    if pa.types.is_floating(column.type) and has_both_zeros(some.drop_null().to_numpy()):
        codes = encode_jointly(column)[0][rows]  # the whole column says which of the two comes first
    else:
        (codes,) = encode_jointly(some)
    return codes + 1, int(codes.max()) + 2


def _rank_some_numbers(column: Floats, rows: Integers) -> tuple[Integers, int]:
    return rank_values(column[rows])


def _refine_shared(codes: Integers, n_classes: int, rank: Callable[[Integers], tuple[Integers, int]]) -> tuple[Integers, int]:
    """`_refine`, which looks only at the rows that are not alone in their class. rank: gives their ranks, and how many."""
    shared = np.flatnonzero((np.bincount(codes, minlength=n_classes) > 1)[codes])
    own = codes[shared]
    ranks, n_ranks = rank(shared)
    finer, _ = _rank(own * n_ranks + ranks, n_classes * n_ranks)
    parts = np.bincount(own[find_first_rows(finer)], minlength=n_classes)  # 0 of who is alone
    width = np.maximum(parts, 1)
    refined = (np.cumsum(width) - width)[codes]
    refined[shared] += finer - (np.cumsum(parts) - parts)[own]
    return refined, int(width.sum())


def _rank(codes: Integers, size: int) -> tuple[Integers, int]:
    return rank_by_count(codes, size) if size <= _SPREAD * len(codes) else rank_values(codes)


def _shift_to_zero(column: Integers) -> tuple[Integers, int]:
    """The numbers from 0 on in their order, and how many there can be; ranks where they are spread over more than 31 bits."""
    low, high = int(column.min()), int(column.max())
    if high - low < _FAR:
        return column.astype(np.int64, copy=False) - low if low else column.astype(np.int64, copy=False), high - low + 1
    return rank_values(column)
