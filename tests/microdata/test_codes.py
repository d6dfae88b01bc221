"""Codes of rows against the rows themselves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.microdata.alignment import invert_permutation
from tasks.microdata.codes import code_rows, find_distinct_rows, joint_codes, rank_codes, row_codes, stack_distinct_rows
from tasks.microdata.row_hashes import stack_unordered_rows
from tasks.microdata.table import Microdata

ROWS = st.lists(st.tuples(st.sampled_from([0.0, 1.5, np.nan]), st.sampled_from([-1e99, 2.0])), min_size=1, max_size=20)


def test_codes_ascend_with_the_rows_and_missing_comes_first():
    table = Microdata.from_columns({"town": ["b", "a", None, "b"], "size": [1, 1, 2, 1]})
    assert row_codes(table, ("town", "size")).tolist() == [2, 1, 0, 2]


def test_without_columns_all_rows_are_alike():
    assert joint_codes([], 3).tolist() == [0, 0, 0]


@given(ROWS)
def test_distinct_rows_are_those_of_numpy_with_gaps_alike(rows):
    values = np.array(rows)
    found, codes = find_distinct_rows(values)
    gaps_last = np.unique(np.where(np.isnan(values), np.inf, values), axis=0)
    np.testing.assert_array_equal(found, np.where(np.isinf(gaps_last), np.nan, gaps_last))
    np.testing.assert_array_equal(found[codes], values)
    columns = list(values.T.copy())
    for same, other in zip(stack_distinct_rows(columns), (found, codes), strict=True):
        np.testing.assert_array_equal(same, other)
    assert not columns


COLUMNS = st.integers(0, 12).flatmap(
    lambda n: st.lists(
        st.one_of(
            *(
                st.lists(st.integers(*bounds), min_size=n, max_size=n)
                for bounds in ((0, 2), (-1, 4), (0, 10**6), (-(2**62), 2**62))
            )
        ).map(lambda values: np.array(values, dtype=np.int64)),
        min_size=1,
        max_size=6,
    )
)


def code_column_by_column(columns):
    """The slow twin: every column is ranked, and so is what comes of each more."""
    joint = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        codes = np.unique(column, return_inverse=True)[1]
        joint = np.unique(joint * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return joint


@given(COLUMNS)
def test_joint_codes_are_those_of_ranks_column_by_column(columns):
    found = joint_codes(columns, len(columns[0]))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, code_column_by_column(columns))


def test_joint_codes_of_many_wide_columns_do_not_overflow():
    draws = np.random.default_rng(0)
    columns = [draws.integers(0, 2**31 - 1, 500) * draws.integers(0, 2, 500) for _ in range(9)]
    columns += [np.repeat(column, 1)[::-1] for column in columns]
    np.testing.assert_array_equal(joint_codes(columns, 500), code_column_by_column(columns))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.integers(41, 10**6))
def test_ranks_are_the_same_counted_and_sorted(codes, size):
    values = np.array(codes)
    np.testing.assert_array_equal(rank_codes(values, size), np.unique(values, return_inverse=True)[1])


def draw_column(rng, n):
    """Few values, many, means of groups, one alone, or all different; some have gaps, and zeros of both signs."""
    kinds = (
        rng.integers(0, 4, n).astype(float),
        rng.integers(0, max(n // 2, 1), n) / 2,
        np.repeat(rng.normal(size=n // 3 + 1), 3)[:n],
        np.zeros(n),
        rng.normal(size=n),
    )
    column = kinds[rng.integers(0, len(kinds))]
    column = np.where(rng.random(n) < 0.1 * rng.integers(0, 2), np.nan, column)
    return np.where(rng.random(n) < 0.1 * rng.integers(0, 2), -0.0, column)


@given(st.integers(0, 2**32), st.integers(1, 300), st.integers(1, 5))
def test_rows_that_are_sorted_in_part_or_hashed_are_grouped_as_column_by_column(seed, n, n_columns):
    rng = np.random.default_rng(seed)
    columns = [draw_column(rng, n) for _ in range(n_columns)]
    values = np.column_stack(columns)
    twin = code_column_by_column([np.unique(column, return_inverse=True)[1] for column in columns])
    np.testing.assert_array_equal(code_rows(columns, n), twin)
    found, codes = stack_unordered_rows(columns)
    assert not columns
    assert len(found) == twin.max() + 1
    np.testing.assert_array_equal(found[codes], values)
    first = np.unique(codes, return_index=True)[1]
    assert (np.diff(first) > 0).all()  # in the order in which they occur
    np.testing.assert_array_equal(np.sort(twin[first]), np.arange(len(found)))  # as many classes, none of them in two


@given(st.permutations(range(9)))
def test_the_places_of_a_permutation_are_those_of_a_sort(order):
    np.testing.assert_array_equal(invert_permutation(np.array(order)), np.argsort(order))
