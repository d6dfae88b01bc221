"""The moments that noise is made of, against numpy to the last bit: a last bit more moves published values."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.mask.noise.noise_distribution import compute_column_means, compute_standard_deviations, measure_moments, noisy
from tasks.mask.precision_grid import PrecisionGrid, round_to_grid
from tasks.microdata.scaling import compute_variance, standardise_values

CELLS = st.one_of(st.just(np.nan), st.sampled_from([0.0, -0.0, 0.1]), st.floats(-1e6, 1e6))
COLUMNS = st.integers(1, 3).flatmap(lambda d: st.lists(st.tuples(*[CELLS] * d), min_size=1, max_size=12))


@given(COLUMNS)
def test_means_and_deviations_are_those_of_numpy(rows):
    positions = np.array(rows)
    kept, ordered = positions.copy(), np.sort(positions, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a column that is empty, or of one value
        means, deviations = np.nanmean(ordered, axis=0), np.nanstd(ordered, axis=0, ddof=1)
    np.testing.assert_array_equal(compute_column_means(positions), means)
    np.testing.assert_array_equal(compute_standard_deviations(positions), deviations)
    np.testing.assert_array_equal(positions, kept)


@given(st.lists(CELLS, max_size=20))
def test_variances_are_those_of_numpy_and_leave_the_values_as_they_are(cells):
    values = np.array(cells, dtype=float)
    kept, present = values.copy(), np.sort(values[~np.isnan(values)]) + 0.0
    varies = len(present) > 1 and present[0] < present[-1]
    variance = np.var(present, ddof=1) if varies else 0.0
    assert compute_variance(values) == variance
    if variance > 0:
        np.testing.assert_array_equal(standardise_values(values), (values - present.mean()) / np.sqrt(variance))
    np.testing.assert_array_equal(values, kept)


@pytest.mark.parametrize("kind", ["independent", "correlated", "variance_restoring", "multiplicative"])
def test_moments_that_a_kind_does_not_use_do_not_reach_what_it_publishes(kind):
    """What is not measured is NaN, and would make all that it touches NaN."""
    rng = np.random.default_rng(7)
    positions, normals = rng.normal(5, 2, (40, 3)), rng.standard_normal((40, 3))
    moments = measure_moments(positions, kind)
    assert np.isnan(moments.means).all() == (kind != "variance_restoring")
    assert np.isnan(moments.mean_squares).all() == (kind != "multiplicative")
    assert np.isnan(moments.correlation).all() == (kind not in ("correlated", "variance_restoring"))
    assert np.isfinite(noisy(positions, kind, 0.3, normals, moments)).all()


@given(
    st.lists(st.one_of(CELLS, st.sampled_from([np.inf, -np.inf, 2.0**53, -(2.0**60), 1e300, -0.4])), max_size=15),
    st.sampled_from([(1, 1), (1, 100), (7, 1), (60, 86_400), (1, 10**15)]),
)
def test_rounding_is_the_nearest_multiple_and_leaves_alone_what_has_none(cells, grid):
    units, parts = grid
    values = np.array(cells, dtype=float)
    kept = values.copy()
    expected = [
        value if not abs(value) * (parts / units) < 2**53 else round(value * parts / units) * units / parts + 0.0
        for value in values.tolist()
    ]
    found = round_to_grid(values, PrecisionGrid(units, parts))
    np.testing.assert_array_equal(found, np.array(expected, dtype=float))
    assert not np.signbit(found[found == 0]).any()
    np.testing.assert_array_equal(values, kept)
    assert not np.shares_memory(found, values)
