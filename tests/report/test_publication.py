"""The released table as a file: what is written is what our own reader reads."""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from contextlib import nullcontext
from datetime import date, datetime, time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.columns.logical import from_typed
from tasks.ingest.columns.typing_rules import from_text
from tasks.ingest.readers import delimited, parquet
from tasks.microdata.errors import InputError
from tasks.microdata.table import Microdata
from tasks.report.publication import Context, Publish, encode, name_released_file, refuse_formulas

TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=12)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
UNSEEN = ("Zs", "Zl", "Zp", "Cc", "Cf")  # blanks, line breaks, marks that steer the writing: no reader takes them alone
NAMES = TEXTS.filter(lambda text: any(unicodedata.category(one) not in UNSEEN for one in text))
COLUMNS = {
    "integer": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "double": (pa.float64(), DOUBLES),
    "text": (pa.string(), TEXTS),
    "bool": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.dates()),
    "moment": (pa.timestamp("us"), st.datetimes()),
    "time": (pa.time64("us"), st.times()),
}


def read_csv(content: bytes) -> Microdata:
    raw = delimited.read(io.BytesIO(content), "released.csv")
    columns = {
        name: from_text(raw.table.column(name), AttributeSpec(name=name), "released.csv")[0] for name in raw.table.column_names
    }
    return Microdata(pa.table(columns))


def read_parquet(content: bytes) -> Microdata:
    raw = parquet.read(io.BytesIO(content), "released.parquet")
    columns = {
        name: from_typed(raw.table.column(name), AttributeSpec(name=name), "released.parquet")[0]
        for name in raw.table.column_names
    }
    return Microdata(pa.table(columns))


@st.composite
def tables(draw, kinds=tuple(COLUMNS)):
    n = draw(st.integers(1, 6))
    chosen = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    columns = {}
    for name in chosen:
        kind, values = COLUMNS[draw(st.sampled_from(kinds))]
        columns[name] = pa.array(draw(st.lists(st.none() | values, min_size=n, max_size=n)), type=kind)
    return Microdata.from_columns(columns)


def test_the_worked_table():
    table = Microdata.from_columns(
        {
            "a": [1, None, -3],
            "b": [0.5, 2.0, None],
            "c d": ["x,y", 'say "no"', ""],
            "e": [True, False, None],
        }
    )
    assert encode(table, "csv") == b'a,b,c d,e\n1,0.5,"x,y",true\n,2.0,"say ""no""",false\n-3,,"",\n'


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (5.0, "5.0"),  # read back as a double, not as an integer
        (-0.0, "-0.0"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e15, "1000000000000000.0"),  # no exponent where whole numbers are exact
        (2.0**53 - 1, "9007199254740991.0"),
        (1e22, "1e+22"),
        (5e-324, "5e-324"),
    ],
)
def test_doubles_have_the_fewest_digits_that_read_back(number, written):
    assert encode(Microdata.from_columns({"x": np.array([number])}), "csv") == f"x\n{written}\n".encode()


def test_one_column_has_no_blank_lines():
    assert encode(Microdata.from_columns({"x": ["a", None, ""]}), "csv") == b'x\na\n""\n""\n'


@settings(max_examples=150, deadline=None)
@given(tables(kinds=("integer", "double", "date", "moment", "time")))
def test_csv_numbers_and_dates_come_back_with_type_and_value(table):
    back = read_csv(encode(table, "csv"))
    assert back.names == table.names
    for name in table.names:
        if not table.missing(name).all():  # a column without values has no type in CSV
            assert back.column(name).equals(table.column(name))
            assert _signs(back.column(name)) == _signs(table.column(name))


def _signs(column):
    return [math.copysign(1, x) for x in column.drop_null().to_pylist() if isinstance(x, float)]


@settings(max_examples=200, deadline=None)
@given(tables())
def test_csv_cells_come_back_one_by_one(table):
    """The oracle: Python's own reader and the text of each value."""
    written = encode(table, "csv").decode()
    rows = list(csv.reader(io.StringIO(written, newline=""), strict=True))
    assert tuple(rows[0]) == table.names
    assert rows[1:] == [[_cell(value) for value in row.values()] for row in table.arrow.to_pylist()]
    raw = delimited.read(io.BytesIO(written.encode()), "released.csv")
    assert raw.delimiter == "," or len(table.names) == 1
    assert raw.table.to_pylist() == [
        {name: _cell(value) or None for name, value in row.items()} for row in table.arrow.to_pylist()
    ]


def _cell(value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime | time) and value.microsecond:
        return value.isoformat().rstrip("0")
    if isinstance(value, float):
        text = encode(Microdata.from_columns({"x": np.array([value])}), "csv").decode().split("\n")[1]
        assert float(text) == value
        return text
    return value.isoformat() if isinstance(value, date | time) else str(value)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(tables())
def test_parquet_comes_back_whole(table):
    back = read_parquet(encode(table, "parquet"))
    assert back.names == table.names
    for name in table.names:
        empty_is_missing = [value or None if isinstance(value, str) else value for value in table.column(name).to_pylist()]
        assert back.column(name).equals(pa.array(empty_is_missing, type=table.column(name).type))


@pytest.mark.parametrize(
    "name", ["a;b;c", "\ufeffbom", "BZh", "PAR1", "%PDF", "a\tb|c", "PK\x03\x04", "SQLite format 3", 'q"q', "é"]
)
def test_a_strange_first_name_is_not_taken_for_something_else(name):
    table = Microdata.from_columns({name: ["1;2;3", "4;5;6"], "b": [1, 2]})
    content = encode(table, "csv")
    assert not content.startswith(b"PAR1")
    assert delimited.read(io.BytesIO(content), "released.csv").table.to_pylist() == [
        {name: "1;2;3", "b": "1"},
        {name: "4;5;6", "b": "2"},
    ]


@pytest.mark.parametrize("other", [";", "\t", "|"])
def test_another_delimiter_inside_the_cells_is_not_taken_for_the_delimiter(other):
    """Unquoted, the other one would split every line into more columns than the comma does."""
    table = Microdata.from_columns({f"a{other}b{other}c": [f"1{other}2{other}3"] * 3, "d": [1, 2, 3]})
    content = encode(table, "csv")
    assert content.count(f'"1{other}2{other}3"'.encode()) == 3
    raw = delimited.read(io.BytesIO(content), "released.csv")
    assert (raw.delimiter, tuple(raw.table.column_names)) == (",", table.names)


def test_a_zero_byte_in_a_cell_is_refused_in_csv_and_kept_in_parquet():
    table = Microdata.from_columns({"a": ["x\0y"]})
    with pytest.raises(InputError) as error:
        encode(table, "csv")
    assert error.value.code == "zero-byte"
    assert "\0y" not in error.value.public
    assert read_parquet(encode(table, "parquet")).arrow.equals(table.arrow)


def test_a_name_with_a_zero_byte_is_neither_written_as_csv_nor_read():
    table = Microdata.from_columns({"a\0": ["x"]})
    for make in (lambda: encode(table, "csv"), lambda: read_parquet(encode(table, "parquet"))):
        with pytest.raises(InputError) as error:
            make()
        assert error.value.code == "zero-byte"


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_the_bytes_do_not_tell_how_the_table_lay_in_memory(format):
    whole = Microdata.from_columns({"a": np.arange(10), "b": [None, *"abcdefghi"]})
    pieces = pa.concat_tables([whole.arrow.slice(0, 3), whole.arrow.slice(3)])
    described = pieces.replace_schema_metadata({"pandas": "secret", "made by": "somebody"})
    assert encode(Microdata(described), format) == encode(whole, format)
    taken = Microdata(pa.concat_tables([whole.arrow, whole.arrow])).take(np.arange(10))
    assert encode(taken, format) == encode(whole, format)


def test_parquet_holds_values_and_types_alone():
    table = Microdata.from_columns({"a": np.arange(1000.0), "b": ["suppressed", *["kept"] * 999]}).take(np.arange(1, 1000))
    content = encode(table, "parquet")
    file = pq.ParquetFile(io.BytesIO(content))
    column = file.metadata.row_group(0).column(0)
    assert file.metadata.metadata is None
    assert file.schema_arrow.metadata is None
    assert not column.is_stats_set
    assert not column.has_offset_index
    assert b"suppressed" not in content


def test_rows_beyond_one_chunk_are_all_written():
    n = (1 << 16) + 7
    lines = encode(Microdata.from_columns({"a": np.arange(n), "b": ["x;y"] * n}), "csv").decode().split("\n")
    assert lines[1:-1] == [f'{i},"x;y"' for i in range(n)]


def test_context_and_publish_are_strict():
    assert Context.model_validate_json('{"prior_releases": [], "sampling_fraction": 0.1}').prior_releases == ()
    assert Context().environment == "public"
    assert Publish.model_validate_json('{"format": "parquet"}').format == "parquet"
    assert name_released_file("csv") == "released.csv"
    for wrong in ('{"environment": "open"}', '{"recipients": []}', '{"sampling_fraction": 0}', '{"purposes": "x"}'):
        with pytest.raises(ValueError):
            Context.model_validate_json(wrong)


def test_worked_dates_moments_and_times():
    table = Microdata.from_columns(
        {
            "d": [date(1, 1, 1), None, date(2024, 2, 29)],
            "m": [datetime(2023, 1, 1, 10), datetime(1969, 12, 31, 23, 59, 59, 500000), None],
            "t": [time(9, 30), None, time(23, 59, 59, 100)],
        }
    )
    lines = ["d,m,t", "0001-01-01,2023-01-01T10:00:00,09:30:00", ",1969-12-31T23:59:59.5,", "2024-02-29,,23:59:59.0001", ""]
    assert encode(table, "csv") == "\n".join(lines).encode()
    assert read_csv(encode(table, "csv")).arrow.equals(table.arrow)
    assert read_parquet(encode(table, "parquet")).arrow.equals(table.arrow)


FORMULAS = {"note": ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "-", "+", "a=b", None]}


def test_formulas_are_kept_as_they_are_or_refused():
    table = Microdata.from_columns(FORMULAS)
    assert delimited.read(io.BytesIO(encode(table, "csv")), "released.csv").table.column("note").to_pylist() == FORMULAS["note"]
    refuse_formulas(table, Publish())
    with pytest.raises(InputError) as error:
        refuse_formulas(table, Publish(formulas="refuse"))
    assert error.value.code == "formulas"
    assert "note (6 cells)" in error.value.what
    assert "1+1" not in str(error.value)


@pytest.mark.parametrize(("columns", "refused"), [({"=a": [1]}, True), ({"a": [-1]}, False), ({"a": ["-"]}, False)])
def test_what_counts_as_a_formula(columns, refused):
    table = Microdata.from_columns(columns)
    with pytest.raises(InputError, match="the name of =a") if refused else nullcontext():
        refuse_formulas(table, Publish(formulas="refuse"))
