"""The report on cells: worst attributes, coalitions, rows, and what units are called (0 s)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.microdata.estimate import Estimate
from tasks.report.content import public_edition
from tasks.report.page import render_report
from tasks.report.views.cell_members import describe_cells, list_cell_rows
from tasks.report.views.exceptions import describe_disclosure
from tasks.report.views.residual import residual_risks

NUMBER = (("p_percent", 5.0),)


def figure(measure, attribute, value, parameters=(), **changes):
    fixed = {"low": value, "high": value, "n_targets": 944, "n_in_release": 944, "credit_rule": "indicator"}
    return Estimate(measure=measure, attribute=attribute, value=value, unit="share", parameters=parameters, **fixed | changes)


FIGURES = (
    figure("cell_members_exposed", "vote", 0.25, (("coalition", 2.0),)),
    figure("cell_homogeneity", "vote", 0.125),
    figure("t_closeness", "vote", 0.4567),
    figure("cell_members_exposed", "PID", 0.5, (("coalition", 2.0), *NUMBER)),
    figure("cell_homogeneity", "PID", 4 / 944, NUMBER),
)


@pytest.fixture
def told(internal):
    return replace(internal, estimates=(*internal.estimates, *FIGURES))


def test_nothing_is_said_where_nothing_was_asked(certified):
    assert describe_cells(certified) == () and list_cell_rows(certified) == ()


def test_the_worst_attribute_of_each_is_named(told):
    asks, coalition, outsider = describe_cells(told)
    assert (asks.id, asks.facts["widths"]) == ("inference.cells", [5.0])
    assert (coalition.id, coalition.facts["worst"].attribute, coalition.facts["size"]) == ("inference.cell_members", "PID", 2)
    assert "50 %" in coalition.replace("\u202f", " ") and " 2 " in coalition
    assert (outsider.id, outsider.facts["worst"].attribute) == ("inference.homogeneous_cells", "vote")
    assert coalition in residual_risks(told) and "PID" in coalition
    assert describe_disclosure(told, "inference")


def test_each_attribute_has_a_row(told):
    rows = [(row.head, [cell.replace("\u202f", " ") for cell in row.cells]) for row in list_cell_rows(told)]
    assert rows == [("vote", ["12.5 %", "25 %", "2", "45.7 %"]), ("PID", ["0.42 %", "50 %", "2", "\u2013"])]
    assert "What does a cell tell" in render_report(told)


def test_the_public_edition_tells_no_count_of_a_few(told):
    only = replace(told, estimates=tuple(one for one in told.estimates if one.attribute != "vote"))
    public = public_edition(only)
    _, _, outsider = describe_cells(public)
    assert "perhaps none" in outsider
    assert 4 / 944 not in [one.value for one in public.estimates]


def test_an_attribute_of_which_nothing_is_known_says_why(told):
    idle = figure("cell_members_exposed", "age", None, (("coalition", 1.0),), status="not_applicable", reason="masked")
    rows = list_cell_rows(replace(told, estimates=(*told.estimates, idle)))
    assert rows[-1].cells == ("\u2013", "not applicable: masked", "1", "\u2013")


def test_companies_are_called_companies(told):
    companies = replace(told, context=told.context.model_copy(update={"unit": "company"}))
    assert all("companies" in one and "people" not in one for one in describe_cells(companies))
