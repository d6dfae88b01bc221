"""Columns sorted once, against pandas and the plain way of each figure."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from tasks.mask.groups.microaggregation import Microaggregation
from tasks.microdata.exact_sum import sum_exactly
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata, encode_jointly
from tasks.score.interval_disclosure import same_value_disclosure
from tasks.score.loss import cells_changed
from tasks.score.sorted_columns import ColumnPair, SortedColumn
from tasks.score.synthetic.distribution_loss import marginal_difference
from tasks.score.table_pair import RowwiseTablePair

NUMBERS = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.0, 2.0, 2.5]), st.floats(-1e6, 1e6))
WHOLE = st.one_of(st.none(), st.integers(-2, 2), st.sampled_from([2**53, 2**53 + 1, -(2**60)]))


def draw_pair(values):
    return st.integers(1, 12).flatmap(lambda n: st.tuples(*[st.lists(values, min_size=n, max_size=n)] * 2))


def halve(values):
    return [None if value is None else value / 2 for value in values]


def pair_tables(before, after, kinds, scale=Scale.NUMERIC):
    schema = Schema((Attribute("x", Role.QUASI_IDENTIFIER, scale, "declared"),))
    tables = (Microdata(pa.table({"x": pa.array(one, kind)})) for one, kind in zip((before, after), kinds, strict=True))
    return RowwiseTablePair(*tables, schema, (Microaggregation(method="microaggregation", attributes=("x",), k=2),))


@given(st.lists(NUMBERS, max_size=20))
def test_ranks_are_those_of_pandas(numbers):
    values = np.array(numbers, dtype=np.float64)
    np.testing.assert_array_equal(SortedColumn(values).compute_ranks(), pd.Series(values).rank())


@given(draw_pair(st.sampled_from([0.0, -0.0, 1.0, 2.5, 7.0, -3.0])))
def test_largest_distance_is_the_statistic_of_scipy(pair):
    before, after = map(np.array, pair)
    found = ColumnPair(SortedColumn(before), SortedColumn(after)).compute_largest_distance()
    assert found == pytest.approx(ks_2samp(before, after, method="asymp").statistic, abs=1e-12)


@given(draw_pair(NUMBERS))
def test_missing_values_are_below_all_others(pair):
    before, after = (np.array(one, dtype=np.float64) for one in pair)
    low, high = (np.where(np.isnan(one), -1e9, one) for one in (before, after))
    found = marginal_difference(pair_tables(*pair, [pa.float64()] * 2))[-1].value
    assert found == pytest.approx(ks_2samp(low, high, method="asymp").statistic, abs=1e-12)


@given(
    st.one_of(
        draw_pair(NUMBERS).map(lambda pair: (*pair, [pa.float64()] * 2)),
        draw_pair(WHOLE).map(lambda pair: (*pair, [pa.int64()] * 2)),
        draw_pair(WHOLE).map(
            lambda pair: (pair[0], [None if x is None else x / 2 for x in pair[1]], [pa.int64(), pa.float64()])
        ),
    ),
    st.sampled_from([Scale.NUMERIC, Scale.ORDINAL, Scale.NOMINAL, Scale.CODE]),
)
def test_cells_are_compared_as_their_codes_are(drawn, scale):
    """Whole numbers beyond 2^53, -0.0 and categories that are written as numbers too."""
    tables = pair_tables(*drawn, scale)
    before, after = encode_jointly(tables.original.column("x"), tables.masked.column("x"))
    assert cells_changed(tables)[0].value == (before != after).mean()
    (found,) = same_value_disclosure(tables)
    counted = before >= 0
    if not counted.any():
        assert found.value is None
        return
    assert found.value == (before == after)[counted].mean()
    assert found.chance == pytest.approx((before[counted][:, None] == after[counted]).mean(), abs=1e-12)


@given(st.lists(st.sampled_from([0.1, 1 / 3, 1e-300, 0.7, 1.0, 1e16, -0.1]), max_size=40), st.sampled_from([1, 60]))
def test_sums_are_rounded_once(values, times):
    many = np.array(values * times)
    assert sum_exactly(many) == math.fsum(values * times)


def test_a_column_that_is_kept_is_sorted_once():
    schema = Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in "xy"))
    table = Microdata.from_columns({"x": [1.0, 2.0], "y": [2.0, 1.0]})
    tables = RowwiseTablePair(table, table, schema, (Microaggregation(method="microaggregation", attributes=("x",), k=2),))
    kept = tables.pair_columns(schema["y"])
    assert kept.original is kept.masked
    assert tables.pair_columns(schema["x"]).original is not tables.pair_columns(schema["x"]).masked
    assert tables.pair_columns(schema["y"]) is kept
