"""Rank swapping: who changes places with whom, and how far."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import chisquare
from sites import site_of

from tasks.mask.ranks.by_rank import _take_beside_gaps, rank_interval, window_ranks
from tasks.mask.ranks.exchange import exchange_ranks
from tasks.mask.ranks.rank_swapping import RankSwapping, rank_swap
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import CALENDAR_TYPES, Microdata

LEVEL = 1e-4
BLOCKS = st.sampled_from([127, 128, 129, 511, 512, 513, 1089])  # which ranks wait is told in words of 64 and blocks of 512


def masked(data, schema, *, seed=0, **parameters):
    parameters = {"attributes": schema.names, **parameters}
    spec = RankSwapping(method="rank_swapping", **parameters)
    return rank_swap(site_of(data, schema, seed=seed), spec)


def exchange_slowly(window, uniforms):
    n = len(uniforms)
    partner, waiting = list(range(n)), set(range(n))
    for rank in range(n):
        if rank not in waiting:
            continue
        waiting.discard(rank)
        candidates = [r for r in range(rank + 1, min(n, rank + window + 1)) if r in waiting]
        if candidates:
            chosen = candidates[int(uniforms[rank] * len(candidates))]
            partner[rank], partner[chosen] = chosen, rank
            waiting.discard(chosen)
    return partner


def law_of_partners(n, window, partner=(), probability=Fraction(1)):
    """The probability of every outcome, by following the definition."""
    partner = dict(partner)
    rank = next((r for r in range(n) if r not in partner), None)
    if rank is None:
        return Counter({tuple(partner[r] for r in range(n)): probability})
    candidates = [r for r in range(rank + 1, min(n, rank + window + 1)) if r not in partner]
    if not candidates:
        return law_of_partners(n, window, {**partner, rank: rank}, probability)
    law = Counter()
    for chosen in candidates:
        law += law_of_partners(n, window, {**partner, rank: chosen, chosen: rank}, probability / len(candidates))
    return law


def test_worked_exchange():
    # rank 0 may take 1, 2, 3: the third; rank 1 may take 2, 4 (3 is gone): the first; rank 4 may take 5
    assert exchange_ranks(3, np.array([0.9, 0.0, 0.5, 0.5, 0.5, 0.5])).tolist() == [3, 2, 1, 0, 5, 4]


def test_a_value_without_a_partner_stays():
    # ranks 0 and 2 are exchanged, then 1 and 3; nothing is left for 4
    assert exchange_ranks(2, np.array([0.9, 0.9, 0.0, 0.0, 0.0])).tolist() == [2, 3, 0, 1, 4]


def test_a_window_of_one_rank_exchanges_neighbours(numbers):
    data, schema = numbers({"a": [30, 10, 40, 20, 50]})
    assert masked(data, schema, window_percent=20.0).floats("a").tolist() == [40, 20, 30, 10, 50]


def test_missing_values_stay_where_they_are(numbers):
    data, schema = numbers({"a": [1.5, None, 2.5, None]})
    assert masked(data, schema, window_percent=50.0).column("a").to_pylist() == [2.5, None, 1.5, None]


@pytest.mark.parametrize(
    ("percent", "n", "ranks"),
    [(10, 1080, 108), (29, 100, 29), (1.1, 1000, 11), (0.1, 1000, 1), (0.1, 999, 0), (100, 7, 7), (12.5, 8, 1)],
)
def test_window(percent, n, ranks):
    assert window_ranks(percent, n) == ranks  # (29 / 100) * 100 is 28.999999999999996


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.one_of(st.integers(1, 70), BLOCKS), st.one_of(st.integers(1, 80), BLOCKS))
def test_slow_twin(seed, n, window):
    uniforms = np.random.default_rng(seed).random(n)
    assert exchange_ranks(window, uniforms).tolist() == exchange_slowly(window, uniforms)


def swapped(values, window, *, seed):
    """The values after a swap within so many ranks, through the whole step."""
    data, schema = table_of(values)
    return masked(data, schema, seed=seed, window_percent=percent_of(window, len(values))).floats("a")


def percent_of(window, n):
    return min(100.0, 100 * (window + 0.5) / n)


def table_of(values):
    data = Microdata.from_columns({"a": np.asarray(values, dtype=float)})
    return data, Schema((Attribute("a", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 80), st.floats(0.02, 1), st.integers(2, 20))
def test_invariants(seed, n, share, different):
    window = max(1, int(share * n))
    values = np.random.default_rng(seed).integers(0, different, n).astype(float)
    if (values == values[0]).all():
        return
    shown = swapped(values, window, seed=seed)
    assert sorted(shown) == sorted(values)
    low, high = rank_interval(values, shown, lambda n: window)
    assert (low <= shown).all()
    assert (shown <= high).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 80), st.floats(0.02, 1))
def test_pairs_are_exchanged_within_the_window(seed, n, share):
    window = max(1, int(share * n))
    ranks = np.random.default_rng(seed).permutation(n)
    shown = swapped(ranks, window, seed=seed).astype(int)
    source = np.argsort(ranks)[shown]
    assert (source[source] == np.arange(n)).all()
    assert 0 < np.abs(shown - ranks).max() <= window


def test_equal_values_are_ordered_at_random():
    who = {int(np.flatnonzero(swapped([0, 0, 0, 1], 1, seed=seed) == 1)[0]) for seed in range(40)}
    assert who == {0, 1, 2}


@pytest.mark.parametrize(("n", "window"), [(5, 3), (6, 2)])
def test_law_of_the_partners(n, window):
    law = law_of_partners(n, window)
    draws, rng = 6000, np.random.default_rng(20261121)

    def p_value(distort):
        outcomes = (tuple(exchange_ranks(window, distort(rng.random(n))).tolist()) for _ in range(draws))
        counts = Counter(outcomes)
        assert counts.keys() <= law.keys()
        return chisquare([counts[o] for o in law], [float(law[o]) * draws for o in law]).pvalue

    assert p_value(lambda u: u) > LEVEL
    # the lower half of the candidates drawn 30 percent more often than it should be is noticed
    assert p_value(lambda u: np.where(u < 0.65, u * 0.5 / 0.65, 0.5 + (u - 0.65) * 0.5 / 0.35)) < LEVEL


def test_many_values_with_gaps_move_within_the_window():
    """More than 30,000, of which only equal ones are shuffled, by the bounds of the definition."""
    n, percent, rng = 40_000, 5.0, np.random.default_rng(9)
    values = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 500, n))
    data, schema = table_of(values)
    shown = masked(data, schema, window_percent=percent).floats("a")
    assert (np.isnan(values) == np.isnan(shown)).all()
    before, after = values[~np.isnan(values)], shown[~np.isnan(values)]
    ranked = np.sort(before)
    assert (ranked == np.sort(after)).all()
    reach = int(percent * len(ranked) // 100)
    low = ranked[np.maximum(np.searchsorted(ranked, before) - reach, 0)]
    high = ranked[np.minimum(np.searchsorted(ranked, before, "right") - 1 + reach, len(ranked) - 1)]
    assert ((low <= after) & (after <= high)).all()
    assert np.mean(before != after) > 0.9


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string(), *CALENDAR_TYPES], ids=str)
@pytest.mark.parametrize("gaps", [0.0, 0.3, 1.0])
def test_values_are_taken_beside_gaps_as_arrow_takes_them(kind, gaps):
    n, rng = 1_003, np.random.default_rng(20261129)
    missing = rng.random(n) < gaps
    whole = pa.array(rng.integers(0, 86_400, n), pa.int32() if kind == pa.date32() else pa.int64())
    column = pa.array(whole.cast(kind).to_pylist(), kind, mask=missing)
    source, present = np.arange(n, dtype=np.int32), np.flatnonzero(~missing)
    source[present] = rng.permutation(present)
    taken = _take_beside_gaps(column, pa.array(source))
    taken.validate(full=True)
    assert taken.equals(column.take(pa.array(source)))
    assert taken.null_count == column.null_count


def test_interval_of_torra_2016():
    ranked = np.arange(1.0, 11)
    low, high = rank_interval(np.array([6.0, 7, 10, 2, np.nan]), ranked, lambda n: window_ranks(20.0, n))
    assert low[:4].tolist() == [4, 5, 8, 1]
    assert high[:4].tolist() == [8, 9, 10, 4]
    assert np.isnan(low[4])
    assert np.isnan(high[4])


def test_ties_widen_the_interval():
    low, high = rank_interval(np.array([2.0]), np.array([1.0, 2, 2, 2, 3, 4]), lambda n: 1)
    assert (low[0], high[0]) == (1, 3)


@pytest.mark.parametrize(
    ("columns", "percent", "code"),
    [
        ({"a": [1, 2, 3]}, 33.0, "window-under-one-rank"),
        ({"a": [5, 5, 5]}, 50.0, "constant-attribute"),
        ({"a": [1.0, np.inf, 2.0]}, 50.0, "infinite-value"),
        ({"a": ["x", "y"]}, 50.0, "no-order"),
    ],
)
def test_refusals(numbers, columns, percent, code):
    data, schema = numbers(columns)
    with pytest.raises(InputError) as refused:
        masked(data, schema, window_percent=percent)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "parameters", [{"window_percent": 0.0}, {"window_percent": 101.0}, {"window_percent": 5.0, "attributes": ("a", "a")}]
)
def test_parameters_that_make_no_sense(parameters):
    with pytest.raises(ValidationError):
        RankSwapping(method="rank_swapping", **parameters)
