"""Which rows of two tables are of the same persons."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.microdata.persons import (
    KEY_COLUMN,
    WHOLE_ROW,
    count_common_persons,
    digest_persons,
    digest_rows,
    have_common_rows,
    match_rows,
)
from tasks.microdata.table import Microdata


def digest(content: bytes, key: bytes = b"a key") -> bytes:
    return hmac.digest(key, content, hashlib.sha256)


def table(**columns):
    return Microdata.from_columns(columns)


def test_rows_are_matched_by_hand():
    newer, older = table(id=[7, 7, 9, None], x=[1, 2, 3, 4]), table(id=[9, 7, None], x=[3, 5, 4])
    assert match_rows(newer, older, "id").tolist() == [1, -1, 0, -1]
    assert match_rows(newer, older).tolist() == [-1, -1, 0, 2]


def test_the_kth_of_equal_rows_is_the_kth():
    newer, older = table(x=["a", "b", "a", "a"]), table(x=["a", "a", "b"])
    assert match_rows(newer, older).tolist() == [0, 2, 1, -1]


def test_whole_rows_are_compared_over_the_columns_of_both():
    newer, older = table(x=[1.5, 2.0], y=["u", "v"], more=[0, 0]), table(y=["v", "u"], x=[2, 1])
    assert match_rows(newer, older).tolist() == [-1, 0]
    assert match_rows(table(a=[1]), table(b=[1])).tolist() == [-1]


SMALL = st.lists(st.sampled_from([None, 0, 1, 2, 3]), max_size=12)


@given(SMALL, SMALL)
def test_a_slow_twin_matches_the_same_rows(here, there):
    newer, older = (table(id=pa.array(values, pa.int64())) for values in (here, there))
    seen: Counter[int] = Counter()
    expected = []
    for value in here:
        rows = [i for i, other in enumerate(there) if other == value and value is not None]
        expected.append(rows[seen[value]] if seen[value] < len(rows) else -1)
        seen[value] += 1
    found = match_rows(newer, older, "id")
    assert found.tolist() == expected
    assert match_rows(newer, newer).tolist() == list(range(newer.n))


@given(st.lists(st.tuples(st.sampled_from([None, "", "1", "1:2", "é"]), st.sampled_from([None, 0, 1])), max_size=12))
def test_equal_rows_alone_have_equal_digests(rows):
    data = table(a=pa.array([one for one, _ in rows], pa.string()), b=pa.array([one for _, one in rows], pa.int64()))
    found = digest_rows(data, data.names, digest)
    assert len(set(found.tolist())) == len(set(rows))
    assert np.array_equal(found, digest_rows(data.select(["b", "a"]), ("b", "a"), digest))


def test_a_value_has_one_digest_whatever_its_type():
    numbers = [table(id=pa.array(values)) for values in ([1001, 17], [1001.0, 17.0], ["1001", "17"])]
    first, *others = (digest_persons(one, ["id"], digest) for one in numbers)
    assert all(one.arrow.equals(first.arrow) for one in others)
    assert digest_persons(numbers[0], ["id"], lambda text: digest(text, b"another key")).arrow != first.arrow


def test_digests_say_by_what_persons_are_told_apart():
    data = table(id=[1, 2, None], x=[5, 5, 6])
    assert digest_persons(data, ["id", "absent"], digest).names == (f"{KEY_COLUMN}id",)
    (row,) = digest_persons(data, ["absent"], digest).names
    assert row.startswith(WHOLE_ROW) and digest_persons(data.select(["x", "id"]), [], digest).names == (row,)
    assert digest_persons(data, ["id"], digest).missing(f"{KEY_COLUMN}id").tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("other", "columns", "common"),
    [
        (table(id=[3, 4], x=[9, 9]), ["id"], 1),
        (table(id=[4, 5], x=[1, 2]), ["id"], 0),
        (table(number=[1, 2], x=[9, 9]), ["id", "number"], None),
        (table(id=[1, 2, 3], x=[1, 2, 8]), [], 2),
        (table(id=[1, 2, 3], y=[1, 2, 3]), [], None),
    ],
)
def test_common_persons_are_counted(other, columns, common):
    here = table(id=[1, 2, 3], x=[1, 2, 3])
    assert count_common_persons(digest_persons(here, columns, digest), digest_persons(other, columns, digest)) == common


def test_rows_over_other_columns_need_one_that_no_other_equals():
    here = table(x=[1, 1, 2, 3], more=[0, 1, 0, 0])
    assert have_common_rows(here, table(x=[3, 4])) is True
    assert have_common_rows(here, table(x=[1, 1, 4])) is False
    assert have_common_rows(here, table(y=[3])) is None
    many = table(x=np.arange(1000))
    assert have_common_rows(many, table(x=np.arange(995, 1995), y=np.zeros(1000))) is False  # 5 of 1,000
    assert have_common_rows(many, table(x=np.arange(980, 1980))) is True
