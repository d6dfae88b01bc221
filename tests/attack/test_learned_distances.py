"""The families of learned distances: their features, their cones, and what is counted."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.learned.exact_links import recount
from tasks.attack.learned.features import (
    LearnedDistanceKind,
    arithmetic_mean,
    cone,
    create_fuzzy_measure,
    create_matrix,
    diagonal,
    features,
    flatten_matrix,
    negative_direction,
    normalise_parameters,
    shapley,
    width,
)

MONOTONE = [kind for kind in LearnedDistanceKind if kind is not LearnedDistanceKind.BILINEAR]
vectors = st.lists(st.floats(-10, 10).map(lambda x: round(x, 3)), min_size=3, max_size=3).map(np.array)


def value(kind, parameters, difference):
    return float(features(kind, np.array([difference]))[0] @ parameters)


def choquet(squares, mu):
    """The definition: sum of the increments of the ascending values, each times the measure of the set that is left."""
    order = np.argsort(squares)
    total, before = 0.0, 0.0
    for at, k in enumerate(order):
        left = sum(1 << int(m) for m in order[at:])
        total += (squares[k] - before) * mu[left]
        before = squares[k]
    return total


def random_measure(rng, d):
    """A monotone measure: each set is worth the best of its parts and something more."""
    mu = np.zeros(2**d)
    for s in range(1, 2**d):
        mu[s] = max(mu[s & ~(1 << k)] for k in range(d) if s >> k & 1) + rng.exponential()
    return mu / mu[-1]


class TestByHand:
    difference = (3.0, -1.0, 2.0)  # squares 9, 1, 4

    def test_weighted_mean(self):
        assert value(LearnedDistanceKind.WEIGHTED_MEAN, np.array([0.5, 0.25, 0.25]), self.difference) == 4.5 + 0.25 + 1

    def test_owa_weighs_places_from_the_smallest(self):
        assert value(LearnedDistanceKind.OWA, np.array([1.0, 0.0, 0.0]), self.difference) == 1
        assert value(LearnedDistanceKind.OWA, np.array([0.0, 0.0, 1.0]), self.difference) == 9

    def test_choquet_is_the_sum_of_increments(self):
        mu = np.array([0.0, 0.2, 0.3, 0.5, 0.1, 0.6, 0.4, 1.0])  # by bits: {0} .2, {1} .3, {0,1} .5, {2} .1, {0,2} .6
        assert value(LearnedDistanceKind.CHOQUET, mu[1:], self.difference) == pytest.approx(1 * 1.0 + 3 * 0.6 + 5 * 0.2)

    def test_bilinear_sees_the_signs(self):
        form = np.array([[1.0, 0.5, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 1.0]])
        assert value(LearnedDistanceKind.BILINEAR, flatten_matrix(form), self.difference) == 9 + 2 + 4 + 2 * 0.5 * -3

    def test_who_is_linked(self):
        found = np.array([[0.0], [1.0], [1.0], [5.0]])
        links = recount(
            LearnedDistanceKind.WEIGHTED_MEAN, np.ones(1), np.array([[0.1], [1.0], [0.5], [9.0]]), found, np.arange(4)
        )
        assert links.nearer.tolist() == [0, 0, 0, 0]
        assert links.equal.tolist() == [0, 1, 2, 0]
        assert links.credit.tolist() == [1, 0.5, pytest.approx(1 / 3), 1]


class TestEveryKind:
    @pytest.mark.parametrize("kind", LearnedDistanceKind)
    @given(difference=vectors)
    def test_equal_weights_are_the_arithmetic_mean(self, kind, difference):
        assert value(kind, arithmetic_mean(kind, 3), difference) == pytest.approx(np.mean(difference**2))

    @pytest.mark.parametrize("kind", [kind for kind in LearnedDistanceKind if kind is not LearnedDistanceKind.OWA])
    @given(difference=vectors)
    def test_the_weighted_mean_is_a_case_of_it(self, kind, difference):
        weights = np.array([0.2, 0.5, 0.3])
        assert value(kind, diagonal(kind, weights), difference) == pytest.approx(weights @ difference**2)

    @pytest.mark.parametrize("kind", LearnedDistanceKind)
    def test_the_cone_holds_the_arithmetic_mean(self, kind):
        for metric in (False, True):
            bounds = cone(kind, 4, metric=metric)
            assert bounds.shape[1] == width(kind, 4)
            assert (bounds @ arithmetic_mean(kind, 4) >= -1e-12).all()

    @pytest.mark.parametrize("kind", MONOTONE)
    @given(difference=vectors, at=st.integers(0, 2), more=st.floats(0, 5), seed=st.integers(0, 99))
    def test_allowed_parameters_make_a_distance_that_grows_with_each_difference(self, kind, difference, at, more, seed):
        parameters = allowed_parameters(kind, np.random.default_rng(seed))
        grown = difference.copy()
        grown[at] += more * (1 if grown[at] >= 0 else -1)
        assert value(kind, parameters, grown) >= value(kind, parameters, difference) - 1e-9

    @pytest.mark.parametrize("kind", LearnedDistanceKind)
    def test_missing_attributes_of_a_general_measure(self, kind):
        if kind is LearnedDistanceKind.CHOQUET:
            with pytest.raises(ValueError, match="choquet_2additive"):
                width(kind, 11)
        else:
            assert width(kind, 11) in (11, 66)


def allowed_parameters(kind, rng):
    if kind is LearnedDistanceKind.CHOQUET:
        return random_measure(rng, 3)[1:]
    if kind is not LearnedDistanceKind.CHOQUET_2ADDITIVE:
        return rng.exponential(size=3)
    parameters = np.concatenate([rng.exponential(size=3), rng.normal(size=3)])
    shortfall = (cone(kind, 3) @ parameters).min()
    return parameters + np.array([1, 1, 1, 0, 0, 0]) * max(-shortfall, 0)


class TestChoquet:
    @given(difference=vectors, seed=st.integers(0, 99))
    def test_it_is_the_integral_of_the_definition(self, difference, seed):
        mu = random_measure(np.random.default_rng(seed), 3)
        assert (cone(LearnedDistanceKind.CHOQUET, 3) @ mu[1:] >= 0).all()
        assert value(LearnedDistanceKind.CHOQUET, mu[1:], difference) == pytest.approx(choquet(difference**2, mu))

    @given(difference=vectors, seed=st.integers(0, 99))
    def test_a_2additive_measure_is_a_general_one(self, difference, seed):
        parameters = allowed_parameters(LearnedDistanceKind.CHOQUET_2ADDITIVE, np.random.default_rng(seed))
        general = create_fuzzy_measure(parameters, 3)
        assert (cone(LearnedDistanceKind.CHOQUET, 3) @ general >= -1e-9).all()
        assert value(LearnedDistanceKind.CHOQUET, general, difference) == pytest.approx(
            value(LearnedDistanceKind.CHOQUET_2ADDITIVE, parameters, difference), abs=1e-9
        )

    @settings(max_examples=30)
    @given(seed=st.integers(0, 999))
    def test_the_root_of_a_submodular_integral_of_squares_is_a_metric(self, seed):
        rng = np.random.default_rng(seed)
        weights = rng.exponential(size=3)
        mu = np.array([np.sqrt(sum(weights[k] for k in range(3) if s >> k & 1)) for s in range(1, 8)])
        assert (cone(LearnedDistanceKind.CHOQUET, 3, metric=True) @ mu >= -1e-12).all()
        a, b, c = rng.normal(size=(3, 3))
        ab, bc, ac = (np.sqrt(value(LearnedDistanceKind.CHOQUET, mu, x - y)) for x, y in ((a, b), (b, c), (a, c)))
        assert ac <= ab + bc + 1e-9

    def test_a_supermodular_measure_is_outside_the_metric_cone(self):
        mu = np.array([(s.bit_count() / 3) ** 2 for s in range(1, 8)])
        assert (cone(LearnedDistanceKind.CHOQUET, 3) @ mu >= 0).all()
        assert (cone(LearnedDistanceKind.CHOQUET, 3, metric=True) @ mu).min() < 0

    def test_shapley_is_the_mean_of_marginals_over_orders(self):
        mu = random_measure(np.random.default_rng(5), 4)
        marginals = np.zeros(4)
        for order in permutations(range(4)):
            before = 0
            for k in order:
                marginals[k] += mu[before | 1 << k] - mu[before]
                before |= 1 << k
        assert shapley(LearnedDistanceKind.CHOQUET, mu[1:], 4) == pytest.approx(marginals / 24)

    def test_shapley_of_a_2additive_measure_is_that_of_the_general_one(self):
        parameters = allowed_parameters(LearnedDistanceKind.CHOQUET_2ADDITIVE, np.random.default_rng(3))
        expected = shapley(LearnedDistanceKind.CHOQUET, create_fuzzy_measure(parameters, 3), 3)
        assert shapley(LearnedDistanceKind.CHOQUET_2ADDITIVE, parameters, 3) == pytest.approx(expected)


class TestForms:
    @given(seed=st.integers(0, 999))
    def test_matrix_and_parameters_are_one(self, seed):
        form = np.random.default_rng(seed).normal(size=(4, 4))
        form += form.T
        assert np.array_equal(create_matrix(flatten_matrix(form)), form)

    def test_the_missing_bound_is_broken_by_the_form_and_by_no_definite_one(self):
        form = np.array([[1.0, 3.0], [3.0, 1.0]])
        bound = negative_direction(flatten_matrix(form))
        assert bound @ flatten_matrix(form) == pytest.approx(-2)
        assert bound @ flatten_matrix(np.array([[2.0, -1.0], [-1.0, 1.0]])) > 0
        assert negative_direction(flatten_matrix(np.eye(3))) is None

    @pytest.mark.parametrize("kind", LearnedDistanceKind)
    def test_normalising_changes_no_link(self, kind):
        rng = np.random.default_rng(2)
        x, y = rng.normal(size=(2, 30, 3))
        parameters = 7 * arithmetic_mean(kind, 3)
        before, after = (recount(kind, p, x, y, np.arange(30)) for p in (parameters, normalise_parameters(kind, parameters)))
        assert np.array_equal(before.nearer, after.nearer)
        assert normalise_parameters(kind, parameters) == pytest.approx(arithmetic_mean(kind, 3))
