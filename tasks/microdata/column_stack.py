"""Columns of large tables side by side, so that the numbers of one row lie together in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tasks.microdata.table import Floats, Integers

ALL = slice(None)
_ROWS_AT_ONCE = 8_192  # so that what is written stays in the processor's cache until the last column is


def stack_columns(columns: Sequence[npt.NDArray[Any]], n: int, rows: Integers | slice = ALL) -> Floats:
    """Shape (n, d): d columns of numbers as doubles. rows: which n of theirs, in this order; default: `ALL` n.

    Cost: O(n d); 0.14 s for 10,000,000 rows of seven columns, where `np.column_stack` takes 0.4.
    """
    if isinstance(rows, slice):
        columns = [column[rows] for column in columns]  # which copies nothing
    stacked = np.empty((n, len(columns)))
    for begin in range(0, n, _ROWS_AT_ONCE):
        block = slice(begin, begin + _ROWS_AT_ONCE)
        for j, column in enumerate(columns):
            stacked[block, j] = column[block if isinstance(rows, slice) else rows[block]]
    return stacked
