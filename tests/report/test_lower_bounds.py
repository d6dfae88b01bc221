"""A figure of a part of an attack that was not followed whole is a lower bound, and is told as one wherever it is the worst."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tasks.microdata.estimate import Estimate
from tasks.report.charts.editions import RULES
from tasks.report.charts.knowledge import list_knowledge_curves
from tasks.report.charts.subgroups import compare_subgroups
from tasks.report.content import public_edition
from tasks.report.page import Stamp, render_report
from tasks.report.predicate import LedgerClaim, MadeBy, Predicate
from tasks.report.statement import create_predicate
from tasks.report.views import residual, table_risks
from tasks.report.views.attacks import idle_attacks
from tasks.report.views.figures import subgroup_figures, summary_figure
from tasks.report.views.overview import create_policy_rows, create_tiles
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide

N = 944
LOST = "a later step hides what an earlier one did"
RATE = 0.6
WHO = ("declared", "insider:vote", "insider:PID")


def bound(measure: str, intruder: str, value: float = RATE, **more) -> Estimate:
    return Estimate(measure=measure, attack="consistency", intruder=intruder, value=value, low=value, high=1.0, unit="share",
                    status="not_followed", reason=LOST, n_targets=N, n_in_release=N, **more)  # fmt: skip


def with_bounds(content, *who: str, lines=None, value: float = RATE):
    """The release with an attack that somebody could not follow whole, and what a part of it found."""
    measures = ("reidentification", "records_exposed", "max_record_risk")
    figures = (*content.estimates, *(bound(measure, name, value) for measure in measures for name in who))
    first, lines = content.attacks[0], content.policy if lines is None else lines
    idle = {"attack": "consistency", "method": "consistency", "status": "not_followed", "reason": LOST}
    attacks = (*content.attacks, *(replace(first, intruder=name, **idle) for name in who))
    return replace(content, attacks=attacks, estimates=figures, policy=lines, verdict=decide(lines, figures))


def filled(content):
    stamp = Stamp(run="run-1", issued_at=datetime(2026, 11, 21, tzinfo=UTC), attempts=2)
    recorded = LedgerClaim(ledger="1" * 32, attempt_entry=4, attempt_digest="2" * 64, tree_size=5, root="4" * 64)
    made_by = MadeBy(version="0.1", code="6" * 64, lock="8" * 64, platform="0" * 64, python="3.11.2")
    return create_predicate(public_edition(content), stamp, source_digest="e" * 64, recorded=recorded, made_by=made_by)


def plain(texts) -> str:
    return "\n".join(texts).replace("\u202f", " ")


@pytest.mark.parametrize("edition", [lambda content: content, public_edition])
def test_the_sentences_say_at_least(internal, edition):
    content = edition(with_bounds(internal, "declared", "insider:vote"))
    shown = "at least 60 %" if content.edition == "internal" else "at least 59.9 %"  # the class of 565 to 574 of 944
    told = {one.id: one for one in residual.residual_risks(content) if hasattr(one, "id")}
    declared, insider = told["residual.declared_intruder"], told["residual.insider"]
    assert declared.facts["is_worst"] and declared.facts["rate"].is_lower_bound
    assert insider.facts["is_worst"] and insider.facts["rate"].attack == "consistency"
    for text in (declared, insider):
        assert shown in plain([text]) and "could not follow whole" in text
    assert shown in plain([told["residual.exposed"]])
    assert told["residual.other_insiders"].facts["found"][0].startswith("44")


def test_a_bound_that_is_not_the_worst_changes_no_sentence(internal):
    with_it, without = with_bounds(internal, "insider:vote", value=0.05), internal
    assert list(table_risks.insiders_in_words(with_it)) == list(table_risks.insiders_in_words(without))
    assert "at least" not in plain(table_risks.describe_declared_intruder(with_it))


def test_only_the_worst_over_all_intruders_is_called_so(internal):
    content = with_bounds(internal, "insider:vote")
    (declared, *_), (insider, *_) = table_risks.describe_declared_intruder(content), table_risks.insiders_in_words(content)
    assert (declared.facts["is_worst"], insider.facts["is_worst"]) == (False, True)
    assert "another intruder found more" in declared


def test_tiles_lines_charts_and_lists_say_at_least(internal):
    content = public_edition(with_bounds(internal, *WHO))
    (tile,) = (
        one for one in create_tiles(content) if one.title.startswith("Re-identification rate") and "insider" not in one.who
    )
    assert (tile.status, tile.value.replace("\u202f", " ")) == ("broken", "at least 59.9 %")
    assert (tile.bound.id, tile.bound.facts["lower_bound"]) == ("policy.bound", True)
    assert tile.people.startswith("at least 565 of 944")
    row = create_policy_rows(content)[0]
    assert row.found.startswith("at least 59.9")
    assert row.reason.facts["criterion"].lower_bound
    assert "at least 59.9" in row.reason
    assert row.who.id == "policy.source", "nothing was sampled"
    chart = summary_figure(content)
    assert [one.cells[0].replace("\u202f", " ") for one in chart.rows][-2:] == ["at least 59.9 %", "at least 59.9 %"]
    assert chart.svg.count("at least") >= 2
    assert {one.cells[1] for one in idle_attacks(content) if one.head == "Consistency attack"} == {"not followed"}
    assert "at least 59.9" in render_report(content)


def test_the_charts_of_parts_and_of_knowledge_carry_the_mark(internal):
    parts = {"value": 0.9, "low": 0.9, "high": 1.0, "status": "not_followed", "attack": "consistency"}
    known = (bound("reidentification", name) for name in ("declared", "knowing:2"))
    subgroup = (replace(one, **parts) for one in internal.figures("subgroup_reidentification"))
    figures = (*internal.estimates, *subgroup, *known)
    found = compare_subgroups(figures, RULES["internal"])
    assert found.subgroups
    assert all(one.lower_bound for one in found.subgroups)
    assert (found.overall, found.overall_is_lower_bound) == (RATE, True)
    curve = next(one for one in list_knowledge_curves(figures, 4) if one.attack == "consistency")
    assert [(point.known, point.lower_bound) for point in curve.points] == [(2, True), (4, True)]
    content = replace(internal, estimates=figures)
    assert all("at least" in row.cells[0] for one in subgroup_figures(content) for row in one.rows)


def test_the_statement_has_it_as_a_value(internal):
    said = filled(with_bounds(internal, *WHO))
    model = said["attack_model"]
    assert (model["maximum_risk_is_lower_bound"], model["average_risk_is_lower_bound"]) == (False, True)  # 100 % was found
    assert model["worst_insider"]["lower_bound"] is True
    assert said["criteria_wp29"]["linkability"] | {"attacks": []} == {
        "attacks": [], "measure": "reidentification", "value": model["average_risk"], "decision": "fail", "lower_bound": True
    }  # fmt: skip
    assert [one["lower_bound"] for one in said["claim"]["criteria"]] == [True, True, False, False, True]
    none = filled(internal)
    assert '"lower_bound": true' not in str(none).replace("'", '"').replace("True", "true")


def test_without_a_line_the_worst_figure_of_a_risk_says_so_too(internal):
    lines = (PolicyLine(measure="sse_percent", at_most=15.0),)
    said = filled(with_bounds(internal, "declared", lines=lines))["criteria_wp29"]
    assert (said["linkability"]["decision"], said["linkability"]["lower_bound"]) == ("not assessed", True)


def test_a_statement_of_version_3_without_the_marks_is_read(internal):
    said = filled(with_bounds(internal, *WHO))
    older = _without(said, {"lower_bound", "maximum_risk_is_lower_bound", "average_risk_is_lower_bound"})
    assert older != said
    read = Predicate.model_validate_json(json.dumps(older))
    assert (read.attack_model.average_risk_is_lower_bound, read.attack_model.worst_insider.lower_bound) == (False, False)


def _without(value, names):
    if isinstance(value, dict):
        return {name: _without(one, names) for name, one in value.items() if name not in names}
    return [_without(one, names) for one in value] if isinstance(value, list) else value
