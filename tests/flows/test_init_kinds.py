"""What `sdcert init` drafts for each kind of disclosure: a line whose limit can fail, or a question."""

from __future__ import annotations

import numpy as np
import pytest
from release_files import answer_as_proposed

from flows.cli.draft.answer import _list_offers, answer_questions
from flows.cli.draft.cells import Reading
from flows.cli.draft.column_proposals import draft_column as draft_column
from flows.cli.draft.disclosure_limits import limit_inference
from flows.cli.draft.rules import draft_release
from flows.cli.draft.start import STARTS
from flows.cli.draft.text import format_draft
from flows.questions import LONGEST_QUESTION, OpenQuestion
from flows.release_file import load_draft
from tasks.microdata.schema import Role
from tasks.microdata.table import Microdata
from tasks.score.inference import compute_smallest_excess_limit


def _confidential(**columns):
    data = Microdata.from_columns(columns)
    found = [draft_column(data, name, Reading()) for name in data.names]
    secret = [column.change_attribute("secret", role=Role.CONFIDENTIAL) for column in found]
    found = limit_inference(data, secret)
    return [line.fields for line in found.lines], found.question


def test_both_figures_are_limited_and_what_links_tell_by_each_most_frequent_value():
    """Right of 60 % and of 20 %: one limit for both would let the second be told half of the time more than by guessing."""
    lines, question = _confidential(vote=["a"] * 60 + ["b"] * 40, income=[float(i % 5) for i in range(100)])
    assert question is None
    excess, *others = lines
    assert excess["measure"] == "inference_excess"
    assert compute_smallest_excess_limit(50, 50) < excess["at_most"] <= 0.3
    assert others == [
        {"measure": "inference_asserted", "at_most": 0.05},
        {"measure": "linked_value_disclosed", "attribute": "vote", "at_most": 0.7},
        {"measure": "linked_value_disclosed", "attribute": "income", "at_most": 0.3},
    ]


@pytest.mark.parametrize("name", ["ill", "a: b", '"q"', "x" * 300, "`x`", "\x1b[31mred", "\x07" * 300])
@pytest.mark.parametrize("rare", [0, 1, 14, 15, 40])
def test_a_value_that_nearly_everybody_has_is_a_question(name, rare):
    lines, question = _confidential(**{name: ["no"] * (100 - rare) + ["yes"] * rare}, vote=["a"] * 60 + ["b"] * 40)
    is_secret = rare > 14
    asserted = [line.get("attribute") for line in lines if line["measure"] == "inference_asserted"]
    assert asserted == ([None] if is_secret else ["vote"])
    assert (question is None) == is_secret
    if question is not None:
        assert len(question) <= LONGEST_QUESTION
        offered = _list_offers(OpenQuestion(("not_limited", "inference"), question, 1))
        assert offered == [{"measure": "inference_asserted", "at_most": 0.5}]


@pytest.mark.parametrize(("rows", "is_asked"), [(40, True), (100, False)])
def test_too_few_people_to_decide_are_a_question(rows, is_asked):
    lines, question = _confidential(vote=["a", "b"] * (rows // 2))
    measures = {line["measure"] for line in lines}
    assert (question is not None) == is_asked
    assert ("inference_excess" in measures) == ("inference_asserted" in measures) == (not is_asked)
    assert "linked_value_disclosed" in measures  # what links tell is decided by any number of people
    if question is not None:  # one line alone would leave the kind unanswered
        assert _list_offers(OpenQuestion(("not_limited", "inference"), question, 1)) == []


@pytest.mark.parametrize(
    ("rows", "environment", "has"), [(944, "public", False), (4500, "public", True), (4500, "enclave", False)]
)
def test_membership_is_limited_where_enough_people_can_be_set_aside(rows, environment, has, tmp_path):
    """Of 944 rows the interval is as wide as the limit; groups of three tell nearly everybody who is in them."""
    rng = np.random.default_rng(4)
    mixed = rng.normal(size=(rows, 6)) @ rng.normal(size=(6, 6))
    data = Microdata.from_columns({f"x{i}": np.round(mixed[:, i], 3) for i in range(6)})
    draft = draft_release(data, {}, name="t", source={"table": "t.csv"}, start=STARTS[environment])
    line = next((one.fields for one in draft.policy if one.fields["measure"] == "membership_advantage"), None)
    assert ((line is not None), (draft.control is not None), draft.not_limited == ()) == (has, has, has)
    path = tmp_path / "t.yaml"
    path.write_text(format_draft(draft))
    release = load_draft(path)
    assert release.control == draft.control
    assert bool(release.membership_attacks) == has
    if line is not None:
        assert 0.15 <= line["at_most"] <= 0.5
        assert round(rows * release.control_share) >= 800


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_drafted_limit_on_membership_is_kept(sdcert, reference, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "eia.csv").write_bytes((reference / "eia.csv").read_bytes())
    assert sdcert("init", "eia.csv").code == 0
    answer_questions(tmp_path / "eia.yaml", answer_as_proposed)
    ran = sdcert("certify", "eia.yaml")
    assert ran.code == 0, ran.out
    assert "eia: CERTIFIED\n" in ran.out
    assert "pass      membership_advantage" in ran.out


@pytest.mark.parametrize("is_large", [False, True])
def test_the_draft_of_a_large_table_says_what_makes_a_run_shorter(monkeypatch, is_large):
    rows = 400
    monkeypatch.setattr("flows.cli.draft.rules.LARGE_TABLE", rows - is_large)
    monkeypatch.setattr("flows.cli.draft.rules.ENOUGH_TARGETS", 40)
    rng = np.random.default_rng(3)
    data = Microdata.from_columns({"age": rng.integers(18, 90, rows).astype(float), "size": rng.normal(size=rows)})
    text = format_draft(draft_release(data, {}, name="large", source={"table": "large.csv"}))
    words = " ".join(text.replace("#", " ").split())
    assert ("`records_per_part: 100000` here" in words) == is_large
    assert ("`intruder: {targets: 0.1}` at the top of the file" in words) == is_large
