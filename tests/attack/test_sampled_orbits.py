"""A table that is too large for the whole consistency attack: the orbits of some targets bound from below what it finds."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.attack.consistency import consistency, orbits
from tasks.attack.consistency.consistency import Consistency, OnlyBounded, link_by_consistency
from tasks.attack.methods import attack, sample_for_part
from tasks.attack.omissions import Omission
from tasks.attack.threat import Intruder
from tasks.mask.methods import mask
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.sampling import Sampling
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import AttackFailed, NotFollowed
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Role, Scale
from tasks.score.attack_coverage import find_unfollowed
from tasks.score.linkage import linkage_estimates
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide

SEED = bytes(range(32))
PLAN = Consistency(method="consistency")


def swap(*attributes, percent=10.0):
    return RankSwapping(method="rank_swapping", attributes=attributes, window_percent=percent)


def random_columns(n, d, seed=5):
    rng = np.random.default_rng(seed)
    return {f"a{j}": rng.permutation(n) for j in range(d)}


def attacked(original, schema, done, *, plan=PLAN, intruder=None, seed=3):
    scene = GroundTruth.create_from_tables(original, done.data, schema, Alignment(done.record, done.order, original.n))
    targets = np.arange(original.n)
    result = attack(
        original,
        done.data,
        schema,
        done.mechanisms,
        plan,
        intruder or Intruder("declared", tuple(done.mechanisms[-1].target_attributes)),
        alignment=scene.alignment,
        targets=targets,
        sample=sample_for_part(plan, scene.units, targets, np.random.default_rng(seed)),
    )
    return result, scene


def figures(result, scene, schema):
    return {one.measure: one for one in linkage_estimates(result, scene, schema)}


def refuse(*_):
    """As if every table were too large: of all pairs at once, not of those of a sample."""
    raise NotFollowed("too many pairs")


@pytest.fixture
def too_large(monkeypatch):
    monkeypatch.setattr(consistency, "_left", refuse)


class TestTheRowsThatAreLeft:
    """Against the orbits of the whole attack, before `propagate_constraints` and beliefs leave out more."""

    @pytest.mark.parametrize(("n", "different"), [(60, 60), (60, 12), (400, 400), (400, 150)])
    @pytest.mark.parametrize("percent", [10.0, 40.0])
    def test_are_those_of_the_whole_attack(self, table, monkeypatch, n, different, percent):
        rng = np.random.default_rng(n + different)
        columns = {name: rng.permutation(n) % different for name in ("a", "b", "c")}
        original, schema = table(columns)
        done = mask(original, schema, (swap(*columns, percent=percent),), seed=SEED, path=())
        seen = {}
        whole = consistency.propagate_constraints
        monkeypatch.setattr(
            consistency, "propagate_constraints", lambda pairs, *more: whole(seen.setdefault("pairs", pairs), *more)
        )
        link_by_consistency(original, done.data, schema, done.mechanisms, original.names)
        pairs = seen["pairs"]
        sample = np.sort(rng.permutation(n)[:20])
        monkeypatch.setattr(consistency, "MOST_KEPT", len(pairs.rows) - 1)
        with pytest.raises(OnlyBounded) as bounded:
            link_by_consistency(original, done.data, schema, done.mechanisms, original.names, sample=sample)
        found = bounded.value.links
        kinds = np.unique(found.search_class[sample])
        assert len(kinds) > 1
        for kind in range(len(pairs.starts) - 1):
            expected = pairs.rows[pairs.starts[kind] : pairs.starts[kind + 1]] if kind in kinds else []
            assert found.classes[found.starts[kind] : found.starts[kind + 1]].tolist() == list(expected)
        assert not found.rules_out(sample, sample).any()

    def test_a_sample_that_is_too_large_itself_gives_no_bound(self, table, monkeypatch):
        original, schema = table(random_columns(200, 1))
        done = mask(original, schema, (swap("a0", percent=50.0),), seed=SEED, path=())
        monkeypatch.setattr(orbits, "MOST_LOOKED_AT", 1000)
        result, _ = attacked(original, schema, done)
        assert (result.status, result.outcomes) == ("not_followed", None)


class TestTheLowerBound:
    @pytest.fixture
    def survey(self, table):
        return table(random_columns(600, 3))

    def test_decides_only_that_a_limit_is_broken(self, survey, too_large):
        original, schema = survey
        done = mask(original, schema, (swap(*original.names),), seed=SEED, path=())
        result, scene = attacked(original, schema, done)
        assert (result.status, result.outcomes.n) == ("not_followed", 300)
        assert "the orbits of 300 records, drawn at random, give lower bounds" in result.reason
        found = linkage_estimates(result, scene, schema)
        rate = next(one for one in found if one.measure == "reidentification")
        assert rate.value == pytest.approx(result.outcomes.floats("credit").mean())
        assert 0.5 < rate.low <= rate.value <= rate.high == 1
        assert {one.status for one in found} == {"not_followed"}
        for omit in ((), (Omission(attack="consistency", reason="seen by the board"),)):
            missing = find_unfollowed((result,), omit, done.mechanisms)

            def called(limit, missing=missing):
                return decide((PolicyLine(measure="reidentification", at_most=limit),), found, missing).verdict

            assert called(rate.low - 0.01) == "refused"
            assert called(1.0) == "undecided"

    def test_is_below_what_the_whole_attack_finds(self, survey, monkeypatch):
        original, schema = survey
        done = mask(original, schema, (swap(*original.names, percent=60.0),), seed=SEED, path=())
        whole = figures(*attacked(original, schema, done), schema)
        monkeypatch.setattr(consistency, "_left", refuse)
        bounded = figures(*attacked(original, schema, done), schema)
        assert whole["reidentification"].status == "ok"
        for measure in ("reidentification", "records_exposed", "max_record_risk", "known_reidentification"):
            assert bounded[measure].status == "not_followed"
            assert bounded[measure].low <= whole[measure].value
        assert bounded["mean_candidate_set_size"].value is None

    def test_of_persons_counts_persons(self, table, too_large):
        columns = random_columns(400, 3)
        columns["who"] = np.random.default_rng(1).integers(0, 150, 400)
        original, schema = table(columns, roles={"who": Role.PERSON}, scales={"who": Scale.CODE})
        done = mask(original, schema, (swap("a0", "a1", "a2"),), seed=SEED, path=())
        plan = Consistency(method="consistency", sampled_orbits=50)
        result, _ = attacked(original, schema, done, plan=plan)
        assert (result.outcomes.n, result.counts) == (50, "persons")
        assert result.outcomes.floats("credit").min() == 1

    def test_of_a_sample_knows_who_is_in_it(self, survey, too_large):
        original, schema = survey
        steps = (Sampling(method="sampling", share=0.5), swap(*original.names))
        result, _ = attacked(original, schema, mask(original, schema, steps, seed=SEED, path=()))
        credit, there = result.outcomes.floats("credit"), result.outcomes.column("in_release").to_numpy(zero_copy_only=False)
        assert 0 < there.sum() < 300
        assert credit[there].min() > 0
        assert credit[~there].max() == 0

    def test_of_who_holds_a_share_is_of_these_records(self, survey, too_large):
        original, schema = survey
        done = mask(original, schema, (swap(*original.names),), seed=SEED, path=())
        held = np.arange(0, 600, 2)
        result = attack(
            *(original, done.data, schema, done.mechanisms, PLAN, Intruder("declared", original.names, records=0.5)),
            alignment=Alignment(done.record, done.order, original.n),
            targets=held,
            held=held,
            sample=held[::3],
        )
        assert result.status == "not_followed"
        assert result.outcomes.floats("target").tolist() == held[::3].tolist()
        assert result.outcomes.floats("credit").min() > 0

    def test_of_other_steps_than_were_applied_is_none(self, survey, too_large):
        original, schema = survey
        done = mask(original, schema, (swap(*original.names, percent=60.0),), seed=SEED, path=())
        with pytest.raises(AttackFailed, match="not those that were applied"):
            link_by_consistency(
                original, done.data, schema, (swap(*original.names, percent=2.0),), original.names, sample=np.arange(50)
            )


def survey_of_six(n):
    """As in the worst case that was found: six numbers that say something of each other, some of them in few whole units."""
    rng = np.random.default_rng(n)
    common = rng.normal(size=n)
    income, wealth, spend = (np.round(np.exp(10 + 0.5 * common + 0.5 * rng.normal(size=n)), -1) for _ in range(3))
    age = np.clip(np.round(45 + 10 * common + 14 * rng.normal(size=n)), 18, 95)
    hours = np.clip(np.round(36 + 3 * common + 9 * rng.normal(size=n)), 0, 90)
    height = np.round(170 + 9 * rng.normal(size=n))
    return {"age": age, "income": income, "wealth": wealth, "hours": hours, "height": height, "spend": spend}


@pytest.mark.long
@pytest.mark.parametrize(
    "n", [10_000, pytest.param(100_000, marks=pytest.mark.slow), pytest.param(300_000, marks=pytest.mark.slow)]
)
def test_size_is_no_pass(table, n):
    """Whatever the size: no limit below what a guess among the rows of the orbits earns is kept."""
    original, schema = table(survey_of_six(n))
    done = mask(original, schema, (swap(*original.names),), seed=SEED, path=())
    result, scene = attacked(original, schema, done)
    rate, missing = figures(result, scene, schema)["reidentification"], find_unfollowed((result,), (), done.mechanisms)

    def called(limit):
        return decide((PolicyLine(measure="reidentification", at_most=limit),), (rate,), missing).verdict

    assert rate.value >= {10_000: 0.95, 100_000: 0.08, 300_000: 0.02}[n]
    assert called(0.9 * rate.low) == "refused"
    assert called(0.99 * rate.value) != "certified"
    assert (called(1.0) == "undecided") == (result.status == "not_followed")
