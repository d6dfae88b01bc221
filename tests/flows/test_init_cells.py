"""How `sdcert init` reads cells: decimal commas, dates, codes for missing, sentences."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from flows.cli import run
from flows.cli.draft.cells import Reading, missing_codes, propose_readings
from flows.cli.draft.rules import draft_release
from flows.cli.draft.text import format_draft
from tasks.ingest.readers.raw import RawTable
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.microdata.document import read_document
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Microdata


def drafted(data: Microdata):
    draft = draft_release(data, {}, name="survey", source={"table": "survey.csv"})
    return draft, {column.name: column for column in draft.columns}


def line_on(data: Microdata, measure: str):
    """The line of the drafted policy on a measure; None: there is none."""
    return next((line for line in drafted(data)[0].policy if line.fields["measure"] == measure), None)


def text_table(cells: list[str], delimiter: str = ";") -> RawTable:
    return RawTable(table=pa.table({"x": cells}), label="t", format="csv", as_text=True, delimiter=delimiter)


def _written(folder, name: str, header: str, rows: list[str]) -> tuple[dict, str]:
    (folder / f"{name}.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    assert run(["init", f"{name}.csv"]) == 0
    text = (folder / f"{name}.yaml").read_text(encoding="utf-8")
    return read_document(folder / f"{name}.yaml").content, text


@pytest.fixture
def folder(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_a_german_spreadsheet_writes_is_read_as_numbers_and_dates(folder):
    rng = np.random.default_rng(4)
    rows = [
        f"{rng.integers(1500, 1990) / 10:.1f};{rng.integers(1, 29)}.{rng.integers(1, 13)}.{rng.integers(1930, 2005)};"
        f"{rng.integers(1, 9)}.{rng.integers(100, 999)},{rng.integers(10, 99)};{rng.integers(1, 9)}"
        for _ in range(300)
    ]
    rows = [row.replace(".", ",", 1) for row in rows]  # the decimal comma of the first column
    rows = [f"NA;{row.partition(';')[2]}" if i % 6 == 0 else row for i, row in enumerate(rows)]
    content, text = _written(folder, "german", "groesse;geboren;gehalt;stufe", rows)
    height, born, pay = (content["attributes"][name] for name in ("groesse", "geboren", "gehalt"))
    assert (height["scale"], height["decimal"], height["missing"]) == ("numeric", ",", ["NA"])
    assert (born["scale"], born["date_format"]) == ("date", "%d.%m.%Y")
    assert pay["role"] == "withheld"
    assert "thousands separators out at the source" in " ".join(text.replace("#", " ").split())
    assert {"groesse", "geboren"} <= set(content["masking"][0]["attributes"])


@pytest.mark.parametrize(
    ("cells", "date_format"),
    [
        (["21/01/1949", "03/05/2023"], "%d/%m/%Y"),
        (["01/21/1949", "03/05/2023"], "%m/%d/%Y"),
        (["1949/01/21", "2023/5/3"], "%Y/%m/%d"),
        (["21-01-1949", "3-5-2023"], "%d-%m-%Y"),
        (["21.01.1949 08:30", "3.5.2023 17:05"], "%d.%m.%Y %H:%M"),
        (["03/05/2023", "04/06/2023"], None),
        (["21/01/1949", "01/21/1949"], None),
        (["31.02.1949", "3.5.2023"], None),
        (["1949-01-21", "2023-05-03"], None),
    ],
)
def test_a_date_format_is_drafted_where_exactly_one_fits(cells, date_format):
    read = propose_readings(text_table(cells)).get("x", Reading())
    assert (read.declared.date_format if read.declared else None) == date_format


def test_days_that_could_be_months_are_asked_for():
    read = propose_readings(text_table(["03/05/2023", "04/06/2023"]))["x"]
    assert all(name in read.undecided[1] for name in ("%d/%m/%Y", "%m/%d/%Y"))


@pytest.mark.parametrize(
    ("cells", "decimal", "asked"),
    [
        (["154,9", "12", "-3,25"], ",", None),
        (["0,123", "1,500"], ",", None),
        (["12345", "1,500"], ",", None),
        (["900", "1,500"], None, "decimal commas"),
        (["1.234,56", "900,00"], None, "thousands separators out"),
        (["1 200 €", "950 €"], None, "at the source"),
        (["154,9", "n/a"], ",", None),
        (["154,9", "tall"], None, None),
        (["0123", "0456"], None, None),
        (["1.5", "2.5"], None, None),
    ],
)
def test_commas_are_decimal_unless_they_could_stand_before_thousands(cells, decimal, asked):
    read = propose_readings(text_table(cells)).get("x", Reading())
    assert (read.declared.decimal if read.declared else None) == decimal
    assert (asked in read.undecided[1]) if asked else read.undecided is None


def test_points_before_three_digits_are_doubted_where_semicolons_part_the_cells():
    assert propose_readings(text_table(["900", "1.500"], delimiter=";"))["x"].doubt
    assert "x" not in propose_readings(text_table(["900", "1.500"], delimiter=","))


def test_every_column_that_is_not_masked_says_why(folder):
    rows = [f"{i % 7},word{i % 1200},{'a b' if i % 2 else ''}" for i in range(2400)]
    content, text = _written(folder, "odd", "age,word,half", rows)
    masked = {name for step in content["masking"] for name in step["attributes"]}
    bare = [n for n, a in content["attributes"].items() if a["role"] == "quasi_identifier" and n not in masked]
    assert len(bare) == text.count("NOT MASKED") > 0


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([20.0, 50.0, 79.0, -99.0, -99.0], (-99,)),
        ([20.0, 50.0, 79.0, 999.0, 999.0], (999,)),
        ([20.0, 50.0, 79.0, 999.0], ()),
        ([20.0, 50.0, 95.0, 99.0, 99.0], ()),
        ([-150.0, 50.0, 95.0, -99.0, -99.0], ()),
        ([1.0, 2.0, 3.0, -9.0, -9.0, 99.0, 99.0], (-9, 99)),
        ([99.0, 99.0], ()),
    ],
)
def test_codes_for_missing_are_asked_for_where_they_repeat_far_outside(values, codes):
    assert missing_codes(np.array(values)) == codes


def test_a_code_for_missing_is_spelled_as_in_the_cells(folder):
    rng = np.random.default_rng(2)
    rows = [
        f"{'-99,0' if i % 9 == 0 else f'{rng.integers(100, 900)},{rng.integers(1, 9)}'};{rng.integers(1, 6)}"
        for i in range(300)
    ]
    draft, _ = _written(folder, "codes", "pay;educ", rows)
    assert 'missing: ["-99,0"]' in draft["attributes"]["pay"]["decide"]


def test_words_for_missing_among_categories_are_asked_for(folder):
    rows = [f"{('m', 'f', 'NA', ' n/a')[i % 4]},{('north', 'south')[i % 2]},{i % 50}" for i in range(200)]
    draft, text = _written(folder, "words", "sex,region,age", rows)
    said = " ".join(text.replace("#", " ").split())
    assert said.count("mean that there is no value?") == 2 and 'missing: [" n/a"]' in said and 'missing: ["NA"]' in said
    assert "missing" not in draft["attributes"]["sex"]


def test_sentences_that_repeat_are_asked_whether_they_are_free_text():
    said = ["I did not like the long wait there", "They were all very kind to me", "Nothing at all to say about it"]
    many = [f"{said[i % 3]} on visit {i % 60}" for i in range(200)]
    ages = np.arange(200) % 50
    few = drafted(Microdata.from_columns({"age": ages, "remark": [said[i % 3] for i in range(200)]}))[1]["remark"]
    assert few.attribute.role is Role.QUASI_IDENTIFIER
    assert few.decide[0].startswith("is this free text")
    for cells in (many, [f"{text} {i}" for i, text in enumerate(many)]):
        draft, columns = drafted(Microdata.from_columns({"age": ages, "remark": cells}))
        assert columns["remark"].attribute.role is Role.WITHHELD
        assert "is this free text" in columns["remark"].hints[0]
        assert "remark: {role: withheld, scale: free_text}" in format_draft(draft)


def test_the_loss_limit_of_categories_is_one_that_their_groups_keep():
    """Every group of one category at least keeps those who have the most frequent of all: here 300, 200 and 100 of 400."""
    words = {
        "most": [f"w{max(0, i - 299)}" for i in range(400)],
        "half": ["yes" if i < 200 else f"n{i}" for i in range(399, -1, -1)],
    }
    few = {
        name: [cell if cell in ("w0", "yes") else f"other {i % 9}" for i, cell in enumerate(cells)]
        for name, cells in words.items()
    }
    quarter = {"quarter": [f"q{i % 4}" for i in range(400)]}
    tables = {"few": few, "quarter": quarter}
    asked = {name: line_on(Microdata.from_columns(cells), "cells_changed") for name, cells in tables.items()}
    assert asked["few"].fields == {"measure": "cells_changed", "at_most": 0.5}  # (100 + 200) / 800 at most
    assert asked["quarter"].fields["at_most"] == 0.75
    assert "still worth publishing" in asked["quarter"].fields["decide"]
    assert "at most about 75%" in asked["quarter"].why[1]


def test_the_loss_limit_of_numbers_is_about_numbers():
    numbers = {"age": np.arange(200) % 70, "town": [f"town {i % 5}" for i in range(200)]}
    mixed, alone = (Microdata.from_columns(numbers).select(names) for names in (["age", "town"], ["age"]))
    assert [line_on(one, "sse_percent").fields["at_most"] for one in (mixed, alone)] == [40, 40]
    assert [line_on(one, "categories_lost") is not None for one in (mixed, alone)] == [True, False]


def test_the_loss_limit_of_a_wide_table_is_one_that_its_groups_keep():
    """Twenty columns that have nothing in common cost the numbers beside them more than the usual limit."""
    rng = np.random.default_rng(3)
    words = {f"c{j}": rng.choice([f"w{i}" for i in range(5)], 300) for j in range(20)}
    data = Microdata.from_columns({**words, "x": rng.normal(size=300), "y": rng.normal(size=300)})
    draft, columns = drafted(data)
    line, step = line_on(data, "sse_percent"), Microaggregation.model_validate_json(json.dumps(draft.masking[0].fields))
    schema = Schema(tuple(column.attribute for column in columns.values()))
    found = mask(data, schema, (step,), seed=bytes(32), path=("test",)).data
    lost = np.mean([100 * np.var(data.floats(x) - found.floats(x)) / np.var(data.floats(x)) for x in ("x", "y")])
    assert 40 < lost <= line.fields["at_most"] <= 1.2 * lost + 5
    assert f"about {lost:.0f}%" in line.why[1]


def test_the_loss_limit_is_the_usual_one_where_no_row_is_without_gaps():
    gapped = {
        "x": [None if i % 2 else float(i) for i in range(100)],
        "y": [float(i % 30) if i % 2 else None for i in range(100)],
    }
    assert line_on(Microdata.from_columns(gapped), "sse_percent").fields == {"measure": "sse_percent", "at_most": 40}


def test_an_absent_table_is_told_in_words_of_the_command(folder, capsys):
    assert run(["init", "nope.csv"]) == 2
    told = capsys.readouterr().err
    assert "check the path" in told
    assert "source.table" not in told
