"""The record that the report and the statement are made from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from tasks.microdata.table import Microdata
from tasks.report.content import Content, extra_knowledge
from tasks.report.page import render_report


@pytest.mark.parametrize("which", ["certified", "refused", "undecided"])
def test_it_comes_back_from_json(which, request):
    content = request.getfixturevalue(which)
    adapter = TypeAdapter(Content)
    assert adapter.validate_json(adapter.dump_json(content, by_alias=True)) == content


def test_rows_of_people_are_refused(certified):
    with_rows = replace(certified.attacks[0], outcomes=Microdata.from_columns({"target": [1]}))
    with pytest.raises(ValueError, match="without outcomes"):
        replace(certified, attacks=(with_rows,))


def test_every_policy_line_has_its_criterion(certified):
    with pytest.raises(ValueError, match="3 policy lines and 4 criteria"):
        replace(certified, policy=certified.policy[1:])


def test_figures_of_statistics_are_rounded_for_the_public(certified):
    correlation = next(certified.figures("correlation_difference"))
    table, age = (next(one for one in certified.figures("sse_percent") if one.attribute == name) for name in (None, "age"))
    assert (correlation.value, table.value, age.value) == (0.021, 8.12346, 10.0)


def test_what_is_read_off(certified):
    assert certified.masking_targets == ("popul", "age", "educ", "income")
    assert certified.intruder_knowledge == ("popul", "age", "educ", "income")
    assert certified.attack_ids == ("distance_linkage", "transparency")
    assert certified.worst("reidentification").id == "reidentification|transparency|insider:PID"
    assert certified.worst("reidentification", declared=True).id == "reidentification|transparency|declared"
    assert certified.worst("linked_value_disclosed", attribute="PID").attribute == "PID"
    assert certified.worst("known_links") is None
    assert certified.figure(None) is None
    assert [extra_knowledge(name) for name in ("declared", "insider:a:b")] == ["", "a:b"]


def test_what_a_codebook_says_stands_beside_the_name(certified):
    said = [
        replace(column, label=label, unit=unit)
        for column, (label, unit) in zip(
            certified.ingest.columns, [("Age", "years"), (None, "SEK"), ("Vote", None)] + [(None, None)] * 99, strict=False
        )
    ]
    content = replace(certified, ingest=replace(certified.ingest, columns=tuple(said)))
    assert [content.describe_attribute(column.name) for column in said[:4]] == ["Age (years)", "in SEK", "Vote", ""]
    assert "Age (years)" in render_report(content)
