"""A calibration says so when an attack peeks, an interval is too narrow, a claim too bold; and nothing else does."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.outcomes.links import Links
from tasks.attack.row_position import RowPosition
from tasks.mask.methods import describe
from tasks.microdata.errors import NotApplicable
from tasks.score.interval_disclosure import rank_interval_hits
from tasks.sweep.calibration import interval_checks, planted_checks, posterior_checks, random_pairings, recount_checks, worlds
from tasks.sweep.calibration.calibration_findings import LEVEL, Effort
from tasks.sweep.calibration.checks import FOLLOWED, carry_out, list_checks
from tasks.sweep.calibration.interval_checks import intervals_cover
from tasks.sweep.calibration.null_checks import finds_nothing
from tasks.sweep.calibration.planted_checks import finds_what_is_there
from tasks.sweep.calibration.posterior_checks import claims_hold, compute_difference_p_value
from tasks.sweep.calibration.random_pairings import (
    complete_to_square,
    compute_binomial_tail,
    compute_credit_matrix,
    compute_pairing_credit,
    run_permutation_test,
)
from tasks.sweep.calibration.recount_checks import _create_rank_rule

POSITION = RowPosition(method="row_position")
BRIEF = Effort(seeds=20, samples=30)  # of the slow tier; planted faults show what it catches
FULL = Effort(seeds=120, samples=300)
ENOUGH = Effort(seeds=300, samples=0)


def rng(number=1):
    return np.random.default_rng(number)


def check(kind, subject, scene):
    (found,) = [one for one in list_checks() if (one.kind, one.subject, one.scene) == (kind, subject, scene)]
    return found


def with_credit(change):
    """An attack whose credits are changed by a function of its result's credits and a generator."""
    real, random = random_pairings.attack, rng(5)

    def changed(*arguments, **named):
        result = real(*arguments, **named)
        credit = np.array(change(result.outcomes.floats("credit"), random))
        return replace(result, outcomes=result.outcomes.replace_column("credit", pa.array(credit)))

    return changed


def peeks(credit, random, excess=0.3):
    """They look at the truth now and then: 30 % above chance."""
    return np.where(random.random(len(credit)) < excess / len(credit), 1.0, credit)


def forgets(credit, random):
    return np.where(random.random(len(credit)) < 0.3, 0.0, credit)


def test_the_law_of_random_pairings_against_all_of_them():
    credit = np.array([[1, 0, 0, 0.5], [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0.25, 0.25, 0.25, 0.25]])
    sums = [sum(credit[i, row] for i, row in enumerate(pairing)) for pairing in permutations(range(4))]
    for found in (0.5, 1.5, 2.5):
        law = run_permutation_test([credit], found, rng())
        assert law.expected == pytest.approx(np.mean(sums)) == credit.sum() / 4
        for p, reached in ((law.above, [one >= found for one in sums]), (law.below, [one <= found for one in sums])):
            assert p == pytest.approx(np.mean(reached), abs=0.08)


def test_the_law_notices_what_is_far_from_chance_on_either_side():
    sharp = [np.eye(30)] * 10
    expected = 10.0
    assert min(run_permutation_test(sharp, expected, rng()).above, run_permutation_test(sharp, expected, rng()).below) > 0.3
    assert run_permutation_test(sharp, 40.0, rng()).above < LEVEL
    assert run_permutation_test([np.eye(30)] * 30, 2.0, rng()).below < LEVEL


def test_where_all_guesses_are_alike_every_pairing_earns_the_same():
    law = run_permutation_test([np.full((6, 6), 1 / 6)] * 3, 3.0, rng())
    assert (law.above, law.below) == (1.0, 1.0)


def test_worked_example_of_a_matrix_of_credits():
    # record 0 is linked to the rows 0 and 2, which look alike; record 1 to row 1; record 2 has no guess
    links = Links(np.array([0, 1, 0]), np.array([0, 1, 2]), np.array([0, 1, 2, 2]), np.array([0, 1]))
    expected = np.array([[0.5, 0, 0.5], [0, 1, 0], [0, 0, 0]])
    assert compute_credit_matrix(links, is_searched=False).tolist() == expected.tolist()
    assert compute_credit_matrix(links, is_searched=True).tolist() == expected.T.tolist()
    assert complete_to_square(expected[:, :2]).tolist() == [[0.5, 0, 0], [0, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize("make", [worlds.make_masked_world, worlds.make_partial_world])
def test_the_credit_of_an_attack_stands_in_its_matrix(make):
    by_attack = compute_pairing_credit(make(30, (), rng()), POSITION)
    world = make(30, (), rng())
    row = world.alignment.row_by_record
    there = row >= 0
    np.testing.assert_array_equal(by_attack.credit[there], by_attack.matrix[np.flatnonzero(there), row[there]])
    assert not by_attack.credit[~there].any()


def by_position():
    """What is found of the attack by row position on small shuffled tables."""
    (found,) = finds_nothing("row_position", "", POSITION, partial(worlds.make_masked_world, 8, ()), ENOUGH, rng())
    return found


@pytest.mark.long
def test_an_attack_that_peeks_30_percent_more_than_chance_is_caught(monkeypatch):
    before = by_position()
    monkeypatch.setattr(random_pairings, "attack", with_credit(peeks))
    after = by_position()
    assert before.holds
    assert before.expected == pytest.approx(1 / 8)
    assert not after.holds
    assert after.p < LEVEL
    assert "more than chance" in after.reason


def test_brief_effort_catches_an_attack_that_finds_three_times_what_chance_does(monkeypatch):
    shuffled = check("null", "row_position", "rows shuffled")
    (before,) = carry_out(shuffled, BRIEF)
    monkeypatch.setattr(random_pairings, "attack", with_credit(partial(peeks, excess=2.0)))
    (after,) = carry_out(shuffled, BRIEF)
    assert before.holds
    assert not after.holds
    assert after.p < LEVEL


@pytest.mark.slow
def test_an_attack_that_loses_links_in_scoring_is_caught(monkeypatch):
    monkeypatch.setattr(random_pairings, "attack", with_credit(forgets))
    found = by_position()
    assert not found.holds
    assert "less than chance" in found.reason


def test_an_attack_that_misstates_its_chance_is_caught(monkeypatch):
    real = random_pairings.attack
    monkeypatch.setattr(random_pairings, "attack", lambda *a, **named: replace(real(*a, **named), chance=0.021))
    (found,) = carry_out(check("null", "row_position", "rows shuffled"), BRIEF)
    assert not found.holds
    assert "in 20 tables" in found.reason


def test_an_attack_that_does_not_run_is_no_finding_of_chance(monkeypatch):
    real = random_pairings.attack
    refused = {"status": "failed", "reason": "no time", "outcomes": None}
    monkeypatch.setattr(random_pairings, "attack", lambda *a, **named: replace(real(*a, **named), **refused))
    for kind, scene in (("null", "rows shuffled"), ("planted", "30% have a key of their own")):
        (found,) = carry_out(check(kind, "row_position", scene), BRIEF)
        assert not found.holds
        assert found.reason == "it did not run: no time"


def test_what_is_planted_is_found_and_the_rest_by_chance():
    (found,) = finds_what_is_there("row_position", "", POSITION, (), 0.3, BRIEF, rng())
    assert found.holds
    assert found.expected == pytest.approx(0.3 + 0.7 / (0.7 * planted_checks.N))  # share + (1 - share) * chance among the rest
    (everybody,) = finds_what_is_there("row_position", "", POSITION, (), 1.0, BRIEF, rng())
    assert (everybody.found, everybody.p, everybody.holds) == (1.0, None, True)


def test_one_planted_record_that_is_missed_is_told(monkeypatch):
    def misses_one(credit, random):
        return np.where(np.arange(len(credit)) == np.argmax(credit), 0.0, credit)

    monkeypatch.setattr(random_pairings, "attack", with_credit(misses_one))
    for share in (0.3, 1.0):
        (found,) = finds_what_is_there("row_position", "", POSITION, (), share, BRIEF, rng())
        assert not found.holds
        assert "were not found" in found.reason


def narrower(factor):
    """The figures of linkage with intervals narrowed around the value."""
    real = interval_checks.linkage_estimates

    def found(*arguments):
        for one in real(*arguments):
            if one.low is None or one.value is None:
                yield one
            else:
                low, high = (one.value + factor * (end - one.value) for end in (one.low, one.high))
                yield replace(one, low=low, high=high)

    return found


def covered(effort, number=3):
    world = worlds.make_ordered_world(600, (), rng(number))
    half = worlds.Alignment(world.alignment.record, mixed(600), 600)
    return {one.subject: one for one in intervals_cover("", POSITION, replace(world, alignment=half), effort, rng(number))}


def mixed(n):
    """Places of the released file: every second row stands where its record stands."""
    place = np.arange(n)
    place[1::2] = np.roll(place[1::2], 1)
    return place


def test_intervals_cover_and_half_as_wide_ones_are_caught(monkeypatch):
    effort = Effort(seeds=0, samples=30)
    honest = covered(effort)
    assert all(one.holds for one in honest.values())
    assert 0.1 < honest["reidentification"].width < 0.2
    monkeypatch.setattr(interval_checks, "linkage_estimates", narrower(0.2))
    narrow = covered(effort)
    assert {"reidentification", "truth_among_nearest"} <= {name for name, one in narrow.items() if not one.holds}
    assert "wrong side" in narrow["reidentification"].reason


@pytest.mark.long
def test_intervals_30_percent_too_narrow_are_caught(monkeypatch):
    monkeypatch.setattr(interval_checks, "linkage_estimates", narrower(0.7))
    narrow = covered(Effort(seeds=0, samples=1000))
    assert {"reidentification", "records_exposed"} <= {name for name, one in narrow.items() if not one.holds}


def test_an_interval_where_all_targets_were_scored_is_told(monkeypatch):
    real = interval_checks.linkage_estimates
    wide = lambda *a: [replace(one, high=1.0) for one in real(*a)]  # noqa: E731  # one line
    monkeypatch.setattr(interval_checks, "linkage_estimates", wide)
    assert not covered(Effort(seeds=0, samples=2))["figures of all targets have no interval"].holds


def test_targets_that_fare_otherwise_alone_are_told(monkeypatch):
    monkeypatch.setattr(
        random_pairings, "attack", with_credit(lambda credit, random: credit if len(credit) == 600 else credit / 2)
    )
    assert not covered(Effort(seeds=0, samples=2))["targets fare alike in a sample"].holds


def test_misses_of_bounds_are_judged_by_the_binomial_law():
    by_hand = sum(math.comb(20, k) * 0.05**k * 0.95 ** (20 - k) for k in range(3, 21))
    assert compute_binomial_tail(3, 20, 0.05) == pytest.approx(by_hand)
    assert compute_binomial_tail(0, 20, 0.05) == 1.0


def test_claims_may_be_so_far_from_the_hits_and_no_further():
    spread = np.array([-1.0, 1.0] * 20)
    assert compute_difference_p_value(spread + 0.3, 0.5) > 0.5
    assert compute_difference_p_value(spread + 3.0, 0.5) < LEVEL
    assert compute_difference_p_value(spread - 3.0, 0.5) < LEVEL


def test_posterior_against_the_formula_written_out():
    steps = (worlds_step("pram", attributes=("grade",), retention=0.6),)
    names = ("grade",)
    world = posterior_checks._world(names, steps, rng())
    own, shown = (table.column("grade").to_pylist() for table in (world.original, world.masked))
    law = np.array([[0.6 if x == y else 0.1 for y in shown] for x in own])
    ratio = law / (law.sum(axis=0) - law)
    np.testing.assert_allclose(posterior_checks.compute_posterior(world), ratio / ratio.sum(axis=1, keepdims=True), rtol=1e-6)


def worlds_step(method, **parameters):
    from tasks.mask.categories.pram import Pram

    return Pram(method=method, **parameters)


@pytest.mark.parametrize("power", [pytest.param(0.5, marks=pytest.mark.long), pytest.param(1.5, marks=pytest.mark.slow)])
def test_a_posterior_that_is_too_bold_or_too_shy_is_caught(monkeypatch, power):
    real = posterior_checks.compute_posterior

    def sharpened(world):
        claims = real(world) ** power
        return claims / claims.sum(axis=1, keepdims=True)

    steps = (worlds_step("pram", attributes=("grade", "group"), retention=0.7),)
    honest = claims_hold("", ("grade", "group"), steps, BRIEF, rng())
    monkeypatch.setattr(posterior_checks, "compute_posterior", sharpened)
    assert all(one.holds for one in honest)
    assert not any(one.holds for one in claims_hold("", ("grade", "group"), steps, BRIEF, rng()))


@pytest.mark.long
def test_a_figure_that_differs_in_its_last_digits_is_told(monkeypatch):
    several = check("recount", "row_position", "figures")
    (found,) = carry_out(several, Effort(seeds=2, samples=0))
    assert found.holds
    assert found.trials == 2 * 18
    real = recount_checks.score

    def slightly_off(*arguments, **named):
        for one in real(*arguments, **named):
            wrong = one.measure == "rank_interval_disclosure" and one.attribute == "size"
            yield replace(one, chance=one.chance + 1e-9) if wrong else one

    monkeypatch.setattr(recount_checks, "score", slightly_off)
    (found,) = carry_out(several, Effort(seeds=2, samples=0))
    assert not found.holds
    assert found.reason == "4 of 36 figures differ from a plain recount: rank_interval_disclosure"


def test_every_mask_that_can_be_followed_is_calibrated():
    followed = {step.method for steps in FOLLOWED.values() for step in steps}
    answered = {row["method"] for row in describe() if "transparency" in row["answered by"]}
    assert answered <= followed
    names = [(one.kind, one.subject, one.scene) for one in list_checks()]
    assert len(set(names)) == len(names)


def test_what_cannot_be_said_is_not_hidden(monkeypatch):
    def silent(*arguments, **named):
        raise NotApplicable("nothing known")

    monkeypatch.setattr(random_pairings, "find_links", silent)
    (found,) = carry_out(check("null", "row_position", "rows shuffled"), BRIEF)
    assert (found.holds, found.reason) == (False, "it did not run: nothing known")


def in_its_tier(one):
    """Learning takes long, and so do many samples of a table and chains of two: their checks are for the longest laws."""
    simulated = one.attack == "simulated_law" and one.kind in ("coverage", "recount")
    is_long = simulated or one.attack == "learned_linkage" or any(part in one.scene for part in ("30 % absent", "chains of 2"))
    name = f"{one.kind}-{one.subject}-{one.scene}"
    return pytest.param(one, marks=[pytest.mark.long] if is_long else [], id=name)


@pytest.mark.parametrize(
    "effort",
    [
        pytest.param(BRIEF, marks=pytest.mark.slow, id="brief"),
        pytest.param(FULL, marks=pytest.mark.long, id="full"),
    ],
)
@pytest.mark.parametrize("one", [in_its_tier(one) for one in list_checks()])
def test_all_attacks_and_intervals_are_calibrated(one, effort):
    found = carry_out(one, effort)
    assert [f"{some.subject}, {some.scene}: {some.reason}" for some in found if not some.holds] == []


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=12), st.data(), st.sampled_from([1.0, 5.0, 20.0, 50.0]))
def test_the_recount_of_rank_intervals_meets_half_places_and_no_width(truth, draw, percent):
    """2, 2 and 4: with no width a 2 discloses both of them, and a 3 nobody."""
    original = np.array(truth, dtype=float)
    shown = np.array(draw.draw(st.lists(st.integers(-1, 7), min_size=len(truth), max_size=len(truth))), dtype=float)
    ranked = sorted(original.tolist())
    discloses = _create_rank_rule(ranked, int(percent * len(ranked) // 200))
    hits, chance = rank_interval_hits(original, shown, percent)
    assert hits.tolist() == [discloses(x, y) for x, y in zip(original, shown, strict=True)]
    assert chance == pytest.approx(np.mean([discloses(x, y) for x in original for y in shown]))


def test_a_worked_interval_without_width():
    discloses = _create_rank_rule([2.0, 2.0, 4.0], 0)
    assert [discloses(2.0, 2.0), discloses(4.0, 2.0), discloses(2.0, 3.0), discloses(4.0, 4.0)] == [True, False, False, True]
