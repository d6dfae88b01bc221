"""The report on rules that must not follow: how many do, and what each edition shows of a rule (0 s)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.microdata.estimate import Estimate
from tasks.report.content import public_edition
from tasks.report.page import render_report
from tasks.report.views.concluded_rules import describe_hidden_results, list_rule_heads, list_rule_rows

ASKED = (("rules", 2.0), ("support", 0.02), ("confidence", 0.8))


def figure(measure, value, parameters):
    idle = {"status": "not_applicable", "reason": "why not"} if value is None else {}
    return Estimate(measure=measure, value=value, low=value, high=value, unit="share", parameters=parameters, **idle)


def of_rule(number, *values):
    names = ("rule_support", "rule_confidence", "rule_support_original", "rule_confidence_original")
    return [figure(name, value, (("rule", float(number)),)) for name, value in zip(names, values, strict=True)]


@pytest.fixture
def told(internal):
    figures = (figure("results_hidden", 0.5, ASKED), *of_rule(2, 0.125, 0.8125, 0.2, 0.9), *of_rule(1, 0.0, None, 0.3, 0.7))
    return replace(internal, estimates=(*internal.estimates, *figures))


def test_nothing_is_said_where_nothing_was_declared(certified):
    assert describe_hidden_results(certified) == () and list_rule_rows(certified) == ()


def test_the_internal_edition_has_the_original_beside_the_release(told):
    asks, concluded = describe_hidden_results(told)
    assert asks.facts == {"rules": 2, "support": 0.02, "confidence": 0.8}
    assert concluded.facts == {"concluded": 1, "rules": 2}
    assert len(list_rule_heads(told)) == 4
    rows = [(row.head, [cell.replace("\u202f", " ") for cell in row.cells]) for row in list_rule_rows(told)]
    assert rows == [
        ("1", ["0 %", "not applicable: why not", "30 %", "70 %"]),
        ("2", ["12.5 %", "81.2 %", "20 %", "90 %"]),
    ]


def test_the_public_edition_has_no_figure_by_which_a_rule_could_be_found(told):
    public = public_edition(told)
    assert "hidden_results.unnamed" in [one.id for one in describe_hidden_results(public)]
    assert list_rule_heads(public) == () and list_rule_rows(public) == ()
    assert {one.value for one in public.estimates if one.measure.startswith("rule_")} == {None}
    assert 'id="disclosure"' in render_report(public)


def test_a_figure_that_is_not_applicable_says_why(internal):
    unknown = replace(internal, estimates=(*internal.estimates, figure("results_hidden", None, ASKED)))
    assert "hidden_results.unknown" in [one.id for one in describe_hidden_results(unknown)]


def test_rules_that_were_found_are_told_to_the_steward_alone(internal):
    asked = (("rules_at_most", 4.0), *ASKED[1:])
    first, second = of_rule(1, 0.1, 0.9, 0.3, 0.9), of_rule(2, None, None, None, None)  # of at most four one was found
    first[2] = replace(first[2], reason="age <= 34 -> vote = 1")
    told = replace(internal, estimates=(*internal.estimates, figure("results_hidden", 0.25, asked), *first, *second))
    sentences = {one.id: one.facts for one in describe_hidden_results(told)}
    assert sentences["hidden_results.asks_found"] == {"rules": 4, "support": 0.02, "confidence": 0.8}
    assert sentences["hidden_results.found"] == {"found": 1, "at_most": 4}
    assert sentences["hidden_results.concluded_of_found"] == {"concluded": 1}
    assert [row.head for row in list_rule_rows(told)] == ["1: age <= 34 -> vote = 1"]
    public = public_edition(told)
    assert "hidden_results.found" not in [one.id for one in describe_hidden_results(public)]
    assert not any("34" in (one.reason or "") for one in public.estimates)
    assert "34 -" not in render_report(public)
