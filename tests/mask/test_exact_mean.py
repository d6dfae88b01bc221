"""The mean that is kept up as records go: exact, and without a trace of those that went."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.partitions.exact_mean import compute_mean, compute_sums, convert_to_fixed_point, take_away


def mean_without(points, gone):
    numbers = convert_to_fixed_point(points)
    sums = compute_sums(numbers)
    take_away(sums, numbers, np.asarray(gone, dtype=np.int64))
    return compute_mean(sums, len(points) - len(gone), numbers)


def test_worked_table():
    points = np.array([[1.0, -1e-3], [2, 0], [4, 0], [0.5, 7e-3]])
    np.testing.assert_array_equal(mean_without(points, []), [1.875, 1.5e-3])
    np.testing.assert_array_equal(mean_without(points, [3, 1]), [2.5, -5e-4])


def test_what_went_leaves_no_trace():
    # in floating point 1e9 + 0.1 - 1e9 is 0.10000002384185791
    assert mean_without(np.array([[1e9], [0.1]]), [0])[0] == 0.1


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e100, -1 / 3])
def test_one_record_is_its_own_mean(value):
    assert mean_without(np.array([[value]]), [])[0] == pytest.approx(value, rel=1e-15)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6).map(lambda x: x if abs(x) > 1e-6 else 0.0), min_size=2, max_size=30), st.data())
def test_exact_fractions(values, data):
    gone = data.draw(st.lists(st.integers(0, len(values) - 1), unique=True, max_size=len(values) - 1))
    left = [Fraction(value) for i, value in enumerate(values) if i not in gone]
    exact = sum(left) / len(left)
    error = abs(Fraction(float(mean_without(np.array(values)[:, None], gone)[0])) - exact)
    assert error <= max(abs(exact) * Fraction(2) ** -52, Fraction(max(map(abs, values))) * Fraction(2) ** -100)
