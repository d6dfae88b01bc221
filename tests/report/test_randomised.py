"""What the report and the statement say of attributes that PRAM drew anew."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter

from tasks.mask.categories.pram import Pram, Randomisation
from tasks.microdata.schema import Attribute, Role, Scale
from tasks.report import words
from tasks.report.content import Content
from tasks.report.masks.words import told
from tasks.report.missing import missing_in_words
from tasks.report.page import Stamp, render
from tasks.report.predicate import Predicate
from tasks.report.randomised import randomised_in_words
from tasks.report.residual import residual_risks
from tasks.report.statement import canonical, predicate
from tasks.report.views import disclosure_rows
from tasks.score.policy import PolicyLine

RETENTION = Pram(method="pram", attributes=("educ",), retention=0.8)
EPSILON = Pram(method="pram", attributes=("educ", "income"), epsilon=1.5)
MATRIX = Pram(method="pram", attributes=("educ",), matrix={"1": {"1": 0.5, "2": 0.5}, "2": {"1": 0.1, "2": 0.9}})
EDUC = Attribute(name="educ", role=Role.QUASI_IDENTIFIER, scale=Scale.ORDINAL, decided_by="declared")


@pytest.fixture
def randomised(certified) -> Content:
    found = (Randomisation("educ", 3.1781, 7, False), Randomisation("income", "infinite", 24, True))
    return replace(certified, mechanisms=(*certified.mechanisms, RETENTION, EPSILON), randomised=found)


def test_the_step_is_private_and_never_the_release(randomised):
    told = list(randomised_in_words(randomised))
    assert told == [
        "The PRAM step on educ is 3.18-LDP, its 7 categories taken as public; nothing of the kind is claimed for the release.",
        "The PRAM step on income has no finite epsilon: some released values rule original ones out, or a gap shows who has no "
        "value.",
        "In income, a true category can be less likely to be released than another one.",
    ]
    assert set(told) <= set(residual_risks(randomised))
    assert not any("release is" in text for text in told)


def test_rounding_never_promises_more(randomised):
    one = replace(randomised, randomised=(Randomisation("educ", 2.0001, 7, False),))
    assert "2.01-LDP" in next(randomised_in_words(one))


def test_nothing_is_said_of_other_masks(certified):
    assert list(randomised_in_words(certified)) == []


@pytest.mark.parametrize(
    ("step", "title", "phrase"),
    [
        (RETENTION, "PRAM, values kept with probability 0.8",
         "randomised: each value kept with probability 0.8, else any other of its categories"),
        (EPSILON, "PRAM, randomised response with epsilon 1.5",
         "randomised: each value by randomised response with epsilon 1.5"),
        (MATRIX, "PRAM by a matrix of 2 categories", "randomised: each value drawn by a matrix of 2 categories"),
    ],
)  # fmt: skip
def test_the_step_in_words(certified, step, title, phrase):
    assert told(step, certified.schema).title == title
    assert told(step, certified.schema).attribute(EDUC) == phrase
    sentence = told(step, certified.schema).text
    assert sentence.startswith(f"In {words.listed(step.attributes)}, every cell by itself was drawn anew")
    assert phrase.removeprefix("randomised: ") in sentence
    assert ("chances in the matrix are not published" in sentence) == (step is MATRIX)


def test_gaps_stay(randomised):
    columns = tuple(replace(one, n_missing=5) if one.name == "educ" else one for one in randomised.ingest.columns)
    told = missing_in_words(replace(randomised, ingest=replace(randomised.ingest, columns=columns)))
    assert any("a gap stays a gap" in text for text in told)


def test_the_statement_gives_the_epsilons(randomised):
    stamp = Stamp(run="run-1", issued_at=datetime(2026, 11, 21, tzinfo=UTC), attempts=1)
    content = replace(randomised, mechanisms=(*randomised.mechanisms, MATRIX))
    filled = predicate(content, stamp, source_digest="0" * 64, seed_entropy_bits=256)
    epsilons = {one["name"]: one["epsilon"] for one in filled["attributes"]}
    assert (epsilons["educ"], epsilons["income"], epsilons["age"]) == (3.1781, "infinite", "not assessed")
    assert Predicate.model_validate_json(json.dumps(filled))
    assert canonical(filled)  # no infinity, which JSON does not have
    rules = [claim["parameters"] for one in filled["attributes"] if one["name"] == "educ" for claim in one["parameters"]]
    assert rules[1] == {"attributes": ["educ"], "retention": 0.8}
    assert rules[3] == {"attributes": ["educ"], "matrix": "a matrix of 2 categories"}


def test_no_category_and_no_cell_of_a_matrix_leaves_the_house(certified):
    cells = {"canary-one": {"canary-one": 0.71234, "canary-two": 0.28766}, "canary-two": {"canary-one": 0.4, "canary-two": 0.6}}
    step = Pram(method="pram", attributes=("educ",), matrix=cells)
    stamp = Stamp(run="run-1", issued_at=datetime(2026, 11, 21, tzinfo=UTC), attempts=1)
    content = replace(certified, mechanisms=(step,), randomised=(Randomisation("educ", 1.25, 2, False),))
    filled = predicate(content, stamp, source_digest="0" * 64)
    for text in (canonical(filled).decode(), render(content)):
        assert "matrix of 2 categories" in text
        assert not any(secret in text for secret in ("canary", "71234", "28766"))
    assert next(one["epsilon"] for one in filled["attributes"] if one["name"] == "educ") == 1.25


def test_both_kinds_of_intervals_stand_side_by_side(certified):
    known = next(certified.figures("rank_interval_disclosure"))
    more = replace(known, measure="sd_interval_disclosure", attribute="age", parameters=(("p_percent", 25.0),), value=0.5)
    head, rows = disclosure_rows(replace(certified, estimates=(*certified.estimates, more)))
    assert [text.replace("\u202f", " ") for text in head[1:]] == [
        "Within 5 % of the ranks",
        "Within 10 % of the ranks",
        "Within 25 % of a standard deviation",
    ]
    cells = {row.head: row.cells[-1] for row in rows}
    assert (cells["age"][:2], cells["educ"]) == ("50", "\u2013")


def test_policy_lines_on_both_kinds_of_intervals():
    line = PolicyLine(measure="sd_interval_disclosure", at_most=0.5, attribute="age", p_percent=5.0)
    assert "within 5 % of a standard deviation" in words.requirement(line).replace("\u202f", " ")


def test_the_content_survives_being_stored_and_the_page_draws(randomised):
    form = TypeAdapter(Content)
    assert form.validate_json(form.dump_json(randomised)) == randomised
    assert "3.18-LDP" in render(randomised)
