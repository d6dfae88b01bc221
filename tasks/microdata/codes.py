"""Whole numbers for rows, so that rows that are equal in some columns can be grouped and compared."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tasks.microdata.table import Floats, Integers, Microdata, encode_jointly


def row_codes(data: Microdata, names: tuple[str, ...]) -> Integers:
    """Shape (n,): equal numbers for rows that are equal in all of `names`; a missing value equals a missing value."""
    return joint_codes([encode_jointly(data.column(name))[0] for name in names], data.n)


def joint_codes(columns: Iterable[Integers], n: int) -> Integers:
    """Shape (n,): codes 0..c-1 of the distinct rows of several columns of codes; all 0 where there is no column."""
    joint = np.zeros(n, dtype=np.int64)
    for column in columns:
        codes = np.unique(column, return_inverse=True)[1].astype(np.int64)
        joint = np.unique(joint * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return joint


def find_distinct_rows(values: Floats) -> tuple[Floats, Integers]:
    """The distinct rows in ascending order, and which of them each row is; NaN equals NaN."""
    codes = joint_codes([np.unique(column, return_inverse=True)[1] for column in values.T], len(values))
    first = np.unique(codes, return_index=True)[1]
    return np.ascontiguousarray(values[first]), codes
