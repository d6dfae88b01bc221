"""Values that follow from the group means of several releases: by hand, by a dense twin, on Census (3 s)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.together import reconstruction
from tasks.attack.together.reconstruction import solve_group_means

SEED = bytes(range(32))


def solve(groups, values, *, step=0.0):
    """groups: for each release the group of each record, -1: not in it. step: of the grid to which means are rounded."""
    unknown, group, means, begin = [], [], [], 0
    for one in map(np.asarray, groups):
        here = np.flatnonzero(one >= 0)
        unknown.append(here)
        group.append(one[here] + begin)
        sizes = np.bincount(one[here])
        mean = np.bincount(one[here], weights=np.asarray(values)[here]) / sizes
        means.append(np.rint(mean / step) * step if step else mean)
        begin += len(sizes)
    means = np.concatenate(means)[:, None]
    found = solve_group_means(
        np.concatenate(unknown), np.concatenate(group), len(values), means, np.full(means.shape, step / 2)
    )
    return found.determined, found.estimate[:, 0], found.half_width[:, 0]


def decompose(groups):
    """Slow twin: is each unit vector in the span of the indicators of all groups?"""
    rows = np.array([one == g for one in map(np.asarray, groups) for g in range(max(one) + 1)], dtype=float)
    basis = np.linalg.svd(rows)[2][: np.linalg.matrix_rank(rows)]
    return (basis**2).sum(axis=0) > 1 - 1e-9


def test_four_records_by_hand():
    # {1, 2}, {3, 4}, then {1, 2, 3}, {4}: 4 stands alone, 3 is 9 less the mean of 4; of 1 and 2 the sum is known
    determined, estimate, half_width = solve([[0, 0, 1, 1], [0, 0, 0, 1]], [1, 3, 7, 2])
    assert determined.tolist() == [False, False, True, True]
    assert estimate[2:] == pytest.approx([7, 2])
    assert np.isinf(half_width).tolist() == [True, True, False, False]
    assert estimate[:2] == pytest.approx([2, 2], abs=0.5)


def test_one_release_determines_nothing_but_a_group_of_one():
    assert solve([[0, 0, 1, 1]], [1, 3, 7, 2])[0].tolist() == [False] * 4
    assert solve([[0, 0, 0, 1]], [1, 3, 7, 2])[0].tolist() == [False, False, False, True]


def test_a_newcomer_is_the_difference_of_two_groups():
    # record 3 joins the group of 1 and 2; record 6 joins that of 4 and 5, and 5 has left
    determined, estimate, _ = solve([[0, 0, -1, 1, 1, -1], [0, 0, 0, 1, -1, 1]], [1, 5, 8, 2, 2, 3])
    assert determined.tolist() == [False, False, True, False, False, False]
    assert estimate[2] == pytest.approx(8)


def test_three_releases_tell_together_what_no_two_tell():
    # the pairs of a triangle: (12, 13, 23) gives each of them by half of two sums less the third
    found = [[0, 0, -1], [0, -1, 0], [-1, 0, 0]]
    determined, estimate, half_width = solve(found, [4, 6, 1], step=1)
    assert determined.all()
    assert half_width == pytest.approx([1.5] * 3)  # three means of two, each rounded by up to a half
    assert (np.abs(estimate - [4, 6, 1]) <= half_width).all()
    assert not any(solve(found[:2], [4, 6, 1])[0])


@st.composite
def releases(draw):
    n = draw(st.integers(2, 14))
    return [draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n)) for _ in range(draw(st.integers(1, 4)))]


def number_groups(groups):
    """Groups without gaps in their numbers; releases without rows left out."""
    found = []
    for one in map(np.asarray, groups):
        if (one >= 0).any():
            inverse = np.unique(one[one >= 0], return_inverse=True)[1]
            full = np.full(len(one), -1)
            full[one >= 0] = inverse
            found.append(full)
    return found


@pytest.mark.parametrize("dense_cost", [reconstruction.DENSE_COST, 0])
@settings(max_examples=25)
@given(groups=releases(), seed=st.integers(0, 99))
def test_what_is_determined_is_that_of_the_twin_and_right_within_the_rounding(dense_cost, groups, seed):
    groups = number_groups(groups)
    if not groups:
        return
    values = np.random.default_rng(seed).integers(0, 1000, len(groups[0])).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reconstruction, "DENSE_COST", dense_cost)
        determined, estimate, half_width = solve(groups, values, step=1)
    assert determined.tolist() == decompose(groups).tolist()
    away = np.abs(estimate - values)[determined]
    if dense_cost:
        assert (away <= half_width[determined]).all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reconstruction, "DENSE_COST", dense_cost)
        exact = solve(groups, values)[1]
    assert exact[determined] == pytest.approx(values[determined], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("n_releases", [2, 3, 4])
def test_a_large_component_is_solved_by_steps_as_by_singular_values(n_releases, monkeypatch):
    # groups of 3, 4, 5 and 6 along an axis, each release a little turned: neighbours stay together and trade places
    rng = np.random.default_rng(n_releases)
    points = rng.normal(size=(1200, 3))
    groups = [np.argsort(np.argsort(points @ [1, 0.004 * k, 0.002])) // k for k in (3, 4, 5, 6)[:n_releases]]
    values = np.rint(1000 * points[:, 0])
    densely = solve(groups, values, step=1)
    monkeypatch.setattr(reconstruction, "DENSE_COST", 0)
    by_steps = solve(groups, values, step=1)
    assert by_steps[0].tolist() == densely[0].tolist()
    assert 0 < densely[0].mean() < 1
    assert by_steps[1] == pytest.approx(densely[1], abs=1e-3)
    assert np.isnan(by_steps[2][by_steps[0]]).any()  # no bound there
