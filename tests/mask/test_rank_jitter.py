"""Rank jitter: how far values move, by which law, and what follows for an intruder."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import chisquare
from sites import site_of

from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.methods import infer_belief, mask
from tasks.mask.ranks.by_rank import rank_interval
from tasks.mask.ranks.rank_jitter import (
    RankJitter,
    compute_longest_displacement,
    describe_rank_jitter,
    half_width,
    jitter,
    jitter_ranks,
)
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale

LEVEL = 1e-4
SEED = bytes(range(32))


def step(**parameters):
    return RankJitter(method="rank_jitter", **parameters)


def masked(data, schema, *, seed=0, **parameters):
    return jitter(site_of(data, schema, seed=seed), step(**{"attributes": schema.names, **parameters}))


def jittered_slowly(width, uniforms):
    sums = [rank + width * (2 * u - 1) for rank, u in enumerate(uniforms)]
    return [sum((other, j) < (own, i) for j, other in enumerate(sums)) for i, own in enumerate(sums)]


def law_of_permutations(n, halves):
    """Of jittered_ranks with w = halves / 2, exactly: sums fall into cells half a rank wide; those in one have any order."""
    law, cells = Counter(), 2 * halves
    for fall in product(range(cells), repeat=n):
        cell = [2 * rank + place for rank, place in enumerate(fall)]
        orders = [[]]
        share = Fraction(1, cells**n)
        for where in sorted(set(cell)):
            together = [rank for rank in range(n) if cell[rank] == where]
            share /= factorial(len(together))
            orders = [before + list(order) for before in orders for order in permutations(together)]
        for order in orders:
            law[tuple(order.index(rank) for rank in range(n))] += share
    return law


def law_of_displacement(n, rank, width, steps=400):
    """Of one rank: the number of others below it, a sum of independent events given its own sum; integrated numerically."""
    others = np.delete(np.arange(n), rank)
    law = np.zeros(n)
    for own in rank + width * (2 * (np.arange(steps) + 0.5) / steps - 1):
        below, total = np.clip((own - others + width) / (2 * width), 0, 1), np.ones(1)
        for chance in below:
            total = np.convolve(total, [1 - chance, chance])
        law += total / steps
    return law


def test_worked():
    # w = 2: 0 + 1.6, 1 - 1.2, 2 + 0, 3 - 2, 4 + 1.2: the order is 1, 3, 0, 2, 4
    assert jitter_ranks(2.0, np.array([0.9, 0.2, 0.5, 0.0, 0.8])).tolist() == [2, 0, 3, 1, 4]


def test_equal_sums_keep_their_order():
    # w = 1: 0 + 0, 1 - 1, 2 + 0: the first two are equal
    assert jitter_ranks(1.0, np.array([0.5, 0.0, 0.5])).tolist() == [0, 1, 2]


def test_values_follow_the_ranks(numbers):
    # one permutation of ranks, whatever the values and their rows
    data, schema = numbers({"a": [30.5, 10.25, None, 40.0, 20.0]})
    shown = masked(data, schema, window_percent=50.0, seed=5)
    values, received = data.floats("a"), shown.floats("a")
    assert np.isnan(received[2])
    rng = np.random.default_rng([5])
    rng.permutation(4)
    ranks = jitter_ranks(2.0, rng.random(4))
    assert received[[1, 4, 0, 3]].tolist() == np.sort(values[~np.isnan(values)])[ranks].tolist()


@pytest.mark.parametrize(
    ("percent", "n", "ranks"),
    [(10.0, 10, 1), (12.5, 10, 2), (15.0, 10, 2), (15.1, 10, 3), (10, 1080, 215), (1.1, 1000, 21), (100, 3, 5)],
)
def test_the_bound_in_whole_ranks(percent, n, ranks):
    assert compute_longest_displacement(percent, n) == ranks


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.floats(1, 80))
def test_slow_twin(seed, n, width):
    uniforms = np.random.default_rng(seed).random(n)
    assert jitter_ranks(width, uniforms).tolist() == jittered_slowly(width, uniforms)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 80), st.floats(0, 100, exclude_min=True), st.booleans())
def test_no_value_moves_beyond_the_bound(seed, n, percent, extreme):
    rng = np.random.default_rng(seed)
    uniforms = rng.choice([0.0, np.nextafter(1, 0)], n) if extreme else rng.random(n)
    ranks = jitter_ranks(half_width(percent, n), uniforms)
    assert sorted(ranks.tolist()) == list(range(n))
    assert np.abs(ranks - np.arange(n)).max() <= max(compute_longest_displacement(percent, n), 0)


@pytest.mark.parametrize("percent", [5.0, 5.5, 7.5, 9.9])
@pytest.mark.parametrize("up", [True, False])
def test_the_bound_is_sharp(percent, up):
    n, last = 40, np.nextafter(1, 0)
    bound = compute_longest_displacement(percent, n)
    uniforms = np.full(n, 0.5)
    uniforms[20] = last if up else 0.0
    uniforms[21 : 21 + bound] = 0.0 if up else 0.5
    uniforms[20 - bound : 20] = 0.5 if up else last
    ranks = jitter_ranks(half_width(percent, n), uniforms)
    assert ranks[20] == 20 + (bound if up else -bound)


def test_it_does_not_exchange_pairs():
    rng = np.random.default_rng(1)
    ranks = jitter_ranks(10.0, rng.random(500))
    assert np.mean(ranks[ranks] == np.arange(500)) < 0.2


@pytest.mark.parametrize(("n", "halves"), [(3, 4), (4, 3)])
def test_law_of_the_permutation(n, halves):
    law, rng, draws = law_of_permutations(n, halves), np.random.default_rng(20261121), 8000
    assert sum(law.values()) == 1

    def seen(width):
        return Counter(tuple(jitter_ranks(width, rng.random(n)).tolist()) for _ in range(draws))

    def p_value(outcomes):
        common = [one for one in law if law[one] * draws >= 5]
        seen_rare, rare = draws - sum(outcomes[one] for one in common), 1 - sum(law[one] for one in common)
        if not rare:
            return (
                0.0 if seen_rare else chisquare([outcomes[o] for o in common], [float(law[o]) * draws for o in common]).pvalue
            )
        expected = [*(float(law[one]) * draws for one in common), float(rare) * draws]
        return chisquare([*(outcomes[one] for one in common), seen_rare], expected).pvalue

    assert p_value(seen(halves / 2)) > LEVEL
    assert p_value(seen(1.3 * halves / 2)) < LEVEL
    assert p_value(seen(halves / 2 / 1.3)) < LEVEL


@pytest.mark.parametrize("rank", [25, 2])
def test_law_of_the_displacement(rank):
    n, width, draws = 51, 6.0, 4000
    rng = np.random.default_rng(17)
    moved = np.bincount([jitter_ranks(width, rng.random(n))[rank] for _ in range(draws)], minlength=n)

    def p_value(law):
        common = law_of_displacement(n, rank, width) * draws >= 5
        observed = np.append(moved[common], moved[~common].sum())
        expected = np.append(law[common], law[~common].sum()) * draws
        if observed[expected == 0].any():
            return 0.0
        return chisquare(observed, expected).pvalue

    assert law_of_displacement(n, rank, width).sum() == pytest.approx(1)
    assert p_value(law_of_displacement(n, rank, width)) > LEVEL
    assert p_value(law_of_displacement(n, rank, 1.3 * width)) < LEVEL
    assert p_value(law_of_displacement(n, rank, 0.7 * width)) < LEVEL


def test_equal_values_are_ordered_at_random(numbers):
    data, schema = numbers({"a": [0.0, 0, 0, 1]})
    tables = (masked(data, schema, window_percent=25.0, seed=seed).floats("a") for seed in range(60))
    assert {int(np.flatnonzero(shown == 1)[0]) for shown in tables} == {0, 1, 2, 3}


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(4, 60))
def test_permuting_the_rows_permutes_the_release(numbers, seed, n):
    rng = np.random.default_rng(seed)
    values, order = rng.permutation(n), rng.permutation(n)
    straight, shuffled = (
        masked(*numbers({"a": some}), seed=seed, window_percent=30.0).floats("a") for some in (values, values[order])
    )
    assert (shuffled == straight[order]).all()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(12, 60),
    different=st.integers(3, 60),
    percent=st.floats(11, 60),
    left_out=st.integers(0, 4),
)
def test_the_true_row_is_never_ruled_out(numbers, seed, n, different, percent, left_out):
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, different, n).astype(float) for name in ("a", "b", "c")}
    columns["a"][:2] = np.nan
    for name in columns:
        columns[name][-2:] = (0, different)
    data, schema = numbers(columns)
    done = mask(data, schema, (step(window_percent=percent),), seed=SEED, path=(str(seed),))
    kept = rng.permutation(n)[left_out:]
    links, _ = link_by_mechanism(data, done.data.take(kept), schema, done.mechanisms, data.names)
    assert not links.rules_out(kept, np.arange(len(kept))).any()


def test_the_attack_does_rule_out_others_and_finds_people(numbers):
    rng = np.random.default_rng(3)
    data, schema = numbers({f"x{j}": rng.permutation(200) for j in range(8)})
    done = mask(data, schema, (step(window_percent=10.0),), seed=SEED, path=())
    links, _ = link_by_mechanism(data, done.data, schema, done.mechanisms, data.names)
    everybody = np.arange(200)
    assert not links.rules_out(everybody, everybody).any()
    assert links.rules_out(everybody, np.roll(everybody, 1)).mean() > 0.9
    assert links.guesses(everybody).credit(everybody).mean() > 0.9  # it is no defence against many attributes


def test_the_interval_is_reached(numbers):
    # w = 2 of 20: 3 ranks. Over 300 seeds some value lands on each end of its interval
    data, schema = numbers({"a": list(range(20))})
    spec = step(attributes=("a",), window_percent=10.0)
    ends = set()
    for seed in range(300):
        shown = masked(data, schema, seed=seed, window_percent=10.0)
        part = infer_belief(data, shown, schema, (spec,)).between[0]
        values = shown.floats("a")
        assert ((part.low <= values) & (values <= part.high)).all()
        ends |= {"low" for low, value in zip(part.low[3:17], values[3:17], strict=True) if low == value}
        ends |= {"high" for high, value in zip(part.high[3:17], values[3:17], strict=True) if high == value}
    assert ends == {"low", "high"}


def test_ties_widen_the_interval():
    low, high = rank_interval(
        np.array([2.0, np.nan]), np.array([1.0, 2, 2, 2, 3, 4]), lambda n: compute_longest_displacement(100 / 6, n)
    )
    assert (low[0], high[0]) == (1, 3)
    assert np.isnan([low[1], high[1]]).all()


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


@pytest.mark.parametrize("percent", [0.0, -1.0, 100.5, float("nan")])
def test_parameters_that_make_no_sense(percent):
    with pytest.raises(ValidationError):
        step(window_percent=percent)


def test_types_are_kept(numbers):
    days = np.array(["2020-01-01", "2020-01-05", "2021-07-01", "NaT", "2022-03-04", "2019-01-01"], "M8[D]")
    data, schema = numbers({"day": days}, day=Scale.DATE)
    shown = masked(data, schema, window_percent=60.0, seed=2)
    assert shown.arrow.schema == data.arrow.schema
    assert Counter(shown.column("day").to_pylist()) == Counter(data.column("day").to_pylist())
    assert shown.column("day").to_pylist()[3] is None
    assert not shown.column("day").equals(data.column("day"))


def test_words():
    near, wide = (describe_rank_jitter(step(attributes=("a", "b"), window_percent=percent)) for percent in (10.0, 60.0))
    assert "none moved by as much as 20" in near.text
    assert "none moved" not in wide.text
