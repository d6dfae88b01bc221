"""Codes of rows against the rows themselves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.microdata.codes import find_distinct_rows, joint_codes, row_codes
from tasks.microdata.table import Microdata

ROWS = st.lists(st.tuples(st.sampled_from([0.0, 1.5, np.nan]), st.sampled_from([-1e99, 2.0])), min_size=1, max_size=20)


def test_codes_ascend_with_the_rows_and_missing_comes_first():
    table = Microdata.from_columns({"town": ["b", "a", None, "b"], "size": [1, 1, 2, 1]})
    assert row_codes(table, ("town", "size")).tolist() == [2, 1, 0, 2]


def test_without_columns_all_rows_are_alike():
    assert joint_codes([], 3).tolist() == [0, 0, 0]


@given(ROWS)
def test_distinct_rows_are_those_of_numpy_with_gaps_alike(rows):
    values = np.array(rows)
    found, codes = find_distinct_rows(values)
    gaps_last = np.unique(np.where(np.isnan(values), np.inf, values), axis=0)
    np.testing.assert_array_equal(found, np.where(np.isinf(gaps_last), np.nan, gaps_last))
    np.testing.assert_array_equal(found[codes], values)
