"""The distances of record linkage: worked by hand, special cases of one another, and what they are indifferent to."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.methods import attack
from tasks.attack.neighbours.distances import (
    DistanceKind,
    append_plain_attributes,
    choquet,
    create_mean_of_present,
    create_weighted_mean,
    euclidean,
    expand_moebius_transform,
    is_monotone,
    mahalanobis,
    owa,
    polynomial_kernel,
    quadratic,
    two_additive,
)
from tasks.attack.neighbours.tree import FEWEST_RECORDS_OF_TREE
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import Alignment

SEEDS = st.integers(0, 2**32 - 1)
SPEC = TypeAdapter(DistanceLinkage)
DELTA = np.array([[2.0, -1.0, 0.0]])  # squared 4, 1, 0


def monotone_measure(rng, d):
    """A random fuzzy measure: the largest of random numbers over the subsets."""
    drawn = rng.random(1 << d)
    sets = np.arange(1 << d)
    measure = np.array([drawn[(sets & s) == sets].max() for s in sets])
    measure[0] = 0.0
    return measure / measure[-1]


def additive_measure(weights):
    sets = np.arange(1 << len(weights))
    return sum(((sets >> j) & 1) * w for j, w in enumerate(weights / weights.sum()))


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (euclidean(3), 5),
        (create_weighted_mean(np.array([0.5, 2, 7])), 2 + 2),
        (owa(np.array([2.0, 1, 0]), 3), 2 * 4 + 1),
        (owa(np.array([1.0]), 3), 5),  # one step of the quantifier: all alike
        (owa(np.array([1.0, 0]), 3), 3 * (4 * 2 / 3 + 1 / 3)),  # Q rises to 1 at one half: 2/3, 1/3, 0
        (quadratic(np.array([[1.0, 0.5, 0], [0.5, 2, 0], [0, 0, 1]])), 4 + 2 - 2),
        (mahalanobis(np.diag([4.0, 1, 9])), 1 + 1),
        (create_mean_of_present(3), 5 / 3),
        # c ascending: 0 (third), 1 (second), 4 (first): (1 - 0) mu{1,2} + (4 - 1) mu{1} = 0.5 + 3 * 0.2, times three
        (choquet(np.array([0, 0.2, 0.3, 0.5, 0.4, 0.6, 0.7, 1]), 3), 3 * (0.5 + 0.6)),
        # 0.5 * 4 + 0.4 * 1 + 0.3 * 0 - 0.2 min(4, 1), times three
        (two_additive(np.array([0.5, 0.4, 0.3]), np.array([[0, -0.2, 0], [-0.2, 0, 0], [0, 0, 0.0]])), 3 * (2 + 0.4 - 0.2)),
        (append_plain_attributes(two_additive(np.array([1.0]), np.zeros((1, 1))), 2), 5),
        (append_plain_attributes(quadratic(np.array([[3.0]])), 2), 13),
        (append_plain_attributes(create_weighted_mean(np.array([3.0])), 2), 13),
    ],
)
def test_worked_distances(form, expected):
    assert form.compute_distances(DELTA) == pytest.approx([expected])


def test_what_is_missing():
    gap = np.array([[np.nan, 1.0, 0.0]])  # counts 2, as two random records would
    assert euclidean(3).compute_distances(gap) == pytest.approx([3])
    assert owa(np.array([3.0, 0, 0]), 3).compute_distances(gap) == pytest.approx([6])
    assert quadratic(np.array([[2.0, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])).compute_distances(gap) == pytest.approx([4 + 1])
    assert create_mean_of_present(3).compute_distances(gap) == pytest.approx([0.5])
    assert create_mean_of_present(3).compute_distances(np.full((1, 3), np.nan)) == pytest.approx([1])
    assert choquet(additive_measure(np.ones(3)), 3).compute_distances(gap) == pytest.approx([3])


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 5))
def test_one_is_a_case_of_the_other(seed, d):
    rng = np.random.default_rng(seed)
    delta, weights = rng.normal(size=(20, d)), rng.random(d) + 0.01
    weights *= d / weights.sum()
    plain, weighted = euclidean(d).compute_distances(delta), create_weighted_mean(weights).compute_distances(delta)
    np.testing.assert_allclose(plain, (delta**2).sum(axis=1))
    np.testing.assert_allclose(owa(np.full(d, 0.3), d).compute_distances(delta), plain)
    np.testing.assert_allclose(mahalanobis(np.eye(d)).compute_distances(delta), plain)
    np.testing.assert_allclose(quadratic(np.diag(weights)).compute_distances(delta), weighted)
    np.testing.assert_allclose(choquet(additive_measure(weights), d).compute_distances(delta), weighted)
    np.testing.assert_allclose(two_additive(weights / d, np.zeros((d, d))).compute_distances(delta), weighted)
    np.testing.assert_allclose(d * create_mean_of_present(d).compute_distances(delta), plain)
    sizes = np.array([int(s).bit_count() for s in range(1 << d)])
    by_size = np.sort(weights)[::-1]  # a measure of the size alone: the largest difference meets the singletons
    symmetric = choquet(np.append(0, np.cumsum(by_size))[sizes] / by_size.sum(), d)
    np.testing.assert_allclose(symmetric.compute_distances(delta), owa(by_size, d).compute_distances(delta))


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 5))
def test_slow_twins(seed, d):
    rng = np.random.default_rng(seed)
    delta = rng.normal(size=d).round(1)
    squares, measure = delta**2, monotone_measure(rng, d)
    levels = np.unique(np.append(0, squares))
    integral = sum(
        (high - low) * measure[sum(1 << j for j in range(d) if squares[j] >= high)] for low, high in pairwise(levels)
    )
    assert choquet(measure, d).compute_distances(delta[np.newaxis])[0] == pytest.approx(d * integral)
    root = rng.normal(size=(d, d))
    assert quadratic(root @ root.T).compute_distances(delta[np.newaxis])[0] == pytest.approx(((delta @ root) ** 2).sum())
    weights = rng.random(d)
    assert owa(weights, d).compute_distances(delta[np.newaxis])[0] == pytest.approx(
        d / weights.sum() * (np.sort(squares)[::-1] @ weights)
    )


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(2, 5))
def test_a_two_additive_measure_written_out(seed, d):
    rng = np.random.default_rng(seed)
    pairs = rng.normal(size=(d, d)) * 0.1
    pairs = np.triu(pairs, 1) + np.triu(pairs, 1).T
    singles = -np.minimum(pairs, 0).sum(axis=1) + rng.random(d)
    total = singles.sum() + pairs.sum() / 2
    singles, pairs = singles / total, pairs / total
    measure = expand_moebius_transform(singles, pairs)
    assert is_monotone(measure, d)
    delta = rng.normal(size=(10, d))
    np.testing.assert_allclose(
        two_additive(singles, pairs).compute_distances(delta), choquet(measure, d).compute_distances(delta)
    )


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 5))
def test_mahalanobis_forgets_linear_coordinates(seed, d):
    rng = np.random.default_rng(seed)
    data, change = rng.normal(size=(50, d)), rng.normal(size=(d, d)) + 3 * np.eye(d)
    delta = rng.normal(size=(10, d))
    before = mahalanobis(np.atleast_2d(np.cov(data, rowvar=False))).compute_distances(delta)
    after = mahalanobis(np.atleast_2d(np.cov(data @ change, rowvar=False))).compute_distances(delta @ change)
    np.testing.assert_allclose(before, after, rtol=1e-6)


def test_mahalanobis_leaves_out_what_follows_from_the_rest():
    x = np.random.default_rng(1).normal(size=(40, 2))
    dependent = np.column_stack([x, x.sum(axis=1)])
    form = mahalanobis(np.cov(dependent, rowvar=False))
    delta = x[:10] - x[10:20]
    three = np.column_stack([delta, delta.sum(axis=1)])
    np.testing.assert_allclose(
        form.compute_distances(three), mahalanobis(np.cov(x, rowvar=False)).compute_distances(delta), rtol=1e-6
    )
    constant = mahalanobis(np.array([[2.0, 0], [0, 0]]))
    assert constant.compute_distances(np.array([[2.0, 5.0]])) == pytest.approx([2])


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 4))
def test_order_and_sign(seed, d):
    rng = np.random.default_rng(seed)
    delta, order = rng.normal(size=(10, d)), rng.permutation(d)
    weights = rng.random(d) + 0.1
    assert owa(weights, d).compute_distances(delta).tolist() == pytest.approx(
        owa(weights, d).compute_distances(-delta[:, order]).tolist()
    )
    measure = monotone_measure(rng, d)
    moved = np.array([measure[sum(1 << int(order[j]) for j in range(d) if s >> j & 1)] for s in range(1 << d)])
    assert choquet(measure, d).compute_distances(delta).tolist() == pytest.approx(
        choquet(moved, d).compute_distances(delta[:, order]).tolist()
    )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: owa(np.array([1.0, -0.1]), 2),
        lambda: owa(np.zeros(2), 2),
        lambda: quadratic(np.array([[1.0, 2], [0, 1]])),
        lambda: choquet(np.array([0, 0.5, 0.6, 0.9]), 2),
        lambda: choquet(np.array([0.1, 0.5, 0.6, 1]), 2),
        lambda: choquet(np.array([0, 0.7, 0.2, 0.1, 0, 0.8, 0.8, 1]), 3),
        lambda: choquet(np.array([0, 1.0]), 2),
        lambda: two_additive(np.array([0.5, 0.4]), np.zeros((2, 2))),
        lambda: two_additive(np.array([1.3, 0.1]), np.array([[0, -0.4], [-0.4, 0]])),
        lambda: two_additive(np.array([0.5, 0.3]), np.array([[0, 0.4], [0, 0]])),
        lambda: append_plain_attributes(owa(np.ones(2), 2), 1),
        lambda: polynomial_kernel(2, 2).compute_distances(np.zeros((1, 2))),
    ],
)
def test_what_is_no_distance_of_the_family(wrong):
    with pytest.raises(ValueError, match=r"measure|weights|symmetric|about all|differences|singles"):
        wrong()


def test_which_forms_are_euclidean():
    indefinite = quadratic(np.array([[1.0, 2], [2, 1]]))
    assert not indefinite.is_euclidean
    assert not owa(np.ones(2), 2).is_euclidean
    for form in (
        create_weighted_mean(np.array([2.0, 0])),
        quadratic(np.array([[2.0, 1], [1, 1]])),
        mahalanobis(np.ones((2, 2))),
    ):
        delta = np.random.default_rng(2).normal(size=(5, 2))
        assert form.is_euclidean
        np.testing.assert_allclose(((delta @ form.square_root) ** 2).sum(axis=1), form.compute_distances(delta))
    assert indefinite.compute_distances(np.array([[1.0, -1.0]])) == pytest.approx([-2])


def test_every_kind_has_its_number():
    # the compiled function goes by these numbers
    assert [int(kind) for kind in DistanceKind] == list(range(7))


@pytest.mark.parametrize("direction", ["to_release", "to_original"])
@pytest.mark.parametrize("n", [5, FEWEST_RECORDS_OF_TREE + 10])
def test_a_distance_of_unknown_attributes_alone_tells_nobody_apart(table, credits, direction, n):
    # the intruder knows x, and the distance is about y alone
    data, schema = table({"x": np.arange(n), "y": np.arange(n)})
    weights = {"kind": "weighted_mean", "weights": {"x": 0.0, "y": 1.0}}
    spec = SPEC.validate_python({"method": "distance_linkage", "distance": weights, "direction": direction}, strict=False)
    np.testing.assert_array_equal(credits(link_by_distance(data, data, schema, spec, ("x",))), 1 / n)


@pytest.mark.parametrize("n", [5, FEWEST_RECORDS_OF_TREE + 10])
def test_differences_have_no_covariance_where_nothing_was_masked(table, n):
    data, schema = table({"x": np.arange(n)})
    fitted = {"kind": "mahalanobis", "covariance": "differences"}
    spec = SPEC.validate_python({"method": "distance_linkage", "distance": fitted}, strict=False)
    everybody = np.arange(n)
    given = {"alignment": Alignment.complete_in(everybody), "targets": everybody}
    found = attack(data, data, schema, (), spec, Intruder("declared", ("x",)), **given)
    assert (found.status, found.outcomes) == ("not_applicable", None)
    assert "all records differ alike from their own rows" in found.reason
