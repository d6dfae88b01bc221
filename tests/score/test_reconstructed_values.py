"""Figures of what follows from several releases, and what they decide, by hand (0 s)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.attack.together.value_reconstruction import ReconstructedAttribute, ReconstructionResult
from tasks.microdata.errors import InputError
from tasks.score.figure_rounding import round_for_publication
from tasks.score.kinds import Subject, find_unlimited_kinds
from tasks.score.measures.inference import DECIDING
from tasks.score.policy import PolicyLine
from tasks.score.reconstructed_values import estimate_reconstruction
from tasks.score.release_kinds import MASKED_TABLE
from tasks.score.verdict import decide

X = ReconstructedAttribute(attribute="x", n=40, determined=22, reconstructed=20, exact=5, near=25, near_alone=10)
Y = replace(X, attribute="y", n=50, reconstructed=10)
FOUND = ReconstructionResult(
    n=50, within_percent=5.0, releases=("a",), attributes=(X, Y), any_reconstructed=25, any_near=30, any_near_alone=12
)
LINE = PolicyLine(measure="values_reconstructed", at_most=0.4)


def estimate(result, *lines):
    return {one.id: one for one in estimate_reconstruction(result, lines, 50)}


def test_shares_by_hand():
    found = estimate(FOUND)
    assert {name: one.value for name, one in found.items()} == {
        "values_reconstructed": 0.5,
        "values_approximated": 0.6,
        "values_approximated_control": 0.24,
        "values_reconstructed|x": 0.5,
        "values_approximated|x": 0.625,
        "values_approximated_control|x": 0.25,
        "values_reconstructed|y": 0.2,
        "values_approximated|y": 0.5,
        "values_approximated_control|y": 0.2,
    }
    whole = found["values_reconstructed"]
    assert (whole.low, whole.high, whole.chance, whole.n_targets, whole.status) == (0.5, 0.5, 0.0, 50, "ok")
    assert round_for_publication(tuple(found.values()))[0].id == "values_reconstructed"


def test_a_line_decides():
    figures = tuple(estimate(FOUND).values())
    lines = (LINE, replace_limit(0.5), PolicyLine(measure="values_reconstructed", attribute="y", at_most=0.2))
    assert [one.decision for one in decide(lines, figures).criteria] == ["fail", "pass", "pass"]


def replace_limit(limit):
    return LINE.model_copy(update={"at_most": limit})


def test_without_an_earlier_release_there_is_no_figure_but_for_a_line():
    assert estimate(None) == {}
    lines = (LINE, LINE, PolicyLine(measure="values_reconstructed", attribute="x", at_most=0.0))
    found = estimate(None, *lines)
    assert {name: (one.value, one.chance) for name, one in found.items()} == {
        "values_reconstructed": (0.0, None),
        "values_reconstructed|x": (0.0, None),
    }
    assert decide(lines, tuple(found.values())).verdict == "certified"


def test_an_attribute_of_which_no_other_means_are_known_has_the_figure_that_a_line_asks_for():
    found = estimate(FOUND, LINE, PolicyLine(measure="values_reconstructed", attribute="z", at_most=0.0))
    assert found["values_reconstructed|z"].value == 0
    assert len(found) == len(estimate(FOUND)) + 1


@pytest.mark.parametrize(("limit", "verdict"), [(0.4, "refused"), (0.6, "undecided")])
def test_a_release_that_cannot_be_read_leaves_a_lower_bound(limit, verdict):
    unread = replace(FOUND, unread=("b",))
    found = tuple(estimate(unread).values())
    assert found[0].is_lower_bound
    assert (found[0].low, found[0].high) == (0.5, 1.0)
    (criterion,) = decide((replace_limit(limit),), found).criteria
    assert decide((replace_limit(limit),), found).verdict == verdict
    assert criterion.lower_bound is (verdict == "refused")
    nothing = replace(unread, attributes=(), any_reconstructed=0)
    assert decide((replace_limit(0.0),), tuple(estimate(nothing).values())).verdict == "undecided"


def test_no_other_figure_of_it_can_be_limited():
    with pytest.raises(InputError) as caught:
        decide((PolicyLine(measure="values_approximated", at_most=0.5),), ())
    assert caught.value.code == "baseline-in-policy"


def test_a_line_does_not_answer_what_one_release_tells():
    table = Subject(kind=MASKED_TABLE, confidential=("vote",))
    told = [PolicyLine(measure=name, at_most=0.6) for name in DECIDING]
    assert "inference" in find_unlimited_kinds([LINE], table)
    assert "inference" not in find_unlimited_kinds([LINE, *told], table)
