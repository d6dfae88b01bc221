"""Profiles: aggregates that need no names, attributes that point one way, places that two files have in common."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.decomposition import PCA

from tasks.attack.profiles.orientation import orientation
from tasks.attack.profiles.owa_aggregates import compute_owa_aggregates, compute_quantifier_weights
from tasks.attack.profiles.profile import compute_shares, profiles
from tasks.microdata.errors import NotApplicable

POWERS = (0.25, 0.5, 1.0, 2.0, 4.0)
NAN = float("nan")
SEEDS = st.integers(0, 2**32 - 1)


def file_of(seed, n=40, d=4, gaps=0.0):
    """Attributes that follow a common factor, some of them turned, with ties and gaps."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(n, 1)) * rng.choice([3.0, 3.0, -1.0], d) + rng.normal(size=(n, d)), 1)
    values[rng.random((n, d)) < gaps] = NAN
    return values


def shares(values):
    return np.column_stack([compute_shares(column) for column in values.T])


def test_worked_weights():
    assert compute_quantifier_weights(4, 1.0).tolist() == [0.25] * 4
    assert compute_quantifier_weights(2, 2.0).tolist() == [0.25, 0.75]
    assert compute_quantifier_weights(4, 0.5).tolist() == pytest.approx(
        [0.5, 0.5**0.5 - 0.5, 0.75**0.5 - 0.5**0.5, 1 - 0.75**0.5]
    )


def test_worked_aggregates():
    # minimum, median, maximum, mean, and 1/4 of the larger value with 3/4 of the smaller
    scores = np.array([[0.2, 0.6], [0.6, 0.2], [NAN, 0.3], [NAN, NAN]])
    expected = [[0.2, 0.4, 0.6, 0.4, 0.3], [0.2, 0.4, 0.6, 0.4, 0.3], [0.3] * 5, [NAN] * 5]
    np.testing.assert_allclose(compute_owa_aggregates(scores, (1.0, 2.0)), expected)


@settings(deadline=None)
@given(SEEDS, st.integers(1, 6))
def test_aggregates_against_a_slow_twin(seed, d):
    scores = file_of(seed, n=12, d=d, gaps=0.3)
    for row, found in zip(scores, compute_owa_aggregates(scores, POWERS), strict=True):
        values = sorted((x for x in row if x == x), reverse=True)
        for power, one in zip(POWERS, found[3:], strict=True):
            k = len(values)
            by_hand = sum(x * ((i / k) ** power - ((i - 1) / k) ** power) for i, x in enumerate(values, 1)) if k else NAN
            assert one == pytest.approx(by_hand, abs=1e-9, nan_ok=True)


@settings(deadline=None)
@given(SEEDS, st.integers(1, 6))
def test_aggregates_lie_in_their_order_between_minimum_and_maximum(seed, d):
    # the larger the power, the more the small values weigh
    found = compute_owa_aggregates(file_of(seed, d=d), POWERS)
    between = np.column_stack([found[:, 2], found[:, 3:], found[:, 0]])
    assert (np.diff(between, axis=1) <= 1e-9).all()


def test_worked_orientation():
    # ranks (1, 2, 3) and (3, 1, 2): correlation -1/2, loadings that add up to 0; second less first is (2, -1, -1), skewed
    # to the right, so the second points up and the first down
    values = np.array([[1.0, 30.0], [2.0, 10.0], [3.0, 20.0]])
    assert orientation(shares(values)).tolist() == [-1.0, 1.0]
    assert orientation(shares(values[:, ::-1])).tolist() == [1.0, -1.0]


def test_most_attributes_point_up():
    factor = np.random.default_rng(1).normal(size=(200, 1))
    values = factor * [1.0, 1.0, -1.0] + 0.1 * np.random.default_rng(2).normal(size=(200, 3))
    assert orientation(shares(values)).tolist() == [1.0, 1.0, -1.0]
    assert orientation(shares(-values)).tolist() == [1.0, 1.0, -1.0]  # nothing tells that both ends were exchanged


def test_no_factor_and_no_end():
    crossed = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])  # uncorrelated: no first component
    assert orientation(shares(crossed)).tolist() == [1.0, 1.0]
    assert orientation(shares(np.array([[5.0, 1.0], [5.0, 2.0]]))).tolist() == [1.0, 1.0]  # a constant is not turned
    with pytest.raises(NotApplicable, match="which end"):
        orientation(shares(np.array([[1.0, 2.0], [2.0, 1.0]])))


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(3, 6))
def test_orientation_against_the_components_of_another_library(seed, d):
    scaled = shares(file_of(seed, d=d))
    scaled = (scaled - scaled.mean(axis=0)) / scaled.std(axis=0)
    loadings = PCA(n_components=1).fit(scaled).components_[0]
    if abs(loadings.sum()) > 1e-3:
        assert orientation(scaled).tolist() == np.where(loadings * np.sign(loadings.sum()) < 0, -1.0, 1.0).tolist()


def test_worked_profile():
    # first attribute turned: (1/3, 0, -1/3), second: (1/3, -1/3, 0) from the middle; the first record is highest in minimum,
    # mean and maximum (place 3 of 3), the two others are equal in all (places 1 and 2)
    values = np.array([[1.0, 30.0], [2.0, 10.0], [3.0, 20.0]])
    np.testing.assert_allclose(profiles(values, (1.0,)), [[5 / 6] * 4, [1 / 3] * 4, [1 / 3] * 4])
    np.testing.assert_allclose(profiles(np.array([[9.0], [4.0], [5.0]]), (1.0,)), [[5 / 6] * 4, [1 / 6] * 4, [1 / 2] * 4])
    assert profiles(np.array([[1.0], [NAN], [2.0]]), ())[1].tolist() == [0.5] * 3


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.sampled_from(["ranks", "standardised"]), st.sampled_from([0.0, 0.2]))
def test_profiles_know_neither_the_order_of_records_nor_of_attributes(seed, scores, gaps):
    values, rng = file_of(seed, gaps=gaps), np.random.default_rng(seed)
    straight = profiles(values, POWERS, scores=scores)
    rows, columns = rng.permutation(len(values)), rng.permutation(values.shape[1])
    np.testing.assert_array_equal(profiles(values[rows][:, columns], POWERS, scores=scores), straight[rows])


@settings(deadline=None, max_examples=40)
@given(SEEDS)
def test_profiles_of_ranks_know_no_units(seed):
    values = file_of(seed, gaps=0.1)
    np.testing.assert_array_equal(profiles(np.exp(values / 3) * [1.0, 5.0, 1e3, 0.1], POWERS), profiles(values, POWERS))


def test_profiles_of_two_files_follow_a_common_factor():
    rng = np.random.default_rng(3)
    factor = rng.normal(size=(400, 1))
    noise = [0.2 * rng.normal(size=(400, d)) for d in (3, 5)]
    one, other = factor + noise[0], factor * [1.0, 1.0, -1.0, 1.0, 1.0] + noise[1]
    assert spearmanr(profiles(one, (1.0,))[:, 3], profiles(other, (1.0,))[:, 3]).statistic > 0.95
    recorded = profiles(other, (1.0,), oriented=False)
    assert spearmanr(profiles(one, (1.0,))[:, 0], recorded[:, 0]).statistic < 0.5  # the turned one is always the minimum
