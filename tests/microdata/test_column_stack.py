"""Columns side by side are those of numpy, however many rows are written at once."""

from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.microdata import column_stack
from tasks.microdata.column_stack import stack_columns


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(0, 3), st.sampled_from([1, 3, 8_192]), st.integers(0, 4))
def test_columns_stand_side_by_side(seed: int, n: int, d: int, at_once: int, begin: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n) if j % 2 else rng.integers(0, 9, n) for j in range(d)]
    table = np.array(columns, dtype=float).reshape(d, n).T
    some, part = rng.integers(0, n, 5) if n else np.empty(0, dtype=np.int64), slice(begin, None)
    with patch.object(column_stack, "_ROWS_AT_ONCE", at_once):
        found = (
            stack_columns(columns, n),
            stack_columns(columns, len(some), some),
            stack_columns(columns, len(table[part]), part),
        )
    for stacked, expected in zip(found, (table, table[some], table[part]), strict=True):
        np.testing.assert_array_equal(stacked, expected)
        assert stacked.flags.c_contiguous
