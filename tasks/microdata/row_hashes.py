"""Equal rows of numbers by a hash table: the quickest way to group them where their order does not matter."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tasks.microdata.column_stack import stack_columns
from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, odd
_SHIFT = np.uint64(29)
_CLASS = np.uint64(0xFFFFFFFF)  # the half of an entry that numbers the class from 1 on; the other is a part of the hash
_NAN = 0x7FF8000000000000


def stack_unordered_rows(columns: list[Floats]) -> tuple[Floats, Integers]:
    """The distinct rows of columns, at least one, in the order in which they occur first, and which of them each row is.

    NaN equals NaN, and 0.0 equals -0.0. The columns are let go: those of large tables fill the memory.
    Cost: O(n) for n < 2^31 rows; 0.15 s for 1,000,000 rows of six numbers, where `stack_distinct_rows` takes up to 0.5.
    """
    rows = stack_columns(columns, len(columns[0]))
    columns.clear()
    size = 1 << max(2 * len(rows) - 1, 15).bit_length()
    codes, first, table = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64), np.zeros(size, np.uint64)
    n_classes = _group_rows(rows, codes, first, table)
    return rows if n_classes == len(rows) else rows[first[:n_classes]], codes


@njit(missing={"rows": "all NaN are one value"}, infinite={"rows": "it only compares them"})
def _group_rows(rows: Floats, codes: Integers, first: Integers, table: npt.NDArray[np.uint64]) -> int:
    """Write the number of the class of each row, and the first row of each class; returns how many classes there are.

    codes, first: shape (n,). table: all 0, of a power of 2 that is at least 2 n.
    """
    n, d = rows.shape
    last, n_classes = np.uint64(len(table) - 1), 0
    buffer = np.empty(d)
    bits = buffer.view(np.uint64)
    for i in range(n):
        mixed = np.uint64(0)
        for j in range(d):
            buffer[j] = rows[i, j] + 0.0
            mixed = (mixed ^ (np.uint64(_NAN) if np.isnan(buffer[j]) else bits[j])) * _MIX
            mixed ^= mixed >> _SHIFT
        slot, tag = (mixed * _MIX) >> np.uint64(32) & last, mixed & ~_CLASS
        while True:
            entry = table[slot]
            if entry == 0:
                first[n_classes] = i
                n_classes += 1
                table[slot] = tag | np.uint64(n_classes)
                codes[i] = n_classes - 1
                break
            if entry & ~_CLASS == tag and _is_equal(rows[i], rows[first[np.int64(entry & _CLASS) - 1]]):
                codes[i] = np.int64(entry & _CLASS) - 1
                break
            slot = (slot + np.uint64(1)) & last
    return n_classes


@njit
def _is_equal(x: Floats, y: Floats) -> bool:
    for j in range(len(x)):  # noqa: SIM110  compiled code has no generators
        if x[j] != y[j] and not (np.isnan(x[j]) and np.isnan(y[j])):
            return False
    return True
