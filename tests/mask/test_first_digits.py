"""Codes that are joined by their first digits: of numbers and texts, followed by an intruder, equal to a mapping."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from followed import followed
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from sites import site_of

from tasks.mask.coding.recoding import Recoding, recode
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata


def table(values, scale=Scale.NOMINAL, order=None):
    schema = Schema((Attribute("a", Role.QUASI_IDENTIFIER, scale, "declared", order=order),))
    return Microdata.from_columns({"a": values}), schema


def step(**how):
    return Recoding(method="recoding", recode={"a": how})


def grouped(values, digits, scale=Scale.NOMINAL):
    data, schema = table(values, scale)
    return recode(site_of(data, schema), step(group={"digits": digits})).column("a").to_pylist()


@pytest.mark.parametrize(
    ("values", "digits", "expected"),
    [
        ([110, 2310, 9622, 2411, None], 1, [0, 2, 9, 2, None]),  # 0110: numbers lose their leading zeros
        ([110, 2310, 9622, 2411, None], 2, [1, 23, 96, 24, None]),
        ([110.0, 2310.0, None, 2411.0], 1, [0.0, 2.0, None, 2.0]),
        (["0110", "2310", "9622", None], 1, ["0", "2", "9", None]),
        (["1", "12", "120", "213"], 2, ["1", "12", "12", "21"]),
        ([2**62 + 1, 2**62 + 3, 7], 18, [2**62 // 10, 2**62 // 10, 0]),  # no digit is lost where decimals would lose some
    ],
)
def test_first_digits_by_hand(values, digits, expected):
    assert grouped(values, digits) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 99_999), min_size=2, max_size=40, unique=True), st.integers(1, 4))
def test_a_number_is_grouped_as_its_text_with_leading_zeros(codes, digits):
    width = len(str(max(codes)))
    expected = [int(str(code).zfill(width)[:digits]) for code in codes]
    if expected == codes:
        with pytest.raises(InputError, match="changes no value"):
            grouped(codes, digits)
    else:
        assert grouped(codes, digits) == expected


@pytest.mark.parametrize("first", [(), (Microaggregation(method="microaggregation", attributes=("b",), k=5),)])
def test_an_intruder_follows_it_as_the_mapping_that_says_the_same(first):
    """Who knows the code knows its group: each record is left among all that show the same digit, and is never ruled out."""
    rng = np.random.default_rng(4)
    codes = rng.permutation(np.repeat([110, 120, 2310, 2411, 2500, 9622], 10))
    data = Microdata.from_columns({"a": codes, "b": rng.normal(size=60)})
    schema = Schema((*table([1])[1].attributes, Attribute("b", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared")))
    pairs = {str(code): str(code // 1000) for code in np.unique(codes)}
    seen = [followed(data, schema, (*first, one), knows=("a",)) for one in (step(group={"digits": 1}), step(map=pairs))]
    assert seen[0].masked.arrow.equals(seen[1].masked.arrow)
    assert [one.sizes.tolist() for one in seen] == [[{0: 20, 2: 30, 9: 10}[code // 1000] for code in codes]] * 2
    assert not any(one.rules_out_the_truth.any() for one in seen)


@pytest.mark.parametrize(
    ("values", "scale", "order", "code"),
    [
        (["A01", "B02"], Scale.NOMINAL, None, "no-digits"),
        ([-9, 110], Scale.NOMINAL, None, "no-digits"),
        ([1.5, 2.5], Scale.ORDINAL, None, "no-digits"),
        ([18, 45], Scale.NUMERIC, None, "wrong-scale"),
        (["10", "20"], Scale.ORDINAL, ("10", "20"), "ordered-digits"),
        ([True, False], Scale.NOMINAL, None, "no-digits"),
        ([1, 2], Scale.NOMINAL, None, "nothing-recoded"),
    ],
)
def test_what_has_no_first_digits_is_told(values, scale, order, code):
    data, schema = table(pa.array(values), scale, order)
    with pytest.raises(InputError) as refused:
        recode(site_of(data, schema), step(group={"digits": 1}))
    assert refused.value.code == code
    assert "masking" in refused.value.where


@pytest.mark.parametrize("how", [{"group": {"digits": 0}}, {"group": {"digits": 1}, "map": {"1": "2"}}, {"group": {}},
                                 {"group": {"digits": 1}, "others": "keep"}])  # fmt: skip
def test_a_group_stands_alone_and_has_digits(how):
    with pytest.raises(ValidationError):
        step(**how)
