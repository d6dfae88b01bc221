"""`sdcert init`: a first release file that fits its table, says why, and gives nothing away."""

from __future__ import annotations

import stat

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flows.cli import run
from flows.console.advice import advice
from flows.console.draft_rules import draft_of
from flows.console.draft_text import text_of
from flows.console.inert import shown
from flows.release import load_release
from tasks.microdata.document import read_document
from tasks.microdata.schema import Role, Scale
from tasks.microdata.table import Microdata

ROWS = 200
HOSTILE = (
    *("no", "yes", "null", "012", "1e3", "12:30", "~", "a: b", "a #b", "#x", '"q"', "it's", "- x", "? x", "{a}", "[a]", "&a"),
    *("*a", "!t", "%d", "@x", "`x`", "line\nbreak", "tab\there", "\x1b[31mred", "bell\x07", "nel\x85x", "ls\u2028x"),
    *("rtl\u202eabc", "\ufeffbom", "\U0001f600", "größe", "[bold]x[/bold]", "=1+1", "x" * 300, "y " * 100 + "z", " lead"),
    *("trail ", "\\", "a\\nb", "<script>"),
)
ANY_NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40).filter(str.strip)


def survey(rows: int = ROWS, seed: int = 3) -> Microdata:
    rng = np.random.default_rng(seed)
    income = np.round(np.exp(rng.normal(8, 0.6, rows)), 2)
    return Microdata.of(
        {
            "person_id": np.arange(rows) * 7 + 100_001,
            "household id": rng.integers(1000, 1000 + rows // 3, rows),
            "sex": rng.integers(1, 3, rows),
            "educ": rng.integers(1, 6, rows),
            "age": rng.integers(18, 90, rows),
            "income": income,
            "log_income": np.log(income),
            "party": rng.choice(["crimson", "azure", "viridian"], rows),
            "country": np.ones(rows, dtype=np.int64),
            "final_wgt": rng.choice([1.5, 2.5], rows),
        }
    )


def drafted(data: Microdata):
    draft = draft_of(data, {}, name="survey", source={"table": "survey.csv"})
    return draft, {column.name: column for column in draft.columns}


@pytest.fixture
def table(tmp_path, monkeypatch, home):
    monkeypatch.chdir(tmp_path)
    pq.write_table(survey().arrow, tmp_path / "survey.parquet")
    return tmp_path / "survey.parquet"


def test_each_column_is_what_it_looks_like():
    draft, columns = drafted(survey())
    roles = {name: column.attribute.role for name, column in columns.items()}
    assert roles == {
        "person_id": Role.IDENTIFIER,
        "household id": Role.GROUP,
        "sex": Role.QUASI_IDENTIFIER,
        "educ": Role.QUASI_IDENTIFIER,
        "age": Role.QUASI_IDENTIFIER,
        "income": Role.QUASI_IDENTIFIER,
        "log_income": Role.DERIVED,
        "party": Role.QUASI_IDENTIFIER,
        "country": Role.OTHER,
        "final_wgt": Role.WEIGHT,
    }
    assert columns["log_income"].attribute.derived_from == ("income",)
    assert columns["sex"].attribute.scale is Scale.ORDINAL
    assert [(step.fields["method"], step.fields["attributes"]) for step in draft.masking] == [
        ("microaggregation", ["sex", "educ", "age", "income"]),
        ("pram", ["party"]),
    ]


def test_epsilon_keeps_the_first_policy_line():
    """Of a group of k, the right one is believed with at most E / (E + k - 1), E = e^(epsilons)."""
    draft, _ = drafted(survey())
    grouping, exchanging = (step.fields for step in draft.masking)
    odds = np.exp(exchanging["epsilon"] * len(exchanging["attributes"]))
    limit = draft.policy[0].fields["at_most"]
    assert grouping["k"] == 20
    assert 0.9 * limit < odds / (odds + grouping["k"] - 1) <= limit


@pytest.mark.parametrize(("rows", "k", "limit"), [(200, 10, 0.1), (24, 6, 0.17), (8, 2, 0.5)])
def test_small_tables_get_small_groups_and_limits_that_they_can_keep(rows, k, limit):
    draft, _ = drafted(survey(rows).select(["sex", "age", "income"]))
    assert draft.masking[0].fields["k"] == k
    assert draft.policy[0].fields == {"measure": "reidentification", "at_most": limit}


def test_k_anonymity_is_asked_where_all_known_columns_are_grouped_together():
    asked = [[line.fields["measure"] for line in drafted(survey().select(names))[0].policy] for names in
             (["sex", "age"], ["sex", "age", "party"])]  # fmt: skip
    assert "k_anonymity" in asked[0]
    assert "k_anonymity" not in asked[1]
    assert "max_record_risk" not in asked[1]


def test_a_column_whose_gaps_hide_nobody_is_not_published():
    data = survey()
    ages = [None if i < 4 else float(v) for i, v in enumerate(data.floats("age"))]
    incomes = [None if i % 5 == 0 else float(v) for i, v in enumerate(data.floats("income"))]
    columns = drafted(Microdata.of({"age": ages, "income": incomes, "educ": data.column("educ")}))[1]
    assert [columns[name].attribute.role for name in ("age", "income")] == [Role.WITHHELD, Role.QUASI_IDENTIFIER]
    assert "gaps" in " ".join(columns["age"].why)


def test_no_value_of_the_source_is_written():
    text = text_of(drafted(survey())[0])
    data = survey()
    assert not any(word in text for word in ("crimson", "azure", "viridian"))
    assert not any(
        f"{value}" in text for value in data.column("income").to_pylist()[:50] + data.column("person_id").to_pylist()
    )


def _with_columns(names: tuple[str, ...]) -> Microdata:
    rng = np.random.default_rng(5)
    return Microdata.of({name: rng.integers(0, 50, 40) for name in names})


def _reads_back(data: Microdata, path) -> None:
    draft, _ = drafted(data)
    text = text_of(draft)
    path.write_text(text, encoding="utf-8")
    content = read_document(path).content
    assert tuple(content["attributes"]) == data.names
    assert content["masking"] == [step.fields for step in draft.masking]
    assert content["policy"] == [line.fields for line in draft.policy]
    assert not {c for c in text if not c.isprintable()} - {"\n"}
    assert {attribute.name for attribute in load_release(path).attributes} == set(data.names)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_is_quoted_right_and_stays_in_its_comment(name, tmp_path):
    _reads_back(_with_columns((name, "age")), tmp_path / "release.yaml")


def test_all_hostile_names_at_once(tmp_path):
    _reads_back(_with_columns(HOSTILE), tmp_path / "release.yaml")


@settings(max_examples=25, deadline=None)
@example(names=["\xee\x99\xebT^v", "00000\x1f\x1f\x1f\x1f\x1f\x1f\u0100\U00010000\U00010000\U00010000\U00010000\U00010000 0 0"])
@given(names=st.lists(ANY_NAME, min_size=1, max_size=3, unique=True))
def test_any_name_reads_back(names, tmp_path_factory):
    _reads_back(_with_columns((*names, "an ordinary one")), tmp_path_factory.mktemp("draft") / "release.yaml")


def test_a_name_in_a_relation_is_escaped_in_the_comment(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 1000, 60)
    data = Microdata.of({"a\nrole: b": values, "copy": values * 2.0, "c": rng.integers(0, 9, 60)})
    text = text_of(drafted(data)[0])
    assert "\\nrole: b" in text
    _reads_back(data, tmp_path / "release.yaml")


def test_shown_escapes_what_does_not_print():
    assert shown("a\n\x1b[0m\u202e é 😀 10\u202f%") == "a\\n\\x1b[0m\\u202e é 😀 10\u202f%"


def test_init_writes_a_readable_file_checks_it_and_names_the_next_step(table, capsys, tmp_path):
    assert run(["init", "survey.parquet"]) == 0
    path = tmp_path / "survey.yaml"
    out = capsys.readouterr().out
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert read_document(path).content["source"] == {"table": "survey.parquet"}
    assert "the release file fits its table" in out
    assert out.rstrip().endswith("sdcert certify survey.yaml")
    assert not list(tmp_path.glob(".*.tmp"))


def test_the_path_of_the_table_is_relative_to_the_release_file(table, tmp_path):
    (tmp_path / "params").mkdir()
    assert run(["init", str(table), "--output", "params/my release.yaml", "--name", "mine"]) == 0
    content = read_document(tmp_path / "params" / "my release.yaml").content
    assert (content["name"], content["source"]) == ("mine", {"table": "../survey.parquet"})


def test_init_does_not_write_over_a_file_unless_told(table, tmp_path, capsys):
    path = tmp_path / "survey.yaml"
    path.write_text("mine")
    assert run(["init", "survey.parquet"]) == 2
    assert path.read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert run(["init", "survey.parquet", "--force"]) == 0
    assert path.read_text() != "mine"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere.csv"], "does not exist"),
        (["survey.parquet", "--output", "survey.parquet", "--force"], "the table itself"),
        (["survey.parquet", "--output", "."], "a folder"),
        (["survey.parquet", "--output", "no/such/x.yaml"], "no such folder"),
        (["survey.parquet", "--name", "My Survey"], "--name my-survey"),
        (["dataset:anes69"], "did you mean `anes96`?"),
        (["x" * 400], "path"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value)[:40],
)
def test_wrong_words_are_told(words, says, table, capsys):
    content = table.read_bytes()
    assert run(["init", *words]) == 2
    assert says in capsys.readouterr().err
    assert table.read_bytes() == content


def test_words_for_missing_are_declared(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    rows = "".join(f"{'NA' if i % 8 == 0 else rng.integers(18, 90)},{rng.integers(1, 900)}\n" for i in range(400))
    (tmp_path / "t.csv").write_text(f"age,income\n{rows}")
    assert run(["init", "t.csv"]) == 0
    assert read_document(tmp_path / "t.yaml").content["attributes"]["age"]["missing"] == ["NA"]


def test_a_data_set_by_name(home, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["init", "dataset:anes96"]) == 0
    content = read_document(tmp_path / "anes96.yaml").content
    assert content["attributes"]["logpopul"] == {"role": "derived", "from": ["popul"]}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_from_init_to_a_certified_release_by_what_is_printed(sdcert, reference, tmp_path, monkeypatch):
    """The journey of the README: drafted, refused because of the weights, mended as advised, certified."""
    import json

    from flows.history import manifests

    monkeypatch.chdir(tmp_path)
    (tmp_path / "household.csv").write_bytes((reference / "household.csv").read_bytes())
    assert sdcert("init", "household.csv").code == 0
    path = tmp_path / "household.yaml"
    assert sdcert("certify", path).code == 1
    manifest = manifests()[0]
    told = advice(json.loads((tmp_path / manifest["folder"] / "scorecard.json").read_text()), manifest)
    assert len(told) == 1
    assert "household_weights" in told[0]
    text = path.read_text()
    text = text.replace("household_weights: {role: weight", "household_weights: {role: quasi_identifier")
    path.write_text(text.replace("savings]", "savings, household_weights]"))
    assert sdcert("certify", path).code == 0
