"""Intruders who hold a share of the records: what needs all of them they cannot do, and what they conclude stays sound."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.attack.consistency.consistency import Consistency
from tasks.attack.learned.learned_linkage import LearnedLinkage
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import attack
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.attack.row_position import RowPosition
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.categories.pram import Pram
from tasks.mask.coding.recoding import Recoding
from tasks.mask.coding.rounding import Rounding
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.sampling import Sampling
from tasks.microdata.alignment import Alignment
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Role, Scale
from tasks.score.linkage import linkage_estimates
from tasks.score.scored_targets import ONE_SHARE

SEED = bytes(range(32))
BY_DISTANCE = DistanceLinkage(method="distance_linkage")
TRANSPARENT = Transparency(method="transparency")
CONSISTENT = Consistency(method="consistency")
SWAP = RankSwapping(method="rank_swapping", attributes=("x", "y", "z"), window_percent=20.0)
STEPS = {
    "swap": (SWAP,),
    "p-buckets": (RankSwapping(method="rank_swapping", attributes=("x", "y", "z"), variant="p_buckets", buckets=8),),
    "jitter": (RankJitter(method="rank_jitter", attributes=("x", "y"), window_percent=10.0),),
    "rows of an axis": (
        Microaggregation(method="microaggregation", attributes=("x", "y"), partition="individual_ranking", k=4),
    ),
    "groups": (Microaggregation(method="microaggregation", attributes=("x", "y"), k=4),),
    "drawn anew": (Pram(method="pram", attributes=("c",), retention=0.7),),
    "noise": (Noise(method="noise", kind="independent", attributes=("x",), sd_percent=20.0),),
    "rounded, then swapped": (Rounding(method="rounding", bases={"x": 5}, kind="deterministic"), SWAP),
    "swapped, then sampled": (SWAP, Sampling(method="sampling", share=0.6)),
    "sampled, then swapped": (Sampling(method="sampling", share=0.6), SWAP),
    "sampled, then grouped": (
        Sampling(method="sampling", share=0.6),
        Microaggregation(method="microaggregation", attributes=("x", "y"), k=4),
    ),
}


@pytest.fixture(scope="module")
def people(table):
    rng = np.random.default_rng(5)
    n = 150
    common = rng.normal(size=n)
    columns = {name: np.round(40 * (0.7 * common + rng.normal(size=n))) for name in "xyz"}
    return table(
        {**columns, "c": rng.choice(list("abc"), n), "vote": rng.choice(["a", "b"], n)},
        scales={"c": Scale.NOMINAL, "vote": Scale.NOMINAL},
        roles={"vote": Role.CONFIDENTIAL},
    )


def run(people, steps, spec, held, *, participation_known=True, targets=None, seed=SEED):
    data, schema = people
    done = mask(data, schema, steps, seed=seed, path=())
    share = 1.0 if held is None else len(held) / data.n
    return attack(
        *(data, done.data, schema, done.mechanisms, spec),
        Intruder("declared", ("x", "y", "z", "c"), participation_known, share),
        alignment=Alignment(done.record, np.argsort(done.order), data.n),
        targets=np.arange(data.n) if targets is None and held is None else held if targets is None else targets,
        held=held,
    )


def credits_of(result):
    return dict(zip(result.outcomes.floats("target").astype(int), result.outcomes.floats("credit"), strict=True))


def some(n, share, seed=0):
    return np.random.default_rng(seed).permutation(n)[: round(share * n)]


def test_worked_example_of_exchanges(table):
    """Of 1, 2, 3, 4, shown as 2, 1, 4, 3, they hold the first two records: each is the only partner the other can have had."""
    data, schema = table({"x": [1.0, 2.0, 3.0, 4.0], "y": [10.0, 20.0, 30.0, 40.0]})
    shown, _ = table({"x": [2.0, 1.0, 4.0, 3.0], "y": [20.0, 10.0, 40.0, 30.0]})
    step = RankSwapping(method="rank_swapping", attributes=("x", "y"), window_percent=25.0)
    found = attack(
        *(data, shown, schema, (step,), CONSISTENT, Intruder("declared", ("x", "y"), True, 0.5)),
        alignment=Alignment(np.arange(4), np.arange(4), 4),
        targets=np.array([1, 0]),
        held=np.array([0, 1]),
    )
    assert found.status == "ok", found.reason
    assert found.chance == 1 / 4
    assert credits_of(found) == {0: 1.0, 1: 1.0}
    assert found.knows_data.startswith("the original x and y of 50 % of the records, drawn at random, and that each of them")


@pytest.mark.slow
def test_records_linked_one_by_one_fare_as_if_all_were_held(people):
    held = some(150, 0.4)
    for steps in STEPS.values():
        whole, part = (credits_of(run(people, steps, BY_DISTANCE, records)) for records in (None, held))
        assert part == {target: whole[target] for target in held}


@pytest.mark.parametrize("participation_known", [True, False])
@pytest.mark.parametrize("share", [0.1, pytest.param(0.5, marks=pytest.mark.slow), 0.99])
@pytest.mark.parametrize("spec", [TRANSPARENT, CONSISTENT], ids=["transparency", "consistency"])
@pytest.mark.parametrize("steps", STEPS)
def test_the_true_row_is_never_left_out(people, steps, spec, share, participation_known):
    """An attack that left it out would have failed: the evaluation looks. What cannot be concluded is said."""
    for seed in range(3):
        result = run(
            *(people, STEPS[steps], spec, some(150, share, seed)),
            participation_known=participation_known,
            seed=bytes([seed]) * 32,
        )
        lost = steps == "p-buckets" or (steps == "sampled, then grouped" and not participation_known)  # to who holds all too
        expected = ("not_followed",) if lost and spec is TRANSPARENT else ("ok", "not_applicable")
        assert result.status in expected, result.reason
        if result.status == "ok" and participation_known and "sampled" not in steps:
            assert (result.outcomes.floats("sound_candidates") >= 1).all()


def test_a_partition_cannot_be_repeated_on_a_share(people):
    held = some(150, 0.9)
    whole, part = (run(people, STEPS["groups"], TRANSPARENT, records) for records in (None, held))
    assert "heuristic in x and y" not in whole.knows_mechanism
    assert "heuristic in x and y" in part.knows_mechanism
    sizes = {name: one.outcomes.floats("sound_candidates").mean() for name, one in (("whole", whole), ("part", part))}
    assert sizes["part"] > sizes["whole"]


def test_a_share_of_nearly_all_finds_nearly_as_many_as_all(people):
    whole = np.mean(list(credits_of(run(people, STEPS["swap"], CONSISTENT, None)).values()))
    rates = [np.mean(list(credits_of(run(people, STEPS["swap"], CONSISTENT, some(150, f))).values())) for f in (0.1, 0.5, 0.95)]
    assert rates[0] < rates[1] < rates[2] <= whole + 1e-9
    assert rates[2] > 0.9 * whole


def test_what_takes_all_records_is_not_applicable(people):
    held = some(150, 0.5)
    back = DistanceLinkage(method="distance_linkage", direction="to_original")
    together = Transparency(method="transparency", matching="one_to_one")
    for spec in (RowPosition(method="row_position"), back, together):
        found = run(people, STEPS["swap"], spec, held)
        assert found.status == "not_applicable"
        assert found.outcomes is None


@pytest.mark.slow
def test_probabilities_are_said_of_the_records_that_are_held(people):
    held = some(150, 0.5)
    found = run(people, STEPS["drawn anew"], ProbabilisticLinkage(method="probabilistic_linkage"), held)
    assert found.status == "ok", found.reason
    claimed = found.outcomes.floats("posterior")
    assert len(claimed) == 75
    assert claimed.mean() > 3 / 150


@pytest.mark.long
def test_a_distance_is_learned_from_the_links_that_are_held(people):
    held = some(150, 0.5)
    spec = LearnedLinkage(method="learned_linkage", learn="weighted_mean")
    found = run(people, STEPS["noise"], spec, held)
    assert found.status == "ok", found.reason
    assert np.mean(list(credits_of(found).values())) >= np.mean(
        list(credits_of(run(people, STEPS["noise"], BY_DISTANCE, held)).values())
    )


def test_targets_that_he_does_not_hold_are_refused(people):
    with pytest.raises(ValueError, match="among the records that the intruder holds"):
        run(people, STEPS["swap"], BY_DISTANCE, np.arange(10), targets=np.array([3, 10]))


def test_persons_are_held_with_all_their_rows(table):
    rng = np.random.default_rng(2)
    who = np.repeat(np.arange(30), rng.integers(1, 4, 30))
    data, schema = table({"x": rng.permutation(len(who)), "y": rng.permutation(len(who)), "id": who}, roles={"id": Role.PERSON})
    held = np.flatnonzero(np.isin(who, rng.permutation(30)[:15]))
    found = attack(
        *(data, data, schema, (), BY_DISTANCE, Intruder("declared", ("x", "y"), True, 0.5)),
        alignment=Alignment(np.arange(data.n), np.arange(data.n), data.n),
        targets=held,
        held=held,
    )
    assert found.counts == "persons"
    assert found.outcomes.n == 15
    assert found.outcomes.floats("credit").tolist() == [1.0] * 15


@pytest.mark.slow
def test_half_the_census_and_seven_attributes_are_enough(census):
    data, schema = census
    step = RankSwapping(method="rank_swapping", attributes=data.names, window_percent=20.0)
    done = mask(data, schema, (step,), seed=SEED, path=())
    held = some(data.n, 0.5)
    found = attack(
        *(data, done.data, schema, done.mechanisms, CONSISTENT, Intruder("declared", data.names[:7], True, 0.5)),
        alignment=Alignment(done.record, np.argsort(done.order), data.n),
        targets=held,
        held=held,
    )
    assert np.mean(list(credits_of(found).values())) >= 0.95


RARE = [0] * 240 + [1] * 120 + [2] * 37 + [3] * 3
MATRIX = {a: {b: 0.7 if a == b else 0.1 for b in "0123"} for a in "0123"}


@pytest.mark.parametrize("parameters", [{"retention": 0.7}, {"matrix": MATRIX}], ids=["retention", "matrix"])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_rare_categories_that_he_does_not_hold_are_not_ruled_out(table, parameters, share):
    rng = np.random.default_rng(0)
    data, schema = table({"c": [str(one) for one in RARE], "x": rng.normal(size=400)}, scales={"c": Scale.NOMINAL})
    step = Pram(method="pram", attributes=("c",), **parameters)
    for seed in range(6):
        done = mask(data, schema, (step,), seed=bytes([seed]) * 32, path=())
        held = some(400, share, seed)
        found = attack(
            *(data, done.data, schema, done.mechanisms, TRANSPARENT, Intruder("declared", ("c", "x"), True, share)),
            alignment=Alignment(done.record, np.argsort(done.order), data.n),
            targets=held,
            held=held,
        )
        assert found.status == "ok", found.reason


def test_categories_coded_after_they_were_drawn_are_doubted_by_who_lacks_records(people):
    bands = Recoding(method="recoding", recode={"c": {"map": {"a": "b", "b": "b", "c": "c"}}})
    found = run(people, (*STEPS["drawn anew"], bands), TRANSPARENT, some(150, 0.3))
    assert found.status == "ok", found.reason
    assert "heuristic in c" in found.knows_mechanism


@pytest.mark.parametrize("participation_known", [True, False])
def test_a_share_of_whom_nobody_was_sampled(people, participation_known):
    steps = STEPS["sampled, then swapped"]
    kept = mask(*people, steps, seed=SEED, path=()).record
    absent = np.setdiff1d(np.arange(150), kept)[:2]
    found = run(people, steps, CONSISTENT, absent, participation_known=participation_known)
    assert found.status in ("not_applicable", "failed", "ok")
    assert found.status != "ok" or not found.outcomes.floats("credit").any()


def test_where_links_depend_on_the_others_no_limit_is_shown_to_be_kept(people):
    held = some(150, 0.5)
    data, schema = people
    bounds = {}
    for spec in (CONSISTENT, TRANSPARENT):
        result = run(people, STEPS["swap"], spec, held)
        done = mask(data, schema, STEPS["swap"], seed=SEED, path=())
        scene = GroundTruth.create_from_tables(data, done.data, schema, Alignment(done.record, np.argsort(done.order), data.n))
        bounds[spec.method] = {one.measure: one for one in linkage_estimates(result, scene, schema)}
    rate = bounds["consistency"]["reidentification"]
    assert (rate.high, rate.reason) == (1.0, ONE_SHARE)
    assert 0 < rate.low < rate.value
    assert bounds["consistency"]["mean_candidate_set_size"].low == 0
    alone = bounds["transparency"]["reidentification"]
    assert (alone.high < 1, alone.reason) == (True, None)


@pytest.mark.long
def test_the_chance_of_an_assignment_of_a_share_is_that_of_each_who_is_there(people):
    """Of 75 records held 45 or so are sampled: 90 rows are given to all of them, so that each who is there has 1/90."""
    steps, held = (Sampling(method="sampling", share=0.6), SWAP), some(150, 0.5)
    together = DistanceLinkage(method="distance_linkage", matching="one_to_one")
    data, schema = people
    result = run(people, steps, together, held)
    done = mask(data, schema, steps, seed=SEED, path=())
    scene = GroundTruth.create_from_tables(data, done.data, schema, Alignment(done.record, np.argsort(done.order), data.n))
    by_name = {one.measure: one for one in linkage_estimates(result, scene, schema)}
    there = np.isin(held, done.record).mean()
    assert by_name["reidentification"].chance == pytest.approx(there / 90, rel=0.02)
    assert by_name["reidentification_present"].chance == pytest.approx(1 / 90, rel=0.02)
