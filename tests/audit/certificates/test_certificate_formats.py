"""The same data in another format is the same data; other data is not, and it is said in what as far as can be told."""

from __future__ import annotations

import gzip
import zipfile
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.audit.certificates.exact_casts import KINDS, Misfit, cast_exactly
from tasks.ingest.sources import read_content
from tasks.microdata.table import DATE, LOGICAL_TYPES, MOMENT, TIME, Microdata
from tasks.report.publication import encode

INT, DOUBLE, TEXT, BOOLEAN = LOGICAL_TYPES[:4]


def file_check(found):
    return next(check for check in found.checks if check.what == "file")


def released(golden):
    return (golden / "released.csv").read_bytes()


def typed(golden):
    """The released table as its readers would hold it, with pandas' own types."""
    return pd.read_csv(golden / "released.csv", dtype={"region": "string"}, parse_dates=["visit", "seen"])


def written(kind, golden, path):
    plain = released(golden)
    match kind:
        case "crlf.csv":
            content = plain.replace(b"\n", b"\r\n")
        case "semicolons.csv":
            content = pd.read_csv(golden / "released.csv", dtype=str).to_csv(sep=";", index=False).encode()
        case "bom.csv":
            content = b"\xef\xbb\xbf" + plain
        case "utf16.csv":
            content = plain.decode().encode("utf-16")
        case "all-quoted.csv":
            content = pd.read_csv(golden / "released.csv", dtype=str).to_csv(index=False, quoting=1, na_rep="NA").encode()
        case "released.csv.gz":
            content = gzip.compress(plain)
        case "pandas.csv":
            content = typed(golden).to_csv(index=False, date_format="%Y-%m-%dT%H:%M:%S.%f").encode()
        case "pandas.parquet":
            content = typed(golden).to_parquet(index=False)
        case "pandas.parquet.gz":
            content = gzip.compress(typed(golden).to_parquet(index=False))
        case _:
            raise AssertionError(kind)
    (path / kind).write_bytes(content)
    return path / kind


@pytest.mark.parametrize(
    "kind",
    ["crlf.csv", "semicolons.csv", "bom.csv", "utf16.csv", "all-quoted.csv", "released.csv.gz", "pandas.csv", "pandas.parquet",
     "pandas.parquet.gz"],
)  # fmt: skip
def test_other_formats_of_the_released_table(checked, statement, golden, tmp_path, kind):
    check = file_check(checked(statement(), written(kind, golden, tmp_path)))
    assert (check.matches, check.says.startswith("other bytes than released.csv, and the same data")) == (True, True), (
        check.says
    )


def test_a_zip_of_it_and_types_of_its_own(checked, statement, golden, tmp_path):
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
        archive.write(golden / "released.csv", "r.csv")
    assert file_check(checked(statement(), tmp_path / "r.zip")).matches
    table = typed(golden)
    table["age"], table["answer"] = table["age"].astype("Int32"), table["answer"].astype("category")
    table["income"] = table["income"].astype("float64")
    table.to_parquet(tmp_path / "own.parquet")
    assert file_check(checked(statement(), tmp_path / "own.parquet")).matches


def test_files_of_stata_and_spss(checked, of_table, tmp_path):
    """Stata has no missing text and no booleans; SPSS no integers."""
    frame = pd.DataFrame(
        {"age": [31.0, None, 58.0], "answer": ["yes", "", "no"], "insured": [1, 0, 1], "income": [1.5, 2.0, None]}
    )
    table = Microdata(
        pa.table(
            {
                "age": pa.array([31, None, 58]),
                "answer": pa.array(["yes", None, "no"]),
                "insured": pa.array([True, False, True]),
                "income": pa.array([1.5, 2.0, None]),
            }
        )
    )
    pyreadstat.write_dta(frame, tmp_path / "r.dta")
    pyreadstat.write_sav(frame, tmp_path / "r.sav")
    for name in ("r.dta", "r.sav"):
        check = file_check(checked(of_table(table), tmp_path / name))
        assert check.matches, check.says


def test_a_value_that_a_file_calls_missing_is_not_missing(checked, of_table, tmp_path):
    """What was left out of the release stands in it, and whoever asks for it reads it."""
    table = Microdata(pa.table({"age": pa.array([31, None, 58])}))
    frame = pd.DataFrame({"age": [31.0, 77.0, 58.0]})
    pyreadstat.write_sav(frame, tmp_path / "r.sav", missing_ranges={"age": [77]}, variable_format={"age": "F8.0"})
    coded = pd.DataFrame({"age": pd.array([31, "b", 58], dtype=object)})
    pyreadstat.write_dta(coded, tmp_path / "r.dta", missing_user_values={"age": ["b"]})
    for name in ("r.sav", "r.dta"):
        check = file_check(checked(of_table(table), tmp_path / name))
        assert (check.matches, "it holds values that it calls missing" in check.says) == (False, True), check.says


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["", "x"], "missing text taken as empty"),
        ([None, "x"], "read as parquet, empty text taken as missing"),
        ([None, "NA "], "empty text taken as missing"),
    ],
)
def test_empty_and_missing_text_are_tried_both_ways(checked, of_table, tmp_path, cells, words):
    table = Microdata(pa.table({"n": pa.array([1, 2]), "answer": pa.array(cells, pa.string())}))
    path = tmp_path / "other"
    if "parquet" in words or None in cells:
        pq.write_table(pa.table({"n": [1, 2], "answer": [cell or "" for cell in cells]}), path)
    else:
        path.write_bytes(encode(table, "csv"))
    check = file_check(checked(of_table(table), path))
    assert check.matches
    assert words in check.says


def test_r_writes_missing_text_as_na(checked, of_table, tmp_path):
    table = Microdata(pa.table({"n": pa.array([1, None]), "answer": pa.array([None, "x"], pa.string())}))
    (tmp_path / "r.csv").write_text('"n","answer"\n1,NA\nNA,"x"\n')
    assert "NA taken as missing text" in file_check(checked(of_table(table), tmp_path / "r.csv")).says
    honest = Microdata(pa.table({"n": pa.array([1, None]), "answer": pa.array(["NA", "x"], pa.string())}))
    check = file_check(checked(of_table(honest), tmp_path / "r.csv"))
    assert (check.matches, "taken as" in check.says) == (True, False)


@pytest.mark.parametrize(
    "cells", ['None\n2,"x"\n3,None', 'NA\n2,"x"\n3,NULL', '\n2,"x"\n3,NA'], ids=["a category", "two words", "a word and none"]
)
def test_a_word_that_may_be_a_value_is_not_missing_text(checked, of_table, tmp_path, cells):
    table = Microdata(pa.table({"n": pa.array([1, 2, 3]), "religion": pa.array([None, "x", None], pa.string())}))
    (tmp_path / "r.csv").write_text(f"n,religion\n1,{cells}\n")
    assert file_check(checked(of_table(table), tmp_path / "r.csv")).matches is False


def test_a_date_of_another_day_is_another_date(checked, statement, golden, tmp_path):
    plain = released(golden)
    for written in (b"2025-12-31T23:00:00-01:00", b"2026-01-01T00:00:00Z", b"2026-01-02T01:00:00+01:00"):
        (tmp_path / "moved.csv").write_bytes(plain.replace(b"2026-01-01,", written + b",", 1))
        assert file_check(checked(statement(), tmp_path / "moved.csv")).matches is False


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.iloc[:-1], "it has 11 rows, the certificate states 12"),
        (lambda t: t.drop(columns="age"), "it lacks the column age"),
        (lambda t: t.assign(more=1, most=2), "the certificate does not know the columns more, most"),
        (lambda t: t.rename(columns={"age": "AGE"}), "it lacks the column age; the certificate does not know the column AGE"),
        (lambda t: t[[*t.columns[::-1]]], "its columns stand in another order"),
        (lambda t: t.assign(age=t["age"] + 0.5), "(int64) in the column age"),
        (lambda t: t.assign(age="old", insured="?"), "(int64, bool) in the columns age, insured"),
        (lambda t: t.assign(age=t["age"] + 1), "at least one value"),
        (lambda t: t.iloc[::-1], "or the order of the rows, is not"),
        (lambda t: t.assign(income=t["income"].where(t["income"] != 0.1, 0.1 + 1e-17 + 1e-16)), "at least one value"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_other_data_is_told_in_what_it_differs(checked, statement, golden, tmp_path, change, words, suffix):
    table, path = change(typed(golden)), tmp_path / f"changed.{suffix}"
    if suffix == "csv":
        table.to_csv(path, index=False, date_format="%Y-%m-%dT%H:%M:%S.%f")
    else:
        table.reset_index(drop=True).to_parquet(path, index=False)
    check = file_check(checked(statement(), path))
    assert check.matches is False
    assert words in check.says


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 100,
        b"PAR1" + b"\xff" * 100 + b"PAR1",
        b"PK\x03\x04" + b"x" * 100,
        b"\x1f\x8b\x08\x00" + b"x" * 50,
        b"$FL2" + b"x" * 500,
        b"<stata_dta>" + b"x" * 500 + b"</stata_dta>",
        b'age,age\n1,"',
        b",".join([b"a"] * 100_000),
        gzip.compress(b"\x00" * (80 << 20)),
    ],
    ids=["empty", "zeros", "parquet", "zip", "gzip", "spss", "stata", "open-quote", "wide", "bomb"],
)
def test_a_spoiled_file_is_not_the_table(checked, statement, tmp_path, content):
    path = tmp_path / "hostile.bin"
    path.write_bytes(content)
    check = file_check(checked(statement(), path))
    assert check.matches is False
    assert "cannot be read as a table" in check.says


def test_bytes_that_are_no_text_are_not_the_table(checked, of_table, tmp_path):
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))
    pq.write_table(pa.table({"a": broken}), tmp_path / "broken.parquet")
    check = file_check(checked(of_table(Microdata(pa.table({"a": ["x"]}))), tmp_path / "broken.parquet"))
    assert (check.matches, "(string) in the column a" in check.says) == (False, True)


def test_rows_that_cannot_match_are_not_unpacked(checked, of_table, tmp_path, monkeypatch):
    rows = 2_000_000
    pq.write_table(pa.table({"a": pa.array(bytearray(rows), pa.int8())}), tmp_path / "many.parquet")
    assert (tmp_path / "many.parquet").stat().st_size < 10_000
    monkeypatch.setattr("tasks.audit.certificates.same_content.read_content", None)
    check = file_check(checked(of_table(Microdata(pa.table({"a": [1]}))), tmp_path / "many.parquet"))
    assert "it has 2,000,000 rows, the certificate states 1" in check.says


def test_rows_that_cannot_match_are_given_no_room(checked, of_table, tmp_path, monkeypatch):
    """A header of Stata can state any number of rows."""
    pd.DataFrame({"a": [1.0]}).to_stata(tmp_path / "many.dta", write_index=False, version=114)
    content = (tmp_path / "many.dta").read_bytes()
    (tmp_path / "many.dta").write_bytes(content[:6] + (10**9).to_bytes(4, "little") + content[10:])
    monkeypatch.setattr("tasks.audit.certificates.same_content.read_content", None)
    check = file_check(checked(of_table(Microdata(pa.table({"a": [1.0]}))), tmp_path / "many.dta"))
    assert "it has 1,000,000,000 rows, the certificate states 1" in check.says


def test_a_document_of_a_known_name_is_compared_as_such(checked, statement, golden, tmp_path):
    (tmp_path / "report.html").write_bytes((golden / "report.html").read_bytes() + b" ")
    assert "under this name" in file_check(checked(statement(), tmp_path / "report.html")).says
    (tmp_path / "renamed.htm").write_bytes((golden / "report.html").read_bytes())
    assert file_check(checked(statement(), tmp_path / "renamed.htm")).matches


NOON = datetime(2020, 1, 2, 12, 30)


@pytest.mark.parametrize(
    ("values", "stored", "kind", "expected"),
    [
        (["1", "-3.0", "NA", None, "0."], TEXT, INT, [1, -3, None, None, 0]),
        (["1.5", "1e3", ".5", "NaN"], TEXT, DOUBLE, [1.5, 1000.0, 0.5, None]),
        (
            ["0.1", "0.10000000000000001", "0.1000000000000000055511", "1200000000000000000.0"],
            TEXT,
            DOUBLE,
            [0.1] * 3 + [1.2e18],
        ),
        (["5e-324", "4.9E-324", "0e-999", "-0.00", "1e308"], TEXT, DOUBLE, [5e-324, 5e-324, 0, 0, 1e308]),
        ([Decimal("0.10"), None], pa.decimal128(9, 2), DOUBLE, [0.1, None]),
        (["True", "false", None, "0", "1"], TEXT, BOOLEAN, [True, False, None, False, True]),
        (["2020-01-02T00:00:00", None], TEXT, DATE, [date(2020, 1, 2), None]),
        (["2020-01-02"], TEXT, MOMENT, [datetime(2020, 1, 2)]),
        (["2020-01-02T12:30:00.250000"], TEXT, MOMENT, [datetime(2020, 1, 2, 12, 30, 0, 250_000)]),
        (["10:20", None], TEXT, TIME, [time(10, 20), None]),
        ([1.0, float("nan")], DOUBLE, INT, [1, None]),
        ([1.0, float("nan")], DOUBLE, TEXT, ["1", None]),
        ([7, None], INT, DOUBLE, [7.0, None]),
        ([7, None], pa.int8(), TEXT, ["7", None]),
        ([1, 0, None], INT, BOOLEAN, [True, False, None]),
        ([datetime(2020, 1, 2)], pa.timestamp("ns"), DATE, [date(2020, 1, 2)]),
        ([NOON], pa.timestamp("s"), MOMENT, [NOON]),
        ([date(2020, 1, 2)], pa.date64(), DATE, [date(2020, 1, 2)]),
        ([0.5, float("nan")], pa.float16(), DOUBLE, [0.5, None]),
        ([1.5], pa.float32(), DOUBLE, [1.5]),
        (["1", None], pa.dictionary(pa.int8(), TEXT), INT, [1, None]),
        (["x", ""], pa.large_string(), TEXT, ["x", ""]),
        ([None, None], pa.null(), TIME, [None, None]),
        ([date(2020, 1, 2)], DATE, TEXT, ["2020-01-02"]),
    ],
)
def test_values_are_read_as_the_certified_type(values, stored, kind, expected):
    assert cast_exactly(pa.chunked_array([pa.array(values, stored)]), kind).to_pylist() == expected


@pytest.mark.parametrize(
    ("value", "stored", "kind"),
    [
        ("01", TEXT, INT), ("1.5", TEXT, INT), ("1,5", TEXT, DOUBLE), ("1e999", TEXT, DOUBLE), ("9" * 30, TEXT, INT),
        (" 1", TEXT, INT), ("yes", TEXT, BOOLEAN), ("2020-01-02 12:30", TEXT, DATE), ("2020-02-30", TEXT, DATE),
        ("24:00", TEXT, TIME), ("2020-01-02", TEXT, TIME), (1.5, DOUBLE, INT), (1.5, DOUBLE, TEXT), (2, INT, BOOLEAN),
        (2**53 + 1, INT, DOUBLE), (str(2**53 + 1), TEXT, DOUBLE), ("0.100000000000000000001234", TEXT, DOUBLE),
        ("12.00000000000000052341", TEXT, DOUBLE), ("1e-400", TEXT, DOUBLE), ("0." + "1" * 900, TEXT, DOUBLE),
        (Decimal("0.1000000000000000000123"), pa.decimal128(22, 22), DOUBLE),
        (True, BOOLEAN, INT), (NOON, pa.timestamp("ns"), DATE), (1, pa.timestamp("ns"), MOMENT),
        (1, INT, DATE), (b"x", pa.binary(), TEXT), ([1], pa.list_(INT), INT), (float("inf"), DOUBLE, INT),
        ("1988-12-23T23:00:00-01:00", TEXT, DATE), ("1988-12-24T00:00:00Z", TEXT, DATE),
        ("1988-12-24T00:00:00+00:00", TEXT, DATE),
        ("2020-01-02T12:30:00+02:00", TEXT, MOMENT), ("2020-01-02T12:30Z", TEXT, MOMENT), ("12:30Z", TEXT, TIME),
        ("1988-12-24Z", TEXT, DATE), ("1988-12-24+01:00", TEXT, DATE), (" 1988-12-24", TEXT, DATE),
        ("1988-12-24\n", TEXT, DATE),
        ("88-12-24", TEXT, DATE), ("24.12.1988", TEXT, DATE), ("1988-W51-6", TEXT, DATE), ("32500", TEXT, DATE),
        (32500, INT, MOMENT),
        ("12:30", TEXT, DATE), ("2020-01-02T12:30:00.0000001", TEXT, MOMENT), ("2020-01-02T24:00:00", TEXT, MOMENT),
        (NOON.replace(tzinfo=UTC), pa.timestamp("us", "Asia/Tokyo"), MOMENT),
        (NOON.replace(tzinfo=UTC), pa.timestamp("us", "UTC"), MOMENT),
        (datetime(2020, 1, 2, tzinfo=UTC), pa.timestamp("us", "UTC"), DATE), (NOON, pa.timestamp("us", "UTC"), TEXT),
        ("+0", TEXT, INT), ("1e3", TEXT, INT), ("0x10", TEXT, INT), ("1_000", TEXT, INT), ("1,000", TEXT, INT),
        ("1\n", TEXT, INT),
        ("\u0661", TEXT, INT), ("\uff11", TEXT, INT), ("1\u00a0", TEXT, INT), ("NA ", TEXT, INT), ("-", TEXT, INT),
        ("inf", TEXT, DOUBLE),
        ("0x1p3", TEXT, DOUBLE), ("+1.5", TEXT, DOUBLE), ("on", TEXT, BOOLEAN), ("T", TEXT, BOOLEAN), ("2", TEXT, BOOLEAN),
        (Decimal("1.5"), pa.decimal128(9, 1), INT), (2**63, pa.uint64(), INT), (2.0**63, DOUBLE, INT), (0.1, DOUBLE, BOOLEAN),
        ("1", pa.binary(), INT), (0, pa.duration("us"), INT), (time(1), TIME, MOMENT), (date(2020, 1, 2), DATE, TIME),
    ],
)  # fmt: skip
def test_no_value_is_changed_to_fit(value, stored, kind):
    with pytest.raises(Misfit):
        cast_exactly(pa.chunked_array([pa.array([value], stored)]), kind)


COLUMNS = {
    INT: st.integers(-(2**63), 2**63 - 1),
    DOUBLE: st.floats(allow_nan=False, allow_infinity=False),
    TEXT: st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8),
    BOOLEAN: st.booleans(),
    DATE: st.dates(),
    MOMENT: st.datetimes(),
    TIME: st.times(),
}


@given(st.data(), st.sampled_from(list(COLUMNS)), st.sampled_from(["csv", "parquet"]))
def test_what_is_published_is_read_back_the_same(data, kind, form):
    """Whatever a column holds, its own file is a file of it: the casts undo the writing."""
    values = data.draw(st.lists(st.none() | COLUMNS[kind], min_size=1, max_size=6))
    table = Microdata(pa.table({"n": pa.array(range(len(values))), "a": pa.array(values, kind)}))
    raw = read_content(encode(table, form), f"released.{form}").table
    assert cast_exactly(raw.column("a"), kind).equals(table.column("a"))


def test_every_logical_type_has_its_name():
    assert sorted(KINDS) == ["bool", "date32[day]", "double", "int64", "string", "time64[us]", "timestamp[us]"]
