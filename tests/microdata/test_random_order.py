"""Rows in random order: every order equally likely, by either way; of few rows what numpy draws."""

from collections import Counter
from itertools import permutations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tasks.microdata import random_order
from tasks.microdata.random_order import MOST_SHUFFLED, draw_permutation, order_with_random_ties

LEVEL = 1e-4


def shuffle_equals_slowly(values, uniforms):
    """The slow, obvious twin: the rows of each value, one after the other put in or changed with one before it."""
    order, drawn = [], iter(uniforms)
    for value in sorted(set(values)):
        rows = []
        for row in np.flatnonzero(values == value):
            rows.append(int(row))
            if len(rows) > 1:
                other = int(next(drawn) * len(rows))
                rows[-1], rows[other] = rows[other], rows[-1]
        order += rows
    return order


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 60), st.booleans())
def test_slow_twin(seed, n, different, whole):
    values = np.random.default_rng(seed).integers(-different, different, n).astype(np.int64 if whole else np.float64)
    uniforms = np.random.default_rng(seed + 1).random(n)
    with patch.object(random_order, "MOST_SHUFFLED", 0):
        order = order_with_random_ties(values, rng=np.random.default_rng(seed + 1))
    assert order.tolist() == shuffle_equals_slowly(values, uniforms)


@pytest.mark.parametrize("most_shuffled", [0, MOST_SHUFFLED])
@pytest.mark.parametrize("values", [(1.0, 0.0, 1.0, -0.0, 1.0, 2.0), (3, 3, 3, 3)])
def test_equal_values_stand_in_every_order_equally_often(values, most_shuffled):
    values, rng, draws = np.array(values), np.random.default_rng(20261128), 6000
    with patch.object(random_order, "MOST_SHUFFLED", most_shuffled):
        counts = Counter(tuple(order_with_random_ties(values, rng=rng).tolist()) for _ in range(draws))
    orders = [order for order in permutations(range(len(values))) if (np.diff(values[list(order)]) >= 0).all()]
    assert set(counts) <= set(orders)
    assert chisquare([counts[order] for order in orders]).pvalue > LEVEL


@pytest.mark.parametrize("bits", [1, 2, 32])
def test_many_rows_stand_in_every_order_equally_often_also_where_random_numbers_are_equal(bits):
    rng, draws = np.random.default_rng(20261129), 6000
    with patch.object(random_order, "MOST_SHUFFLED", 0), patch.object(random_order, "_RANDOM_BITS", bits):
        counts = Counter(tuple(draw_permutation(4, rng=rng).tolist()) for _ in range(draws))
    assert chisquare([counts[order] for order in permutations(range(4))]).pvalue > LEVEL


def test_few_rows_are_shuffled_as_numpy_does():
    n, values = 30_000, np.random.default_rng(6).integers(0, 9, 30_000).astype(float)
    shuffled = np.random.default_rng(5).permutation(n)
    assert (draw_permutation(n, rng=np.random.default_rng(5)) == shuffled).all()
    in_order = shuffled[np.argsort(values[shuffled], kind="stable")]
    assert (order_with_random_ties(values, rng=np.random.default_rng(5)) == in_order).all()


@pytest.mark.parametrize("most_shuffled", [0, MOST_SHUFFLED])
def test_missing_values_are_left_out_as_if_they_were_not_there(most_shuffled):
    rng = np.random.default_rng(20261129)
    for n in (0, 1, 7, 200):
        values = np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 5, n))
        present = np.flatnonzero(~np.isnan(values))
        with patch.object(random_order, "MOST_SHUFFLED", most_shuffled):
            order, alone = (order_with_random_ties(part, rng=np.random.default_rng(n)) for part in (values, values[present]))
        assert order.tolist() == present[alone].tolist()


def test_many_rows_are_all_there_once():
    order = draw_permutation(MOST_SHUFFLED + 1, rng=np.random.default_rng(6))
    assert order.dtype == np.int64
    assert (np.sort(order) == np.arange(MOST_SHUFFLED + 1)).all()
    assert abs(np.corrcoef(order, np.arange(len(order)))[0, 1]) < 0.05


def test_many_values_stand_in_order():
    values = np.random.default_rng(7).integers(0, 5_000, MOST_SHUFFLED + 1).astype(float)
    order = order_with_random_ties(values, rng=np.random.default_rng(8))
    assert (np.sort(order) == np.arange(len(values))).all()
    assert (values[order] == np.sort(values)).all()
    ties = np.flatnonzero(np.diff(values[order]) == 0)
    assert abs(np.mean(order[ties] < order[ties + 1]) - 0.5) < 0.02
