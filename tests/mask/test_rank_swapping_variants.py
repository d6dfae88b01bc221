"""Rank swapping by buckets and by normal distances: who changes places with whom."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import chisquare, norm
from sites import site_of, view_of

from tasks.mask.methods import infer_belief
from tasks.mask.ranks.exchange import exchange_in_buckets, exchange_near, normal_targets
from tasks.mask.ranks.rank_swapping import RankSwapping, bucket_begins, describe_rank_swapping, rank_swap
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

LEVEL = 1e-4
VARIANTS = ({"variant": "p_buckets", "buckets": 4}, {"variant": "p_distribution", "p_percent": 30.0})


def step(**parameters):
    return RankSwapping(method="rank_swapping", **parameters)


def masked(data, schema, *, seed=0, **parameters):
    return rank_swap(site_of(data, schema, seed=seed), step(**{"attributes": schema.names, **parameters}))


def in_buckets_slowly(begins, uniforms):
    """As the definition says, with lists of the ranks that wait in each bucket."""
    waiting = [list(range(begins[b], begins[b + 1])) for b in range(len(begins) - 1)]
    partner = list(range(len(uniforms)))
    for rank, (first, second) in enumerate(uniforms):
        own = next(b for b in range(len(waiting)) if begins[b] <= rank < begins[b + 1])
        if rank not in waiting[own]:
            continue
        waiting[own].remove(rank)
        weights = {s: Fraction(1, 2 ** (s - own + 1)) for s in range(own, len(waiting)) if waiting[s]}
        if not weights:
            continue
        total, cumulated = sum(weights.values()), Fraction(0)
        for weight in weights.values():
            cumulated += weight / total
            if first < cumulated:
                break
        bucket = waiting[max(s for s in weights if weights[s] >= weight)]
        chosen = bucket.pop(int(second * len(bucket)))
        partner[rank], partner[chosen] = chosen, rank
    return partner


def near_slowly(targets):
    partner, waiting = list(range(len(targets))), set(range(len(targets)))
    for rank, target in enumerate(targets):
        if rank not in waiting:
            continue
        waiting.remove(rank)
        if waiting:
            chosen = min(waiting, key=lambda other: (abs(other - target), -other))
            partner[rank], partner[chosen] = chosen, rank
            waiting.remove(chosen)
    return partner


def law_in_buckets(begins, done=(), probability=Fraction(1)):
    """The probability of every outcome, by following the definition."""
    partner, n = dict(done), begins[-1]
    rank = next((r for r in range(n) if r not in partner), None)
    if rank is None:
        return Counter({tuple(partner[r] for r in range(n)): probability})
    waiting = [[r for r in range(a, b) if r > rank and r not in partner] for a, b in pairwise(begins)]
    own = next(b for b in range(len(waiting)) if begins[b] <= rank < begins[b + 1])
    weights = {s: Fraction(1, 2 ** (s - own + 1)) for s in range(own, len(waiting)) if waiting[s]}
    if not weights:
        return law_in_buckets(begins, {**partner, rank: rank}, probability)
    law = Counter()
    for s, weight in weights.items():
        for chosen in waiting[s]:
            share = probability * weight / sum(weights.values()) / len(waiting[s])
            law += law_in_buckets(begins, {**partner, rank: chosen, chosen: rank}, share)
    return law


def p_value(observed, law):
    """Of the counts of outcomes against their probabilities."""
    assert observed.keys() <= law.keys()
    draws = sum(observed.values())
    return chisquare([observed[one] for one in law], [float(law[one]) * draws for one in law]).pvalue


class TestBuckets:
    def test_worked(self):
        # ranks 0 1 2 | 3 4 5 | 6 7, chances 4/7, 2/7, 1/7 from the first bucket: 0.6 is the second one, the middle of 3 4 5
        uniforms = np.zeros((8, 2))
        uniforms[0] = (0.6, 0.5)
        # 1 stays in its own bucket, with 2; 3 has 5 (2/3) or 6 7 (1/3): the last of these; 5 has only bucket 3
        uniforms[3] = (0.7, 0.9)
        assert exchange_in_buckets(np.array([0, 3, 6, 8]), uniforms).tolist() == [4, 2, 1, 7, 0, 6, 5, 3]

    def test_the_last_value_of_an_odd_number_stays(self):
        assert exchange_in_buckets(np.array([0, 2, 5]), np.zeros((5, 2))).tolist() == [1, 0, 3, 2, 4]

    def test_an_emptied_bucket_is_passed_over(self):
        # one value a bucket: 0 goes two buckets on, so 1 has 3 (4/7 of what is left: 1/4 against 1/8 and 1/16), 4 or 5
        uniforms = np.zeros((6, 2))
        uniforms[0, 0] = 0.6
        uniforms[1, 0] = 0.5
        assert exchange_in_buckets(np.arange(7), uniforms).tolist() == [2, 3, 0, 1, 5, 4]

    @pytest.mark.parametrize(("buckets", "n", "begins"), [(3, 8, [0, 2, 5, 8]), (2, 2, [0, 1, 2]), (4, 8, [0, 2, 4, 6, 8])])
    def test_where_buckets_begin(self, buckets, n, begins):
        assert bucket_begins(buckets, n).tolist() == begins

    @settings(max_examples=100, deadline=None)
    @given(st.integers(0, 2**32 - 1), st.one_of(st.integers(2, 120), st.sampled_from([511, 513])), st.data())
    def test_slow_twin(self, seed, n, data):
        begins = bucket_begins(data.draw(st.integers(2, n)), n)
        uniforms = np.random.default_rng(seed).random((n, 2))
        assert exchange_in_buckets(begins, uniforms).tolist() == in_buckets_slowly(begins.tolist(), uniforms)

    @pytest.mark.parametrize("begins", [(0, 2, 5), (0, 2, 4, 6), (0, 1, 2, 3, 4, 5)])
    def test_law_of_the_partners(self, begins):
        law, rng, draws = law_in_buckets(begins), np.random.default_rng(20261121), 6000
        assert sum(law.values()) == 1

        def outcomes(distort):
            return Counter(
                tuple(exchange_in_buckets(np.array(begins), distort(rng.random((begins[-1], 2)))).tolist())
                for _ in range(draws)
            )

        def too_near(uniforms):  # the lower half of the first draw 30 percent more often than it should be
            first = uniforms[:, :1]
            return np.hstack([np.where(first < 0.65, first * 0.5 / 0.65, 0.5 + (first - 0.65) * 0.5 / 0.35), uniforms[:, 1:]])

        assert p_value(outcomes(lambda u: u), law) > LEVEL
        assert p_value(outcomes(too_near), law) < LEVEL

    def test_law_of_the_bucket_of_the_partner(self):
        # of the lowest value of 50 in 5 buckets: all others wait, so the chances are 16, 8, 4, 2, 1 of 31
        begins, rng, draws = bucket_begins(5, 50), np.random.default_rng(7), 4000
        buckets = [int(exchange_in_buckets(begins, rng.random((50, 2)))[0]) // 10 for _ in range(draws)]
        law = dict(enumerate(np.array([16, 8, 4, 2, 1]) / 31))
        nearer = dict(enumerate(np.array([16 * 1.3, 8, 4, 2, 1]) / 35.8))
        assert p_value(Counter(buckets), law) > LEVEL
        assert p_value(Counter(buckets), nearer) < LEVEL


class TestDistribution:
    def test_worked(self):
        # 0 takes its target 3; 1 aims at 3, taken, and 4 and 2 are equally near: the upper; 2 aims at 4: 5 is the nearest left
        assert exchange_near(np.array([3, 3, 4, 9, 9, 9, 7, 7])).tolist() == [3, 4, 5, 0, 1, 2, 7, 6]

    def test_the_last_value_of_an_odd_number_stays(self):
        assert exchange_near(np.array([2, 2, 3, 4, 4])).tolist() == [2, 3, 0, 1, 4]

    def test_targets_worked(self):
        # mean and sd 2 of 9 ranks. Rank 0, u = 0: the least r, 1. u = 1/2 between Phi(-3/4) and Phi(3.25): z = 0.286, r = 2.57
        # Rank 7 can only reach 8, and 8 nothing
        uniforms = np.array([0.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.999, 0.5])
        least, most = norm.cdf((0.5 - 2) / 2), norm.cdf((7.5 - 2) / 2)
        assert 2 + 2 * norm.ppf((least + most) / 2) == pytest.approx(2.57, abs=0.02)
        targets = normal_targets(4.0, uniforms)
        assert targets[:2].tolist() == [1, 4]
        assert targets[7:].tolist() == [8, 8]

    @settings(max_examples=60, deadline=None)
    @given(st.integers(0, 2**32 - 1), st.integers(2, 200), st.floats(1, 200))
    def test_targets_are_above_and_in_the_file(self, seed, n, spread):
        uniforms = np.random.default_rng(seed).random(n)
        uniforms[: n // 3] = np.random.default_rng(seed).choice([0.0, np.nextafter(1, 0)], n // 3)
        targets = normal_targets(spread, uniforms)
        assert (targets[:-1] > np.arange(n - 1)).all()
        assert targets.max() == n - 1

    @settings(max_examples=100, deadline=None)
    @given(st.integers(0, 2**32 - 1), st.one_of(st.integers(2, 120), st.sampled_from([511, 513])), st.floats(1, 60))
    def test_slow_twin(self, seed, n, spread):
        targets = normal_targets(spread, np.random.default_rng(seed).random(n))
        assert exchange_near(targets).tolist() == near_slowly(targets.tolist())

    @pytest.mark.parametrize(("n", "spread"), [(30, 8.0), (12, 15.0)])
    def test_law_of_the_distance(self, n, spread):
        # the lowest value meets nobody that is taken: its partner is r ranks above, r normal, rounded and within 1..n - 1
        rng, draws = np.random.default_rng(3), 4000
        moved = Counter(int(exchange_near(normal_targets(spread, rng.random(n)))[0]) for _ in range(draws))

        def law(mean, sd):
            ends = norm.cdf((np.arange(n) + 0.5 - mean) / sd)
            return dict(enumerate(np.diff(ends) / (ends[-1] - ends[0]), start=1))

        common = {r: p for r, p in law(spread / 2, spread / 2).items() if p * draws >= 5}

        def p_of(chances):
            rest = Counter({r if r in common else 0: 0 for r in moved})
            for r, times in moved.items():
                rest[r if r in common else 0] += times
            kept = {r: chances[r] for r in common}
            others = 1 - sum(kept.values())
            return p_value(rest, {**kept, 0: others} if others * draws >= 1 or rest[0] else kept)

        assert p_of(law(spread / 2, spread / 2)) > LEVEL
        assert p_of(law(1.3 * spread / 2, spread / 2)) < LEVEL
        assert p_of(law(spread / 2, 0.7 * spread / 2)) < LEVEL

    def test_law_of_all_partners(self):
        # every outcome of 5 values, from the chances of each target alone
        n, spread, draws = 5, 3.0, 6000

        def law_of(mean, sd):
            def chance(rank, r):
                ends = norm.cdf((np.array([0.5, r - 0.5, r + 0.5, n - 1 - rank + 0.5]) - mean) / sd)
                return (ends[2] - ends[1]) / (ends[3] - ends[0])

            law = Counter()
            for a in range(1, 5):
                for b in range(1, 4):
                    for c in range(1, 3):
                        share = chance(0, a) * chance(1, b) * chance(2, c)
                        law[tuple(near_slowly([a, 1 + b, 2 + c, 4, 4]))] += share
            return law

        rng = np.random.default_rng(11)
        seen = Counter(tuple(exchange_near(normal_targets(spread, rng.random(n))).tolist()) for _ in range(draws))
        assert p_value(seen, law_of(spread / 2, spread / 2)) > LEVEL
        assert p_value(seen, law_of(1.3 * spread / 2, 1.3 * spread / 2)) < LEVEL


@pytest.mark.parametrize("parameters", VARIANTS, ids=lambda one: one["variant"])
class TestBothVariants:
    @settings(max_examples=30, deadline=None)
    @given(seed=st.integers(0, 2**32 - 1), n=st.integers(4, 80))
    def test_an_involution_that_leaves_at_most_one_value(self, numbers, parameters, seed, n):
        values = np.random.default_rng(seed).permutation(n)
        data, schema = numbers({"a": values})
        shown = masked(data, schema, seed=seed, **parameters).floats("a").astype(int)
        image = dict(zip(values.tolist(), shown.tolist(), strict=True))
        assert all(image[image[value]] == value for value in image)
        assert sorted(image.values()) == list(range(n))
        assert sum(value == other for value, other in image.items()) == n % 2

    @settings(max_examples=20, deadline=None)
    @given(seed=st.integers(0, 2**32 - 1), n=st.integers(4, 60))
    def test_permuting_the_rows_permutes_the_release(self, numbers, parameters, seed, n):
        rng = np.random.default_rng(seed)
        values, order = rng.permutation(n), rng.permutation(n)
        straight, shuffled = (
            masked(*numbers({"a": some}), seed=seed, **parameters).floats("a") for some in (values, values[order])
        )
        assert (shuffled == straight[order]).all()

    def test_missing_values_stay_and_types_are_kept(self, parameters):
        columns = {
            "whole": [5, None, 1, 9, 7, None, 3],
            "day": np.array(
                ["2020-01-01", "2020-01-05", "NaT", "2021-07-01", "2022-03-04", "2019-01-01", "2024-02-29"], "M8[D]"
            ),
            "grade": ["low", "high", None, "middle", "low", "high", "middle"],
        }
        data = Microdata.from_columns(columns)
        scales = {"whole": Scale.NUMERIC, "day": Scale.DATE, "grade": Scale.ORDINAL}
        order = {"grade": ("low", "middle", "high")}
        schema = Schema(
            tuple(Attribute(n, Role.QUASI_IDENTIFIER, scales[n], "declared", order=order.get(n)) for n in data.names)
        )
        shown = masked(data, schema, seed=4, **parameters)
        assert shown.arrow.schema == data.arrow.schema
        for name in data.names:
            before, after = data.column(name).to_pylist(), shown.column(name).to_pylist()
            assert [v is None for v in before] == [v is None for v in after]
            assert Counter(before) == Counter(after)
        assert not shown.column("whole").equals(data.column("whole"))

    def test_an_intruder_concludes_nothing(self, numbers, parameters):
        data, schema = numbers({"a": list(range(20)), "b": list(range(20, 40))})
        spec = step(attributes=("a",), **parameters)
        shown = rank_swap(site_of(data, schema), spec)
        knowledge = infer_belief(data, shown, schema, (spec,))
        assert knowledge.unclear == ("a",)
        assert [part.names for part in knowledge.shown] == [("b",)]
        assert not knowledge.between
        assert "transparency" in spec.answered_by  # an insider who also knows an unmasked attribute is tried

    def test_the_report_says_that_there_is_no_bound(self, parameters):
        words = describe_rank_swapping(step(attributes=("a", "b"), **parameters))
        assert "a few values moved f" in words.text.replace("further", "far")
        assert "window" not in words.title + words.text + words.attribute(None)


def test_of_the_classic_variant_an_interval_follows(numbers):
    data, schema = numbers({"a": list(range(20))})
    spec = step(attributes=("a",), window_percent=10.0)
    view = view_of(data, rank_swap(site_of(data, schema), spec), schema)
    assert infer_belief(data, view.released, schema, (spec,)).between[0].high[0] == 2


@pytest.mark.parametrize(
    ("values", "parameters", "code", "where"),
    [
        ([1, 2, 3], {"variant": "p_buckets", "buckets": 4}, "more-buckets-than-values", "masking[0].buckets"),
        ([1, 2, None], {"variant": "p_buckets", "buckets": 3}, "more-buckets-than-values", "masking[0].buckets"),
        ([1, 2, 3], {"variant": "p_distribution", "p_percent": 33.0}, "window-under-one-rank", "masking[0].p_percent"),
        ([5, 5, 5], {"variant": "p_buckets", "buckets": 2}, "constant-attribute", "masking[0].attributes: a"),
        ([1.0, np.inf, 2.0], {"variant": "p_distribution", "p_percent": 50.0}, "infinite-value", "masking[0].attributes: a"),
    ],
)
def test_refusals(numbers, values, parameters, code, where):
    data, schema = numbers({"a": np.array(values, dtype=float)})
    with pytest.raises(InputError) as refused:
        masked(data, schema, **parameters)
    assert (refused.value.code, refused.value.where) == (code, where)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "variant classic takes exactly window_percent, and here is neither"),
        ({"buckets": 5}, "variant classic takes exactly window_percent, and here is buckets"),
        ({"variant": "p_buckets"}, "variant p_buckets takes exactly buckets"),
        ({"variant": "p_buckets", "buckets": 5, "window_percent": 5.0}, "here is buckets and window_percent"),
        ({"variant": "p_distribution", "window_percent": 5.0}, "takes exactly p_percent, and here is window_percent"),
        ({"variant": "p_buckets", "buckets": 1}, "greater than or equal to 2"),
        ({"variant": "p_distribution", "p_percent": 0.0}, "greater than 0"),
        ({"variant": "buckets", "buckets": 5}, "'classic', 'p_buckets' or 'p_distribution'"),
    ],
)
def test_parameters_that_make_no_sense(parameters, said):
    with pytest.raises(ValidationError, match=said):
        step(**parameters)


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"window_percent": 2.5}, "rank swapping of a within 2.5 percent of the ranks"),
        (
            {"variant": "p_buckets", "buckets": 9},
            "rank swapping of a between 9 buckets of ranks, each next bucket half as likely",
        ),
        (
            {"variant": "p_distribution", "p_percent": 5.0},
            "rank swapping of a over distances drawn from a normal distribution (mean and sd 2.5 percent of the ranks)",
        ),
    ],
)
def test_the_rule_in_words(parameters, rule):
    assert step(attributes=("a",), **parameters).rule == rule
