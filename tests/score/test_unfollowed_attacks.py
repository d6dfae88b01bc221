"""A required attack that sdcert could not compute leaves the lines on its intruder's identity undecided."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.attack.omissions import Omission
from tasks.attack.outcomes.outcome import AttackResult
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.estimate import Estimate
from tasks.score.attack_coverage import find_unfollowed, select_omissions_in_effect
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide

SWAP = (RankSwapping(method="rank_swapping", attributes=("a",), window_percent=10),)
LINE = PolicyLine(measure="reidentification", at_most=0.1)
WHY = "the table is too large"


def result(name, status, *, intruder="declared", method=None):
    return AttackResult(
        attack=name,
        method=method or name,
        intruder=intruder,
        status=status,
        reason=None if status == "ok" else WHY,
        infers="",
        knows_data="",
        knows_mechanism="",
        direction=None,
        scale_by=None,
        n_release=10,
        chance=None,
    )


def figure(name, value, status="ok", *, low=None, intruder="declared", measure="reidentification"):
    low = value if status == "ok" else low
    return Estimate(
        measure=measure,
        attack=name,
        intruder=intruder,
        value=value,
        low=low,
        high=value,
        status=status,
        reason=None if status == "ok" else WHY,
        unit="share",
    )


LINKED = (figure("distance_linkage", 0.05),)


def decided(status, omit=(), **more):
    attacks = (result("distance_linkage", "ok"), result("consistency", status))
    figures = (*LINKED, figure("consistency", None, status, **more))
    return decide((LINE,), figures, find_unfollowed(attacks, omit, SWAP))


def test_what_was_not_followed_is_undecided_and_says_why():
    found = decided("not_followed")
    assert found.verdict == "undecided"
    assert "consistency" in found.criteria[0].reason
    assert WHY in found.criteria[0].reason


def test_what_this_intruder_cannot_do_is_left_out():
    assert decided("not_applicable").verdict == "certified"


@pytest.mark.parametrize(("intruder", "verdict"), [(None, "certified"), ("declared", "certified"), ("insider:a", "undecided")])
def test_an_omission_accepts_it_for_those_it_names(intruder, verdict):
    omit = (Omission(attack="consistency", intruder=intruder, reason="seen by the board"),)
    assert decided("not_followed", omit).verdict == verdict


@pytest.mark.parametrize("omit", [(), (Omission(attack="consistency", reason="seen by the board"),)])
def test_a_lower_bound_refuses_whatever_is_omitted(omit):
    found = decided("not_followed", omit, low=0.3)
    assert (found.verdict, found.criteria[0].deciding_value) == ("refused", 0.3)


def test_a_lower_bound_within_the_limit_keeps_nothing():
    assert decided("not_followed", low=0.08).verdict == "undecided"


def test_an_attack_that_nobody_requires_leaves_nothing_undecided():
    attacks = (result("distance_linkage", "ok"), result("learned_linkage", "not_followed"))
    figures = (*LINKED, figure("learned_linkage", None, "not_followed"))
    assert decide((LINE,), figures, find_unfollowed(attacks, (), SWAP)).verdict == "certified"


def test_another_attack_by_the_method_that_gave_a_figure_is_enough():
    attacks = (result("transparency", "ok"), result("together", "not_followed", method="transparency"))
    assert find_unfollowed(attacks, (), SWAP) == frozenset()


def test_an_attack_that_the_steps_do_not_require_leaves_nothing_undecided():
    attacks = (result("distance_linkage", "ok"), result("consistency", "not_followed"))
    assert find_unfollowed(attacks, (), ()) == frozenset()
    assert find_unfollowed(attacks, (), SWAP) == {("consistency", "declared")}


def in_effect(*attacks, intruder=None, names=("consistency", "learned_linkage")):
    omit = tuple(Omission(attack=name, intruder=intruder, reason="it takes days") for name in names)
    return [one.attack for one in select_omissions_in_effect(attacks, omit, SWAP)]


def test_an_omission_is_in_effect_where_a_required_attack_gave_no_figure():
    linked = result("distance_linkage", "ok")
    assert in_effect(linked) == ["consistency"]  # not run
    assert in_effect(linked, result("consistency", "ok")) == []
    assert in_effect(linked, result("consistency", "not_applicable")) == []
    assert in_effect(linked, result("consistency", "not_followed")) == ["consistency"]
    assert in_effect(linked, result("consistency", "not_followed"), intruder="insider:a") == []
    assert in_effect(linked, result("consistency", "not_followed", intruder="knowing:2")) == []


WEAK = {"full_form": False}


@pytest.mark.parametrize("status", ["ok", "not_applicable", "failed"])
def test_a_weak_form_answers_for_no_required_one(status):
    weak = replace(result("weak", status, method="consistency"), **WEAK)
    linked = result("distance_linkage", "ok")
    assert in_effect(linked, weak) == ["consistency"]  # the required form did not run
    idle = result("consistency", "not_followed")
    assert find_unfollowed((linked, weak, idle), (), SWAP) == {("consistency", "declared")}
    assert in_effect(linked, weak, idle) == ["consistency"]


def test_a_weak_form_that_was_not_followed_leaves_nothing_undecided():
    weak = replace(result("weak", "not_followed", method="consistency"), **WEAK)
    assert find_unfollowed((result("consistency", "ok"), weak), (), SWAP) == frozenset()


def test_an_omission_covers_all_of_a_kind():
    attacks = (result("consistency", "not_followed", intruder="insider:a"), result("consistency", "not_followed"))
    omit = (Omission(attack="consistency", intruder="insider", reason="seen by the board"),)
    assert find_unfollowed(attacks, omit, SWAP) == {("consistency", "declared")}
