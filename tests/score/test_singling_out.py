"""Figures of singling out: by hand, their bounds, their chance, and the lines of a policy about them (0 s)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.attack.singling_out.outcomes import IsolationCounts, SinglingOutResult
from tasks.microdata.errors import InputError
from tasks.score.figure_rounding import round_for_publication
from tasks.score.known_release import Known
from tasks.score.membership.intervals import difference_interval
from tasks.score.policy import PolicyLine, check_policy
from tasks.score.singling_out import compute_smallest_singling_out_limits, singling_out_figures
from tasks.score.verdict import decide

WORST = IsolationCounts(attributes=("a", "b"), predicates=90, isolating=80, isolated=80, expected=20.0)
RESULT = SinglingOutResult(
    evaluates="this file",
    quasi_identifiers=("a", "b"),
    largest=3,
    people=200,
    others=100,
    sets=(
        IsolationCounts(attributes=("a",), predicates=10, isolating=2, isolated=2, expected=4.0),
        WORST,
        IsolationCounts(attributes=("b",), predicates=20, isolating=12, isolated=12, expected=2.0),
    ),
    every=IsolationCounts(attributes=("a", "b", "c"), predicates=100, isolating=100, isolated=100, expected=1.0),
    singled_out=90,
)


def by_id(*results):
    return {one.id.replace("singling_out|declared", "", 1): one for one in singling_out_figures(results, "records")}


def test_by_hand():
    """Of each size the worst set: b has 12 - 2 of 200, a and b together 80 - 20. All predicates: 94 of 120, 26 by chance."""
    found = by_id(RESULT)
    worst = found["singling_out||a,b"]
    assert (worst.value, worst.chance, worst.n_targets, worst.n_in_release) == (pytest.approx(0.3), 0.0, 300, 200)
    assert found["singling_out||b"].value == pytest.approx(0.05)
    assert "singling_out||a" not in found
    both = found["singled_out||a,b"]
    assert (both.value, both.low, both.high, both.chance) == (0.4, 0.4, 0.4, 0.1)
    assert (found["singled_out||a,b,c"].value, found["singled_out||a,b,c"].chance) == (0.5, 0.005)
    assert found["singled_out_by_any|"].value == 0.45
    predicates = found["predicates_isolating|"]
    assert (predicates.value, predicates.chance) == (pytest.approx(94 / 120), pytest.approx(26 / 120))


def test_bounds_are_those_of_two_samples_and_the_lower_one_allows_for_the_sets():
    worst = by_id(RESULT)["singling_out||a,b"]
    assert worst.high == pytest.approx(difference_interval(80, 200, 10, 100).high)
    assert worst.low == pytest.approx(difference_interval(80, 200, 10, 100, 0.05 / 3).low)
    assert worst.low < difference_interval(80, 200, 10, 100).low


def test_somebody_with_several_records_counts_once():
    """40 predicates isolate 10 people, and 8 would by chance: as 2 people of 100."""
    several = IsolationCounts(attributes=("a",), predicates=50, isolating=40, isolated=10, expected=8.0)
    found = by_id(replace(RESULT, people=100, sets=(several,), every=None))
    assert (found["singled_out||a"].value, found["singled_out||a"].chance) == (0.1, 0.02)


def test_a_rehearsal_decides_with_a_caution_and_this_file_without_others_tells_no_excess():
    alone = replace(RESULT, others=0, sets=tuple(replace(one, expected=None) for one in RESULT.sets))
    assert set(by_id(alone)) == {"singled_out_by_any|"}
    rehearsed = replace(RESULT, evaluates="mechanism, not this file")
    figures = singling_out_figures((alone, rehearsed), "records")
    assert len({one.id for one in figures}) == len(figures)
    (criterion,) = decide((PolicyLine(measure="singling_out", at_most=0.1),), figures).criteria
    assert (criterion.decision, criterion.attribute) == ("fail", "a,b")
    assert criterion.caution is not None


@pytest.mark.parametrize(("limit", "decision"), [(0.1, "fail"), (0.3, "undecided"), (0.5, "pass")])
def test_the_worst_set_decides(limit, decision):
    figures = singling_out_figures((RESULT,), "records")
    (criterion,) = decide((PolicyLine(measure="singling_out", at_most=limit),), figures).criteria
    assert criterion.decision == decision


def test_what_was_not_counted_is_undecided():
    idle = SinglingOutResult(
        evaluates="this file", quasi_identifiers=("a",), largest=0, status="not_followed", reason="the steps are not known"
    )
    (criterion,) = decide((PolicyLine(measure="singling_out", at_most=0.5),), singling_out_figures((idle,), "records")).criteria
    assert criterion.decision == "undecided"


def test_public_figures_are_classes():
    shown = {one.id: one for one in round_for_publication(singling_out_figures((RESULT,), "records"))}
    assert shown["singled_out_by_any|singling_out|declared"].value == 0.45  # 90 of 200
    assert shown["singled_out|singling_out|declared|a,b"].chance == 0.1
    assert shown["singling_out|singling_out|declared|b"].value in (0.0, 0.1)
    assert shown["predicates_isolating|singling_out|declared"].chance == 0.22


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ({"measure": "singled_out", "at_most": 0.1}, "baseline-in-policy"),
        ({"measure": "predicates_isolating", "at_most": 0.1}, "baseline-in-policy"),
        ({"measure": "singling_out", "at_least": 0.1}, "wrong-direction"),
        ({"measure": "singling_out", "at_most": 0.1, "attribute": "a"}, "field-without-meaning"),
        ({"measure": "singling_out", "at_most": 0.1, "intruder": "insider"}, "field-without-meaning"),
        ({"measure": "singling_out", "at_most": 0.1, "attack": "other"}, "unknown-attack"),
    ],
)
def test_lines_that_nothing_could_decide(line, code):
    with pytest.raises(InputError) as refused:
        check_policy((PolicyLine(**line),), Known(attributes=("a", "b")))
    assert refused.value.code == code


def test_the_smallest_limits_that_can_be_decided():
    """Of 100 and 100 people: where chance isolates nobody, the bound of 0 of 100, 1 - 0.05^(1/100) = 0.03."""
    none, most = compute_smallest_singling_out_limits(100, 100)
    assert none == pytest.approx(1 - 0.05 ** (1 / 100), abs=1e-6)
    assert 0.1 < most < 0.13  # 1.645 root(2 x 0.37 x 0.63 / 100) is 0.112
    fewer = compute_smallest_singling_out_limits(1000, 1000)
    assert fewer[0] < none and fewer[1] < most
