"""The law by which rank jitter moves values between ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tasks.mask.rank_law import find_block_starts
from tasks.mask.ranks import jitter_distribution as module
from tasks.mask.ranks.jitter_distribution import compute_displacement_distribution
from tasks.mask.ranks.rank_jitter import compute_longest_displacement, jitter_ranks

LEVEL = 1e-4


def of_ranks(width, n):
    return compute_displacement_distribution(width, np.arange(n + 1))


def slowly(n, width, steps=2000):
    """The number of the other sums below a record's own, integrated over its sum by the midpoint rule."""
    law = np.zeros((n, n))
    for rank in range(n):
        others = np.delete(np.arange(n), rank)
        for own in rank + width * (2 * (np.arange(steps) + 0.5) / steps - 1):
            total = np.ones(1)
            for chance in np.clip((own - others + width) / (2 * width), 0, 1):
                total = np.convolve(total, [1 - chance, chance])
            law[rank] += total / steps
    return law


def test_worked():
    # two sums, w = 1: the lower one is above if two uniform numbers of (-1, 1) are more than 1 apart: 1/2 of 1/4 of the square
    np.testing.assert_allclose(of_ranks(1.0, 2), [[7 / 8, 1 / 8], [1 / 8, 7 / 8]], atol=1e-12)
    # w = 2: more than 1 apart of (-2, 2): 3 * 3 / 2 of 16
    np.testing.assert_allclose(of_ranks(2.0, 2), [[23 / 32, 9 / 32], [9 / 32, 23 / 32]], atol=1e-12)
    # ranks 0 and 1 hold equal values: the mean over them, and either is the same
    whole = of_ranks(1.5, 3)
    joined = compute_displacement_distribution(1.5, np.array([0, 2, 3]))
    np.testing.assert_allclose(joined[0], [whole[:2, :2].sum() / 2, whole[:2, 2].mean()], atol=1e-12)
    np.testing.assert_allclose(joined[1], [whole[2, :2].sum(), whole[2, 2]], atol=1e-12)


@pytest.mark.parametrize(("n", "width"), [(2, 0.7), (4, 1.0), (5, 2.5), (7, 1.3), (8, 8.0)])
def test_slow_twin(n, width):
    np.testing.assert_allclose(of_ranks(width, n), slowly(n, width), atol=2e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 700), st.floats(1, 100))
def test_what_holds_of_every_law(seed, n, percent):
    rng = np.random.default_rng(seed)
    width = max(percent * n / 100, 0.5)
    begins = np.unique([0, n, *rng.integers(0, n, 40)])
    law, sizes = compute_displacement_distribution(width, begins), np.diff(begins)
    assert (law >= 0).all()
    np.testing.assert_allclose(law.sum(axis=1), 1)
    np.testing.assert_allclose(sizes @ law, sizes, rtol=1e-3)  # every rank is somebody's
    mirrored = compute_displacement_distribution(width, n - begins[::-1])
    np.testing.assert_allclose(mirrored, law[::-1, ::-1], atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 40), st.floats(3, 60))
def test_nothing_moves_beyond_the_bound(n, percent):
    law, far = of_ranks(percent * n / 100, n), np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    assert law[far > max(compute_longest_displacement(percent, n), 0)].max(initial=0) < 1e-9


@pytest.mark.parametrize(("n", "width"), [(500, 60.0), (300, 40.0), (300, 20.0)])
def test_sums_of_events_and_the_normal_law_agree(n, width, monkeypatch):
    begins = np.arange(0, n + 1, 5)
    exact = compute_displacement_distribution(width, begins)
    monkeypatch.setattr(module, "EXACT_RANKS", 0)
    module._compute_distribution.cache_clear()
    try:
        normal = compute_displacement_distribution(width, begins)
    finally:
        module._compute_distribution.cache_clear()
    apart = np.abs(exact - normal).sum(axis=1) / 2
    assert apart.max() < 0.025
    assert apart.mean() < (0.02 if width < 40 else 0.012)


@pytest.mark.parametrize(("n", "width", "blocks"), [(60, 9.0, 20), (1500, 200.0, 30)])
def test_law_against_simulation(n, width, blocks):
    rng, begins, draws = np.random.default_rng(20261122), np.arange(blocks + 1) * n // blocks, 400
    block = np.searchsorted(begins, np.arange(n), side="right") - 1
    picked = begins[[0, 1, blocks // 2, blocks - 1]]  # one rank a block, so that draws are independent
    moved = np.array([block[jitter_ranks(width, rng.random(n))[picked]] for _ in range(draws)])

    def p_values(stated):
        law = compute_displacement_distribution(stated, np.arange(n + 1)) if n < 100 else None
        for place, rank in enumerate(picked):
            row = law[rank] if law is not None else None
            shares = np.bincount(block, weights=row) if row is not None else _of_one(stated, rank, begins)
            seen = np.bincount(moved[:, place], minlength=blocks)
            common = shares * draws >= 5
            expected = np.append(shares[common], shares[~common].sum()) * draws
            observed = np.append(seen[common], seen[~common].sum())
            some = expected > 1e-9
            yield 0.0 if observed[~some].any() else chisquare(observed[some], expected[some]).pvalue

    assert min(p_values(width)) > LEVEL
    assert min(p_values(1.3 * width)) < LEVEL
    assert min(p_values(width / 1.3)) < LEVEL


def _of_one(width, rank, begins):
    """The law of one rank: of a block that holds it alone."""
    alone = np.unique([*begins, rank, rank + 1])
    law = compute_displacement_distribution(width, alone)[np.searchsorted(alone, rank)]
    return np.bincount(np.searchsorted(begins, alone[:-1], side="right") - 1, weights=law)


def test_blocks_hold_equal_values_together():
    column = np.array([1.0, 1, 2, 3, 3, 3, 4, 5])
    assert find_block_starts(column, 8).tolist() == [0, 2, 3, 6, 7, 8]
    assert find_block_starts(column, 3).tolist() == [0, 2, 3, 8]
    assert find_block_starts(column, 1).tolist() == [0, 8]
    assert find_block_starts(np.empty(0), 3).tolist() == [0]
    assert len(find_block_starts(np.arange(100_000.0), 512)) == 513
