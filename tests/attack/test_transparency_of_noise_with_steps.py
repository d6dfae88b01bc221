"""The intruder who follows noise among other steps, in strata, with gaps in what they hold."""

from __future__ import annotations

import datetime
from dataclasses import replace

import numpy as np
import pytest
from noise_law import KINDS, PLAIN, SEED, attacked, columns, expectation, likeliest, log_densities, noise, rate, stacked

from tasks.attack.linkage.distance_linkage import link_by_distance
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.categories.pram import Pram
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.intruder_belief import create_initial_belief
from tasks.mask.methods import infer_belief, mask
from tasks.mask.noise.noise_inference import infer
from tasks.mask.precision_grid import find_precision
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.step import IntruderView
from tasks.microdata.schema import Scale


class TestOtherSteps:
    def test_noise_adds_up(self, table, credits):
        original, schema = table(columns(40, 6))
        both, masked = attacked(original, schema, noise("a", "b", kind="correlated"), noise("a", "b", "c", sd_percent=40.0))
        values = stacked(original)
        ab = np.cov(values[:, :2], rowvar=False) * 0.3**2
        covariance = np.zeros((3, 3))
        covariance[:2, :2] = ab
        covariance += np.diag(0.4**2 * (values.var(axis=0, ddof=1) + covariance.diagonal()))
        expected = likeliest(log_densities(values, covariance, stacked(masked)))
        np.testing.assert_array_equal(credits(both), expected)

    def test_restoring_after_noise(self, table):
        original, schema = table(columns(40, 6))
        steps = (noise("a", "b", "c", sd_percent=40.0), noise("a", "b", kind="variance_restoring", sd_percent=50.0))
        done = mask(original, schema, steps, seed=SEED, path=())
        (part,) = infer_belief(original, done.data, schema, done.mechanisms).blurred
        values = stacked(original)
        first = 0.16 * np.diag(values.var(axis=0, ddof=1))
        before = np.cov(values[:, :2], rowvar=False) + first[:2, :2]
        covariance = (first[:2, :2] + 0.25 * before) / 1.25
        at = [part.names.index(name) for name in "abc"]
        found = part.covariance[0][np.ix_(at, at)]
        np.testing.assert_allclose(found[:2, :2], covariance, rtol=1e-6, atol=1e-6)
        assert found[2, 2] == pytest.approx(first[2, 2])
        centre = values.mean(axis=0)[:2]
        np.testing.assert_allclose(part.centre[:, at][:, :2], centre + (values[:, :2] - centre) / np.sqrt(1.25))

    def test_pram_and_noise_are_weighed_together(self, table, credits):
        data = columns(40, 7)
        original, schema = table({**data, "town": list("xyzx" * 10)}, scales={"town": Scale.NOMINAL})
        pram = Pram(method="pram", attributes=("town",), retention=0.7)
        links, masked = attacked(original, schema, pram, noise("a", "b", "c", sd_percent=60.0))
        values, shown = (np.column_stack([one.floats(name) for name in "abc"]) for one in (original, masked))
        chance = log_densities(*expectation(values, "independent", 0.6, 1e-6), shown)
        same = np.array(original.column("town").to_pylist())[:, None] == np.array(masked.column("town").to_pylist())[None, :]
        chance += np.log(np.where(same, 0.7, 0.15))
        np.testing.assert_array_equal(credits(links), likeliest(chance))

    def test_an_untouched_attribute_still_decides(self, table, credits):
        original, schema = table({**columns(40, 7), "code": np.arange(40) // 2}, scales={"code": Scale.CODE})
        links, masked = attacked(original, schema, noise("a", "b", "c"))
        assert links.guesses(np.arange(40)).sound_sizes.tolist() == [2] * 40
        values, shown = (np.column_stack([one.floats(name) for name in "abc"]) for one in (original, masked))
        chance = log_densities(*expectation(values, "independent", 0.3, 1e-6), shown)
        pairs = np.arange(40) // 2
        chance[pairs[:, None] != pairs[None, :]] = -np.inf
        np.testing.assert_array_equal(credits(links), likeliest(chance))

    def test_groups_are_followed_before_noise(self, table):
        # means of groups are certain, so noise on them has a law; a record cannot be told from its group
        original, schema = table(columns(40, 8))
        micro = Microaggregation(method="microaggregation", attributes=("a", "b", "c"), k=4)
        done = mask(original, schema, (micro, noise("a", "b", "c", sd_percent=20.0)), seed=SEED, path=())
        knowledge = infer_belief(original, done.data, schema, done.mechanisms)
        assert knowledge.unclear == ()
        means = stacked(mask(original, schema, (micro,), seed=SEED, path=()).data)
        np.testing.assert_array_equal(knowledge.blurred[0].centre, means)

    @pytest.mark.parametrize(
        ("steps", "unclear", "lawful"),
        [
            ((noise("a", "b"), RankSwapping(method="rank_swapping", attributes=("a",), window_percent=20.0)), set(), {"b"}),
            ((RankSwapping(method="rank_swapping", attributes=("a",), window_percent=20.0), noise("a", "b")), set(), {"b"}),
            ((noise("a", kind="multiplicative"), noise("a", "b")), set(), {"b"}),
            ((noise("a"), noise("a", "b", kind="multiplicative")), set(), {"b"}),
            (
                (
                    RankSwapping(method="rank_swapping", attributes=("b",), variant="p_buckets", buckets=5),
                    noise("a", "b", "c"),
                    Microaggregation(method="microaggregation", attributes=("b", "c"), k=3),
                ),
                {"b"},
                {"a", "c"},
            ),
        ],
    )
    def test_no_law_follows_where_steps_do_not_fit_together(self, table, steps, unclear, lawful):
        original, schema = table({name: np.abs(values) for name, values in columns(40, 9).items()})
        done = mask(original, schema, steps, seed=SEED, path=())
        knowledge = infer_belief(original, done.data, schema, done.mechanisms)
        assert set(knowledge.unclear) == unclear
        assert {name for part in knowledge.blurred for name in part.names} == lawful
        assert not unclear & {part.name for part in knowledge.between}
        assert {part.name for part in knowledge.between} >= set("ab") - unclear  # bounds are left where the law is lost
        links, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, schema.names)
        assert rate(links) > 5 / 40
        assert not links.rules_out(np.arange(40), np.arange(40)).any()

    def test_what_has_bounds_alone_counts_as_weak_noise_within_them(self, table, credits):
        original, schema = table(columns(40, 10))
        swap = RankSwapping(method="rank_swapping", attributes=("b",), window_percent=100.0)  # to any rank: no law of ranks
        steps = noise("a", sd_percent=60.0), swap, noise("b", sd_percent=5.0)
        links, masked = attacked(original, schema, *steps, knows=("a", "b"))
        values, shown = (np.column_stack([one.floats(name) for name in "ab"]) for one in (original, masked))
        variances = [0.36 * values[:, 0].var(ddof=1), shown[:, 1].var(ddof=1)]
        chance = log_densities(values, np.diag(variances), shown)
        (bounds,) = (one for one in infer_belief(original, masked, schema, steps).between if one.name == "b")
        outside = (shown[:, 1] < bounds.low[:, np.newaxis]) | (shown[:, 1] > bounds.high[:, np.newaxis])
        np.testing.assert_array_equal(credits(links), likeliest(np.where(outside, -np.inf, chance)))

    def test_who_knows_some_of_the_attributes(self, table, credits):
        original, schema = table(columns(40, 11))
        links, masked = attacked(original, schema, noise("a", "b", "c", kind="correlated"), knows=("a", "c"))
        values, shown = (np.column_stack([one.floats(name) for name in "ac"]) for one in (original, masked))
        expected = likeliest(log_densities(*expectation(values, "correlated", 0.3, 1e-6), shown))
        np.testing.assert_array_equal(credits(links), expected)


def test_strata_have_laws_of_their_own(table, credits):
    rng = np.random.default_rng(12)
    sex = rng.integers(0, 2, 60)
    data = {name: values * (1 + 4 * sex) for name, values in columns(60, 12).items()}
    original, schema = table({**data, "sex": sex}, scales={"sex": Scale.NOMINAL})
    steps = (noise("a", "b", kind="correlated", by=("sex",)), noise("b", "c", sd_percent=20.0))
    links, masked = attacked(original, schema, *steps)
    values, shown = (np.column_stack([one.floats(name) for name in "abc"]) for one in (original, masked))
    chance = np.full((60, 60), -np.inf)
    first = {code: 0.09 * np.cov(values[sex == code][:, :2], rowvar=False) for code in (0, 1)}
    noise_of_b = sum((sex == code).mean() * first[code][1, 1] for code in (0, 1))
    second = np.diag([0, 0.04 * (values[:, 1].var(ddof=1) + noise_of_b), 0.04 * values[:, 2].var(ddof=1)])
    for code in (0, 1):
        covariance = second.copy()
        covariance[:2, :2] += first[code]
        mine = np.flatnonzero(sex == code)
        chance[np.ix_(mine, mine)] = log_densities(values[mine], covariance, shown[mine])
    np.testing.assert_array_equal(credits(links), likeliest(chance))


def test_dates(table):
    days = [
        datetime.date(1950, 1, 1) + datetime.timedelta(days=int(d)) for d in np.random.default_rng(1).integers(0, 20_000, 50)
    ]
    data = columns(50, 13)
    original, schema = table({"born": days, "a": data["a"]}, scales={"born": Scale.DATE})
    links, masked = attacked(original, schema, noise("born", "a", sd_percent=5.0))
    assert rate(links) > rate(link_by_distance(original, masked, schema, PLAIN, schema.names)) - 0.05
    assert rate(links) > 0.5


def test_correlated_noise_of_attributes_that_depend_on_each_other(table):
    # c = a + b stays so under correlated noise: no information is lost, and nothing is divided by 0
    data = columns(50, 14)
    original, schema = table({"a": data["a"], "b": data["b"], "c": (data["a"] + data["b"]).round(6)})
    links, masked = attacked(original, schema, noise("a", "b", "c", kind="correlated", sd_percent=20.0))
    less, _ = link_by_mechanism(
        original, masked, schema, (noise("a", "b", "c", kind="correlated", sd_percent=20.0),), ("a", "b")
    )
    assert rate(links) == pytest.approx(rate(less), abs=0.03)
    assert rate(links) > 0.3


def test_records_that_are_not_released(table):
    # they hold everybody, half are released: who is there is found, the others take the rows of somebody else
    original, schema = table(columns(60, 15))
    done = mask(original, schema, (noise("a", "b", "c", sd_percent=1.0),), seed=SEED, path=())
    kept = np.arange(0, 60, 2)
    links, _ = link_by_mechanism(original, done.data.take(kept), schema, done.mechanisms, schema.names)
    truth = np.full(60, -1)
    truth[kept] = np.arange(len(kept))
    credit = links.guesses(np.arange(60)).credit(truth)
    assert credit[kept].mean() > 0.95
    assert not credit[1::2].any()


@pytest.mark.parametrize("kind", KINDS)
def test_who_does_not_hold_all_records_estimates_the_law_from_the_release(table, kind):
    original, schema = table({name: np.abs(values) for name, values in columns(5000, 16).items()})
    step = noise("a", "b", "c", kind=kind, sd_percent=40.0)
    done = mask(original, schema, (step,), seed=SEED, path=())
    view = IntruderView(
        create_initial_belief(original), original, original, done.data, schema, find_precision(original, original.names)
    )
    knows_all = infer(view, step).blurred[0]
    estimates = infer(replace(view, knowledge=replace(view.knowledge, complete=False)), step).blurred[0]
    np.testing.assert_allclose(estimates.covariance[0].diagonal(), knows_all.covariance[0].diagonal(), rtol=0.12)
    assert not np.array_equal(estimates.covariance, knows_all.covariance)
