"""Singling out in the report: each figure beside its chance, and the three risks as the certificate judges them (0 s)."""

from __future__ import annotations

from dataclasses import replace

from tasks.attack.singling_out.outcomes import IsolationCounts, SinglingOutResult
from tasks.report.views.singling_out import describe_singling_out, list_isolation_rows, list_risk_rows
from tasks.report.working_party import judge_working_party
from tasks.score.policy import PolicyLine
from tasks.score.singling_out import singling_out_figures
from tasks.score.verdict import decide


def count(*attributes, isolated, expected):
    return IsolationCounts(
        attributes=attributes, predicates=500, isolating=isolated, isolated=isolated, expected=float(expected)
    )


def measure(content, **changes):
    """The content with singling out measured: 944 people, 200 others, a line that allows 10 %."""
    published = content.schema.release_columns
    result = replace(
        SinglingOutResult(
            evaluates="this file",
            quasi_identifiers=("age", "educ"),
            largest=2,
            people=944,
            others=200,
            sets=(count("age", isolated=118, expected=118), count("age", "educ", isolated=472, expected=236)),
            every=count(*published, isolated=708, expected=0),
            singled_out=500,
        ),
        **changes,
    )
    policy = (*content.policy, PolicyLine(measure="singling_out", at_most=0.1))
    estimates = (*content.estimates, *singling_out_figures((result,), "records"))
    said = {"policy": policy, "estimates": estimates, "verdict": decide(policy, estimates)}
    return replace(content, singling_out=(result.describe_alone(),), **said)


def test_nothing_is_said_where_nobody_asked(certified):
    assert describe_singling_out(certified) == ()
    assert list_isolation_rows(certified) == ()


def test_each_figure_stands_beside_its_chance(certified):
    content = measure(certified)
    first, second, every, predicates = list_isolation_rows(content)
    assert (first.head, second.head) == ("age", "age, educ")
    assert [cell.split("\u202f")[0].split("\u00a0")[0] for cell in first.cells[:2]] == ["12.5", "12.5"]
    assert [cell.split("\u202f")[0].split("\u00a0")[0] for cell in second.cells[:2]] == ["50", "25"]
    assert second.cells[2].startswith("25")
    assert every.cells[0].startswith("75")
    assert predicates.cells[0].startswith("59")  # 118 and 472 of 1,000
    asks, excess, any_set = describe_singling_out(content)
    assert (asks.facts["is_rehearsed"], excess.facts["attributes"]) == (False, ("age", "educ"))
    assert any_set.facts["figure"].value == 500 / 944


def test_the_report_has_the_decisions_of_the_certificate(certified):
    content = measure(certified)
    criteria = judge_working_party(content)
    assert criteria.singling_out.decision == "fail"
    rows = {row.head: row.cells[0] for row in list_risk_rows(content)}
    assert rows["Singling out"] == "fail"
    assert rows["Linkability"] == criteria.linkability.decision
    assert rows["Inference"].startswith("not assessed")


def test_a_result_for_the_report_has_no_counts(certified):
    (kept,) = measure(certified).singling_out
    assert (kept.people, kept.others, kept.sets, kept.every, kept.singled_out) == (0, 0, (), None, 0)
