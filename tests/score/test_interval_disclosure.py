"""rid and SADR: the worked figures, boundaries, and a slow twin."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.groups.microaggregation import Microaggregation
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale
from tasks.score.interval_disclosure import (
    RankIntervalDisclosure,
    rank_interval_disclosure,
    rank_interval_hits,
    same_value_disclosure,
)

V = np.arange(10.0, 81.0, 10.0)
V_MASKED = np.array([20.0] * 3 + [60.0] * 5)


def nominal(name: str) -> Attribute:
    return Attribute(name=name, role=Role.QUASI_IDENTIFIER, scale=Scale.NOMINAL, decided_by="declared")


def step(*names: str) -> Microaggregation:
    return Microaggregation(method="microaggregation", attributes=names, k=2)


def spec(*p: float, attributes: tuple[str, ...] | None = None) -> RankIntervalDisclosure:
    return RankIntervalDisclosure(p_percent=p, attributes=attributes)


# docs/SCIENCE.md section 6; by hand for p = 25 (w = 1): 20 is at place 1, [10, 30] holds its three records, 60 at place 5,
# [50, 70] holds three of its five: 6/8; all pairs: (3 * 3 + 5 * 3) / 64
@pytest.mark.parametrize(("p", "rate", "chance"), [(12.5, 0.25, 0.125), (25.0, 0.75, 0.375), (50.0, 1.0, 0.578125)])
def test_worked_example(pair_of, p, rate, chance):
    (found,) = rank_interval_disclosure(pair_of({"V": V}, {"V": V_MASKED}), spec(p))
    assert (found.value, found.low, found.high, found.chance, found.chance_kind) == (rate, rate, rate, chance, "all_pairs")
    assert (found.id, found.n_targets) == (f"rank_interval_disclosure|V|p_percent={p:g}", 8)


def test_values_outside_the_original_range_disclose_only_what_the_window_reaches():
    # below the smallest, i = -1/2: w = 0 reaches no place, w = 1 the first; above the largest likewise the last
    for masked, own in ((np.full(8, 5.0), 0), (np.full(8, 99.0), 7)):
        assert rank_interval_hits(V, masked, 12.5)[0].sum() == 0
        assert np.flatnonzero(rank_interval_hits(V, masked, 25.0)[0]).tolist() == [own]


def test_a_value_between_two_ranks_with_no_width_discloses_nobody():
    hits, chance = rank_interval_hits(V, np.full(8, 35.0), 12.5)
    assert (hits.sum(), chance) == (0, 0.0)


def test_unchanged_values_are_always_disclosed_ties_included():
    values = np.array([1.0, 1.0, 1.0, 1.0, 2.0, 3.0])
    assert rank_interval_hits(values, values, 1.0)[0].all()


def test_missing_originals_are_left_out_and_suppressed_values_disclose_nothing(pair_of):
    tables = pair_of({"V": [10.0, 20.0, None, 40.0]}, {"V": [10.0, None, 20.0, 40.0]})
    (found,) = rank_interval_disclosure(tables, spec(5.0))
    assert (found.value, found.n_targets) == (2 / 3, 3)
    (same,) = same_value_disclosure(tables)
    # pairs: 10 meets 10, 40 meets 40; the masked values of the three records are 10, missing, 40
    assert (same.value, same.chance) == (2 / 3, pytest.approx(2 / 9))


def test_an_attribute_without_any_original_is_not_applicable(pair_of):
    tables = pair_of({"V": np.array([np.nan, np.nan])}, {"V": np.array([1.0, 2.0])})
    found = (*rank_interval_disclosure(tables, spec(5.0)), *same_value_disclosure(tables))
    assert [(one.status, one.value) for one in found] == [("not_applicable", None)] * 2


def test_only_masked_numeric_and_ordinal_attributes_are_measured(pair_of):
    columns = {"a": [1.0, 2.0], "b": [1.0, 2.0], "c": ["x", "y"]}
    tables = pair_of(columns, columns, [nominal("c")], steps=[step("a", "c")])
    assert [one.attribute for one in rank_interval_disclosure(tables, spec(5.0, 10.0))] == ["a", "a"]
    assert [one.attribute for one in same_value_disclosure(tables)] == ["a", "c"]
    for name in ("b", "c", "A"):
        with pytest.raises(InputError) as refused:
            rank_interval_disclosure(tables, spec(5.0, attributes=("a", name)))
        assert refused.value.value == name


def slow_twin(original: list[float], masked: list[float], p: float) -> tuple[list[bool], Fraction]:
    """Every interval as a list of values, every pair compared; a place is a list of indices."""
    ranked, n = sorted(original), len(original)
    w = Fraction(str(p)) * n // 200
    intervals = []
    for value in masked:
        places = [i for i, one in enumerate(ranked) if one == value]
        centre = Fraction(sum(places), len(places)) if places else sum(one < value for one in ranked) - Fraction(1, 2)
        within = [ranked[i] for i in range(n) if abs(i - centre) <= w] + ([value] if places else [])
        intervals.append((min(within), max(within)) if within else None)

    def inside(x: float, interval: tuple[float, float] | None) -> bool:
        return interval is not None and interval[0] <= x <= interval[1]

    hits = [inside(x, interval) for x, interval in zip(original, intervals, strict=True)]
    pairs = sum(inside(x, interval) for x in original for interval in intervals)
    return hits, Fraction(pairs, n * n)


values = st.integers(0, 12).map(float)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(values, st.integers(-2, 30).map(lambda i: i / 2)), min_size=1, max_size=12), st.floats(0.5, 100))
def test_agrees_with_the_slow_twin(rows, p):
    original, masked = map(list, zip(*rows, strict=True))
    hits, chance = rank_interval_hits(np.array(original), np.array(masked), p)
    expected, pairs = slow_twin(original, masked, p)
    assert hits.tolist() == expected
    assert chance == pytest.approx(float(pairs))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(values, values), min_size=1, max_size=20), st.randoms())
def test_the_order_of_rows_counts_for_nothing_and_wider_discloses_more(rows, random):
    original, masked = (np.array(column) for column in zip(*rows, strict=True))
    order = list(range(len(rows)))
    random.shuffle(order)
    hits, chance = rank_interval_hits(original, masked, 20.0)
    again, same_chance = rank_interval_hits(original[order], masked[order], 20.0)
    wider, larger_chance = rank_interval_hits(original, masked, 40.0)
    assert (again.sum(), same_chance) == (hits.sum(), chance)
    assert np.all(wider[hits])
    assert larger_chance >= chance


def test_the_chance_is_the_mean_over_all_permutations(pair_of):
    # the law of the baseline: dealt out blindly, the rate is the all-pairs rate; p = 35 gives another one
    rng = np.random.default_rng(1)
    original = rng.lognormal(size=400)
    masked = np.sort(original) + rng.normal(size=400)
    chance = rank_interval_hits(original, masked, 10.0)[1]
    rates = [rank_interval_hits(original, rng.permutation(masked), 10.0)[0].mean() for _ in range(300)]
    error = 4 * np.std(rates) / np.sqrt(300)
    assert abs(np.mean(rates) - chance) < error
    assert abs(np.mean(rates) - 1.3 * chance) > error


def test_same_value_worked_table(pair_of):
    columns = {"c": ["x", "x", "y", "z"]}, {"c": ["x", "y", "y", "x"]}
    (found,) = same_value_disclosure(pair_of(*columns, [nominal("c")]))
    # equal in rows 1 and 3; all pairs: x 2 * 2, y 1 * 2, z 1 * 0 of 16
    assert (found.value, found.chance, found.low, found.high) == (0.5, 6 / 16, 0.5, 0.5)


@pytest.mark.slow
def test_a_million_records_without_a_million_squared_pairs():
    rng = np.random.default_rng(1)
    original = rng.normal(size=1_000_000)
    hits, chance = rank_interval_hits(original, original + rng.normal(size=1_000_000), 10.0)
    assert 0.08 < chance < 0.1 < hits.mean() < 0.25
