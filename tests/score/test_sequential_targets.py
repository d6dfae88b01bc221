"""Deciding from targets in planned looks: the bounds, when looks end, and how often they decide wrongly."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tasks.attack.target_looks import TargetLook, TargetLooks, plan_looks
from tasks.microdata.estimate import Estimate
from tasks.microdata.interval import ERROR, Interval, compute_bounded_mean_interval, hypergeometric_interval
from tasks.score.linkage import linkage_estimates
from tasks.score.look_decisions import (
    OF_TARGETS,
    SampledPopulation,
    compute_smallest_bound,
    is_beyond_samples,
    judge_look,
)
from tasks.score.policy import PolicyLine
from tasks.score.scored_targets import NONE_DRAWN, ONE_SHARE, SAMPLED_MARGINS
from tasks.score.subgroups import find_subgroups
from tasks.score.verdict import decide

UNITS = 400
FOUR = plan_looks(TargetLooks(first=0.1, last=0.8, looks=4))


def line(measure="reidentification", at_most=0.3, **fields):
    return PolicyLine(measure=measure, at_most=at_most, **fields)


def figure(low, high, measure="reidentification", **fields):
    given = {"attack": "nearest", "intruder": "declared", "unit": "share", "basis": "sequential_targets"} | fields
    return Estimate(measure=measure, value=(low + high) / 2, low=low, high=high, **given)


def judge(policy, estimates, look=FOUR[0], held=1.0, unfollowed=frozenset()):
    return judge_look(tuple(policy), tuple(estimates), unfollowed, look, SampledPopulation(UNITS, "records", held))


def test_worked_example_two_looks_at_none_of_ten_drawn_from_twenty():
    # each bound errs in at most 2.5 %. K = 5: C(15,10)/C(20,10) = 3003/184756 = 0.0163; K = 4: 8008/184756 = 0.0433
    look = plan_looks(TargetLooks(first=0.5, last=0.9, looks=2))[0]
    assert hypergeometric_interval(0, 10, 20, look.error) == Interval(0.0, 4 / 20)
    assert hypergeometric_interval(0, 10, 20) == Interval(0.0, 3 / 20)
    assert compute_smallest_bound(10, 20) == 3 / 20


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0]), min_size=2, max_size=40), st.integers(1, 300))
def test_surer_bounds_are_wider_and_the_level_of_one_look_is_that_of_a_plain_sample(values, unseen):
    credits, population = np.array(values), len(values) + unseen
    plain, one, four = (compute_bounded_mean_interval(credits, population, *error) for error in ((), (ERROR,), (ERROR / 4,)))
    assert plain == one
    assert four.low <= plain.low <= plain.high <= four.high


def outcomes_of(rng, targets):
    n = len(targets)
    ties = rng.integers(1, 5, n)
    among = rng.random(n) < 0.8
    return {
        "target": targets,
        "credit": np.where(among, 1 / ties, 0.0),
        "among_nearest": among,
        "candidates": ties,
        "sound_candidates": np.full(n, np.nan),
    }


@pytest.fixture
def scored(pair_of, scene_of, result_of):
    """`scored(looks, targets)`: the figures of an attack on 60 records of which some are targets, at a look (None: a share)."""
    rng = np.random.default_rng(4)
    table = {"x": np.arange(60.0)}
    truth, schema = scene_of(pair_of(table, table))

    def make(look, n_targets):
        targets = rng.permutation(60)[:n_targets] if n_targets < 60 else np.arange(60)
        result = result_of(outcomes_of(np.random.default_rng(5), targets), n_release=60)
        return linkage_estimates(result, truth, schema, (), look)

    return make


def test_a_single_look_has_the_figures_of_a_plain_share_to_the_last_digit(pair_of, scene_of, result_of):
    truth, schema = scene_of(pair_of({"x": np.arange(60.0)}, {"x": np.arange(60.0)}))
    result = result_of(outcomes_of(np.random.default_rng(5), np.random.default_rng(4).permutation(60)[:25]), n_release=60)
    plain = linkage_estimates(result, truth, schema)
    only = linkage_estimates(result, truth, schema, (), TargetLook(1, 1, 25 / 60, 25 / 60))
    assert {one.basis for one in plain} == {"sampled_targets"}
    assert {one.basis for one in only} == {"sequential_targets"}
    assert [replace(one, basis="sampled_targets") for one in only] == list(plain)


def test_the_figures_of_a_look_say_how_sure_they_are(scored):
    figures = scored(FOUR[1], 25)
    assert {(one.basis, one.confidence) for one in figures} == {("sequential_targets", 1 - 2 * ERROR / 4)}
    assert {one.bound_confidence for one in figures} == {1 - ERROR / 4}
    (criterion,) = decide((line(at_most=0.9),), figures).criteria
    assert (criterion.decision, criterion.bound_confidence) == ("pass", 1 - ERROR / 4)
    assert criterion.reason == "the one-sided 98.75 % bound is within the limit"


def test_a_last_look_at_everybody_is_exact(scored):
    figures = scored(TargetLook(4, 4, 1.0, 1.0), 60)
    assert {(one.basis, one.confidence) for one in figures} == {("exact", 0.9)}
    assert all(one.low == one.value == one.high for one in figures)
    (criterion,) = decide((line(at_most=0.9),), figures).criteria
    assert criterion.bound_confidence is None


@pytest.mark.parametrize(
    ("bounds", "state"), [((0.1, 0.3), "decided"), ((0.31, 0.5), "broken"), ((0.2, 0.4), "open"), ((0.3, 0.4), "open")]
)
def test_a_look_ends_the_looks_if_its_figures_decide(bounds, state):
    found = judge([line()], [figure(*bounds)])
    assert (found.state, found.targets, found.counts, found.lines) == (state, 40, "records", 1)
    assert found.undecided == ((0,) if state == "open" else ())


def test_the_last_look_leaves_nothing_open():
    assert judge([line()], [figure(0.2, 0.4)], FOUR[3]).state == "exhausted"


def test_lines_that_no_target_decides_are_not_waited_for():
    others = [PolicyLine(measure="membership_advantage", at_most=0.1), PolicyLine(measure="k_anonymity", at_least=3)]
    assert judge(others, [figure(0.2, 0.4)]).state == "decided"
    found = judge([others[0], line()], [figure(0.2, 0.4)])
    assert (found.state, found.lines, found.undecided) == ("open", 1, (1,)), "the place in the whole policy"
    assert {"reidentification", "records_exposed", "max_record_risk", "linked_value_disclosed"} <= OF_TARGETS


def test_a_broken_line_ends_the_looks_although_another_is_open():
    found = judge([line(), line(at_most=0.15)], [figure(0.2, 0.4)])
    assert (found.state, found.undecided) == ("broken", (0,))


def test_an_attack_that_failed_or_was_not_followed_leaves_the_line_to_no_further_look():
    failed = replace(figure(0.1, 0.2, attack="other"), status="failed", value=None, low=None, high=None, reason="no memory")
    assert judge([line()], [figure(0.1, 0.2), failed]).state == "undecidable"
    assert judge([line()], [figure(0.2, 0.4), failed]).state == "undecidable"
    assert (
        judge([line(), line("records_exposed")], [figure(0.1, 0.2), failed, figure(0.2, 0.4, "records_exposed")]).state
        == "open"
    )
    unfollowed = replace(failed, status="not_followed")
    assert judge([line()], [figure(0.1, 0.2), unfollowed], unfollowed=frozenset({("other", "declared")})).state == "undecidable"


def test_what_depends_on_the_records_that_are_held_is_not_decided_by_more_of_them():
    assert judge([line()], [figure(0.1, 1.0, reason=ONE_SHARE)]).state == "undecidable"


def test_every_attack_has_to_be_within_the_limit_at_one_look():
    kept, other = figure(0.1, 0.2), figure(0.2, 0.4, attack="other")
    assert judge([line()], [kept, other]).state == "open"
    assert judge([line()], [kept, replace(other, high=0.3)]).state == "decided"


def test_the_most_exposed_record_is_left_to_a_look_at_everybody():
    largest = figure(0.2, 1.0, "max_record_risk")
    policy = [line("max_record_risk", 0.5)]
    assert judge(policy, [largest]).state == "undecidable"
    to_everybody = plan_looks(TargetLooks(first=0.1, last=1.0, looks=3))[0]
    assert judge(policy, [largest], to_everybody).state == "open"
    assert judge(policy, [largest], to_everybody, held=0.5).state == "undecidable", "half of them are never attacked"
    of_file = replace(largest, intruder="file:register")
    file_line = [line("max_record_risk", 0.5, intruder="file")]
    assert judge(file_line, [of_file], to_everybody, held=0.5).state == "open", "who holds a file holds all of it"
    assert judge(policy, [replace(largest, low=0.6)]).state == "broken"


def test_a_limit_below_what_the_last_look_can_show_is_not_waited_for():
    # 320 of 400 at the last look, each bound at 1.25 %: nobody found leaves 2 in 400
    smallest = compute_smallest_bound(320, UNITS, ERROR / 4)
    assert smallest == pytest.approx(2 / UNITS)
    none = figure(0.0, 0.1, "records_exposed")
    assert judge([line("records_exposed", 0.0)], [none]).state == "undecidable"
    assert judge([line("records_exposed", smallest)], [none]).state == "open"
    assert is_beyond_samples(line("records_exposed", 0.0), smallest)
    assert not is_beyond_samples(line("records_exposed", smallest), smallest)
    assert not is_beyond_samples(PolicyLine(measure="mean_candidate_set_size", at_least=2), smallest)
    assert not is_beyond_samples(PolicyLine(measure="membership_advantage", at_most=0.0), smallest)


def test_parts_of_whom_nobody_was_drawn_and_margins_of_a_sample_leave_a_line_open():
    kept = figure(0.1, 0.2, "subgroup_reidentification", attribute="x", subgroup="highest values")
    unseen = replace(kept, attribute="y", status="not_applicable", reason=NONE_DRAWN, value=None, low=None, high=None)
    policy = [line("subgroup_reidentification")]
    assert decide(tuple(policy), (kept,)).verdict == "certified"
    assert decide(tuple(policy), (kept, unseen)).verdict == "undecided"
    assert judge(policy, [kept, unseen]).state == "open"
    by_sets, by_margins = figure(0.0, 0.1, "known_links"), replace(unseen, measure="known_links", reason=SAMPLED_MARGINS)
    by_margins = replace(by_margins, attack="other", attribute=None, subgroup=None)
    policy = [line("known_links")]
    assert judge(policy, [by_sets]).state == "decided"
    assert judge(policy, [by_sets, by_margins]).state == "undecidable"
    to_everybody = plan_looks(TargetLooks(first=0.1, last=1.0, looks=3))[0]
    assert judge(policy, [by_sets, by_margins], to_everybody).state == "open"


def test_a_sample_has_a_figure_of_every_subgroup_or_says_that_it_has_none(pair_of, scene_of, result_of):
    truth, schema = scene_of(pair_of({"x": np.arange(400.0)}, {"x": np.arange(400.0)}))
    subgroups = find_subgroups(truth.original, schema, truth.units)  # the twenty lowest, and the twenty highest
    targets = np.array([3, *range(100, 139)])
    figures = linkage_estimates(result_of(outcomes_of(np.random.default_rng(5), targets)), truth, schema, subgroups, FOUR[0])
    lowest, highest = (one for one in figures if one.measure == "subgroup_reidentification")
    assert (lowest.subgroup, lowest.n_targets, lowest.status) == ("lowest values", 1, "ok")
    assert lowest.high > 0.9
    assert (highest.subgroup, highest.n_targets, highest.reason) == ("highest values", 0, NONE_DRAWN)
    assert len({one.id for one in figures}) == len(figures)
    policy = (PolicyLine(measure="subgroup_reidentification", at_most=0.99),)
    assert decide(policy, figures).verdict == "undecided"


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(0, 200))
def test_no_bound_of_a_mean_is_below_the_smallest_one(n, unseen):
    zeros = np.zeros(n)
    assert compute_bounded_mean_interval(zeros, n + unseen).high >= compute_smallest_bound(n, n + unseen) - 1e-9


@dataclass(frozen=True, slots=True)
class UncorrectedLook(TargetLook):
    """A look at the level of a single sample: what must not be done."""

    @property
    def error(self) -> float:
        return ERROR


DECISIONS = 10_000
MOST_WRONG = int(binom.isf(1e-4, DECISIONS, ERROR))
PLANNED = plan_looks(TargetLooks(first=0.05, last=0.4, looks=4))
SIZES = [round(look.share * UNITS) for look in PLANNED]
UNCORRECTED = tuple(UncorrectedLook(look.number, look.planned, look.share, look.last_share) for look in PLANNED)


def count_wrong(population, looks, bound, decisions=DECISIONS):
    """How many of the draws end certified under a limit just below the truth, by nested samples."""
    rng = np.random.default_rng(11)
    limit = float(population.mean()) - 1e-6
    policy = (line(at_most=limit),)
    states: dict[tuple[TargetLook, bool, bool], str] = {}  # a figure decides by which of its ends are beyond the limit
    wrong = 0
    for _ in range(decisions):
        drawn = rng.permutation(population)
        for look, n in zip(looks, SIZES, strict=True):
            interval = bound(drawn[:n], look)
            ends = (look, interval.low > limit, interval.high > limit)
            if ends not in states:
                found = figure(interval.low, interval.high, confidence=look.confidence)
                states[ends] = judge(policy, [found], look).state
            if states[ends] != "open":
                wrong += states[ends] == "decided"
                break
    return wrong


def bound_counts(known):
    def bound(sample, look):
        hits = int(sample.sum())
        if (look, hits) not in known:
            known[look, hits] = hypergeometric_interval(hits, len(sample), UNITS, look.error)
        return known[look, hits]

    return bound


def bound_means(sample, look):
    return compute_bounded_mean_interval(sample, UNITS, look.error)


def found_or_not():
    return np.repeat([1.0, 0.0], [120, UNITS - 120])


def tie_shared():
    return np.repeat([1.0, 0.5, 1 / 3, 0.25, 0.0], [40, 60, 60, 80, 160])


def test_ten_thousand_decisions_on_counts_err_in_at_most_five_percent():
    wrong = count_wrong(found_or_not(), PLANNED, bound_counts({}))
    assert 0 < wrong <= MOST_WRONG


def test_looks_without_a_correction_are_caught_on_counts():
    assert count_wrong(found_or_not(), UNCORRECTED, bound_counts({})) > 1.5 * MOST_WRONG


@pytest.mark.slow
def test_ten_thousand_decisions_on_shared_credit_err_in_at_most_five_percent():
    assert 0 < count_wrong(tie_shared(), PLANNED, bound_means) <= MOST_WRONG


@pytest.mark.slow
def test_looks_without_a_correction_are_caught_on_shared_credit():
    assert count_wrong(tie_shared(), UNCORRECTED, bound_means, 1_000) > 1.5 * MOST_WRONG / 10
