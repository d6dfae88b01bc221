"""What the report and the statement say of attributes that PRAM drew anew."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from pydantic import TypeAdapter

from tasks.mask.categories.original_shares import EstimatedShare, EstimatedShares
from tasks.mask.categories.pram import Pram, transition_matrix
from tasks.mask.categories.promise import Randomisation
from tasks.mask.categories.warner import Warner
from tasks.microdata.canonical import canonical
from tasks.microdata.schema import Attribute, Role, Scale
from tasks.microdata.words import join_with_and
from tasks.report.content import Content, public_edition
from tasks.report.mask_description import describe_mask
from tasks.report.page import Stamp, render_report
from tasks.report.predicate import LedgerClaim, MadeBy, Predicate
from tasks.report.statement import create_predicate
from tasks.report.views.estimated import create_estimated_views
from tasks.report.views.missing import missing_in_words
from tasks.report.views.overview import create_disclosure_rows
from tasks.report.views.randomised import describe_randomisation
from tasks.report.views.residual import residual_risks

RETENTION = Pram(method="pram", attributes=("educ",), retention=0.8)
EPSILON = Pram(method="pram", attributes=("educ", "income"), epsilon=1.5)
MATRIX = Pram(method="pram", attributes=("educ",), matrix={"1": {"1": 0.5, "2": 0.5}, "2": {"1": 0.1, "2": 0.9}})
WARNER = Pram(method="pram", attributes=("vote",), warner=Warner(p=0.5, p_yes=0.75, yes="canary"))
INVARIANT = Pram(method="pram", attributes=("educ",), retention=0.7, invariant=True, by=("vote",))
JOINT = Pram(method="pram", attributes=("educ", "income"), epsilon=2.0, jointly=True)
ISSUE = {
    "source_digest": "0" * 64,
    "recorded": LedgerClaim(ledger="0" * 32, attempt_entry=0, attempt_digest="0" * 64, tree_size=1, root="0" * 64),
    "made_by": MadeBy(version="0", code="0" * 64, lock="0" * 64, platform="0" * 64, python="3.11"),
}
EDUC = Attribute(name="educ", role=Role.QUASI_IDENTIFIER, scale=Scale.ORDINAL, decided_by="declared")


@pytest.fixture
def randomised(certified) -> Content:
    found = (Randomisation("educ", 3.1781, 7, False), Randomisation("income", "infinite", 24, True))
    return replace(certified, mechanisms=(*certified.mechanisms, RETENTION, EPSILON), randomised=found)


def test_the_step_is_private_and_never_the_release(randomised):
    told = list(describe_randomisation(randomised))
    assert [(one.id, one.facts) for one in told] == [
        ("randomised.private", {"attribute": "educ", "together": (), "epsilon": "3.18", "categories": 7}),
        ("randomised.no_finite_epsilon", {"attribute": "income", "together": (), "invariant": False}),
        ("randomised.truth_is_less_likely", {"attribute": "income"}),
    ]
    assert "3.18-LDP" in told[0]
    assert set(told) <= set(residual_risks(randomised))
    assert not any("release is" in text for text in told)


def test_rounding_never_promises_more(randomised):
    one = replace(randomised, randomised=(Randomisation("educ", 2.0001, 7, False),))
    assert next(describe_randomisation(one)).facts["epsilon"] == "2.01"


def test_what_releases_add_up_to_is_for_the_steward(randomised):
    for epsilon, told in ((4.001, "4.01"), ("infinite", None)):
        one = replace(randomised, epsilon_over_releases=epsilon)
        said = [sentence for sentence in residual_risks(one) if getattr(sentence, "id", "") == "randomised.over_releases"]
        assert [sentence.facts for sentence in said] == [{"epsilon": told}]
        public = public_edition(one)
        assert public.epsilon_over_releases is None
        assert said[0] not in residual_risks(public)


def test_nothing_is_said_of_other_masks(certified):
    assert list(describe_randomisation(certified)) == []


@pytest.mark.parametrize(
    ("step", "title", "phrase"),
    [
        (RETENTION, "PRAM, values kept with probability 0.8",
         "randomised: each value kept with probability 0.8, else any other of its categories"),
        (EPSILON, "PRAM, randomised response with epsilon 1.5",
         "randomised: each value by randomised response with epsilon 1.5"),
        (MATRIX, "PRAM by a matrix of 2 categories", "randomised: each value drawn by a matrix of 2 categories"),
        (WARNER, "PRAM, randomised response to a question of two answers",
         "randomised: each answer kept with probability 0.5, else Yes with probability 0.75"),
    ],
)  # fmt: skip
def test_the_step_in_words(certified, step, title, phrase):
    assert describe_mask(step, certified.schema).title == title
    assert describe_mask(step, certified.schema).attribute(EDUC) == phrase
    sentence = describe_mask(step, certified.schema).text
    assert sentence.startswith(f"In {join_with_and(step.attributes)}, every cell by itself was drawn anew")
    assert phrase.removeprefix("randomised: ") in sentence
    assert ("chances in the matrix are not published" in sentence) == (step is MATRIX)


def test_gaps_stay(randomised):
    columns = tuple(replace(one, n_missing=5) if one.name == "educ" else one for one in randomised.ingest.columns)
    told = missing_in_words(replace(randomised, ingest=replace(randomised.ingest, columns=columns)))
    assert any("a gap stays a gap" in text for text in told)


def test_the_statement_gives_the_epsilons(randomised):
    stamp = Stamp(run="run-1", issued_at=datetime(2026, 11, 21, tzinfo=UTC), attempts=1)
    content = replace(randomised, mechanisms=(*randomised.mechanisms, MATRIX))
    filled = create_predicate(content, stamp, **ISSUE, seed_entropy_bits=256)
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
    filled = create_predicate(content, stamp, **ISSUE)
    for text in (canonical(filled).decode(), render_report(content)):
        assert "matrix of 2 categories" in text
        assert not any(secret in text for secret in ("canary", "71234", "28766"))
    assert next(one["epsilon"] for one in filled["attributes"] if one["name"] == "educ") == 1.25


def test_both_kinds_of_intervals_stand_side_by_side(certified):
    known = next(certified.figures("rank_interval_disclosure"))
    more = replace(known, measure="sd_interval_disclosure", attribute="age", parameters=(("p_percent", 25.0),), value=0.5)
    head, rows = create_disclosure_rows(replace(certified, estimates=(*certified.estimates, more)))
    assert [text.replace("\u202f", " ") for text in head[1:]] == [
        "Within 5 % of the ranks",
        "Within 10 % of the ranks",
        "Within 25 % of a standard deviation",
    ]
    cells = {row.head: row.cells[-1] for row in rows}
    assert (cells["age"][:2], cells["educ"]) == ("50", "\u2013")


def test_the_content_survives_being_stored_and_the_page_draws(randomised):
    form = TypeAdapter(Content)
    assert form.validate_json(form.dump_json(randomised)) == randomised
    assert "3.18-LDP" in render_report(randomised)


def test_invariant_and_joint_steps_in_words(certified):
    invariant, joint = (describe_mask(step, certified.schema) for step in (INVARIANT, JOINT))
    assert invariant.title == "Invariant PRAM, values at first kept with probability 0.7, by vote"
    assert "On average each category keeps the frequency that it had within each of the groups; where all" in invariant.text
    assert "The chances of this come from the data and are not published" in invariant.text
    assert "drawn back so that expected frequencies stay" in invariant.attribute(EDUC)
    assert joint.title == "Joint PRAM, randomised response with epsilon 2"
    assert joint.text.startswith(
        "educ and income were drawn anew together, one of their combinations for each record: each combination"
    )
    assert joint.attribute(EDUC).startswith("randomised, educ and income together: ")


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (RETENTION, "d = 0.8 and q = (1 \u2212 d) / (c \u2212 1)"),
        (EPSILON, "q = 1 / (exp(1.5) + c \u2212 1) and d = exp(1.5) q"),
        (JOINT, "c the number of combinations"),
        (WARNER, "(o \u2212 0.375) / 0.5, o the share of Yes"),
        (WARNER, "condition number of the matrix is 2.16"),
        (MATRIX, "only who has the matrix can correct them"),
        (INVARIANT, "need no correction"),
        (Pram(method="pram", attributes=("educ",), epsilon=0.0), "the release says nothing"),
    ],
)
def test_how_an_analyst_corrects(certified, step, said):
    sentences = describe_mask(step, certified.schema).analysts
    assert said in sentences[0]
    assert any("not to be cut off" in text for text in sentences) == (step in (RETENTION, EPSILON, JOINT, WARNER))
    assert "canary" not in " ".join(sentences)


def test_the_formulas_that_analysts_are_told_undo_the_matrix():
    for step, c in ((RETENTION, 7), (EPSILON, 5)):
        matrix = transition_matrix(step, tuple(map(str, range(c))), where="")
        q = (1 - 0.8) / (c - 1) if step is RETENTION else 1 / (math.exp(1.5) + c - 1)
        d = 0.8 if step is RETENTION else math.exp(1.5) * q
        pi = np.arange(1.0, c + 1) / np.arange(1, c + 1).sum()
        assert (pi @ matrix - q) / (d - q) == pytest.approx(pi)
        assert 1 / abs(d - q) == pytest.approx(np.linalg.cond(matrix))


def test_all_cells_of_a_record_together(randomised):
    both = (Randomisation("educ", 1.2, 7, False), Randomisation("income", 12.344, 24, False))
    content = replace(randomised, randomised=both, epsilon_of_a_record=13.544)
    *_, income, whole = describe_randomisation(content)
    assert income.facts["epsilon"] == "12.35"
    assert (whole.id, whole.facts) == (
        "randomised.cells_of_a_record", {"attributes": ["educ", "income"], "epsilon": "13.55"}
    )  # fmt: skip
    for silent in (replace(content, epsilon_of_a_record="infinite"), replace(content, randomised=both[:1])):
        assert whole.id not in [one.id for one in describe_randomisation(silent)]


def test_what_is_said_of_joint_and_invariant_steps(randomised):
    found = (
        Randomisation("educ", 2.0, 7, False, ("income",)),
        Randomisation("income", "infinite", 24, False, ("educ",), True),
    )
    joint, invariant = describe_randomisation(replace(randomised, randomised=found))
    assert (joint.facts["together"], joint.facts["epsilon"]) == (("income",), "2")
    assert (invariant.facts["together"], invariant.facts["invariant"]) == (("educ",), True)
    assert "together with educ" in invariant


@pytest.fixture
def estimated(randomised) -> Content:
    shares = (
        EstimatedShare(("low",), 0.1, -0.0123, 0.02),
        EstimatedShare(("<b>high</b>",), 0.6, 0.75, None),
    )
    return replace(
        randomised,
        estimated_shares=(
            EstimatedShares(("educ",), 900, 7, 1.3, shares, 3),
            EstimatedShares(("age", "vote"), 0, 14, None),
        ),
    )


def test_estimates_in_words(estimated):
    first, second = create_estimated_views(estimated)
    assert (first.summary.id, first.summary.facts["shares"].n_categories) == ("estimated.listed", 7)
    assert "1.3" in first.summary
    told = [[row.head, *(cell.replace("\u202f", " ") for cell in row.cells)] for row in first.rows]
    assert told == [["low", "10 %", "\u22121.2 %", "2"], ["<b>high</b>", "60 %", "75 %", "\u2013"]]
    assert (first.note.facts["unseen"], first.note.facts["rest"]) == (2, pytest.approx(0.2623))
    assert all(figure in first.note for figure in ("3 ", "26.2\u202f%", "900 "))
    assert second.summary.id == "estimated.nothing"
    assert all(said in second.summary for said in ("age and vote", "14 combinations"))
    assert second.rows == ()


def test_estimates_on_the_page(estimated):
    page = render_report(estimated)
    assert "Original frequencies, estimated" in page
    assert "anybody with the release can compute these estimates" in page
    assert "&lt;b&gt;high&lt;/b&gt;" in page
    assert "Original frequencies, estimated" not in render_report(replace(estimated, estimated_shares=()))


def test_of_a_table_that_was_refused_nothing_is_counted_in_public(estimated):
    assert public_edition(estimated).estimated_shares == estimated.estimated_shares
    refused = replace(estimated, verdict=replace(estimated.verdict, verdict="refused"))
    assert public_edition(refused).estimated_shares == ()
    form = TypeAdapter(Content)
    assert form.validate_json(form.dump_json(estimated)) == estimated


def test_no_answer_is_named_in_the_statement(certified):
    stamp = Stamp(run="run-1", issued_at=datetime(2026, 11, 21, tzinfo=UTC), attempts=1)
    content = replace(certified, mechanisms=(WARNER, INVARIANT), randomised=(Randomisation("vote", 1.61, 2, False),))
    filled = create_predicate(content, stamp, **ISSUE)
    assert "canary" not in canonical(filled).decode() + render_report(content)
    rules = {claim["name"]: claim["parameters"][0]["parameters"] for claim in filled["attributes"] if claim["parameters"]}
    assert rules["vote"] == {"attributes": ["vote"], "warner": {"p": 0.5, "p_yes": 0.75}}
    assert rules["educ"] == {"attributes": ["educ"], "by": ["vote"], "retention": 0.7, "invariant": True}
