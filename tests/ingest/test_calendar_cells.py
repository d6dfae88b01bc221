"""Dates, moments, times, codes and decimal commas in text tables, and dates in typed ones."""

from __future__ import annotations

import json
import re
from datetime import date, datetime, time
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.ingest.checks import formulas
from tasks.ingest.checks.formulas import formula_notes
from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.columns.logical import from_typed
from tasks.ingest.columns.typing_rules import from_text
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale
from tasks.microdata.table import DATE, MOMENT, TIME, Microdata, iso_texts


def typed(cells, read=from_text, **declared):
    column = cells if isinstance(cells, pa.Array) else pa.array(cells, pa.string())
    return read(pa.chunked_array([column]), AttributeSpec(name="x", **declared), "a.csv")


@pytest.mark.parametrize(
    ("cells", "logical", "values"),
    [
        (["2023-02-28", None], "date32[day]", [date(2023, 2, 28), None]),
        (["0001-01-01", "9999-12-31"], "date32[day]", [date.min, date.max]),
        (["2024-02-29"], "date32[day]", [date(2024, 2, 29)]),
        (["2023-01-01T10:00", "2023-01-01 10:00:59.25"], "timestamp[us]",
         [datetime(2023, 1, 1, 10), datetime(2023, 1, 1, 10, 0, 59, 250000)]),
        (["2023-01-01T01:00+02:00", "2023-01-01T01:00Z"], "timestamp[us]",
         [datetime(2022, 12, 31, 23), datetime(2023, 1, 1, 1)]),
        (["09:30", "23:59:59.000001", None], "time64[us]", [time(9, 30), time(23, 59, 59, 1), None]),
        (["2023-02-30"], "string", ["2023-02-30"]),
        (["2023-02-29", "2023-01-01"], "string", ["2023-02-29", "2023-01-01"]),
        (["25:00", "10:00"], "string", ["25:00", "10:00"]),
        (["0000-01-01"], "string", ["0000-01-01"]),
        (["0001-01-01T00:00+14:00"], "string", ["0001-01-01T00:00+14:00"]),
        (["01/02/2023"], "string", ["01/02/2023"]),
        (["2023-1-5"], "string", ["2023-1-5"]),
        (["2023-01-05", "2023-01-05T10:00"], "string", ["2023-01-05", "2023-01-05T10:00"]),
        (["2023-01-05T10:00", "2023-01-05T10:00Z"], "string", ["2023-01-05T10:00", "2023-01-05T10:00Z"]),
        (["2023-01-05\n"], "string", ["2023-01-05\n"]),
        (["20230105"], "int64", [20230105]),
    ],
)  # fmt: skip
def test_what_nobody_declared(cells, logical, values):
    column, _ = typed(cells)
    assert (str(column.type), column.to_pylist()) == (logical, values)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["2023-02-30", "2023-02-31", "2023-01-01"], "2 do not exist in the calendar"),
        (["01/02/2023", "13/02/2023"], "format nobody declared"),
        (["2023-1-5"], "format nobody declared"),
        (["9:05 pm"], "format nobody declared"),
        (["2023-01-01T10:00Z"], "converted to UTC"),
    ],
)
def test_notes_tell_what_was_found_and_hold_no_cell(cells, words):
    told = " ".join(typed(cells)[1])
    assert words in told
    assert not any(cell in told for cell in cells)


@pytest.mark.parametrize(
    ("cells", "declared", "values"),
    [
        (["2023-01-05", None], {"scale": Scale.DATE}, [date(2023, 1, 5), None]),
        (["09:30"], {"scale": Scale.TIME}, [time(9, 30)]),
        (["2023-01-05", "none"], {"scale": Scale.DATE, "missing": ("none",)}, [date(2023, 1, 5), None]),
        (["01/02/2023", "31/12/1999"], {"date_format": "%d/%m/%Y"}, [date(2023, 2, 1), date(1999, 12, 31)]),
        (["01/02/2023"], {"date_format": "%m/%d/%Y", "scale": Scale.DATE}, [date(2023, 1, 2)]),
        (["20230105", None], {"date_format": "%Y%m%d"}, [date(2023, 1, 5), None]),
        (["5 Mar 2023 14.30"], {"date_format": "%d %b %Y %H.%M"}, [datetime(2023, 3, 5, 14, 30)]),
        (["2:05 PM", "12:00 AM"], {"date_format": "%I:%M %p"}, [time(14, 5), time(0)]),
        (["2023-01-05"], {"scale": Scale.NOMINAL}, ["2023-01-05"]),
        (["2023-01-05"], {"scale": Scale.CODE}, ["2023-01-05"]),
        (["00123", "7"], {"scale": Scale.CODE}, ["00123", "7"]),
        (["123", "7"], {"scale": Scale.CODE}, ["123", "7"]),
        (["3,14", "-,5", "7"], {"decimal": ","}, [3.14, -0.5, 7.0]),
        (["3,14"], {"decimal": ",", "scale": Scale.NUMERIC}, [3.14]),
        (["3.14"], {"decimal": "."}, [3.14]),
        (["12"], {"decimal": ","}, [12]),
        ([None], {"scale": Scale.TIME}, [None]),
    ],
)
def test_declared_columns(cells, declared, values):
    assert typed(cells, **declared)[0].to_pylist() == values


def test_columns_without_values_have_their_declared_type():
    kinds = [
        typed([None], **declared)[0].type for declared in ({"scale": Scale.DATE}, {"date_format": "%H:%M"}, {"decimal": ","})
    ]
    assert kinds == [DATE, TIME, pa.float64()]
    assert typed(pa.nulls(1), from_typed, scale=Scale.DATE)[0].type == DATE


@pytest.mark.parametrize(
    ("cells", "declared", "code", "where", "words"),
    [
        (["2023-01-01", None, "2023-02-30"], {"scale": Scale.DATE}, "not-a-date", "row 3", "no such day"),
        (["2023-01-01", "01/02/2023"], {"scale": Scale.DATE}, "not-a-date", "row 2", "date_format"),
        (["2023-01-01", "NA"], {"scale": Scale.DATE}, "not-a-date", "row 2", "missing"),
        (["2023-01-01", "soon"], {"scale": Scale.DATE}, "not-a-date", "row 2", "text"),
        (["2023-01-01", "2023-01-01T10:00"], {"scale": Scale.DATE}, "not-a-date", "row 2", "another kind"),
        (["12:00", "24:00"], {"scale": Scale.TIME}, "not-a-date", "row 2", "no such day or time"),
        (["12:00"], {"scale": Scale.DATE}, "not-of-scale", "column x", "scale: time"),
        (["2023-01-01"], {"scale": Scale.TIME}, "not-of-scale", "column x", "scale: date"),
        (["2023-01-01"], {"scale": Scale.NUMERIC}, "not-numeric", "row 1", ""),
        (["31/12/2023", "31/11/2023"], {"date_format": "%d/%m/%Y"}, "not-in-format", "row 2", "correct"),
        (["1.5", "2,5"], {"decimal": ","}, "not-numeric", "row 1", "decimal point"),
        (["1,5", "1.234,5"], {"decimal": ","}, "not-numeric", "row 2", "thousands"),
        (["1,5", "NA"], {"decimal": ","}, "not-numeric", "row 2", "missing"),
        (["2023-01-01", "NA"], {}, "undeclared-missing", "row 2", "dates or times"),
        (["12:00", "?"], {}, "undeclared-missing", "row 2", "dates or times"),
    ],
)
def test_declarations_that_the_cells_break_are_refused_with_their_row(cells, declared, code, where, words):
    with pytest.raises(InputError) as caught:
        typed(cells, **declared)
    error = caught.value
    assert error.code == code
    assert where in error.where
    assert words in f"{error.what} {error.remedy}"
    assert not any(cell and cell in error.public for cell in cells)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"date_format": "%d/%m/%y"}, "%y"),
        ({"date_format": "%d/%m"}, "whole date"),
        ({"date_format": "%Y-%m-%d %H"}, "whole date or time"),
        ({"date_format": "%I:%M"}, "whole date or time"),
        ({"date_format": "dd/mm/yyyy"}, "whole date"),
        ({"date_format": "%H:%M %Z"}, "%Z"),
        ({"date_format": "%d/%m/%Y", "scale": "time"}, "scale: date"),
        ({"date_format": "%d/%m/%Y", "scale": "nominal"}, "scale: date"),
        ({"date_format": "%d/%m/%Y", "order": ("a",)}, "without `order`"),
        ({"decimal": ",", "scale": "nominal"}, "scale: numeric"),
        ({"decimal": ";"}, "decimal"),
    ],
)
def test_declarations_that_contradict_themselves(declared, words):
    with pytest.raises(ValidationError, match=words):
        AttributeSpec.model_validate_json(json.dumps({"name": "x", **declared}))


@pytest.mark.parametrize(
    ("values", "declared", "expected"),
    [
        (pa.array([datetime(2020, 6, 1, 12)], pa.timestamp("ms", "Europe/Oslo")), {}, [datetime(2020, 6, 1, 12)]),
        (pa.array(["2020-06-01"]), {}, ["2020-06-01"]),
        (pa.array(["2020-06-01"]), {"scale": Scale.DATE}, [date(2020, 6, 1)]),
        (pa.array(["01.06.2020", ""]), {"date_format": "%d.%m.%Y"}, [date(2020, 6, 1), None]),
        (pa.array([20200601]), {"date_format": "%Y%m%d"}, [date(2020, 6, 1)]),
        (pa.array([date(2020, 6, 1)]), {"scale": Scale.NOMINAL}, ["2020-06-01"]),
        (pa.array([date(2020, 6, 1), date(1900, 1, 1)]), {"missing": ("1900-01-01",)}, [date(2020, 6, 1), None]),
        (pa.array([123, None]), {"scale": Scale.CODE}, ["123", None]),
        (pa.array([123.0, None]), {"scale": Scale.CODE}, ["123", None]),
        (pa.array(["00123"]), {"scale": Scale.CODE}, ["00123"]),
    ],
)
def test_typed_sources(values, declared, expected):
    assert typed(values, from_typed, **declared)[0].to_pylist() == expected


def test_moments_of_a_zone_are_told():
    moments = pa.array([datetime(2020, 6, 1, 12)], pa.timestamp("ms", "Europe/Oslo"))
    assert typed(moments, from_typed)[1] == ("moments of the zone Europe/Oslo were converted to UTC",)


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(
        st.lists(st.none() | st.dates(), min_size=1).map(lambda v: pa.array(v, DATE)),
        st.lists(st.none() | st.datetimes(), min_size=1).map(lambda v: pa.array(v, MOMENT)),
        st.lists(st.none() | st.times(), min_size=1).map(lambda v: pa.array(v, TIME)),
    )
)
def test_every_date_moment_and_time_survives_its_iso_text(values):
    scale = Scale.TIME if values.type == TIME else Scale.DATE
    column, notes = typed(iso_texts(values), scale=scale)
    if values.null_count < len(values):
        assert column.equals(values)
        assert notes == ()
        assert typed(iso_texts(values))[0].equals(values)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.none() | st.dates(), min_size=1), st.sampled_from(["%d/%m/%Y", "%Y%m%d", "%d.%m.%Y", "%j/%Y"]))
def test_every_date_survives_a_declared_format(days, written):
    cells = [None if day is None else _padded(day, written) for day in days]
    assert typed(cells, date_format=written)[0].to_pylist() == days


def _padded(day: date, written: str) -> str:
    """strftime does not pad years below 1000 everywhere."""
    return day.strftime(written.replace("%Y", f"{day.year:04}"))


def test_formulas_are_counted_and_named():
    table = Microdata.from_columns(
        {"note": ["=1+1", "@x", "-", "a=b", None], "=sum": [1, 2, 3, 4, 5], "n": [-1, -2, -3, -4, -5]}
    )
    (told,) = formula_notes(table)
    assert "note (2 cells), the name of =sum" in told
    assert "1+1" not in told
    assert formula_notes(table.select(["n"])) == ()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.none() | st.text("=+-@\t\rab", max_size=3), max_size=20), st.sampled_from([1, 3, 50_000]))
def test_formulas_are_counted_as_their_pattern_says(texts, at_once):
    table = Microdata.from_columns({"x": pa.array(texts, pa.string())})
    with patch.object(formulas, "_AT_ONCE", at_once):
        counts = formulas.formula_cells(table)
    assert counts.get("x", 0) == sum(re.match(formulas._FORMULA, text or "") is not None for text in texts)
