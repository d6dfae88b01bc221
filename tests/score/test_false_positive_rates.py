"""Policy lines on the share of members noticed where few others are taken for one."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.score.known_release import Known
from tasks.score.membership.intervals import left_end_interval
from tasks.score.membership.roc_curve import compute_roc_curve, true_positive_rate
from tasks.score.policy import PolicyLine, check_policy
from tasks.score.verdict import decide

MEASURE = "membership_true_positive_rate"


def noticed(rate, high=None, attack="gap"):
    """The figure at a rate; without an upper bound it is not estimable."""
    few = {"status": "not_applicable", "reason": f"not estimable: fewer than {10 / rate:,.0f} non-members"}
    ends = few if high is None else {"low": high / 2, "high": high}
    value = None if high is None else high * 0.75
    return Estimate(measure=MEASURE, attack=attack, value=value, unit="share", basis="control_group",
                    parameters=(("false_positive_rate", rate),), **ends)  # fmt: skip


def decided(line, *figures):
    (found,) = decide((PolicyLine(measure=MEASURE, **line),), figures).criteria
    return found


def test_a_line_names_its_rate():
    both = (noticed(0.001, 0.01), noticed(0.01, 0.4))
    kept, broken = (decided({"at_most": 0.05, "false_positive_rate": rate}, *both) for rate in (0.001, 0.01))
    assert (kept.decision, kept.deciding_value, kept.false_positive_rate) == ("pass", 0.01, 0.001)
    assert (broken.decision, broken.deciding_value, broken.false_positive_rate) == ("fail", 0.2, 0.01)


def test_without_a_rate_the_larger_one_decides():
    """At 1 % more members are noticed than at 0.1 %, so the other is kept too; that it is not estimable is no matter."""
    for least in (noticed(0.001, 0.01), noticed(0.001)):
        for named in ({}, {"attack": "gap"}):
            found = decided({"at_most": 0.05, **named}, least, noticed(0.01, 0.04))
            assert (found.decision, found.deciding_value, found.false_positive_rate) == ("pass", 0.04, 0.01)
    assert decided({"at_most": 0.05}, noticed(0.001, 0.01), noticed(0.01, 0.2)).decision == "fail"


@pytest.mark.parametrize("gain", [0.0, 1.0, 6.0])
def test_the_share_of_members_and_its_bounds_are_never_less_at_the_larger_rate(gain):
    rng, member = np.random.default_rng(2), np.arange(10_300) < 300
    for scores in (rng.normal(size=10_300) + gain * member, np.round(rng.normal(size=10_300) + gain * member)):
        found = compute_roc_curve(scores, member)
        least, most = (true_positive_rate(found, rate * 10_000) for rate in (0.001, 0.01))
        few, many = (left_end_interval(found, rate) for rate in (0.001, 0.01))
        assert least <= most and few.low <= many.low and few.high <= many.high


def test_what_is_not_estimable_is_undecided_and_says_why():
    found = decided({"at_most": 0.05, "false_positive_rate": 0.001}, noticed(0.001), noticed(0.01, 0.01))
    assert (found.decision, found.false_positive_rate) == ("undecided", 0.001)
    assert found.reason.endswith("not estimable: fewer than 10,000 non-members")
    assert decided({"at_most": 0.05}, noticed(0.001), noticed(0.01)).reason.endswith("fewer than 1,000 non-members")


def test_other_figures_have_no_rate():
    area = Estimate(measure="membership_auc", attack="gap", value=0.5, low=0.4, high=0.6, unit="share", basis="control_group")
    (found,) = decide((PolicyLine(measure="membership_auc", at_most=0.7),), (area,)).criteria
    assert (found.decision, found.false_positive_rate) == ("pass", None)


def test_a_line_on_a_part_covers_the_parts_of_all_attributes():
    parts = tuple(
        Estimate(measure="subgroup_membership_auc", attack="gap", attribute=name, subgroup="lowest values", value=value,
                 low=value, high=value, unit="share", basis="control_group")
        for name, value in (("age", 0.6), ("pay", 0.8))
    )  # fmt: skip
    (found,) = decide((PolicyLine(measure="subgroup_membership_auc", at_most=0.7),), parts).criteria
    assert (found.decision, found.attribute) == ("fail", "pay")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"measure": MEASURE, "false_positive_rate": 0.1}, "0.1 percent is 0.001"),
        ({"measure": MEASURE, "false_positive_rate": 1}, "0.001, 0.01"),
        ({"measure": "membership_auc", "false_positive_rate": 0.01}, "no figure per false_positive_rate"),
        ({"measure": "reidentification", "false_positive_rate": 0.01}, "no figure per false_positive_rate"),
    ],
)
def test_rates_that_cannot_be_meant(fields, says):
    with pytest.raises(InputError) as refused:
        check_policy((PolicyLine(at_most=0.1, **fields),), Known())
    assert refused.value.where == "policy[0].false_positive_rate" and says in str(refused.value)


@pytest.mark.parametrize("fields", [{}, {"false_positive_rate": 0.001}, {"false_positive_rate": 0.01}])
def test_rates_that_are_measured(fields):
    check_policy((PolicyLine(measure=MEASURE, at_most=0.1, **fields),), Known(membership=("gap",)))
