"""Whole numbers for rows, so that rows that are equal in some columns can be grouped and compared."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from tasks.microdata.table import Floats, Integers, Microdata, encode_jointly

_LARGEST = 2**62
_FAR = 2**31
_SPREAD = 4  # times as many numbers as rows are counted one by one; of more the distinct ones are sorted


def row_codes(data: Microdata, names: tuple[str, ...]) -> Integers:
    """Shape (n,): equal numbers for rows that are equal in all of `names`; a missing value equals a missing value."""
    return joint_codes([encode_jointly(data.column(name))[0] for name in names], data.n)


def joint_codes(columns: Iterable[Integers], n: int) -> Integers:
    """Shape (n,): codes 0..c-1 of the distinct rows of several columns of codes, in the order of the rows; all 0 for no column.

    Meaning: the columns are the digits of one number, which is ranked as soon as it could leave 62 bits.
    Cost: O(n) a column, and a sort of the distinct numbers where they are spread too far to be counted: 0.05 s for 1,000,000
    rows of 4 columns, where pandas takes 0.2 (`benchmarks/class_codes.py`).
    """
    joint, size = np.zeros(n, dtype=np.int64), 1
    for column in columns if n else ():
        digit, base = _shift_to_zero(column)
        if size * base > _LARGEST:
            joint = rank_codes(joint, size)
            size = int(joint.max()) + 1
        joint, size = joint * base + digit, size * base
    return rank_codes(joint, size) if n else joint


def rank_codes(codes: Integers, size: int) -> Integers:
    """Shape (n,): numbers 0..c-1 in the place of c distinct numbers from 0 to `size` - 1, in their order."""
    if size <= _SPREAD * len(codes):
        present = np.zeros(size, dtype=bool)
        present[codes] = True
        ranks: Integers = np.cumsum(present) - 1
        return ranks[codes]
    numbered = pa.array(codes).dictionary_encode()
    distinct = numbered.dictionary.to_numpy()
    ranks = np.empty(len(distinct), dtype=np.int64)
    ranks[np.argsort(distinct)] = np.arange(len(distinct))
    found: Integers = ranks[numbered.indices.to_numpy()]
    return found


def _shift_to_zero(column: Integers) -> tuple[Integers, int]:
    """The numbers from 0 on in their order, and how many there can be; ranks where they are spread over more than 31 bits."""
    low, high = int(column.min()), int(column.max())
    if high - low < _FAR:
        return column.astype(np.int64) - low, high - low + 1
    distinct, ranks = np.unique(column, return_inverse=True)
    return ranks.astype(np.int64), len(distinct)


def find_distinct_rows(values: Floats) -> tuple[Floats, Integers]:
    """The distinct rows in ascending order, and which of them each row is; NaN equals NaN."""
    codes = joint_codes([np.unique(column, return_inverse=True)[1] for column in values.T], len(values))
    first = np.unique(codes, return_index=True)[1]
    return np.ascontiguousarray(values[first]), codes
