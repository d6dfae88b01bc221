"""The figures of a linkage attack: worked outcomes, samples, attacks that did not run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.learned.learning_summary import LearnedFacts
from tasks.attack.outcomes.credit_bounds import CreditBounds
from tasks.microdata.interval import compute_bounded_mean_interval, hypergeometric_interval
from tasks.microdata.schema import Attribute, Role, Scale
from tasks.score.linkage import LEARNED_FROM_ALL, compute_majority_chance, linkage_estimates
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide

SECRET = [Attribute(name="vote", role=Role.CONFIDENTIAL, scale=Scale.NOMINAL, decided_by="declared")]
TABLE = {"age": [1.0, 2.0, 3.0, 4.0], "vote": ["x", "x", "y", "z"]}
OUTCOMES = {
    "target": [0, 1, 2, 3],
    "credit": [1.0, 0.5, 0.25, 0.0],
    "among_nearest": [True, True, True, False],
    "candidates": [1, 2, 4, 1],
    "sound_candidates": [1, 2, None, 1],
    "linked:vote": [1.0, 1.0, 0.5, 0.0],
    "control:vote": [0.5, 1.0, 0.0, 0.0],
}


def by_measure(estimates):
    return {one.measure: one for one in estimates}


def test_worked_outcomes_of_four_targets(pair_of, scene_of, result_of):
    found = by_measure(linkage_estimates(result_of(OUTCOMES), *scene_of(pair_of(TABLE, TABLE, SECRET))))
    assert {name: one.value for name, one in found.items()} == {
        "reidentification": 1.75 / 4,
        "records_exposed": 0.5,
        "max_record_risk": 1.0,
        "plausible_deniability": 0.0,
        "truth_among_nearest": 0.75,
        "mean_candidate_set_size": 2.0,
        "known_links": 0.5,
        "known_reidentification": 0.25,
        "linked_value_disclosed": 2.5 / 4,
        "linked_value_control": 1.5 / 4,
    }
    assert all((one.low, one.high, one.basis) == (one.value, one.value, "exact") for one in found.values())
    assert (found["reidentification"].chance, found["reidentification"].chance_kind) == (0.25, "uniform_guess")
    assert (found["linked_value_disclosed"].chance, found["linked_value_disclosed"].chance_kind) == (0.5, "majority")
    assert found["linked_value_disclosed"].id == "linked_value_disclosed|distance_linkage|declared|vote"


@pytest.mark.parametrize(
    ("own", "odds"),
    [
        ({"credit": [0.25, 0.5, 0.0, 0.25]}, 1.0),  # one of two rows that look alike
        ({"credit": [1.0, 0.0, 0.0, 0.0], "posterior": [0.4, 0.1, 0.05, 0.1]}, 1.5),  # what it says counts, not what it names
        ({"credit": [0.0, 0.0, 0.0, 0.0]}, 3.0),  # misled: as a guess among four rows
        ({"credit": [0.5, 0.5, 0.5, 0.5], "posterior": [0.0, 1.0, 0.5, 0.0]}, 0.0),
    ],
)
def test_whoever_can_deny_least_says_how_plausible_a_denial_is(pair_of, scene_of, result_of, own, odds):
    found = by_measure(linkage_estimates(result_of({**OUTCOMES, **own}), *scene_of(pair_of(TABLE, TABLE, SECRET))))
    one = found["plausible_deniability"]
    assert (one.value, one.low, one.high) == (pytest.approx(odds, abs=1e-12), one.value, one.value)


def test_constant_release_scores_chance_and_exposes_nobody(pair_of, scene_of, result_of):
    outcomes = {
        **OUTCOMES,
        "credit": [0.25] * 4,
        "among_nearest": [True] * 4,
        "candidates": [4] * 4,
        "sound_candidates": [4] * 4,
    }
    found = by_measure(linkage_estimates(result_of(outcomes), *scene_of(pair_of(TABLE, TABLE, SECRET))))
    assert found["reidentification"].value == found["reidentification"].chance
    assert (found["records_exposed"].value, found["truth_among_nearest"].value, found["known_links"].value) == (0, 1, 0)


def test_without_sound_sets_nothing_is_claimed_about_known_links(pair_of, scene_of, result_of):
    outcomes = {**OUTCOMES, "sound_candidates": [None] * 4}
    outcomes["sound_candidates"] = np.array([np.nan] * 4)
    found = by_measure(linkage_estimates(result_of(outcomes), *scene_of(pair_of(TABLE, TABLE, SECRET))))
    assert not {"known_links", "known_reidentification"} & set(found)


def test_links_that_are_asserted_by_their_margin(pair_of, scene_of, result_of):
    n = 200
    table = {"age": list(range(n)), "vote": ["a", "b"] * (n // 2)}
    margin = np.where(np.arange(n) < 120, 0.9, 0.1)
    outcomes = {
        "target": np.arange(n),
        "in_release": np.ones(n, dtype=bool),
        "credit": np.ones(n),
        "among_nearest": np.ones(n, dtype=bool),
        "candidates": np.ones(n, dtype=np.int64),
        "sound_candidates": np.full(n, np.nan),
        "known": np.full(n, np.nan),
        "margin": margin,
        "named_right": (margin > 0.5) & (np.arange(n) != 0),
        "linked:vote": np.zeros(n),
        "control:vote": np.zeros(n),
    }
    found = by_measure(linkage_estimates(result_of(outcomes), *scene_of(pair_of(table, table, SECRET))))
    assert (found["known_links"].value, found["known_reidentification"].value) == (120 / n, 119 / n)


def test_an_insider_is_not_scored_on_what_he_knows(pair_of, scene_of, result_of):
    found = linkage_estimates(result_of(OUTCOMES, intruder="insider:vote"), *scene_of(pair_of(TABLE, TABLE, SECRET)))
    assert "linked_value_disclosed" not in by_measure(found)
    assert {one.intruder for one in found} == {"insider:vote"}


def test_a_sample_has_intervals(pair_of, scene_of, result_of):
    rng = np.random.default_rng(1)
    n, population = 60, 200
    credit = 1 / rng.integers(1, 6, n)
    outcomes = {
        "target": rng.permutation(population)[:n],
        "credit": credit,
        "among_nearest": credit > 0,
        "candidates": np.rint(1 / credit).astype(int),
        "sound_candidates": np.rint(1 / credit).astype(int),
        "linked:vote": credit,
        "control:vote": credit / 2,
    }
    table = {"age": np.arange(200.0), "vote": ["x"] * 150 + ["y"] * 50}
    result = result_of(outcomes, n_release=population)
    found = by_measure(linkage_estimates(result, *scene_of(pair_of(table, table, SECRET))))
    assert {one.basis for one in found.values()} == {"sampled_targets"}
    assert {(one.n_targets, one.n_in_release) for one in found.values()} == {(60, 60)}
    rate, exposed, largest = (found[name] for name in ("reidentification", "records_exposed", "max_record_risk"))
    shared, counted = (
        compute_bounded_mean_interval(credit, population),
        hypergeometric_interval(int((credit >= 0.5).sum()), n, population),
    )
    assert (rate.low, rate.high) == (shared.low, shared.high)
    assert (exposed.low, exposed.high) == (counted.low, counted.high)
    assert (largest.low, largest.high) == (credit.max(), 1.0)
    denied = found["plausible_deniability"]
    assert (denied.low, denied.high) == (0.0, pytest.approx(1 / credit.max() - 1))
    sizes = found["mean_candidate_set_size"]
    assert 1 <= sizes.low < sizes.value < sizes.high <= population
    assert found["linked_value_disclosed"].chance == 0.75


@pytest.mark.parametrize("status", ["failed", "not_applicable"])
def test_an_attack_that_did_not_run_has_no_figure(pair_of, scene_of, result_of, status):
    result = result_of(None, status=status, reason="the mask has no mechanism to invert")
    found = linkage_estimates(result, *scene_of(pair_of(TABLE, TABLE, SECRET)))
    assert {(one.value, one.low, one.high, one.status, one.reason) for one in found} == {
        (None, None, None, status, result.reason)
    }
    assert {"reidentification", "known_reidentification", "linked_value_disclosed"} <= set(by_measure(found))


def test_more_targets_than_there_are_is_refused(pair_of, scene_of, result_of):
    with pytest.raises(ValueError, match="1 to N"):
        fewer = {name: values[:3] for name, values in TABLE.items()}
        linkage_estimates(result_of({**OUTCOMES, "target": [0, 1, 2, 2]}), *scene_of(pair_of(fewer, fewer, SECRET)))


def test_majority_by_hand(pair_of, scene_of):
    released = {**TABLE, "vote": ["y", "y", "z", "x"]}
    assert (
        compute_majority_chance(scene_of(pair_of(TABLE, released, SECRET))[0], "vote") == 0.25
    )  # y is released twice, and true of one in four
    tied = {**TABLE, "vote": ["x", "x", "z", "z"]}
    assert compute_majority_chance(scene_of(pair_of(TABLE, tied, SECRET))[0], "vote") == (2 / 4 + 1 / 4) / 2
    missing = {**TABLE, "vote": ["x", None, None, None]}
    assert compute_majority_chance(scene_of(pair_of(TABLE, missing, SECRET))[0], "vote") == 0.0


votes = st.sampled_from(["x", "y", "z", None])


@settings(deadline=None)
@given(st.lists(st.tuples(votes, votes), min_size=1, max_size=20))
def test_majority_is_the_expected_hit_of_a_guess_among_the_modes(rows):
    from collections import Counter

    import pyarrow as pa

    from tasks.microdata.alignment import Alignment
    from tasks.microdata.ground_truth import GroundTruth
    from tasks.microdata.schema import Schema
    from tasks.microdata.table import Microdata

    original, masked = ([*column] for column in zip(*rows, strict=True))
    tables = [Microdata.from_columns({"vote": pa.array(column, type=pa.string())}) for column in (original, masked)]
    counts = Counter(masked)
    modes = [value for value, count in counts.items() if count == max(counts.values())]
    expected = np.mean([np.mean([truth == guess for truth in original]) for guess in modes])
    scene = GroundTruth.create_from_tables(*tables, Schema(tuple(SECRET)), Alignment.complete_in(np.arange(len(rows))))
    assert compute_majority_chance(scene, "vote") == pytest.approx(expected)


def test_asserted_links_of_a_learned_distance_are_of_the_worst_case_too(result_of, pair_of, scene_of):
    facts = LearnedFacts(
        family="owa", metric=False, records=4, rate=1.0, euclidean=1.0, chance=0.3, sure=1.0, bound=None, stopped=False,
        held_out=None, betraying=(), parameters=(),
    )  # fmt: skip
    with_margins = OUTCOMES | {"margin": [0.5] * 4, "named_right": [True] * 4, "sound_candidates": pa.nulls(4, pa.int64())}
    scene, schema = scene_of(pair_of({"x": [1, 2, 3, 4]}, {"x": [1, 2, 3, 4]}))
    for learned, reason in ((None, None), (facts, LEARNED_FROM_ALL)):
        found = linkage_estimates(replace(result_of(with_margins), learned=learned), scene, schema)
        told = {one.measure: one.reason for one in found}
        assert (told["known_links"], told["known_reidentification"]) == (reason, reason)
        assert told["reidentification"] is None


def test_rows_that_look_alike_bound_the_figures_of_a_sample_for_everybody(pair_of, scene_of, result_of):
    table = {"age": np.repeat(np.arange(40.0), 10).tolist()}
    outcomes = {
        "target": [0, 10, 20],
        "credit": [0.1] * 3,
        "among_nearest": [True] * 3,
        "candidates": [10] * 3,
        "sound_candidates": [10] * 3,
    }
    bounds = CreditBounds(mean=0.1, largest=0.1, exposed=0.0)
    result = replace(result_of(outcomes, n_release=400), credit_bounds=bounds)
    scene = scene_of(pair_of(table, table))
    found = by_measure(linkage_estimates(result, *scene))
    assert found["plausible_deniability"].low == pytest.approx(9)
    lines = (("reidentification", 0.1), ("max_record_risk", 0.1), ("records_exposed", 0.0))
    assert [found[name].high for name, _ in lines] == pytest.approx([most for _, most in lines])
    assert {one.basis for one in found.values()} == {"sampled_targets"}
    policy = tuple(PolicyLine(measure=measure, at_most=limit) for measure, limit in lines)
    assert decide(policy, tuple(found.values())).verdict == "certified"
    unbounded = tuple(by_measure(linkage_estimates(replace(result, credit_bounds=None), *scene)).values())
    assert [one.decision for one in decide(policy, unbounded).criteria] == ["undecided"] * 3
    # A sample that was lucky for the intruder is not said to be beyond what is possible.
    lucky = by_measure(linkage_estimates(replace(result, credit_bounds=replace(bounds, mean=0.05)), *scene))
    assert lucky["reidentification"].high == lucky["reidentification"].value
