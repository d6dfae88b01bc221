"""Dates, moments and times of day as columns and as numbers."""

from __future__ import annotations

from datetime import date, datetime, time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.microdata.schema import Attribute, Role, Scale
from tasks.microdata.table import DATE, MOMENT, TIME, Microdata, encode_jointly, is_in_calendar, iso_texts

TABLE = Microdata.from_columns(
    {
        "day": [date(1970, 1, 1), date(1969, 12, 31), None, date(2024, 2, 29)],
        "moment": [datetime(1970, 1, 2, 12), None, datetime(1969, 12, 31, 18), datetime(2000, 1, 1)],
        "time": [time(0), time(23, 59, 59), time(0, 0, 1, 500000), None],
    }
)


def attribute(name: str, scale: Scale) -> Attribute:
    return Attribute(name, Role.QUASI_IDENTIFIER, scale, "declared")


def test_dates_count_days_moments_days_with_their_fraction_and_times_seconds():
    np.testing.assert_array_equal(TABLE.floats("day"), [0, -1, np.nan, 19782])
    np.testing.assert_array_equal(TABLE.floats("moment"), [1.5, np.nan, -0.25, 10957])
    np.testing.assert_array_equal(TABLE.floats("time"), [0, 86399, 1.5, np.nan])
    assert [TABLE.is_calendar(name) for name in TABLE.names] == [True, True, True]


def test_columns_of_numpy_and_of_other_units_are_taken():
    table = Microdata.from_columns(
        {"a": np.array(["2020-01-01", "NaT"], "datetime64[D]"), "b": np.array(["2020-01-01T10"] * 2, "M8[s]")}
    )
    assert [str(field.type) for field in table.arrow.schema] == ["date32[day]", "timestamp[us]"]
    with pytest.raises(TypeError, match="timestamp"):
        Microdata(pa.table({"a": pa.array([0], pa.timestamp("us", "UTC"))}))


def test_iso_texts():
    assert iso_texts(TABLE.column("day")).to_pylist() == ["1970-01-01", "1969-12-31", None, "2024-02-29"]
    assert iso_texts(TABLE.column("moment")).to_pylist()[2:] == ["1969-12-31T18:00:00", "2000-01-01T00:00:00"]
    assert iso_texts(TABLE.column("time")).to_pylist() == ["00:00:00", "23:59:59", "00:00:01.5", None]


NEAR = st.datetimes(datetime(1792, 1, 1), datetime(2149, 1, 1))
FAR = st.datetimes().map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))
COLUMNS = st.one_of(
    st.tuples(st.just((DATE, Scale.DATE)), st.lists(st.none() | st.dates(), min_size=1)),
    st.tuples(st.just((MOMENT, Scale.DATE)), st.lists(st.none() | NEAR | FAR, min_size=1)),
    st.tuples(st.just((TIME, Scale.TIME)), st.lists(st.none() | st.times(), min_size=1)),
)


@given(COLUMNS)
def test_positions_lead_back_to_the_values(column):
    (kind, scale), values = column
    table = Microdata(pa.table({"x": pa.array(values, kind)}))
    asked = attribute("x", scale)
    assert table.replace_positions(asked, table.positions(asked)).arrow.equals(table.arrow)


@given(COLUMNS)
def test_positions_keep_the_order(column):
    (kind, scale), values = column
    present = sorted(value for value in values if value is not None)
    positions = Microdata(pa.table({"x": pa.array(present, kind)})).positions(attribute("x", scale))
    assert (np.diff(positions) >= 0).all()


@pytest.mark.parametrize(
    ("name", "scale", "position"),
    [
        ("day", Scale.DATE, 0.5),
        ("day", Scale.DATE, 2_932_897.0),  # the first day of the year 10000
        ("day", Scale.DATE, -719_163.0),  # the last day of the year 0
        ("moment", Scale.DATE, 3e6),
        ("time", Scale.TIME, 86400.0),
        ("time", Scale.TIME, -1e-3),
        ("time", Scale.TIME, float("inf")),
    ],
)
def test_positions_that_no_date_or_time_has_are_refused(name, scale, position):
    with pytest.raises(ValueError, match=f"column {name}"):
        TABLE.replace_positions(attribute(name, scale), np.array([position, np.nan, np.nan, np.nan]))


@pytest.mark.parametrize("scale", [Scale.NOMINAL, Scale.CODE, Scale.FREE_TEXT])
def test_categories_have_no_positions(scale):
    with pytest.raises(TypeError, match="no positions"):
        TABLE.positions(attribute("day", scale))


def test_only_years_that_iso_writes_are_in_the_calendar():
    days = pa.array([-719_163, -719_162, 2_932_896, 2_932_897], pa.int32()).cast(DATE)
    assert [is_in_calendar(days.slice(i, 1)) for i in range(4)] == [False, True, True, False]
    assert is_in_calendar(pa.nulls(2, TIME))


def test_a_column_without_values_compares_with_one_of_dates():
    codes = encode_jointly(TABLE.column("day"), pa.nulls(2, pa.string()))
    assert [code.tolist() for code in codes] == [[1, 0, -1, 2], [-1, -1]]
