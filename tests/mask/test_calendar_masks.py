"""Masking dates, moments and times of day."""

from __future__ import annotations

from datetime import date, datetime, time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.precision_grid import PrecisionGrid, find_precision_grid, round_to_grid
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import DATE, MOMENT, TIME, Microdata, to_stored_integers

SEED = bytes(32)


def table_of(kind, values, scale=None):
    scale = scale or (Scale.TIME if kind == TIME else Scale.DATE)
    return Microdata(pa.table({"x": pa.array(values, kind)})), Schema(
        (Attribute("x", Role.QUASI_IDENTIFIER, scale, "declared"),)
    )


def masked(kind, values, step, scale=None):
    data, schema = table_of(kind, values, scale)
    return mask(data, schema, (step,), seed=SEED, path=("test",)).data.column("x").to_pylist()


PAIRS = Microaggregation(method="microaggregation", k=2)


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        # groups {1, 2 Jan} and {1, 4 June}: day numbers 19358.5 and 19510.5, to the even 19358 and 19510
        (DATE, ["2023-01-01", "2023-01-02", "2023-06-01", "2023-06-04", None],
         ["2023-01-01", "2023-01-01", "2023-06-02", "2023-06-02", None]),
        (MOMENT, ["2023-01-01T10:00:01", "2023-01-01T10:00:03", "2023-06-01T00:00", "2023-06-01T01:00"],
         ["2023-01-01T10:00:02", "2023-01-01T10:00:02", "2023-06-01T00:30", "2023-06-01T00:30"]),
        (TIME, ["08:00", "08:03", "17:00", "17:01"], ["08:02", "08:02", "17:00", "17:00"]),  # whole minutes, halves to even
        (TIME, ["08:00:01", "08:00:02", "17:00", "17:00:01"], ["08:00:02", "08:00:02", "17:00", "17:00"]),
    ],
)  # fmt: skip
def test_the_mean_of_dates_is_a_date_at_the_precision_of_the_source(kind, values, expected):
    read = {DATE: date, MOMENT: datetime, TIME: time}[kind].fromisoformat
    values, expected = ([None if cell is None else read(cell) for cell in cells] for cells in (values, expected))
    assert masked(kind, values, PAIRS) == expected


def test_the_worked_mean_of_dates_by_hand():
    days = [date(2023, 1, 1).toordinal(), date(2023, 1, 2).toordinal()]
    assert days[0] - date(1970, 1, 1).toordinal() == 19358  # even: the half day after it goes down to it
    assert masked(DATE, [date(2023, 1, 1), date(2023, 1, 2)], PAIRS) == [date(2023, 1, 1)] * 2
    assert masked(DATE, [date(2023, 1, 2), date(2023, 1, 3)], PAIRS) == [date(2023, 1, 3)] * 2


def test_dates_of_an_ordinal_scale_become_their_median():
    values = [date(2023, 1, 1), date(2023, 1, 2), date(2023, 12, 1)]
    step = Microaggregation(method="microaggregation", k=3)
    assert masked(DATE, values, step, Scale.ORDINAL) == [date(2023, 1, 2)] * 3


@pytest.mark.parametrize(
    ("kind", "values", "grid"),
    [
        (DATE, [date(2023, 1, 1)], PrecisionGrid(1, 1)),
        (MOMENT, [datetime(2023, 1, 1), datetime(1900, 2, 3)], PrecisionGrid(1, 1)),
        (MOMENT, [datetime(2023, 1, 1), datetime(1900, 2, 3, 5)], PrecisionGrid(1, 24, within_days=True)),
        (MOMENT, [datetime(2023, 1, 1, 10, 20), datetime(1900, 2, 3)], PrecisionGrid(1, 1440, within_days=True)),
        (MOMENT, [datetime(2023, 1, 1, 10, 20, 30)], PrecisionGrid(1, 86400, within_days=True)),
        (MOMENT, [datetime(2023, 1, 1, 10, 20, 30, 250000)], PrecisionGrid(1, 8640000, within_days=True)),
        (TIME, [time(9), time(17)], PrecisionGrid(3600, 1)),
        (TIME, [time(9), time(17, 30)], PrecisionGrid(60, 1)),
        (TIME, [time(9), time(17, 30, 1)], PrecisionGrid(1, 1)),
        (TIME, [time(9), time(17, 30, 1, 5)], PrecisionGrid(1, 10**6)),
        (TIME, [None], PrecisionGrid(3600, 1)),
        (pa.float64(), [1.25, 3.0], PrecisionGrid(1, 100)),
        (pa.int64(), [10, 200], PrecisionGrid(1, 1)),
    ],
)
def test_the_coarsest_grid_that_holds_the_source(kind, values, grid):
    data, _ = table_of(kind, values)
    assert find_precision_grid(data, "x") == grid


def test_halves_go_to_the_even_multiple():
    np.testing.assert_array_equal(round_to_grid(np.array([90.0, 30.0, 150.0]), PrecisionGrid(60, 1)), [120.0, 0.0, 120.0])


COLUMNS = st.one_of(
    st.tuples(st.just(DATE), st.lists(st.dates(), min_size=4, max_size=12)),
    st.tuples(st.just(MOMENT), st.lists(st.datetimes(datetime(1950, 1, 1), datetime(1990, 1, 1)), min_size=4, max_size=12)),
    st.tuples(st.just(MOMENT), st.lists(st.datetimes().map(lambda m: m.replace(microsecond=0)), min_size=4, max_size=12)),
    st.tuples(
        st.just(MOMENT), st.lists(st.datetimes().map(lambda m: datetime(m.year, m.month, m.day, m.hour, m.minute)), min_size=4)
    ),
    st.tuples(st.just(TIME), st.lists(st.times(), min_size=4, max_size=12)),
).filter(lambda column: len(set(column[1])) > 1)


@settings(max_examples=100, deadline=None)
@given(COLUMNS)
def test_means_lie_within_their_column_and_on_its_grid(column):
    kind, values = column
    data, schema = table_of(kind, values)
    done = mask(data, schema, (PAIRS,), seed=SEED, path=("test",)).data
    assert done.arrow.schema == data.arrow.schema
    assert all(min(values) <= value <= max(values) for value in done.column("x").to_pylist())
    before, after = (to_stored_integers(table.column("x")).to_numpy() for table in (data, done))
    for step in (3600 * 10**6, 60 * 10**6, 10**6, 1000):  # a grid that holds the source holds the means
        assert kind == DATE or (before % step).any() or not (after % step).any()


@settings(max_examples=100, deadline=None)
@given(COLUMNS)
def test_swapping_keeps_the_values_themselves(column):
    kind, values = column
    swapped = masked(kind, values, RankSwapping(method="rank_swapping", window_percent=50))
    assert sorted(swapped) == sorted(values)


def test_codes_are_refused_by_name_and_left_out_by_default():
    data = Microdata.from_columns({"code": ["01", "02"], "day": [date(2023, 1, 1), date(2023, 1, 9)]})
    roles = (("code", Scale.CODE), ("day", Scale.DATE))
    schema = Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, scale, "declared") for name, scale in roles))
    done = mask(data, schema, (PAIRS,), seed=SEED, path=("test",))
    assert done.mechanisms[0].attributes == ("day",)
    with pytest.raises(InputError) as caught:
        named = RankSwapping(method="rank_swapping", window_percent=50.0, attributes=("code",))
        mask(data, schema, (named,), seed=SEED, path=("test",))
    assert caught.value.code == "wrong-scale"
    assert "date" in caught.value.what
