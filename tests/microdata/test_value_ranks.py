"""Numbers in the place of values, against slow twins: Arrow's look-ups, NumPy's sorts and groups of pandas."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.microdata import value_ranks
from tasks.microdata.codes import count_units, row_codes
from tasks.microdata.table import Microdata, encode_jointly
from tasks.microdata.units import Units
from tasks.microdata.value_ranks import (
    count_below,
    count_below_and_up_to,
    count_distinct,
    count_up_to,
    rank_by_sort,
    rank_values,
)

DAY = datetime.date(2026, 1, 1)
KINDS = {  # values of each type, few and many
    pa.int64(): (st.integers(-2, 2), st.integers(-(2**62), 2**62)),
    pa.float64(): (st.sampled_from([0.0, -0.0, 1.5, -1e300]), st.floats(allow_nan=False)),
    pa.string(): (st.sampled_from(["b", "a", "", "\u00e9", "B"]), st.text(max_size=3)),
    pa.bool_(): (st.booleans(),),
    pa.date32(): (st.dates(DAY, DAY + datetime.timedelta(days=3)), st.dates()),
}
TYPES = [(kind, values) for kind, some in KINDS.items() for values in some]


def draw_column(n):
    return st.sampled_from(TYPES).flatmap(
        lambda one: st.lists(st.one_of(one[1], st.none()), min_size=n, max_size=n).map(lambda values: pa.array(values, one[0]))
    )


TABLES = st.tuples(st.integers(0, 14), st.integers(1, 4)).flatmap(
    lambda shape: st.lists(draw_column(shape[0]), min_size=shape[1], max_size=shape[1])
)
PAIRS = st.sampled_from(TYPES).flatmap(
    lambda one: st.tuples(
        *[st.lists(st.one_of(one[1], st.none()), max_size=12).map(lambda values: pa.array(values, one[0]))] * 2
    )
)


@pytest.fixture(params=[4, 1024])
def looked_at(request, monkeypatch):
    """With few values looked at, short columns go the ways of long ones."""
    monkeypatch.setattr(value_ranks, "_LOOKED_AT", request.param)


def look_up(*columns):
    """The slow twin: the different values, sorted, and the place of each among them."""
    values = pc.unique(pa.chunked_array(list(columns), columns[0].type).drop_null())
    ordered = values.take(pc.sort_indices(values))
    return [pc.fill_null(pc.index_in(column, value_set=ordered), -1).to_pylist() for column in columns]


@pytest.mark.usefixtures("looked_at")
def test_codes_of_two_columns_are_the_places_among_their_sorted_values():
    @given(PAIRS)
    def check(pair):
        found = encode_jointly(*pair)
        assert [codes.tolist() for codes in found] == look_up(*pair)
        assert all(codes.dtype == np.int64 for codes in found)

    check()


@pytest.mark.usefixtures("looked_at")
def test_ranks_are_those_of_numpy_with_all_gaps_last():
    @given(st.lists(st.sampled_from([0.0, -0.0, np.nan, 1.0, -np.inf, 2.5, 7.0]), max_size=20))
    def check(numbers):
        values = np.array(numbers)
        ranks, count = rank_values(values)
        distinct, expected = np.unique(values, return_inverse=True)
        np.testing.assert_array_equal(ranks, expected)
        assert count == len(distinct)

    check()


@given(st.lists(st.integers(-(2**62), 2**62) | st.integers(0, 9), min_size=1, max_size=30))
def test_ways_of_ranking_whole_numbers_agree(numbers):
    values = np.array(numbers)
    expected = np.unique(values, return_inverse=True)[1]
    for found in (rank_values(values), rank_by_sort(values), value_ranks._rank_by_dictionary(values)):
        np.testing.assert_array_equal(found[0], expected)
        assert found[1] == expected.max() + 1


def test_one_long_column_by_every_way():
    draws = np.random.default_rng(0)
    for values in (draws.integers(0, 9, 5000), draws.integers(-(2**40), 2**40, 5000), draws.normal(size=5000).round(1)):
        column = pa.array(values, mask=draws.random(5000) < 0.1)
        assert encode_jointly(column)[0].tolist() == look_up(column)[0]


@given(TABLES)
def test_classes_are_the_groups_of_pandas(columns):
    table = Microdata(pa.table({str(j): column for j, column in enumerate(columns)}))
    codes = row_codes(table, table.names)
    # 0.0 and -0.0 are two values in a file, and one in pandas
    frame = pd.DataFrame({name: [repr(value) for value in table.column(name).to_pylist()] for name in table.names})
    groups = frame.groupby(list(frame.columns), sort=False).ngroup().to_numpy() if len(frame) else np.zeros(0)
    np.testing.assert_array_equal(codes[:, None] == codes, groups[:, None] == groups)
    ordered = list(zip(*(look_up(column)[0] for column in columns), strict=True))
    assert codes.tolist() == [sorted(set(ordered)).index(row) for row in ordered]


def test_columns_that_tell_nothing_more_are_passed_over_and_change_no_code():
    means = np.repeat([3.0, 1.0, 2.0, 0.0], 3)
    zeros = np.where(np.arange(12) == 4, -0.0, 0.0)  # tells one row from the others of its group
    first_alone = np.array([0.0, *range(1, 10), 10.0, 10.0])  # of the last two rows -0.0 stands first, of the column 0.0
    signs = np.array([0.0] * 10 + [-0.0, 0.0])
    columns = {
        "mean": means,
        "same": means * 2,
        "zero": zeros,
        "text": np.repeat(["a", "b"], 6),
        "alone": first_alone,
        "signs": signs,
    }
    groups = (
        ("mean", "same"),
        ("text", "mean", "same"),
        ("mean", "same", "text"),
        ("mean", "zero", "same"),
        ("alone", "signs"),
    )
    for names in groups:
        table = Microdata.from_columns({name: columns[name] for name in names})
        ordered = [tuple(row) for row in zip(*(look_up(table.column(name))[0] for name in names), strict=True)]
        assert row_codes(table, names).tolist() == [sorted(set(ordered)).index(row) for row in ordered]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=20))
def test_units_of_a_class_are_counted_once(rows):
    codes, of_row = (np.unique(part, return_inverse=True)[1] for part in zip(*rows, strict=True))
    expected = pd.DataFrame({"code": codes, "unit": of_row}).groupby("code")["unit"].nunique()
    assert count_units(codes, Units(of_row, int(of_row.max()) + 1, "persons")).tolist() == expected.tolist()


def test_codes_are_new_arrays():
    values = np.arange(5)
    assert not np.shares_memory(rank_values(values)[0], values)


@given(
    st.one_of(
        st.lists(st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1.5]))).map(lambda drawn: pa.array(drawn, pa.float64())),
        st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3))).map(
            lambda drawn: pa.array(drawn, pa.int64())
        ),
        st.lists(st.text(max_size=2)).map(lambda drawn: pa.array(drawn, pa.string())),
        st.lists(st.booleans()).map(lambda drawn: pa.array(drawn, pa.bool_())),
        st.lists(st.dates()).map(lambda drawn: pa.array(drawn, pa.date32())),
    )
)
def test_the_count_of_different_values_is_that_of_a_dictionary(present: pa.Array) -> None:
    assert count_distinct(present) == len(pc.unique(present))


def test_different_values_are_counted_far_apart_close_together_and_repeated() -> None:
    rng = np.random.default_rng(0)
    for numbers in (
        rng.normal(size=40_000),
        rng.normal(size=40_000).round(1) + 0.0,
        rng.integers(0, 10**15, 40_000),
        np.arange(40_000),
    ):
        assert count_distinct(pa.array(numbers)) == len(set(numbers.tolist()))


@pytest.mark.parametrize("n", [0, 3, 60_000])
@pytest.mark.parametrize("kinds", [5, 10**9])
def test_places_are_those_of_a_search(n, kinds):
    rng = np.random.default_rng(4)
    among, values = np.sort(rng.integers(0, kinds, 60_000).astype(float)), rng.integers(-1, kinds + 1, n).astype(float)
    values[::7] = np.nan
    below, up_to = count_below_and_up_to(among, values)
    assert np.array_equal(below, np.searchsorted(among, values, side="left"))
    assert np.array_equal(up_to, np.searchsorted(among, values, side="right"))
    assert np.array_equal(count_below(among, values), below)
    assert np.array_equal(count_up_to(among, values), up_to)
