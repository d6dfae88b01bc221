"""MDAV: which records are grouped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.partitions.mdav import partition


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
