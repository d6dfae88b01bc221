"""`sdcert init`: a first release file that fits its table, says why, and gives nothing away."""

from __future__ import annotations

import stat

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from release_files import answer_as_proposed

from flows.cli import run
from flows.cli.advice.advice import list_advice
from flows.cli.draft import expected
from flows.cli.draft.answer import answer_questions
from flows.cli.draft.rules import draft_release
from flows.cli.draft.text import format_draft
from flows.cli.terminal import tell_many_columns
from flows.release_file import load_draft
from tasks.mask.groups.block import MOST_CATEGORIES
from tasks.microdata.document import read_document
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
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
    return Microdata.from_columns(
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
    draft = draft_release(data, {}, name="survey", source={"table": "survey.csv"})
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
    assert [columns[name].attribute.scale for name in ("sex", "party", "educ")] == [Scale.NOMINAL, Scale.NOMINAL, Scale.ORDINAL]
    assert [step.fields for step in draft.masking] == [
        {"method": "microaggregation", "attributes": ["sex", "educ", "age", "income", "party"], "k": 10}
    ]


def test_what_replaces_the_values_is_told_of_the_scales_that_are_there():
    told = {names: drafted(survey().select(names))[0].masking[0].why[0] for names in
            (("sex", "party"), ("educ", "age"), ("age", "income", "educ", "party"))}  # fmt: skip
    words = ("numbers: the mean", "ordered codes: the median category", "categories: the most frequent")
    assert [tuple(word in text for word in words) for text in told.values()] == [
        (False, False, True),
        (True, True, False),
        (True, True, True),
    ]


def _categories(count: int, rows: int = 3000) -> Microdata:
    """A column of so many text categories, beside one of numbers."""
    return Microdata.from_columns({"town": [f"town {i % count}" for i in range(rows)], "age": np.arange(rows) % 70})


@pytest.mark.parametrize(
    ("count", "role", "asked"),
    [
        (20, Role.QUASI_IDENTIFIER, "do they have an order"),
        (51, Role.QUASI_IDENTIFIER, "would coarser categories do"),
        (MOST_CATEGORIES, Role.QUASI_IDENTIFIER, "would coarser categories do"),
        (MOST_CATEGORIES + 1, Role.WITHHELD, "in at most 200 categories"),
    ],
)
def test_categories_are_grouped_as_long_as_the_method_takes_them(count, role, asked):
    draft, columns = drafted(_categories(count))
    assert columns["town"].attribute.role is role
    assert asked in columns["town"].hints[0]
    assert ("town" in draft.masking[0].fields["attributes"]) == (role is Role.QUASI_IDENTIFIER)
    assert "k_anonymity" in [line.fields["measure"] for line in draft.policy]


def test_codes_of_digits_and_booleans_are_grouped_like_categories():
    rng = np.random.default_rng(8)
    data = Microdata.from_columns(
        {"nace": rng.choice(["0111", "0112", "2030"], 90), "owner": rng.integers(0, 2, 90).astype(bool)}
    )
    draft, columns = drafted(data)
    assert [columns[name].attribute.scale for name in data.names] == [Scale.CODE, Scale.NOMINAL]
    assert draft.masking[0].fields["attributes"] == ["nace", "owner"]


def test_a_table_of_categories_without_any_that_fits_is_refused():
    with pytest.raises(InputError) as refused:
        drafted(_categories(MOST_CATEGORIES + 1).select(["town"]))
    assert refused.value.code == "nothing-to-mask"


@pytest.mark.parametrize(("rows", "k", "limit"), [(200, 10, 0.1), (24, 6, 0.17), (8, 2, 0.5)])
def test_small_tables_get_small_groups_and_limits_that_they_can_keep(rows, k, limit):
    draft, _ = drafted(survey(rows).select(["sex", "age", "income"]))
    assert draft.masking[0].fields["k"] == k
    assert draft.policy[0].fields == {"measure": "reidentification", "at_most": limit}


def test_k_anonymity_is_asked_where_all_known_columns_are_grouped_together():
    data = survey().select(["sex", "age", "party"])
    half = Microdata(data.arrow.append_column("half", pa.array(["yes" if i % 2 else None for i in range(data.n)])))
    asked = [[line.fields["measure"] for line in drafted(table)[0].policy] for table in (data, half)]
    losses = ["sse_percent", "largest_marginal_difference", "categories_lost", "category_association_difference"]
    assert asked[0] == ["reidentification", "max_record_risk", "records_exposed", "k_anonymity", *losses]
    assert asked[1] == ["reidentification", "max_record_risk", "records_exposed", *losses]


def test_of_two_that_look_alike_everybody_is_found_with_one_half():
    asked = [line.fields for line in drafted(survey(8).select(["sex", "age", "income"]))[0].policy]
    assert "records_exposed" not in [line["measure"] for line in asked]
    assert {"measure": "max_record_risk", "at_most": 0.5} in asked


def test_a_column_whose_gaps_hide_nobody_is_not_published():
    data = survey()
    ages = [None if i < 4 else float(v) for i, v in enumerate(data.floats("age"))]
    incomes = [None if i % 5 == 0 else float(v) for i, v in enumerate(data.floats("income"))]
    columns = drafted(Microdata.from_columns({"age": ages, "income": incomes, "educ": data.column("educ")}))[1]
    assert [columns[name].attribute.role for name in ("age", "income")] == [Role.WITHHELD, Role.QUASI_IDENTIFIER]
    assert "gaps" in " ".join(columns["age"].why)


def test_a_column_of_categories_is_told_to_make_its_gaps_a_category():
    """Four rows miss the party, and there is nobody beside them; a fifth of them miss the income."""
    data = survey()
    parties = [None if i < 4 else str(v) for i, v in enumerate(data.column("party").to_pylist())]
    incomes = [None if i % 5 == 0 else float(v) for i, v in enumerate(data.floats("income"))]
    draft, columns = drafted(Microdata.from_columns({"party": parties, "income": incomes, "educ": data.column("educ")}))
    assert [columns[name].attribute.role for name in ("party", "income")] == [Role.WITHHELD, Role.QUASI_IDENTIFIER]
    assert "a category of their own" in columns["party"].hints[-1]
    assert draft.masking[0].fields["attributes"] == ["income", "educ"]


def test_no_value_of_the_source_is_written():
    text = format_draft(drafted(survey())[0])
    data = survey()
    assert not any(word in text for word in ("crimson", "azure", "viridian"))
    assert not any(
        f"{value}" in text for value in data.column("income").to_pylist()[:50] + data.column("person_id").to_pylist()
    )


def _with_columns(names: tuple[str, ...]) -> Microdata:
    rng = np.random.default_rng(5)
    return Microdata.from_columns({name: rng.integers(0, 50, 40) for name in names})


def _reads_back(data: Microdata, path) -> None:
    draft, _ = drafted(data)
    text = format_draft(draft)
    path.write_text(text, encoding="utf-8")
    content = read_document(path).content
    assert tuple(content["attributes"]) == data.names
    assert content["masking"] == [step.fields for step in draft.masking]
    assert content["policy"] == [line.fields for line in draft.policy]
    assert not {c for c in text if not c.isprintable()} - {"\n"}
    assert {attribute.name for attribute in load_draft(path).attributes} == set(data.names)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_is_quoted_right_and_stays_in_its_comment(name, tmp_path):
    _reads_back(_with_columns((name, "age")), tmp_path / "release.yaml")


def test_all_hostile_names_at_once(tmp_path):
    _reads_back(_with_columns(HOSTILE), tmp_path / "release.yaml")


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@example(names=["\xee\x99\xebT^v", "00000\x1f\x1f\x1f\x1f\x1f\x1f\u0100\U00010000\U00010000\U00010000\U00010000\U00010000 0 0"])
@given(names=st.lists(ANY_NAME, min_size=1, max_size=3, unique=True))
def test_any_name_reads_back(names, tmp_path_factory):
    _reads_back(_with_columns((*names, "an ordinary one")), tmp_path_factory.mktemp("draft") / "release.yaml")


def test_a_name_in_a_relation_is_escaped_in_the_comment(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 1000, 60)
    data = Microdata.from_columns({"a\nrole: b": values, "copy": values * 2.0, "c": rng.integers(0, 9, 60)})
    text = format_draft(drafted(data)[0])
    assert "\\nrole: b" in text
    _reads_back(data, tmp_path / "release.yaml")


def test_shown_escapes_what_does_not_print():
    assert escape_terminal("a\n\x1b[0m\u202e é 😀 10\u202f%") == "a\\n\\x1b[0m\\u202e é 😀 10\u202f%"


@pytest.mark.parametrize("length", [301, 5000])
def test_a_name_that_no_release_file_can_hold_is_told(tmp_path, monkeypatch, capsys, home, length):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(f"age,{'x' * length}\n1,NA\n2,3\n")
    assert run(["init", "t.csv"]) == 2
    err = capsys.readouterr().err
    for word in ("t.csv: header, column 2", f"has {length:,} characters", "1 to 300 characters", "to do:"):
        assert word in err
    assert not (tmp_path / "t.yaml").exists()


def test_init_writes_a_readable_file_checks_it_and_names_the_next_step(table, capsys, tmp_path):
    assert run(["init", "survey.parquet"]) == 0
    path = tmp_path / "survey.yaml"
    out = capsys.readouterr().out
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert read_document(path).content["source"] == {"table": "survey.parquet"}
    assert "the release file fits its table" in out
    assert out.rstrip().endswith("sdcert certify survey.yaml")
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_column_that_one_cell_keeps_from_being_numbers_is_told(tmp_path, monkeypatch, capsys, home):
    monkeypatch.chdir(tmp_path)
    cells = [f"{20 + i % 50},{1000 + 37 * i}" for i in range(ROWS)]
    (tmp_path / "t.csv").write_text("\n".join(["age,income", *cells[1:], "30,12k", ""]))
    assert run(["init", "t.csv"]) == 0
    assert f"  income: {ROWS - 1} of {ROWS} cells are numbers; kept as text\n" in capsys.readouterr().out


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
    """The journey of the README: drafted, answered against the proposal, refused because of the weights, mended, certified."""
    import json

    from flows.run.history import read_manifests

    monkeypatch.chdir(tmp_path)
    (tmp_path / "household.csv").write_bytes((reference / "household.csv").read_bytes())
    assert sdcert("init", "household.csv").code == 0
    path = tmp_path / "household.yaml"
    answer_questions(path, lambda prompt: "role: weight" if "[1]" in prompt else answer_as_proposed(prompt))
    assert sdcert("certify", path).code == 1
    manifest = read_manifests()[0]
    told = list_advice(json.loads((tmp_path / manifest["folder"] / "scorecard.json").read_text()), manifest)
    assert len(told) == 1
    assert "household_weights" in told[0]
    text = path.read_text()
    text = text.replace("household_weights: {role: weight", "household_weights: {role: quasi_identifier")
    path.write_text(text.replace("savings]", "savings, household_weights]"))
    assert sdcert("certify", path).code == 0


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("numbers", [True, False], ids=["with numbers", "categories alone"])
def test_a_table_of_text_keys_is_certified_as_it_is_drafted(sdcert, reference, tmp_path, monkeypatch, numbers):
    """The household survey with labels for its codes: joint groups keep k, and nearly all labels stay."""
    import json

    import pandas as pd

    from flows.run.history import read_manifests

    monkeypatch.chdir(tmp_path)
    survey = pd.read_csv(reference / "household.csv", nrows=1500)
    keys = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "hhcivil"]
    labelled = survey[keys].apply(lambda column: column.name + " " + column.map(lambda code: chr(96 + int(code))))
    table = labelled.assign(age=survey["age"], income=survey["income"]) if numbers else labelled
    table.to_csv(tmp_path / "labels.csv", index=False)
    assert sdcert("init", "labels.csv").code == 0
    answer_questions(tmp_path / "labels.yaml", answer_as_proposed)
    ran = sdcert("certify", tmp_path / "labels.yaml")
    assert ran.code == 0, ran.out
    scorecard = json.loads((tmp_path / read_manifests()[0]["folder"] / "scorecard.json").read_text())
    changed = {one["attribute"]: one["value"] for one in scorecard["estimates"] if one["measure"] == "cells_changed"}
    assert sum(changed[key] for key in keys) / len(keys) < 0.2
    k = next(line for line in scorecard["criteria"] if line["measure"] == "k_anonymity")
    assert k["deciding_value"] >= 10


@pytest.mark.parametrize(
    "values",
    [["1.7e308", "1e308", "-1e308"], ["1e200", "1e-200", "0"], ["1e-308", "3e-308", "5e-324"], ["1e60", "1e60", "1e60"]],
    ids=["near the largest", "mixed", "near the smallest", "a constant"],
)
def test_numbers_that_cannot_be_compared_are_refused_before_they_are(values, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(expected, "mask", None)  # grouping such numbers read and wrote where no number was
    table = tmp_path / "big.csv"
    table.write_text("a,b\n" + "".join(f"{values[i % 3]},{i}\n" for i in range(100)))
    assert run(["init", str(table), "-o", str(tmp_path / "big.yaml")]) == 2
    told = capfd.readouterr().err
    assert "The numbers of `a` are too large or too small" in told
    assert "1e+45" in told
    assert "sdcert init" in told
    assert not (tmp_path / "big.yaml").exists()


def test_a_wide_table_is_told_of_before_it_is_read(capfd):
    tell_many_columns(300)
    assert capfd.readouterr().err == ""
    tell_many_columns(4000)
    assert "4,000 columns: reading and checking them takes about 1 minute" in capfd.readouterr().err
