"""Policy lines and the verdict: the rules one by one, then what must hold for every release."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from tasks.attack.base import NEEDS_ORIGINALS
from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.score.known_release import Known
from tasks.score.policy import Policy, PolicyLine, check_policy
from tasks.score.verdict import Verdict, decide


def risk(value, low=None, high=None, *, attack="distance_linkage", intruder="declared", measure="reidentification", **more):
    ends = {"low": value if low is None else low, "high": value if high is None else high}
    basis = "exact" if low is None else "sampled_targets"
    return Estimate(measure=measure, attack=attack, intruder=intruder, value=value, unit="share", basis=basis, **ends, **more)


def not_run(status, *, attack, intruder="declared", measure="reidentification"):
    return Estimate(measure=measure, attack=attack, intruder=intruder, value=None, unit="share", status=status, reason="why")


def line(measure="reidentification", **fields) -> PolicyLine:
    return PolicyLine(measure=measure, **fields)


def decisions(policy, *estimates) -> list[str]:
    return [one.decision for one in decide(tuple(policy), estimates).criteria]


AT_MOST = line(at_most=0.15)


@pytest.mark.parametrize(
    ("estimate", "decision", "bound", "compared"),
    [
        (risk(0.15), "pass", "value", 0.15),  # the limit itself is within
        (risk(0.1501), "fail", "value", 0.1501),
        (risk(0.10, 0.08, 0.15), "pass", "high", 0.15),
        (risk(0.14, 0.12, 0.16), "undecided", "high", 0.16),
        (risk(0.17, 0.15, 0.19), "undecided", "high", 0.19),  # the lower bound equals the limit: not outside
        (risk(0.18, 0.1501, 0.19), "fail", "low", 0.1501),
        (risk(math.nan), "undecided", None, None),
        (risk(0.1, 0.05, math.nan), "undecided", None, None),
        (not_run("failed", attack="transparency"), "undecided", None, None),
        (replace(risk(0.1, 0.05, 0.12), low=None, high=None), "undecided", None, None),  # a sample without its interval
    ],
)
def test_one_figure_against_an_upper_limit(estimate, decision, bound, compared):
    (found,) = decide((AT_MOST,), (estimate,)).criteria
    assert (found.decision, found.deciding_bound, found.deciding_value) == (decision, bound, compared)
    assert (found.estimate, found.limit, found.direction) == (estimate.id, 0.15, "at_most")


@pytest.mark.parametrize(
    ("k", "decision"),
    [((5, 5, 5), "pass"), ((4, 4, 4), "fail"), ((6, 5, 7), "pass"), ((4, 3, 5), "undecided"), ((3, 2, 4), "fail")],
)
def test_one_figure_against_a_lower_limit(k, decision):
    value, low, high = k
    found = Estimate(
        measure="mean_candidate_set_size", attack="a", intruder="declared", value=value, low=low, high=high, unit="records"
    )
    assert decisions([line("mean_candidate_set_size", at_least=5)], found) == [decision]


@pytest.mark.parametrize("n", [7, 944, 1080, 4580])
@pytest.mark.parametrize("k", [3, 7, 10])
def test_the_last_bits_of_a_sum_do_not_refuse_what_equals_the_limit(n, k):
    mean = sum([1 / k] * n) / n  # most of these differ from 1/k in the last bits
    assert decisions([line(at_most=1 / k)], risk(mean), risk(1 / k, attack="em")) == ["pass"]
    assert decisions([line(at_most=1 / k)], risk(mean + 1e-9)) == ["fail"]


def test_losses_decide_by_their_value_and_by_the_figure_of_the_table():
    table = Estimate(measure="sse_percent", value=10.0, unit="percent")
    part = Estimate(measure="sse_percent", attribute="age", value=90.0, unit="percent")
    none = Estimate(measure="sse_percent", value=None, unit="percent", status="not_applicable", reason="no numeric attribute")
    assert decisions([line("sse_percent", at_most=10)], table, part) == ["pass"]
    assert decisions([line("sse_percent", at_most=10, attribute="age")], table, part) == ["fail"]
    assert decisions([line("sse_percent", at_most=10)], none) == ["undecided"]
    assert decisions([line("sse_percent", at_most=10, attribute="income")], table, part) == ["undecided"]


def test_without_an_attack_the_worst_of_all_decides():
    found = decide((AT_MOST,), (risk(0.1), risk(0.3, attack="transparency"), risk(0.2, attack="em")))
    assert found.verdict == "refused"
    assert (found.criteria[0].attack, found.criteria[0].deciding_value) == ("transparency", 0.3)


def test_an_attack_that_failed_leaves_the_line_undecided_unless_another_fails_it():
    failed = not_run("failed", attack="transparency")
    assert decisions([AT_MOST], risk(0.1), failed) == ["undecided"]
    assert decisions([AT_MOST], risk(0.2), failed) == ["fail"]


def test_an_attack_that_is_not_applicable_is_left_out_unless_it_is_named():
    absent = not_run("not_applicable", attack="transparency")
    assert decisions([AT_MOST], risk(0.1), absent) == ["pass"]
    assert decisions([AT_MOST], absent) == ["undecided"]
    named = line(at_most=0.15, attack="transparency")
    assert decisions([named], risk(0.1), absent) == ["undecided"]
    assert decisions([line(at_most=0.15, attack="em")], risk(0.1)) == ["undecided"]
    assert decisions([line(at_most=0.15, attack="em")], risk(0.2)) == ["fail"]


def test_a_line_that_names_an_attack_answers_for_the_others():
    named = line(at_most=0.15, attack="distance_linkage")
    accepting = line(at_most=0.15, attack="distance_linkage", accept_other_attacks="the method stays secret")
    worse, unsure = risk(0.3, attack="transparency"), risk(0.15, 0.1, 0.2, attack="transparency")
    assert decisions([named, accepting], risk(0.1), worse) == ["fail", "pass"]
    assert decisions([named, accepting], risk(0.1), unsure) == ["undecided", "pass"]
    assert decisions([named, accepting], risk(0.1), risk(0.12, attack="transparency")) == ["pass", "pass"]
    assert decisions([named, accepting], risk(0.1), not_run("failed", attack="transparency")) == ["undecided", "pass"]
    assert decisions([named], risk(0.1), risk(0.9, attack="transparency", intruder="insider:vote")) == ["pass"]
    (blamed,) = decide((named,), (risk(0.1), worse)).criteria
    assert (blamed.attack, "accept_other_attacks" in blamed.reason) == ("transparency", True)


def test_the_declared_intruder_decides_unless_the_line_says_otherwise():
    figures = (risk(0.1), risk(0.2, intruder="insider:vote"), risk(0.4, intruder="insider:party"))
    asked = [line(at_most=0.15, intruder=who) for who in (None, "declared", "insider:vote", "insider")]
    assert decisions(asked, *figures) == ["pass", "pass", "fail", "fail"]
    assert decide((asked[3],), figures).criteria[0].intruder == "insider:party"


def test_widths_and_attributes_are_told_apart():
    def rid(attribute, p, value):
        ends = {"value": value, "low": value, "high": value, "unit": "share"}
        return Estimate(measure="rank_interval_disclosure", attribute=attribute, parameters=(("p_percent", p),), **ends)

    figures = (rid("age", 5.0, 0.1), rid("income", 5.0, 0.3), rid("age", 10.0, 0.5), rid("income", 10.0, 0.6))
    asked = [{"p_percent": 5}, {"p_percent": 5, "attribute": "age"}, {"p_percent": 10, "attribute": "age"}, {"p_percent": 7}]
    policy = [line("rank_interval_disclosure", at_most=0.2, **fields) for fields in asked]
    assert decisions(policy, *figures) == ["fail", "pass", "fail", "undecided"]


def test_all_lines_must_pass():
    good, bad, unsure = (line(at_most=limit) for limit in (0.9, 0.1, 0.5))
    figure = risk(0.5, 0.4, 0.6)
    assert decide((good,), (figure,)).verdict == "certified"
    assert decide((good, unsure), (figure,)).verdict == "undecided"
    assert decide((good, unsure, bad), (figure,)).verdict == "refused"


@pytest.mark.parametrize(
    ("fields", "where", "says"),
    [
        ({"measure": "reidentificaton", "at_most": 0.1}, "policy[0].measure", "did you mean `reidentification`"),
        ({"measure": "k_anonymity", "at_most": 5}, "policy[0].at_most", "write `at_least: 5`"),
        ({"measure": "reidentification", "at_least": 0.1}, "policy[0].at_least", "write `at_most: 0.1`"),
        ({"measure": "reidentification", "at_most": 15}, "policy[0].at_most", "15 percent is 0.15"),
        ({"measure": "linked_value_control", "at_most": 0.1}, "policy[0].measure", "baseline"),
        ({"measure": "sse_percent", "at_most": 5, "attack": "transparency"}, "policy[0].attack", "no figure per attack"),
        ({"measure": "sse_percent", "at_most": 5, "p_percent": 5}, "policy[0].p_percent", "no figure per p_percent"),
        ({"measure": "k_anonymity", "at_least": 5, "attribute": "age"}, "policy[0].attribute", "no figure per attribute"),
        ({"measure": "rank_interval_disclosure", "at_most": 0.5}, "policy[0].p_percent", "p_percent: 5"),
        ({"measure": "rank_interval_disclosure", "at_most": 0.5, "p_percent": 7}, "policy[0].p_percent", "p_percent: [7]"),
        ({"measure": "reidentification", "at_most": 0.1, "attack": "transparancy"}, "policy[0].attack", "`transparency`"),
        ({"measure": "reidentification", "at_most": 0.1, "intruder": "vote"}, "policy[0].intruder", "insider:vote"),
        ({"measure": "reidentification", "at_most": 0.1, "intruder": "insider:income"}, "policy[0].intruder", "insider:vote"),
        ({"measure": "same_value_disclosure", "at_most": 0.1, "attribute": "Age"}, "policy[0].attribute", "did you mean `age`"),
        ({"measure": "k_anonymity_subset", "at_least": 2, "attribute": "a"}, "policy[0].measure", "no such measure"),
    ],
)
def test_a_policy_that_cannot_be_meant_is_refused(fields, where, says):
    known = Known(
        attacks=("distance_linkage", "transparency"),
        intruders=("declared", "insider:vote"),
        attributes=("age", "vote"),
        p_percent=(5.0, 10.0),
        measures=tuple(name for name in ("reidentification", "same_value_disclosure", "k_anonymity", "sse_percent",
                                         "rank_interval_disclosure", "linked_value_control")),
    )  # fmt: skip
    with pytest.raises(InputError) as refused:
        check_policy((PolicyLine(**fields),), known)
    assert refused.value.where == where
    assert says in str(refused.value)


def test_a_line_can_name_whatever_an_attribute_is_called():
    longest = "x" * 300
    line = PolicyLine(measure="reidentification", at_most=0.1, intruder=f"insider:{longest}", attribute=f"{longest},{longest}")
    assert line.intruder == f"insider:{longest}"


def test_a_policy_that_fits_is_accepted_and_an_empty_one_is_not():
    known = Known(attacks=("distance_linkage",), intruders=("declared", "insider:vote"), attributes=("age",), p_percent=(5.0,))
    check_policy(
        (AT_MOST, line(at_most=0.3, intruder="insider"), line("k_anonymity_subset", at_least=3, attribute="a,b")), known
    )
    with pytest.raises(InputError, match="insider"):
        check_policy((line(at_most=0.3, intruder="insider"),), Known(intruders=("declared",)))
    for refuse in (lambda: check_policy((), known), lambda: decide((), ())):
        with pytest.raises(InputError, match="without a policy"):
            refuse()


@pytest.mark.parametrize(
    "text",
    [
        '[{"measure": "reidentification"}]',
        '[{"measure": "reidentification", "at_most": 0.1, "at_least": 0.1}]',
        '[{"measure": "reidentification", "at_most": true}]',
        '[{"measure": "reidentification", "at_most": -0.1}]',
        '[{"measure": "reidentification", "at_most": NaN}]',
        '[{"measure": "reidentification", "at_most": 0.1, "accept_other_attacks": "no attack is named"}]',
        '[{"measure": "reidentification", "at_most": 0.1, "limit": 1}]',
        "[]",
    ],
)
def test_malformed_policies(text):
    with pytest.raises(ValidationError):
        TypeAdapter(Policy).validate_json(text)


ends = st.tuples(*[st.sampled_from([0.0, 0.05, 0.1, 0.1500001, 0.2, 0.6, 1.0])] * 3).map(sorted)
attacks = st.sampled_from(["distance_linkage", "transparency", "em", "bayes"])


@st.composite
def figures(draw):
    low, value, high = draw(ends)
    status = draw(st.sampled_from(["ok", "ok", "ok", "failed", "not_applicable"]))
    attack, intruder = draw(attacks), draw(st.sampled_from(["declared", "insider:vote"]))
    if status != "ok":
        return not_run(status, attack=attack, intruder=intruder)
    return risk(value, low, high, attack=attack, intruder=intruder)


releases = st.lists(figures(), max_size=6, unique_by=lambda one: one.id).map(tuple)
limits = st.sampled_from([0.0, 0.05, 0.1, 0.15, 0.2, 0.6, 1.0])


@st.composite
def lines(draw):
    attack = draw(st.none() | attacks)
    accepted = draw(st.none() | st.just("a reason")) if attack else None
    intruder = draw(st.sampled_from([None, "insider", "insider:vote"]))
    return line(at_most=draw(limits), attack=attack, accept_other_attacks=accepted, intruder=intruder)


ORDER = {"fail": 0, "undecided": 1, "pass": 2, "refused": 0, "certified": 2}


@settings(deadline=None, max_examples=300)
@given(releases, lines(), limits)
def test_a_looser_limit_never_decides_worse(release, one, limit):
    looser = one.model_copy(update={"at_most": max(limit, one.at_most)})
    before, after = decisions([one, looser], *release)
    assert ORDER[before] <= ORDER[after]


@settings(deadline=None)
@given(releases, st.lists(lines(), min_size=1, max_size=4), st.randoms())
def test_the_order_of_lines_and_figures_counts_for_nothing(release, policy, random):
    shuffled, again = list(policy), list(release)
    random.shuffle(shuffled)
    random.shuffle(again)
    first, second = decide(tuple(policy), release), decide(tuple(shuffled), tuple(again))
    assert first.verdict == second.verdict
    # which of several equal figures is named follows the plan's order; what is decided does not
    assert sorted(map(_decided, first.criteria)) == sorted(map(_decided, second.criteria))


def _decided(criterion):
    return criterion.decision, str(criterion.deciding_value), criterion.limit


@pytest.mark.parametrize("order", [("em", "bayes", "transparency"), ("transparency", "em", "bayes"), ("bayes", "em", "zeal")])
def test_of_equal_attacks_the_first_of_the_plan_is_named(order):
    figures = [risk(0.3, attack=name) for name in order]
    last_bits = [risk(0.3 + 4e-16 * i, attack=name) for i, name in enumerate(order)]
    for found in (figures, last_bits):
        assert decide((AT_MOST,), tuple(found)).criteria[0].attack == order[0]
    worse = (*figures, risk(0.31, attack="worse"))
    assert decide((AT_MOST,), worse).criteria[0].attack == "worse"
    failed = tuple(not_run("failed", attack=name) for name in order)
    assert decide((AT_MOST,), failed).criteria[0].attack == order[0]


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(releases, st.lists(lines(), min_size=1, max_size=3), figures())
def test_one_more_attack_never_certifies_what_was_refused(release, policy, added):
    if added.id in {one.id for one in release}:
        return
    before, after = decide(tuple(policy), release).verdict, decide(tuple(policy), (*release, added)).verdict
    assert not (before == "refused" and after != "refused")


@settings(deadline=None)
@given(releases, st.lists(lines(), min_size=1, max_size=3))
def test_verdict_and_figures_survive_json(release, policy):
    found = decide(tuple(policy), release)
    text = TypeAdapter(Verdict).dump_json(found)
    assert TypeAdapter(Verdict).validate_json(text) == found
    figures = TypeAdapter(tuple[Estimate, ...])
    assert figures.validate_json(figures.dump_json(release)) == release
    assert "NaN" not in json.dumps(json.loads(text), allow_nan=False)


def test_an_attack_that_no_holder_of_a_file_can_carry_out_is_not_asked_of_him():
    named, accepting = (line(at_most=0.15, attack="transparency", **more) for more in ({}, {"accept_other_attacks": "why"}))
    idle = replace(not_run("not_applicable", attack="transparency", intruder="file:a"), reason=NEEDS_ORIGINALS)
    own, near = risk(0.1, attack="transparency"), risk(0.1, intruder="file:a")
    assert decisions([AT_MOST, named, accepting], own, near, idle) == ["pass"] * 3
    assert decisions([named], risk(0.2, attack="transparency"), near, idle) == ["fail"]
    assert decisions([named, accepting], own, risk(0.2, intruder="file:a"), idle) == ["fail", "pass"]
    (criterion,) = decide((named,), (own, idle)).criteria
    assert (criterion.intruder, criterion.deciding_value) == ("declared", 0.1)


def test_only_who_cannot_attack_at_all_is_left_out():
    named = line(at_most=0.15, attack="transparency")
    own = risk(0.1, attack="transparency")
    idle = not_run("not_applicable", attack="transparency", intruder="file:a")
    failed, declared = replace(idle, status="failed"), replace(idle, intruder="declared")
    ran = risk(0.1, attack="transparency", intruder="file:a", measure="records_exposed")
    assert decisions([named], own, failed) == ["undecided"]
    assert decisions([named], own, idle) == ["undecided"]  # not computed, as for its size
    assert decisions([named], own, idle, ran) == ["undecided"]  # they attack, and this figure of theirs is not known
    assert decisions([named], declared, risk(0.1, attack="transparency", intruder="file:b")) == ["undecided"]
    assert decisions([named], idle) == ["undecided"]
    asked = [named.model_copy(update={"intruder": who}) for who in ("file", "file:a")]
    assert decisions(asked, own, idle) == ["undecided"] * 2


@pytest.mark.parametrize("who", ["file", "file:a"])
def test_a_line_on_a_file_that_names_an_attack_of_no_file_is_refused(who):
    known = Known(
        attacks=("distance_linkage", "transparency"), not_of_files=("transparency",), intruders=("declared", "file:a")
    )
    with pytest.raises(InputError) as refused:
        check_policy((line(at_most=0.3, attack="transparency", intruder=who),), known)
    error = refused.value
    assert (error.code, error.where, error.allowed) == ("attack-not-of-files", "policy[0].attack", "distance_linkage")
    check_policy((line(at_most=0.3, attack="distance_linkage", intruder=who), line(at_most=0.3, attack="transparency")), known)
