"""Groups along one axis, and the best cut of an order of records with several attributes."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.partitions import univariate
from tasks.mask.partitions.cut import cut_along
from tasks.mask.partitions.projection import partition

AXES = ("first_principal_component", "sum_of_z_scores")
COMPONENT, SUM = AXES
ROUNDING = 1 + Fraction(1, 10**13)


@cache
def all_cuts(n, k):
    """The sizes of all cuts of n records into runs of at least k."""
    return [()] if n == 0 else [(*before, size) for size in range(k, n + 1) for before in all_cuts(n - size, k)]


def squared(points):
    """Of whole numbers: the sum of squares less that of the means."""
    return sum(sum(x * x for x in column) - Fraction(sum(column) ** 2, len(points)) for column in zip(*points, strict=True))


def losses_of_cuts(points, cuts):
    of_run = cache(lambda start, end: squared(points[start:end]))
    for sizes in cuts:
        ends = np.cumsum(sizes).tolist()
        yield sum(map(of_run, [0, *ends[:-1]], ends))


def sse_percent(table, groups):
    means = [np.bincount(groups, weights=column)[groups] / np.bincount(groups)[groups] for column in table.T]
    return 100 * np.square(table - np.column_stack(means)).sum() / np.square(table - table.mean(axis=0)).sum()


def shown(points, groups):
    return [sorted(map(tuple, points[groups == g].tolist())) for g in range(int(groups.max()) + 1)]


def standardised(reference, name, first):
    table = pd.read_csv(reference / f"{name}.csv").iloc[:, first:].to_numpy(dtype=float)
    return (table - table.mean(axis=0)) / table.std(axis=0, ddof=1)


# the cut


def test_worked_cut():
    # an order that is not ascending in either attribute: the jump lies after the third record
    points = np.array([[0.0, 1], [1, 0], [0, 0], [9, 5], [8, 6], [9, 6]])
    assert cut_along(points, 2).tolist() == [0, 0, 0, 1, 1, 1]


@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 3).flatmap(
        lambda p: st.lists(
            st.lists(st.one_of(st.integers(-3, 3), st.sampled_from([10**9, 10**9 + 1, 10**12])), min_size=p, max_size=p),
            min_size=1,
            max_size=12,
        )
    ),
    st.integers(1, 4),
)
def test_no_cut_of_the_order_is_better(points, k):
    k = min(k, len(points))
    sizes = np.bincount(cut_along(np.array(points, dtype=float), k)).tolist()
    assert k <= min(sizes) <= max(sizes) <= 2 * k - 1
    [ours] = losses_of_cuts(points, [sizes])
    assert ours <= ROUNDING * min(losses_of_cuts(points, all_cuts(len(points), k)))


def test_the_cut_refuses_what_it_cannot_cut():
    with pytest.raises(ValueError, match=r"not in 1\.\.3"):
        cut_along(np.zeros((3, 2)), 4)
    with pytest.raises(ValueError, match="not finite"):
        cut_along(np.array([[0.0, 1], [np.nan, 2]]), 1)


def test_the_cut_leaves_its_input_alone():
    points = np.random.default_rng(1).normal(size=(20, 3))
    before = points.copy()
    points.flags.writeable = False
    cut_along(points, 3)
    assert np.array_equal(points, before)


# the axes


def test_worked_component():
    # the first attribute varies most; along it 0 1 | 10 11, though the second would pair otherwise
    points = np.array([[10.0, 0], [0, 1], [11, 1], [1, 0]])
    assert partition(points, 2, axis=COMPONENT).tolist() == [1, 0, 1, 0]


def test_worked_sum():
    # z-scores weigh both alike, so the thousands of the second count as much as the ones of the first: sums ascend 1 0 3 2
    points = np.array([[0.0, 1000], [0, 0], [3, 3000], [3, 2000]])
    assert partition(points, 2, axis=SUM).tolist() == [0, 0, 1, 1]
    assert partition(points, 1, axis=SUM).tolist() == [1, 0, 3, 2]


def test_the_first_large_loading_is_positive():
    # the component is (1, -1) / sqrt 2 or its negative, with loadings equal in size: the first counts
    points = np.array([[3.0, -3], [0, 0], [1, -1], [7, -7]])
    assert partition(points, 1, axis=COMPONENT).tolist() == [2, 0, 1, 3]
    assert partition(-points, 1, axis=COMPONENT).tolist() == [1, 3, 2, 0]
    # (0.1, 1): the small first loading does not decide, and the second is made positive
    points = np.array([[-0.1, 1.0], [0, 0], [-0.2, 2]])
    assert partition(points, 1, axis=COMPONENT).tolist() == [1, 0, 2]


def test_components_of_equal_variance_give_the_first_attribute():
    points = np.array([[0.0, 1], [1, 0], [0, -1], [-1, 0]])
    assert partition(points, 1, axis=COMPONENT).tolist() == [2, 3, 1, 0]
    constant_first = np.column_stack([np.full(4, 5.0), points])
    assert partition(constant_first, 1, axis=COMPONENT).tolist() == [2, 3, 1, 0]


@pytest.mark.parametrize("axis", AXES)
def test_ties_on_the_axis_follow_the_records_order(axis):
    # (0, 1) and (1, 0) have one score: (0, 1) comes first
    points = np.array([[4.0, 4], [1, 0], [0, 1], [-4, -4], [-1, -1]])
    groups = partition(points, 1, axis=axis)
    assert groups[2] + 1 == groups[1]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("p", [0, 1, 3])
def test_equal_records_are_cut_from_the_end(axis, p):
    assert partition(np.full((5, p), 0.1), 2, axis=axis).tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("axis", AXES)
def test_degenerate_tables(axis):
    points = np.random.default_rng(5).normal(size=(5, 2))
    assert partition(points, 3, axis=axis).tolist() == [0] * 5
    assert partition(points[:1], 1, axis=axis).tolist() == [0]
    with pytest.raises(ValueError, match=r"not in 1\.\.5"):
        partition(points, 6, axis=axis)
    with pytest.raises(ValueError, match="not finite"):
        partition(np.array([[np.inf, 1.0], [0, 0]]), 1, axis=axis)


def test_constant_attributes_add_nothing():
    points = np.random.default_rng(6).normal(size=(30, 2))
    constant = np.full((30, 1), 0.1)
    for axis in AXES:
        assert np.array_equal(partition(np.hstack([points, constant]), 3, axis=axis), partition(points, 3, axis=axis))


@pytest.mark.parametrize("axis", AXES)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), k=st.integers(1, 6))
def test_one_attribute_is_the_univariate_optimum(axis, seed, n, k):
    values, k = np.random.default_rng(seed).integers(0, 30, n) * 0.1, min(k, n)
    assert np.array_equal(partition(values[:, None], k, axis=axis), univariate.partition(values, k))


@pytest.mark.parametrize("axis", AXES)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), p=st.integers(1, 4), k=st.integers(1, 6), whole=st.booleans())
def test_only_the_multiset_of_records_counts(axis, seed, n, p, k, whole):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (n, p)) * 0.1 if whole else rng.normal(size=(n, p))
    k, order = min(k, n), rng.permutation(n)
    groups = partition(points, k, axis=axis)
    assert shown(points[order], partition(points[order], k, axis=axis)) == shown(points, groups)
    sizes = np.bincount(groups)
    assert k <= sizes.min() <= sizes.max() <= 2 * k - 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(5, 40), st.integers(2, 4))
def test_the_order_is_that_of_the_slow_twin(seed, n, p):
    points = np.random.default_rng(seed).normal(size=(n, p)) * np.arange(1, p + 1)
    centred = points - points.mean(axis=0)
    component = np.linalg.svd(centred)[2][0]
    large = component[np.square(component) >= np.square(component).max() / 2]
    scores = {COMPONENT: centred @ component * np.sign(large[0]), SUM: (centred / centred.std(axis=0, ddof=1)).sum(axis=1)}
    for axis in AXES:
        assert np.array_equal(partition(points, 1, axis=axis), np.argsort(np.argsort(scores[axis])))


@pytest.mark.parametrize("factor", [2.0**-900, 2.0**900])
@pytest.mark.parametrize("axis", AXES)
def test_extreme_magnitudes(axis, factor):
    points = np.random.default_rng(7).normal(size=(50, 3))
    assert np.array_equal(partition(points * factor, 3, axis=axis), partition(points, 3, axis=axis))


def test_the_sum_does_not_depend_on_the_scales_of_single_attributes():
    points = np.random.default_rng(9).normal(size=(50, 2))
    wild = points * np.array([2.0**-40, 2.0**500]) + np.array([0, 0])
    assert np.array_equal(partition(wild, 1, axis=SUM), partition(points, 1, axis=SUM))


@pytest.mark.parametrize(
    ("name", "first", "k", "component", "summed"),
    [
        # computed here with numpy's eigenvectors of the covariance matrix, then the best cut; 100 * SSE / SST
        ("census", 0, 3, 24.4036, 24.1925),
        ("census", 0, 10, 34.8627, 35.0842),
        ("eia", 5, 3, 12.0040, 11.7949),
        ("eia", 5, 10, 18.6219, 18.0608),
    ],
)
def test_loss_on_the_reference_tables(reference, name, first, k, component, summed):
    table = standardised(reference, name, first)
    for axis, expected in ((COMPONENT, component), (SUM, summed)):
        groups = partition(table, k, axis=axis)
        assert sse_percent(table, groups) == pytest.approx(expected, abs=5e-5)
        rank = np.argsort(np.argsort(groups, kind="stable"))
        assert sse_percent(table, groups) < sse_percent(table, np.minimum(rank // k, len(table) // k - 1))
