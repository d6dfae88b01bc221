"""What a transition matrix says: its epsilon, and the frequencies that it lets an analyst recover."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.categories.pram import Pram, transition_matrix
from tasks.mask.categories.randomised_response import compute_epsilon, estimate_marginals
from tasks.microdata.errors import NotApplicable

WARNER = np.array([[0.875, 0.125], [0.375, 0.625]])  # p = 0.5, p' = 0.75, Yes first


def by(c, **rule):
    return transition_matrix(Pram(method="pram", **rule), tuple(map(str, range(c))), where="masking[0]")


# docs/SCIENCE.md section 6: randomised response among c categories
@pytest.mark.parametrize(
    ("c", "epsilon", "stays", "other"),
    [(2, 1.0, 0.7310586, 0.2689414), (2, 10.0, 0.9999546, 4.539787e-5), (7, 10.0, 0.9997277, 4.538757e-5)],
)
def test_randomised_response_as_published(c, epsilon, stays, other):
    matrix = by(c, epsilon=epsilon)
    assert matrix.diagonal() == pytest.approx(np.full(c, stays), rel=1e-7)
    assert matrix[~np.eye(c, dtype=bool)] == pytest.approx(np.full(c * (c - 1), other), rel=1e-6)
    assert compute_epsilon(matrix) == pytest.approx(epsilon, rel=1e-12)


def test_retention_spreads_the_rest_over_the_others():
    matrix = by(7, retention=0.8)
    assert (matrix[0, 0], matrix[0, 1]) == (0.8, pytest.approx(0.2 / 6))
    assert compute_epsilon(matrix) == pytest.approx(3.178, abs=5e-4)  # ln 24
    assert compute_epsilon(by(2, retention=0.2)) == pytest.approx(math.log(4))  # below 1/c: the truth is the less likely


@pytest.mark.parametrize(
    ("matrix", "epsilon"),
    [
        (WARNER, math.log(5)),
        ([[1.0, 0.0], [0.5, 0.5]], np.inf),  # the coin: a No is certain
        ([[0.5, 0.5], [0.5, 0.5]], 0.0),
        ([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.5, 0.5, 0.0]], math.log(2)),  # nothing is ever released as the third
        (by(4, retention=0.0), np.inf),
    ],
)
def test_epsilon_at_the_boundaries(matrix, epsilon):
    assert compute_epsilon(np.array(matrix)) == pytest.approx(epsilon, rel=1e-12)
    assert compute_epsilon(np.array(matrix), with_missing=True) == np.inf


entries = st.integers(1, 50)
matrices = st.integers(2, 5).flatmap(lambda c: st.lists(st.lists(entries, min_size=c, max_size=c), min_size=c, max_size=c)).map(
    lambda rows: np.array(rows, dtype=float) / np.sum(rows, axis=1, keepdims=True)
)  # fmt: skip


@given(matrices, st.randoms())
def test_epsilon_is_what_its_definition_says(matrix, random):
    c = len(matrix)
    slowly = max(abs(math.log(matrix[i, k] / matrix[j, k])) for i, j, k in product(range(c), repeat=3))
    assert compute_epsilon(matrix) == pytest.approx(slowly, abs=1e-12)
    order = list(range(c))
    random.shuffle(order)
    assert compute_epsilon(matrix[order]) == pytest.approx(compute_epsilon(matrix), abs=1e-12)
    assert compute_epsilon(matrix[:, order]) == pytest.approx(compute_epsilon(matrix), abs=1e-12)


@given(matrices)
def test_a_second_randomisation_does_not_raise_epsilon(matrix):
    assert compute_epsilon(matrix @ matrix) <= compute_epsilon(matrix) + 1e-12


@given(st.integers(2, 30), st.floats(0, 20))
def test_epsilon_of_randomised_response_is_the_one_asked_for(c, epsilon):
    matrix = by(c, epsilon=epsilon)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(c), rel=1e-12)
    assert compute_epsilon(matrix) == pytest.approx(epsilon, abs=1e-9)


def test_the_worked_marginals():
    # docs/SCIENCE.md section 6: o = (.425, .575) gives back (0.1, 0.9); P^-1 o, which the slides print, does not
    found = estimate_marginals(WARNER, np.array([425.0, 575.0]))
    assert found.shares == pytest.approx([0.1, 0.9], abs=1e-12)
    assert np.linalg.inv(WARNER) @ [0.425, 0.575] != pytest.approx([0.1, 0.9], abs=0.01)
    assert found.condition_number == pytest.approx(np.linalg.cond(WARNER))


def test_forty_five_no_of_a_hundred():
    coin = np.array([[1.0, 0.0], [0.5, 0.5]])
    assert estimate_marginals(coin, np.array([55.0, 45.0])).shares == pytest.approx([0.1, 0.9], abs=1e-12)


def test_negative_shares_are_not_clipped():
    shares = estimate_marginals(WARNER, np.array([30.0, 70.0])).shares
    assert shares == pytest.approx([-0.15, 1.15])
    assert shares.sum() == pytest.approx(1)


def test_the_variance_against_every_possible_draw():
    # four records, one of them Yes: all 16 releases with their probabilities
    true = [0, 1, 1, 1]
    draws = list(product((0, 1), repeat=4))
    chances = [math.prod(WARNER[i, j] for i, j in zip(true, draw, strict=True)) for draw in draws]
    found = [estimate_marginals(WARNER, np.bincount(draw, minlength=2).astype(float)).shares[0] for draw in draws]
    mean = np.average(found, weights=chances)
    assert mean == pytest.approx(0.25)  # unbiased
    variance = np.average((np.array(found) - mean) ** 2, weights=chances)
    # the counts that are expected, put in for those observed, give the variance itself
    expected = 4 * WARNER.T @ [0.25, 0.75]
    assert estimate_marginals(WARNER, expected).variance == pytest.approx([variance, variance])


@settings(max_examples=50)
@given(st.integers(2, 8), st.floats(0.01, 0.99), st.data())
def test_expected_frequencies_are_undone(c, retention, data):
    counts = np.array(data.draw(st.lists(st.integers(0, 100), min_size=c, max_size=c)), dtype=float) + 1
    matrix = by(c, retention=retention)
    if np.linalg.cond(matrix) > 1e6:
        return
    found = estimate_marginals(matrix, matrix.T @ counts)
    assert found.shares == pytest.approx(counts / counts.sum(), abs=1e-8)


def test_a_uniform_matrix_tells_nothing():
    with pytest.raises(NotApplicable, match="cannot be inverted"):
        estimate_marginals(by(3, epsilon=0.0), np.array([1.0, 2.0, 3.0]))
