"""Searches in a tree from which records go: exact, ties by number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.partitions.removable_tree import FARTHEST, LEAF, NEAREST, build_tree, remove_records, search_nearest


def squares_from(points, place):
    squares = np.zeros(len(points))
    for column, value in zip(points.T, place, strict=True):
        squares += (column - value) ** 2
    return squares


def searched_slowly(points, left, place, k, direction):
    keys = direction * squares_from(points, place)
    found = sorted(left, key=lambda i: (keys[i], i))[:k]
    lacking = k - len(found)
    return [*found, *[len(points)] * lacking], [*keys[found], *[np.inf] * lacking]


def test_worked_table():
    points = np.array([[0.0, 0], [3, 4], [0, 1], [0, -1], [5, 0]])
    tree, origin = build_tree(points, np.arange(5)), np.zeros(2)
    found, keys = search_nearest(tree, origin, 3, NEAREST)
    assert (found.tolist(), keys.tolist()) == ([0, 2, 3], [0, 1, 1])
    found, keys = search_nearest(tree, origin, 2, FARTHEST)
    assert (found.tolist(), keys.tolist()) == ([1, 4], [-25, -25])
    remove_records(tree, np.array([1, 2]))
    assert search_nearest(tree, origin, 1, FARTHEST)[0].tolist() == [4]
    found, keys = search_nearest(tree, origin, 4, NEAREST)
    assert (found.tolist(), keys.tolist()) == ([0, 3, 4, 5], [0, 1, 25, np.inf])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6 * LEAF), st.integers(1, 4), st.booleans(), st.integers(1, 9))
def test_slow_twin(seed, n, p, tied, k):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (n, p)).astype(float) if tied else rng.normal(size=(n, p))
    start = np.sort(rng.choice(n, rng.integers(1, n + 1), replace=False))
    tree, left = build_tree(points, start), set(start.tolist())
    for _ in range(4):
        for place in (points[rng.integers(n)], points.mean(axis=0), 3 * rng.normal(size=p)):
            for direction in (NEAREST, FARTHEST):
                found, keys = search_nearest(tree, place, k, direction)
                assert (found.tolist(), keys.tolist()) == searched_slowly(points, left, place, k, direction)
        gone = rng.choice(sorted(left), len(left) // 3, replace=False)
        remove_records(tree, gone)
        left -= set(gone.tolist())


@pytest.mark.parametrize("direction", [NEAREST, FARTHEST])
def test_an_empty_tree_finds_nobody(direction):
    points = np.zeros((300, 2))
    tree = build_tree(points, np.arange(300))
    remove_records(tree, np.arange(300))
    found, keys = search_nearest(tree, np.zeros(2), 2, direction)
    assert (found.tolist(), keys.tolist()) == ([300, 300], [np.inf, np.inf])
