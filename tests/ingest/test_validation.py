import json
from datetime import date, datetime, time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from tasks.ingest.checks import validation
from tasks.ingest.checks.expectations import Expectation
from tasks.ingest.checks.violations import violations
from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.methods import IngestPlan, IngestReport, ingest
from tasks.ingest.sources import SourceSpec
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata

CANARY = "canary-4711"
validate = partial(validation.validate, confirm=True)
TABLE = Microdata.from_columns(
    {
        "n": [1, 2, 2, None, 2**53 + 1],
        "x": [0.5, None, 1.5, 2.5, 2.5],
        "t": ["a", "b", None, "a\n", CANARY],
        "b": [True, False, None, True, True],
    }
)
ADAPTER: TypeAdapter[Expectation] = TypeAdapter(Expectation)


DAYS = Microdata.from_columns(
    {
        "d": [date(2023, 1, 1), date(2023, 12, 31), None],
        "m": [datetime(2023, 1, 1, 10), datetime(2300, 1, 1, 0, 0, 1), datetime(2023, 1, 1)],
        "c": [time(9), time(17, 30), time(17, 30, 0, 1)],
    }
)


def wanted(**expectation: object) -> Expectation:
    return ADAPTER.validate_json(json.dumps(expectation))


# expectation -> the rows (from 0) that break it, by hand
WORKED = [
    ({"expect": "not_missing", "attribute": "n"}, [3]),
    ({"expect": "not_missing", "attribute": "t"}, [2]),
    ({"expect": "between", "attribute": "n", "low": 2}, [0]),
    ({"expect": "between", "attribute": "n", "high": 2**53}, [4]),
    ({"expect": "between", "attribute": "n", "low": 1.5, "high": 1e30}, [0]),
    ({"expect": "between", "attribute": "n", "high": 1e16}, []),
    ({"expect": "in_set", "attribute": "n", "values": [1, 2, 2**53 + 1]}, []),
    ({"expect": "in_set", "attribute": "n", "values": [1, 2, 2**53]}, [4]),
    ({"expect": "between", "attribute": "x", "low": 1, "high": 2}, [0, 3, 4]),
    ({"expect": "in_set", "attribute": "t", "values": ["a", "b"]}, [3, 4]),
    ({"expect": "in_set", "attribute": "n", "values": [1, 2]}, [4]),
    ({"expect": "in_set", "attribute": "x", "values": [0.5, 1.5]}, [3, 4]),
    ({"expect": "in_set", "attribute": "b", "values": [True]}, [1]),
    ({"expect": "unique", "attribute": "n"}, [1, 2]),
    ({"expect": "unique", "attribute": "t"}, []),
    ({"expect": "unique", "attribute": ["x", "b"]}, [3, 4]),
    ({"expect": "unique", "attribute": ["n", "x"]}, []),
    ({"expect": "rows_between", "low": 5, "high": 5}, []),
    ({"expect": "rows_between", "high": 4}, [0, 1, 2, 3, 4]),
    ({"expect": "matches", "attribute": "t", "pattern": "[ab]"}, [3, 4]),
    ({"expect": "matches", "attribute": "t", "pattern": "(?s:.*)"}, []),
]


@pytest.mark.parametrize(("given_", "rows"), WORKED)
def test_worked_violations_and_great_expectations_agrees(given_: dict[str, object], rows: list[int]) -> None:
    expectation = wanted(**given_)
    assert np.flatnonzero(violations(expectation, TABLE)).tolist() == rows
    if not rows:
        assert validate(TABLE, (), (expectation,), "a.csv")[-1].passed
        return
    with pytest.raises(InputError) as caught:
        validate(TABLE, (), (expectation,), "a.csv")
    assert caught.value.code == "expectation-failed"
    assert f"{len(rows):,} rows fail, first {', '.join(str(row + 1) for row in rows)}" in caught.value.what
    assert CANARY not in str(caught.value)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.one_of(st.none(), st.integers(-3, 3)), st.one_of(st.none(), st.sampled_from("abc"))),
        min_size=1,
        max_size=8,
    ),
    st.integers(-3, 3),
    st.integers(0, 3),
)
def test_counts_equal_a_plain_loop(rows: list[tuple[int | None, str | None]], low: int, span: int) -> None:
    data = Microdata.from_columns({"n": [r[0] for r in rows] + [0], "t": [r[1] for r in rows] + ["a"]})
    pairs = [*rows, (0, "a")]
    between = wanted(expect="between", attribute="n", low=low, high=low + span)
    assert violations(between, data).tolist() == [n is not None and not low <= n <= low + span for n, _ in pairs]
    unique = wanted(expect="unique", attribute=["n", "t"])
    assert violations(unique, data).tolist() == [None not in pair and pairs.count(pair) > 1 for pair in pairs]
    for expectation in (between, unique):
        try:
            validate(data, (), (expectation,), "a.csv")
        except InputError as error:
            assert error.code == "expectation-failed"


def test_the_declared_schema_is_checked_too() -> None:
    attributes = (AttributeSpec(name="n", scale=Scale.NUMERIC), AttributeSpec(name="t", order=("a", "b", "a\n", CANARY)))
    told = [check.expectation for check in validate(TABLE, attributes, (), "a.csv")]
    assert told == ["the number of rows lies between 1 and any number", "n holds numbers", "t is one of 4 declared values"]
    with pytest.raises(InputError, match="t is one of 1 declared values"):
        validate(TABLE, (AttributeSpec(name="t", order=("a",)),), (), "a.csv")
    with pytest.raises(InputError, match="t holds numbers"):
        validate(TABLE, (AttributeSpec(name="t", scale=Scale.NUMERIC),), (), "a.csv")


def test_all_failures_are_told_at_once() -> None:
    failing = (wanted(expect="not_missing", attribute="n"), wanted(expect="unique", attribute="n"))
    with pytest.raises(InputError, match=r"n is never missing .*; n is unique"):
        validate(TABLE, (), failing, "a.csv")


@pytest.mark.parametrize(
    ("given_", "code"),
    [
        ({"expect": "not_missing", "attribute": "m"}, "unknown-attribute"),
        ({"expect": "unique", "attribute": ["n", "m"]}, "unknown-attribute"),
        ({"expect": "between", "attribute": "t", "low": 1}, "unfitting-expectation"),
        ({"expect": "matches", "attribute": "n", "pattern": "1"}, "unfitting-expectation"),
        ({"expect": "in_set", "attribute": "n", "values": ["1"]}, "unfitting-expectation"),
        ({"expect": "in_set", "attribute": "t", "values": [1]}, "unfitting-expectation"),
    ],
)
def test_expectations_that_fit_no_column_are_refused(given_: dict[str, object], code: str) -> None:
    with pytest.raises(InputError) as caught:
        validate(TABLE, (), (wanted(**given_),), "a.csv")
    assert caught.value.code == code


@pytest.mark.parametrize(
    "given_",
    [
        {"expect": "between", "attribute": "n"},
        {"expect": "between", "attribute": "n", "low": 2, "high": 1},
        {"expect": "between", "attribute": "n", "low": True},
        {"expect": "between", "attribute": "n", "high": 2**53 + 1},
        {"expect": "in_set", "attribute": "n", "values": []},
        {"expect": "matches", "attribute": "t", "pattern": "("},
        {"expect": "matches", "attribute": "t", "pattern": "(?s).*"},
        {"expect": "matches", "attribute": "t", "pattern": "a)|(?:b"},
        {"expect": "rows_between", "low": -1},
        {"expect": "numbers", "attribute": "n"},
        {"expect": "somehow", "attribute": "n"},
    ],
)
def test_the_set_of_expectations_is_closed(given_: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        wanted(**given_)


def test_names_that_hold_anything_are_validated() -> None:
    names = ['it\'s "q"', "a;b", "😀", "x" * 300, "<b>", "=1+1", "two\nlines"]
    data = Microdata.from_columns({name: [1, 2] for name in names})
    checks = validate(data, (), tuple(wanted(expect="unique", attribute=name) for name in names), "a.csv")
    assert all(check.passed for check in checks)


def test_the_whole_stage_reports_plain_values(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age;code\n30;007\n;008\n41;009\n")
    plan = IngestPlan.model_validate_json(
        json.dumps({"source": {"table": "a.csv"}, "attributes": {"age": {"scale": "numeric"}},
                    "expect": [{"expect": "between", "attribute": "age", "low": 0, "high": 120}]})
    )  # fmt: skip
    found = ingest(plan.model_copy(update={"source": plan.source.resolve_path(tmp_path)}))
    assert found.data.arrow.to_pydict() == {"age": [30, None, 41], "code": ["007", "008", "009"]}
    report = found.report
    assert (report.source, report.format, report.encoding, report.delimiter, report.rows) == ("a.csv", "csv", "utf-8", ";", 3)
    assert [(c.name, c.logical_type, c.n_missing) for c in report.columns] == [("age", "int64", 1), ("code", "string", 0)]
    assert report.columns[1].notes == ("kept as text; of some cells: it has leading zeros, as a code has",)
    adapter = TypeAdapter(IngestReport)
    assert adapter.validate_json(adapter.dump_json(report)) == report


def test_a_declared_attribute_that_is_no_column_is_refused_with_the_likely_name() -> None:
    for attribute, place in (
        (AttributeSpec(name="populus"), "attributes.populus"),
        (AttributeSpec.model_validate_json('{"name": "age", "role": "derived", "from": ["popull"]}'), "attributes.age.from"),
    ):
        with pytest.raises(InputError, match="popul`") as caught:
            ingest(IngestPlan(source=SourceSpec(dataset="anes96"), attributes=(attribute,)))
        assert (caught.value.code, caught.value.where) == ("unknown-attribute", place)


def test_a_plan_reads_back_equal() -> None:
    expect = (wanted(expect="unique", attribute=["age", "educ"]), wanted(expect="between", attribute="age", low=0))
    plan = IngestPlan(source=SourceSpec(dataset="fair"), attributes=(AttributeSpec(name="age"),), expect=expect)
    assert IngestPlan.model_validate_json(plan.model_dump_json(by_alias=True)) == plan


# expectation about dates and times -> the rows (from 0) that break it, by hand
CALENDAR = [
    ({"expect": "between", "attribute": "d", "low": "2023-01-01", "high": "2023-12-30"}, [1]),
    ({"expect": "between", "attribute": "d", "low": "2023-01-02"}, [0]),
    ({"expect": "between", "attribute": "m", "high": "2300-01-01T00:00:00"}, [1]),
    ({"expect": "between", "attribute": "m", "low": "2023-01-01 00:00:00.000001"}, [2]),
    ({"expect": "between", "attribute": "c", "low": "09:00", "high": "17:30"}, [2]),
    ({"expect": "in_set", "attribute": "d", "values": ["2023-01-01"]}, [1]),
    ({"expect": "in_set", "attribute": "c", "values": ["09:00", "17:30:00", "17:30:00.000001"]}, []),
    ({"expect": "unique", "attribute": ["d", "m"]}, []),
    ({"expect": "not_missing", "attribute": "d"}, [2]),
]


@pytest.mark.parametrize(("given_", "rows"), CALENDAR)
def test_expectations_about_dates_and_times(given_: dict[str, object], rows: list[int]) -> None:
    expectation = wanted(**given_)
    assert np.flatnonzero(violations(expectation, DAYS)).tolist() == rows
    if rows:
        with pytest.raises(InputError) as caught:
            validate(DAYS, (), (expectation,), "a.parquet")
        assert caught.value.code == "expectation-failed"
    else:
        assert all(check.passed for check in validate(DAYS, (), (expectation,), "a.parquet"))


@pytest.mark.parametrize(
    "given_",
    [
        {"expect": "between", "attribute": "d", "low": 19000},
        {"expect": "between", "attribute": "d", "low": "2023-01-01T00:00"},
        {"expect": "between", "attribute": "m", "high": "2023-12-31"},
        {"expect": "between", "attribute": "c", "high": "2023-12-31"},
        {"expect": "in_set", "attribute": "d", "values": ["2023-01-01", "soon"]},
        {"expect": "in_set", "attribute": "d", "values": [1]},
        {"expect": "matches", "attribute": "d", "pattern": "2023.*"},
    ],
)
def test_expectations_of_another_kind_than_the_dates(given_: dict[str, object]) -> None:
    with pytest.raises(InputError) as caught:
        validate(DAYS, (), (wanted(**given_),), "a.parquet")
    assert caught.value.code == "unfitting-expectation"


@pytest.mark.parametrize(
    "given_",
    [
        {"expect": "between", "attribute": "d", "low": "2023-02-30"},
        {"expect": "between", "attribute": "d", "low": "tomorrow"},
        {"expect": "between", "attribute": "d", "low": "2023-01-02", "high": "2023-01-01"},
        {"expect": "between", "attribute": "d", "low": "2023-01-02", "high": 5},
        {"expect": "between", "attribute": "d", "low": "2023-01-02", "high": "10:00"},
        {"expect": "between", "attribute": "m", "low": "2023-01-02T00:00Z"},
    ],
)
def test_bounds_that_are_no_dates(given_: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        wanted(**given_)


def test_open_ends_of_dates_in_words() -> None:
    (_, told) = validate(DAYS, (), (wanted(expect="between", attribute="d", low="2023-01-01"),), "a.parquet")
    assert told.expectation == "d lies between 2023-01-01 and any date or time"


def test_a_look_at_a_table_counts_without_great_expectations_and_what_is_certified_asks_it(monkeypatch):
    asked = []
    monkeypatch.setattr(validation, "_verdicts", lambda wanted, data: asked.append(len(wanted)) or [True] * len(wanted))
    expected = (wanted(expect="not_missing", attribute="x"),)
    with pytest.raises(InputError) as refused:
        validation.validate(TABLE, (), expected, "a.csv", confirm=False)
    assert refused.value.code == "expectation-failed"
    assert not asked
    with pytest.raises(RuntimeError, match="disagrees"):  # it was made to say that none is missing
        validate(TABLE, (), expected, "a.csv")
    assert asked == [2]
