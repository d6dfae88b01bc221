"""Which column is which, when names tell nothing."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from tasks.attack.profiles.attribute_matching import NOBODY, best_pairing, match_attributes, total_cost
from tasks.attack.profiles.likeness import UNLIKE, AttributeColumn, dependence, measure_distribution_distance, rank_by_share

NAN = float("nan")
SEEDS = st.integers(0, 2**32 - 1)


def numbers(*values):
    return AttributeColumn(np.array(values, dtype=np.float64))


def words(*values):
    return AttributeColumn(np.where([one is None for one in values], NAN, 0.0), pa.array(values, pa.string()))


def columns(values):
    return tuple(AttributeColumn(np.ascontiguousarray(column)) for column in values.T)


def test_worked_distances():
    # the same, moved and in another unit: medians 0 and 10, mean distances from them 2/3 and 20/3
    assert measure_distribution_distance(numbers(-1, 0, 1), numbers(0, 20, 10), same_units=False) == pytest.approx(0, abs=1e-12)
    # in the same unit: s = (2/3 + 10) / 2, and arsinh of (-1, 0, 1) / s and (0, 10, 20) / s, matched in their order
    s = 16 / 3
    expected = np.mean([np.arcsinh(0) - np.arcsinh(-1 / s), np.arcsinh(10 / s), np.arcsinh(20 / s) - np.arcsinh(1 / s)])
    assert measure_distribution_distance(numbers(-1, 0, 1), numbers(0, 20, 10), same_units=True) == pytest.approx(expected)
    # a third is missing
    assert measure_distribution_distance(numbers(-1, 0, 1), numbers(-1, NAN, 1), same_units=True) > 1 / 3
    assert measure_distribution_distance(numbers(1, 2), words("a", "b"), same_units=True) == UNLIKE
    assert measure_distribution_distance(numbers(5, 5), numbers(7, 7), same_units=False) == 0
    assert measure_distribution_distance(numbers(NAN, NAN), numbers(1, 2), same_units=False) == 1


def test_worked_distances_of_categories():
    one, other = words("a", "a", "b", "c"), words("b", "b", "b", "a")
    assert measure_distribution_distance(one, other, same_units=True) == pytest.approx(
        (0.25 + 0.5 + 0.25) / 2
    )  # shares a, b, c: 1/2 1/4 1/4, 1/4 3/4 0
    assert measure_distribution_distance(one, other, same_units=False) == pytest.approx(0.25)  # 1/2 1/4 1/4 against 3/4 1/4 0
    assert measure_distribution_distance(one, words("z", "x", "z", "y"), same_units=False) == 0
    assert rank_by_share(pa.array(["a", "b", "a", None, "c"])).tolist()[:3] == [0, 1, 0]
    assert rank_by_share(pa.array(["a", "b", "a", None, "c"])).tolist()[4] == 1  # b and c are equally frequent


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.booleans())
def test_distances_are_symmetric_and_know_no_order(seed, same_units):
    rng = np.random.default_rng(seed)
    x, y = rng.lognormal(0, 1, 30), rng.normal(0, 3, 20)
    straight = measure_distribution_distance(AttributeColumn(x), AttributeColumn(y), same_units=same_units)
    assert straight == pytest.approx(
        measure_distribution_distance(AttributeColumn(y), AttributeColumn(x), same_units=same_units)
    )
    assert straight == pytest.approx(
        measure_distribution_distance(AttributeColumn(rng.permutation(x)), AttributeColumn(y), same_units=same_units)
    )
    assert measure_distribution_distance(AttributeColumn(x), AttributeColumn(rng.permutation(x)), same_units=same_units) == 0
    assert measure_distribution_distance(AttributeColumn(7 * x + 3), AttributeColumn(x), same_units=False) == pytest.approx(
        0, abs=1e-9
    )


def test_dependence_against_another_library_and_of_words():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(50, 3)) + rng.normal(size=(50, 1))
    found = dependence(columns(values))
    np.testing.assert_allclose(found + np.eye(3), spearmanr(values).statistic, atol=1e-12)
    names = words(*np.where(values[:, 0] > 0, "p", "q"))
    mixed = dependence(
        (names, AttributeColumn(values[:, 0]), AttributeColumn(np.ones(50)), words(*np.where(values[:, 0] > 0, "x", "y")))
    )
    assert mixed[0, 3] == pytest.approx(1.0)
    assert mixed[0, 1] > 0.8
    assert mixed[1, 2] == mixed[0, 2] == 0


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(1, 5), st.integers(0, 1))
def test_the_best_pairing_against_all_of_them(seed, d, more):
    rng = np.random.default_rng(seed)
    n = d + more
    costs = rng.random((d, n)) ** 2
    own, shown = (np.round((one + one.T) / 2, 3) for one in (rng.normal(size=(d, d)), rng.normal(size=(n, n))))
    found = best_pairing(costs, own, shown)
    assert len(set(found.tolist())) == d
    totals = [total_cost(np.array(one), costs, own, shown) for one in permutations(range(n), d)]
    reached = total_cost(found, costs, own, shown)
    assert min(totals) - 1e-9 <= reached
    # a local search need not find the least; it is never beaten by an exchange, and is among the best tenth
    assert np.mean(np.array(totals) < reached - 1e-6) <= 0.1


def test_more_attributes_on_either_side_and_none_of_the_kind():
    values = np.random.default_rng(2).lognormal(0, [0.2, 1.0, 2.0], (200, 3))
    three, two = columns(values), columns(values[:, [2, 0]])
    assert match_attributes(two, three, same_units=False).tolist() == [2, 0]
    assert match_attributes(three, two, same_units=False).tolist() == [1, NOBODY, 0]
    assert match_attributes((words("a", "b"),), (numbers(1, 2),), same_units=False).tolist() == [NOBODY]
    assert match_attributes(three[:1], three[:1], same_units=False).tolist() == [0]


def test_where_distributions_tell_nothing_dependence_does():
    # three columns of one distribution: the first two hang together, the third is alone, a fourth tells those two apart
    rng = np.random.default_rng(4)
    base = rng.permutation(300).astype(float)
    close = np.argsort(np.argsort(base + 40 * rng.normal(size=300))).astype(float)
    values = np.column_stack([base, close, rng.permutation(300), np.exp(base / 50)])
    order = np.array([2, 3, 0, 1])
    assert match_attributes(columns(values), columns(values[:, order]), same_units=False).tolist() == np.argsort(order).tolist()


@pytest.fixture(scope="module")
def census_values(reference):
    return pd.read_csv(reference / "census.csv").to_numpy(np.float64)


@pytest.mark.parametrize("same_units", [True, False])
def test_census_without_names(census_values, same_units):
    order = np.random.default_rng(5).permutation(13)
    shown = columns(census_values[:, order])
    assert order[match_attributes(columns(census_values), shown, same_units=same_units)].tolist() == list(range(13))
    assert order[match_attributes(columns(census_values[:, ::2]), shown, same_units=same_units)].tolist() == list(
        range(0, 13, 2)
    )


def test_census_in_other_units_and_with_noise(census_values):
    rng = np.random.default_rng(6)
    noisy = census_values + 0.1 * census_values.std(axis=0) * rng.normal(size=census_values.shape)
    order = rng.permutation(13)
    found = order[match_attributes(columns(0.3 * census_values + 5), columns(noisy[:, order]), same_units=False)]
    assert (found == np.arange(13)).sum() >= 11
