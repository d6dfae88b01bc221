"""A survey with codes, a weight and regions among its numbers: drafted, answered, certified, and no code is invented."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.csv as pc
import pytest
from release_files import answer_as_proposed
from surveys import CODES, coded_survey

from flows.cli import run
from flows.cli.draft.ambiguous_numbers import classify_numbers
from flows.cli.draft.answer import answer_questions
from flows.cli.draft.rules import draft_release
from flows.release_file import load_release
from tasks.classify.evidence import count_column_evidence
from tasks.microdata.document import read_document
from tasks.microdata.schema import Role, Scale
from tasks.microdata.table import Microdata


def drafted(data: Microdata):
    draft = draft_release(data, {}, name="survey", source={"table": "survey.csv"})
    return draft, {column.name: column for column in draft.columns}


def test_codes_weights_and_regions_are_asked_about_and_not_averaged():
    draft, columns = drafted(coded_survey())
    asked = {name for name, _ in draft.questions}
    assert {*CODES, "WEIGHT", "STATUS2"} <= asked
    assert not {"AGE", "INCOME", "ASSETS", "DEBTS", "SEX", "ANSWER1", "TENURE"} & asked
    averaged = {name for name, one in columns.items() if one.groupable and one.attribute.scale is Scale.NUMERIC}
    assert averaged == {"AGE", "INCOME", "ASSETS", "DEBTS"}
    assert columns["OCCUCODE"].attribute.role is Role.WITHHELD
    assert columns["WEIGHT"].attribute.role is Role.WITHHELD


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("OCCUCODE", range(100, 10_000, 45), "many codes"),
        ("industry", range(10, 990, 20), "code"),
        ("zip code", range(10_000, 10_400, 10), "code"),
        ("region", range(1, 9), "few codes"),
        ("WEIGHT", [50.5 + i for i in range(10)], "weight"),
        ("x", range(10, 990, 20), "code or number"),
        ("x", range(10, 60), None),  # no gaps
        ("income", [100.5 + 7 * i for i in range(50)], None),  # no whole numbers
        ("latitude", range(10, 60), None),
    ],
)
def test_what_numbers_may_be_instead(name, values, kind):
    data = Microdata.from_columns({name: np.tile(np.array(list(values)), 8)})
    assert classify_numbers(data, count_column_evidence(data, name)) == kind


def test_numbers_that_hardly_repeat_are_numbers():
    data = Microdata.from_columns({"x": np.arange(0, 4000, 10)})
    assert classify_numbers(data, count_column_evidence(data, "x")) is None


def test_a_weight_that_tells_records_apart_is_not_published_unless_somebody_says_so():
    """Of equal weights nobody is told apart; of weights that all differ everybody is."""
    rng = np.random.default_rng(3)
    base = {"age": rng.integers(18, 90, 400), "income": np.round(rng.normal(3000, 500, 400), 2)}
    weights = {"same": np.full(400, 1.5), "two": np.repeat([1.5, 2.5], 200), "all": 1 + rng.random(400)}
    roles = {}
    for which, values in weights.items():
        columns = drafted(Microdata.from_columns({**base, "final_wgt": values}))[1]
        roles[which] = columns["final_wgt"].attribute.role
        assert ("analyses" in " ".join(columns["final_wgt"].decide)) == (which == "all")
    assert roles == {"same": Role.WEIGHT, "two": Role.WEIGHT, "all": Role.WITHHELD}


def test_every_masked_column_stands_in_a_line_on_the_loss_that_can_fail():
    draft, _ = drafted(coded_survey())
    limits = {line.fields["measure"]: line.fields["at_most"] for line in draft.policy if "at_most" in line.fields}
    largest = {"sse_percent": 100, "largest_marginal_difference": 1, "categories_lost": 1, "category_association_difference": 1}
    assert {name for name in limits if name in largest} == set(largest)
    assert all(limits[name] < end for name, end in largest.items())
    numeric = Microdata.from_columns({"age": np.arange(300) % 60, "income": np.arange(300) * 7.5})
    measures = [line.fields["measure"] for line in drafted(numeric)[0].policy]
    assert "largest_marginal_difference" in measures
    assert "category_association_difference" not in measures


def test_where_nearly_all_is_lost_the_limit_can_still_fail_and_is_asked_about():
    rng = np.random.default_rng(5)
    draft, _ = drafted(Microdata.from_columns({f"x{i}": rng.normal(size=120) for i in range(40)}))
    line = next(line for line in draft.policy if line.fields["measure"] == "sse_percent")
    assert line.fields["at_most"] < 100
    assert "still worth publishing" in line.fields["decide"]


@pytest.mark.timeout(300)
@pytest.mark.long
def test_a_survey_is_drafted_answered_and_certified_without_an_invented_code(sdcert, tmp_path, monkeypatch):
    """Every question is answered as it is proposed. Fails where codes or weights are averaged, or a drafted limit is missed."""
    from flows.run.history import read_manifests

    monkeypatch.chdir(tmp_path)
    data = coded_survey()
    pc.write_csv(data.arrow, tmp_path / "survey.csv")
    assert sdcert("init", "survey.csv").code == 0
    path = tmp_path / "survey.yaml"
    refused = sdcert("certify", path)
    assert refused.code == 2
    assert all(name in refused.err for name in (*CODES, "WEIGHT", "STATUS2"))
    answer_questions(path, answer_as_proposed)
    ran = sdcert("certify", path)
    assert ran.code == 0, ran.out
    released = pc.read_csv(tmp_path / read_manifests()[0]["folder"] / "released.csv")
    for name in (*CODES, "WEIGHT", "STATUS2", "SEX", "TENURE", "MARITAL", "PARTY", "ANSWER1"):
        if name in released.column_names:
            assert set(released[name].to_pylist()) <= set(data.column(name).to_pylist()), name
    assert {"REGION", "COMPCODE", "STATUS2"} <= set(released.column_names)
    scorecard = json.loads((tmp_path / read_manifests()[0]["folder"] / "scorecard.json").read_text())
    assert {line["decision"] for line in scorecard["criteria"]} == {"pass"}


@pytest.mark.timeout(600)
@pytest.mark.slow
@pytest.mark.parametrize("table", ["eia", *(pytest.param(one, marks=pytest.mark.long) for one in ("census", "household"))])
def test_drafts_of_tables_of_the_literature_are_certified_as_they_propose(sdcert, reference, tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{table}.csv").write_bytes((reference / f"{table}.csv").read_bytes())
    assert sdcert("init", f"{table}.csv").code == 0
    answer_questions(Path(f"{table}.yaml"), answer_as_proposed)
    ran = sdcert("certify", tmp_path / f"{table}.yaml")
    assert ran.code == 0, ran.out


@pytest.mark.parametrize("environment", ["public", "licensed", "enclave"])
def test_a_draft_starts_from_the_policy_of_its_environment(environment, tmp_path, monkeypatch, home):
    monkeypatch.chdir(tmp_path)
    pc.write_csv(coded_survey(400).select(["AGE", "SEX", "INCOME", "TENURE"]).arrow, tmp_path / "t.csv")
    assert run(["init", "t.csv", "--for", environment]) == 0
    content = read_document(tmp_path / "t.yaml").content
    assert content["context"]["environment"] == environment
    limits = {line["measure"]: line.get("at_most", line.get("at_least")) for line in content["policy"]}
    expected = {"public": (11, 0.1), "licensed": (5, 0.2), "enclave": (3, 0.34)}[environment]
    assert (content["masking"][0]["k"], limits["reidentification"]) == expected
    assert "Source" in (tmp_path / "t.yaml").read_text()
    answer_questions(tmp_path / "t.yaml", answer_as_proposed)
    assert load_release(tmp_path / "t.yaml").context.environment == environment


def test_an_environment_that_there_is_not_is_told(tmp_path, monkeypatch, home, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age\n1\n2\n")
    assert run(["init", "t.csv", "--for", "everybody"]) == 2
    assert "public" in capsys.readouterr().err
