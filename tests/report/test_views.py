"""The rows of the page: alike ones together, empty columns left out."""

from __future__ import annotations

from dataclasses import replace

from tasks.mask.categories.pram import Pram
from tasks.microdata.schema import Schema
from tasks.report.views.origin import describe_table_origin
from tasks.report.views.overview import MOST_SINGLE, disclosure_rows, treatment_rows


def test_attributes_treated_alike_share_a_row_where_there_are_many(certified):
    rows = treatment_rows(certified)
    assert [[name for name, _ in row.members] for row in rows] == [
        ["popul", "age"],
        ["educ", "income"],
        ["TVnews", "selfLR", "ClinLR", "DoleLR", "PID", "vote"],
        ["logpopul"],
    ]
    assert [row.role for row in rows] == ["quasi-identifier", "quasi-identifier", "confidential", "derived"]
    few = replace(certified, schema=Schema(certified.schema.attributes[:MOST_SINGLE]))
    assert [len(row.members) for row in treatment_rows(few)] == [1] * MOST_SINGLE


def test_columns_of_dashes_are_left_out(certified):
    head, rows = disclosure_rows(certified)
    assert len(head) == 3
    kept = tuple(one for one in certified.estimates if dict(one.parameters).get("p_percent") != 5.0)
    wide = replace(next(certified.figures("rank_interval_disclosure")), attribute="vote", parameters=(("p_percent", 20.0),))
    head, rows = disclosure_rows(replace(certified, estimates=(*kept, wide)))  # nobody masked `vote`: its column has no row
    assert [text.replace("\u202f", " ") for text in head] == ["Same value", "Within 10 % of the ranks"]
    assert all(len(row.cells) == 2 for row in rows)
    assert disclosure_rows(replace(certified, estimates=())) == ((), ())


def test_decimals_are_spoken_of_where_a_number_was_masked(certified):
    assert "origin.decimals" in [text.id for text in describe_table_origin(certified)]
    randomised = replace(certified, mechanisms=(Pram(method="pram", attributes=("educ",), retention=0.5),))
    assert "origin.decimals" not in [text.id for text in describe_table_origin(randomised)]
