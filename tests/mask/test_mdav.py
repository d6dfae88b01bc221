"""MDAV: which records are grouped."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.partitions.mdav import partition

PLAIN = Path(__file__).parents[2] / "benchmarks" / "plain_mdav.py"


@pytest.fixture(scope="module")
def plain():
    """MDAV by scans of all records, which the benchmark measures too."""
    spec = importlib.util.spec_from_file_location("plain_mdav", PLAIN)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where what was compiled in another run looks for it
    spec.loader.exec_module(module)
    return module.partition


def sets_of(groups):
    return {frozenset(np.flatnonzero(groups == g).tolist()) for g in np.unique(groups)}


def mdav_slowly(points, k):
    """The definition, record by record, for points without ties."""
    left, groups = list(range(len(points))), []

    def distance(i, place):
        return sum((a - b) ** 2 for a, b in zip(points[i], place, strict=True))

    def take_around(i):
        group = sorted(left, key=lambda j: distance(j, points[i]))[:k]
        groups.append(frozenset(group))
        left[:] = [j for j in left if j not in group]

    while len(left) >= 2 * k:
        mean = np.mean([points[i] for i in left], axis=0)
        two = len(left) >= 3 * k
        first = max(left, key=lambda i: distance(i, mean))
        take_around(first)
        if two:
            take_around(max(left, key=lambda i: distance(i, points[first])))
    return {*groups, frozenset(left)}


def test_worked_table():
    # mean 75/7: 22 is farthest, its nearest is 21; farthest from 22 is 0, its nearest 1; three are left
    points = np.array([[0.0], [1], [5], [6], [20], [21], [22]])
    assert sets_of(partition(points, 2)) == {frozenset({5, 6}), frozenset({0, 1}), frozenset({2, 3, 4})}


def test_ties_are_broken_by_the_order_of_the_values_not_of_the_file():
    # 0 and 3 are equally far from the mean 1.5: 0 comes first
    assert sets_of(partition(np.array([[3.0], [1], [0], [2]]), 2)) == {frozenset({1, 2}), frozenset({0, 3})}
    # with k = 3 of five values, 0 takes 1 and 2; 3 and 4 alone would be too few
    assert sets_of(partition(np.array([[4.0], [3], [2], [1], [0]]), 3)) == {frozenset(range(5))}


def test_k_of_one_and_of_everybody():
    points = np.array([[0.0], [1], [3], [7]])
    assert sets_of(partition(points, 1)) == {frozenset({i}) for i in range(4)}
    assert sets_of(partition(points, 4)) == {frozenset(range(4))}


def test_more_than_there_are_is_refused():
    with pytest.raises(ValueError, match=r"not in 1\.\.3"):
        partition(np.zeros((3, 1)), 4)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 4), st.integers(1, 9))
def test_group_sizes(seed, n, p, k):
    points = np.random.default_rng(seed).integers(0, 4, (n, p)).astype(float)
    sizes = np.bincount(partition(points, min(k, n)))
    assert sizes.sum() == n
    assert sizes.min() >= min(k, n)
    assert sizes.max() <= 2 * min(k, n) - 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 50), st.integers(1, 3), st.integers(1, 6))
def test_only_the_multiset_of_records_counts(seed, n, p, k):
    rng = np.random.default_rng(seed)
    points, k = rng.integers(0, 5, (n, p)).astype(float), min(k, n)
    order = rng.permutation(n)

    def shown(points):
        groups = partition(points, k)
        return sorted(tuple(sorted(map(tuple, points[groups == g].tolist()))) for g in range(int(groups.max()) + 1))

    assert shown(points) == shown(points[order])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 3), st.integers(1, 6))
def test_slow_twin(seed, n, p, k):
    points = np.random.default_rng(seed).normal(size=(n, p))
    assert sets_of(partition(points, min(k, n))) == mdav_slowly(points.tolist(), min(k, n))


def hard_tables():
    rng, n = np.random.default_rng(7), 1500
    normal, angle = rng.normal(size=(n, 6)), np.arange(n)
    yield "normal", normal
    yield "integers", rng.integers(0, 4, (n, 6))
    yield "one point", np.ones((n, 3))
    yield "two points", np.repeat([[0, 0], [1, 1]], n // 2, axis=0)
    yield "half in one point", np.vstack([np.zeros((n // 2, 6)), normal[: n // 2]])
    yield "ascending", angle[:, None]
    yield "symmetric", np.vstack([normal[:400, :2], -normal[:400, :2]])
    yield "circle", np.column_stack([np.cos(angle), np.sin(angle)])
    yield "clusters", 10 * normal[rng.integers(0, 9, n)] + 0.1 * normal
    yield "skewed", rng.lognormal(sigma=3, size=(n, 4))
    yield "13 columns", rng.normal(size=(n, 13))
    yield "40 binary columns", rng.integers(0, 2, (n, 40))
    yield "far from 0", 1e9 + normal[:, :3]
    yield "squares underflow", 1e-160 * normal[:, :2]
    yield "no columns", normal[:, :0]


@pytest.mark.parametrize(("name", "points"), list(hard_tables()), ids=lambda value: value if isinstance(value, str) else "")
def test_same_as_scanning_all_records(plain, name, points):
    # 1,500 records make a tree of 16 leaves, which is built anew several times
    for k in (2, 3, 10, 700):
        np.testing.assert_array_equal(partition(points.astype(float), k), plain(points.astype(float), k))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 700), st.sampled_from([1, 2, 6, 13]), st.integers(1, 9), st.integers(1, 30))
def test_same_as_scanning_all_records_however_tied(plain, seed, n, p, k, values):
    points = np.random.default_rng(seed).integers(0, values, (n, p)) / 3.0
    np.testing.assert_array_equal(partition(points, min(k, n)), plain(points, min(k, n)))


@pytest.mark.parametrize(
    ("table", "columns", "figures"),
    [  # mean over the columns of 100 * SSE / SST, sdcMicro 5.8.1, microaggregation(method="mdav", aggr=k)
        ("census", slice(0, 13), {3: 5.6922, 5: 9.0884, 10: 14.1559}),
        ("eia", slice(-10, None), {3: 0.5919, 5: 1.5877, 10: 3.2699}),
        # what the literature calls EIA, and reports as 0.48 / 1.67 / 3.84
        ("eia", [0, *range(-10, 0)], {3: 0.4829, 5: 1.6667, 10: 3.8397}),
    ],
)
def test_golden_loss(reference, table, columns, figures):
    values = pd.read_csv(reference / f"{table}.csv").select_dtypes("number").iloc[:, columns].to_numpy(float)
    points = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    for k, figure in figures.items():
        groups = partition(points, k)
        means = np.column_stack([np.bincount(groups, weights=column) for column in points.T]) / np.bincount(groups)[:, None]
        assert round(100 * np.mean(((points - means[groups]) ** 2).sum(axis=0) / (points**2).sum(axis=0)), 4) == figure
