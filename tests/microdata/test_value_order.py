"""The order of many values: numpy's stable sort and `searchsorted` are the oracles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tasks.microdata import value_order
from tasks.microdata.value_order import look_up_in_order, order_values, sort_with_order

FEWEST = value_order.FEWEST
NUMBERS = st.sampled_from([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1.7e308, -1.7e308]) | st.floats(-3, 3)
WHOLE = st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)
COLUMNS = arrays(np.float64, st.integers(1, 40), elements=NUMBERS) | arrays(np.int64, st.integers(1, 40), elements=WHOLE)


@pytest.fixture(autouse=True)
def _sort_few_values_as_many(monkeypatch):
    monkeypatch.setattr(value_order, "FEWEST", 0)


@given(COLUMNS)
def test_equal_values_stay_in_their_order_and_missing_ones_come_last(values):
    ascending, order = sort_with_order(values)
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))
    np.testing.assert_array_equal(order, order_values(values))
    np.testing.assert_array_equal(ascending, values[order])
    assert ascending.dtype == values.dtype
    assert not np.signbit(ascending[ascending == 0]).any()


def test_worked_example():
    """3, NaN, -0.0, -5, 0.0, 3: the rows 3, 2, 4, 0, 5 and 1, the zeros and the threes by row."""
    ascending, order = sort_with_order(np.array([3.0, np.nan, -0.0, -5.0, 0.0, 3.0]))
    np.testing.assert_array_equal(ascending, [-5, 0, 0, 3, 3, np.nan])
    assert order.tolist() == [3, 2, 4, 0, 5, 1]


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, bool])
def test_other_types_are_left_to_numpy(dtype):
    values = np.array([1, 0, 1, 0, 1]).astype(dtype)
    assert order_values(values).tolist() == [1, 3, 0, 2, 4]


@given(COLUMNS, COLUMNS, st.sampled_from(["left", "right"]))
def test_ascending_values_are_looked_up_as_numpy_does(values, asked, side):
    values, asked = np.sort(values), np.sort(asked)
    np.testing.assert_array_equal(look_up_in_order(values, asked, side), np.searchsorted(values, asked, side))


@pytest.mark.parametrize("n", [FEWEST - 1, FEWEST, 3 * FEWEST])
def test_columns_of_any_size_are_sorted_alike(monkeypatch, n):
    monkeypatch.setattr(value_order, "FEWEST", FEWEST)
    rng = np.random.default_rng(n)
    for values in (rng.normal(size=n)[::-1], np.round(rng.normal(size=n), 1), np.where(rng.random(n) < 0.1, np.nan, 7.0)):
        np.testing.assert_array_equal(order_values(values), np.argsort(values, kind="stable"))
        ascending = np.sort(values)
        found = look_up_in_order(ascending, ascending, "right")
        np.testing.assert_array_equal(found, np.searchsorted(ascending, ascending, "right"))
