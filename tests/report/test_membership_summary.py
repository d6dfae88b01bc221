"""All attacks at a glance: which figure is the worst, which one decided, and what so few people cannot show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.attack.membership.methods import MembershipResult
from tasks.microdata.estimate import Estimate
from tasks.report.page import render_report
from tasks.report.views.membership_summary import NOT_ESTIMABLE, membership_summary
from tasks.score.membership.membership_figures import UNLIKE
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide

LEFT_END = "membership_true_positive_rate"
TOO_FEW = {"status": "not_applicable", "reason": "not estimable: fewer than 1,000 non-members"}


def result(attack, **changes):
    about = {"evaluates": "this file", "infers": "takes the near for members", "knows": "the record"}
    return MembershipResult(**{"attack": attack, "method": attack, **about, **changes})


def figure(measure, attack, value, half=0.05, chance=0.5, **changes):
    bounds = {} if value is None else {"low": value - half, "high": value + half}
    return Estimate(measure=measure, attack=attack, value=value, unit="share", basis="control_group", chance=chance,
                    n_targets=472, n_in_release=236, **bounds, **changes)  # fmt: skip


def of(attack, auc, advantage, *left_end):
    rates = zip((0.001, 0.01), left_end or (None, None), strict=True)
    return (
        figure("membership_auc", attack, auc),
        figure("membership_advantage", attack, advantage, chance=0.0),
        figure("membership_recall", attack, 0.8),
        *(
            figure(
                LEFT_END, attack, value, 0.01, rate, parameters=(("false_positive_rate", rate),), **({} if value else TOO_FEW)
            )
            for rate, value in rates
        ),
    )


def content_of(certified, *figures, members=("closest_record", "density_ratio"), policy=()):
    lines = policy or certified.policy
    estimates = (*certified.estimates, *(one for group in figures for one in group))
    found = tuple(result(one) if isinstance(one, str) else one for one in members)
    return replace(
        certified, membership=found, control=236, estimates=estimates, policy=lines, verdict=decide(lines, estimates)
    )


def plain(text):
    return text.replace("\u202f", " ").replace("\u2212", "-")


def test_worked_rows(certified):
    """The second attack has the larger area, the first the larger advantage; the policy limits the area alone."""
    policy = (PolicyLine(measure="membership_auc", at_most=0.7),)
    found = of("closest_record", 0.55, 0.2), of("density_ratio", 0.6, -0.1)
    shown = membership_summary(content_of(certified, *found, policy=policy))
    assert [plain(head) for head in shown.heads] == [
        "Told from others (AUC)", "Advantage", "Noticed at 1 % and 0.1 % false alarms",
    ]  # fmt: skip
    cells = [[(plain(cell.value), plain(cell.bounds), cell.mark) for cell in row.cells] for row in shown.rows]
    assert cells == [
        [("55 %", "50 % to 60 %", ""), ("20 %", "15 % to 25 %", "worst found"), (NOT_ESTIMABLE, "", "")],
        [("60 %", "55 % to 65 %", "worst found, decides"), ("-10 %", "-15 % to -5.0 %", ""), (NOT_ESTIMABLE, "", "")],
    ]
    assert [plain(one) for one in shown.chance] == ["50 %", "0 %", "1 % and 0.1 %"]
    notes = {term: plain(text) for term, text in shown.notes}
    assert "at least 1,000 for 1 % and 10,000 for 0.1 %" in notes["Not estimable"]
    assert dict(shown.notes)["Not estimable"].facts["asked_about"] == 236
    assert "Decides" in notes


def test_of_a_single_attack_none_is_the_worst_and_without_a_line_none_decides(certified):
    shown = membership_summary(content_of(certified, of("closest_record", 0.55, 0.2), members=("closest_record",)))
    assert {cell.mark for row in shown.rows for cell in row.cells} == {""}
    assert "Decides" not in dict(shown.notes)


def test_a_rate_that_can_be_estimated_has_a_column_of_its_own(certified):
    found = of("closest_record", 0.55, 0.2, None, 0.031), of("density_ratio", 0.6, 0.1, None, 0.022)
    shown = membership_summary(content_of(certified, *found))
    assert [plain(head) for head in shown.heads[2:]] == ["Noticed at 1 % false alarms", "Noticed at 0.1 % false alarms"]
    assert [plain(row.cells[2].value) for row in shown.rows] == ["3.1 %", "2.2 %"]
    assert [row.cells[3].value for row in shown.rows] == [NOT_ESTIMABLE] * 2
    assert [plain(one) for one in shown.chance[2:]] == ["1 %", "0.1 %"]
    assert "1,000" not in dict(shown.notes)["Not estimable"].replace("10,000", "")


def test_an_attack_without_figures_says_why_in_its_row(certified):
    members = ("closest_record", result("density_ratio", status="failed", reason="no neighbours"), "linkage_score")
    unlike = figure("membership_auc", "linkage_score", None, status="failed", reason=UNLIKE)
    content = content_of(certified, of("closest_record", 0.55, 0.2), (unlike,), members=members)
    assert [row.silent for row in membership_summary(content).rows] == ["", "failed: no neighbours", f"failed: {UNLIKE}"]
    page = render_report(content)
    assert page.count("failed: no neighbours") == 2
    assert page.count('<a href="#membership-1">') == page.count('id="membership-1"') == 1
    assert page.count("For one respondent") == 1


def test_shadow_models_are_counted_and_nothing_is_shown_where_nobody_asked(certified):
    content = content_of(certified, of("gap", 0.55, 0.2), members=(result("gap", shadows=1024),))
    assert [row.imitations for row in membership_summary(content).rows] == ["1,024 shadow models"]
    assert membership_summary(certified) is None


@pytest.mark.parametrize("most", [True, False])
def test_who_is_most_exposed_is_told_of_the_attack_that_tells_most(certified, most):
    part = figure("subgroup_share_of_most_exposed", "density_ratio" if most else "closest_record", 0.3, 0.1, 0.05,
                  attribute="age", subgroup="lowest values")  # fmt: skip
    found = of("closest_record", 0.55, 0.1), of("density_ratio", 0.6, 0.2)
    shown = dict(membership_summary(content_of(certified, *found, (part,))).notes)
    assert ("Most exposed" in shown) is most
    if most:
        facts = shown["Most exposed"].facts
        assert (facts["attack"], [one.facts["attribute"] for one in facts["parts"]]) == ("density_ratio", ["age"])
