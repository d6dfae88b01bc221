"""Rounding: to which multiple each value goes, and by which law."""

from __future__ import annotations

from datetime import date, datetime, time

import numpy as np
import pytest
from followed import followed
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from scipy.stats import binomtest
from sites import site_of

from tasks.mask.coding.rounding import Rounding, quotients, round_to_base, systematic
from tasks.mask.methods import Masking, mask
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

LEVEL = 1e-4
KINDS = ("deterministic", "random", "controlled")


def step(kind, bases, **parameters):
    return Rounding(method="rounding", kind=kind, bases=bases, **parameters)


def rounded(data, schema, base, kind="deterministic", name="a", seed=0):
    return round_to_base(site_of(data, schema, seed=seed), step(kind, {name: base})).column(name).to_pylist()


def table(scale, values):
    return Microdata.from_columns({"a": values}), Schema((Attribute("a", Role.QUASI_IDENTIFIER, scale, "declared"),))


def test_worked_table(numbers):
    # halves to the even multiple: 15 = 1.5 * 10 to 20, 25 = 2.5 * 10 to 20, -5 = -0.5 * 10 to 0
    assert rounded(*numbers({"a": [14, 15, 25, 26, 30, None, -5, -6]}), 10) == [10, 20, 20, 30, 30, None, 0, -10]
    # 0.15 / 0.05 is 2.9999999999999996 in floating point, and 0.15 a multiple
    assert rounded(*numbers({"a": [0.15, 0.16, 0.175, 0.225]}), 0.05) == [0.15, 0.15, 0.2, 0.2]


def test_dates_count_in_days_and_times_in_seconds():
    days = [date(1970, 1, 8), date(1970, 1, 14), date(9999, 12, 31)]  # day 7 and day 13; after the last comes no multiple
    assert rounded(*table(Scale.DATE, days), 7)[:2] == [date(1970, 1, 8), date(1970, 1, 15)]
    hours = [time(9, 20), time(9, 40), time(23, 45)]  # 24:00 is no time of day
    assert rounded(*table(Scale.TIME, hours), 3600) == [time(9), time(10), time(23)]
    moments = [datetime(2020, 2, 28, 9, 20), datetime(2020, 2, 28, 23, 45)]
    assert rounded(*table(Scale.DATE, moments), 3600) == [datetime(2020, 2, 28, 9), datetime(2020, 2, 29, 0)]


def test_types_and_precision_stay(numbers):
    data, schema = numbers({"a": [1, 7, 12], "b": [0.11, 0.52, 0.77]})
    done = round_to_base(site_of(data, schema), step("random", {"a": 5, "b": 0.2}))
    assert done.arrow.schema == data.arrow.schema
    assert {round(10 * value, 9) % 2 for value in done.floats("b")} == {0}


COLUMNS = st.lists(st.one_of(st.none(), st.integers(-400, 400)), min_size=1, max_size=40).filter(
    lambda column: any(value is not None and value % 7 for value in column)
)


@settings(max_examples=60, deadline=None)
@given(COLUMNS, st.sampled_from(KINDS), st.integers(0, 99))
def test_every_value_goes_to_a_multiple_next_to_it(column, kind, seed):
    column = [*column, 1]  # 0.1: the column shows one decimal
    data, schema = table(Scale.NUMERIC, [None if v is None else v / 10 for v in column])
    after = rounded(data, schema, 0.7, kind, seed=seed)
    for before, shown in zip(column, after, strict=True):
        assert (before is None) == (shown is None)
        if before is not None:
            tenths = round(10 * shown)
            assert tenths % 7 == 0
            assert abs(tenths - before) <= (3.5 if kind == "deterministic" else 6)
            assert before % 7 != 0 or tenths == before


@settings(max_examples=60, deadline=None)
@given(COLUMNS, st.integers(0, 99))
def test_controlled_rounding_keeps_the_total(column, seed):
    data, schema = table(Scale.NUMERIC, column)
    after = rounded(data, schema, 7, "controlled", seed=seed)
    off = sum(v for v in after if v is not None) - sum(v for v in column if v is not None)
    assert abs(off) <= 3.5  # nothing at all where the total is a multiple


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-400, 400), min_size=2, max_size=40).filter(lambda column: any(v % 7 for v in column)))
def test_deterministic_rounding_keeps_the_order_and_happens_once(column):
    column = [*column, 1]
    data, schema = table(Scale.NUMERIC, [v / 10 for v in column])
    after = np.array(rounded(data, schema, 0.7))
    assert (np.diff(after[np.argsort(column, kind="stable")]) >= 0).all()
    turned = rounded(data.take(np.arange(data.n)[::-1]), schema, 0.7)
    assert turned == after[::-1].tolist()
    assert (np.rint(quotients(after, 0.7)) == quotients(after, 0.7)).all()  # multiples, which stay


def test_the_law_of_random_rounding(numbers):
    data, schema = numbers({"a": np.full(4000, 37)})  # 3.7 tens: up with probability 0.7
    ups = rounded(data, schema, 10, "random").count(40)
    assert binomtest(ups, 4000, 0.7).pvalue > LEVEL
    assert binomtest(ups, 4000, 0.7 * 0.7).pvalue < LEVEL
    assert binomtest(ups, 4000, 0.5).pvalue < LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("base", [10, 20])
def test_the_law_of_controlled_rounding(numbers, base):
    # the total 100 is a multiple of both bases: the chance of going up is the fraction, and the total always the same
    values = np.array([1, 9, 14, 36, 22, 18])
    data, schema = numbers({"a": values})
    draws = np.array([rounded(data, schema, base, "controlled", seed=s) for s in range(2000)])
    assert (draws.sum(axis=1) == 100).all()
    for column, value in zip(draws.T, values, strict=True):
        ups, fraction = int((column > value).sum()), value / base % 1
        assert binomtest(ups, 2000, fraction).pvalue > LEVEL
        assert binomtest(ups, 2000, fraction * 0.7 if fraction > 0.5 else min(1.0, fraction * 1.3 + 0.05)).pvalue < LEVEL


def test_systematic_sampling():
    rng = np.random.default_rng(3)
    assert systematic(np.zeros(5), rng=rng).tolist() == []
    assert len(systematic(np.full(10, 0.5), rng=rng)) == 5
    assert all(len(systematic(np.array([0.2, 0.2]), rng=rng)) == 0 for _ in range(50))  # 0.4 is nearest to none
    drawn = [tuple(systematic(np.array([0.5, 0.0, 0.5]), rng=rng)) for _ in range(200)]
    assert set(drawn) == {(0,), (2,)}


def test_totals_of_strata(numbers):
    rng = np.random.default_rng(1)
    data, schema = numbers({"a": rng.integers(0, 100, 60), "s": rng.integers(0, 3, 60)}, s=Scale.NOMINAL)
    done = mask(data, schema, (step("controlled", {"a": 10}, by=("s",)),), seed=b"s" * 32, path=()).data
    for stratum in range(3):
        rows = data.floats("s") == stratum
        assert abs(done.floats("a")[rows].sum() - data.floats("a")[rows].sum()) <= 5


@pytest.mark.parametrize(
    ("values", "base", "code"),
    [
        ([1, 2, 3], 0.5, "base-off-the-grid"),
        ([1.25, 2.5], 0.015, "base-off-the-grid"),
        ([10, 20, None], 10, "nothing-to-round"),
        ([1.0, np.inf], 5, "infinite-value"),
        ([date(2020, 1, 1), date(2020, 1, 2)], 1.5, "base-off-the-grid"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_refusals(values, base, code, kind):
    scale = Scale.DATE if isinstance(values[0], date) else Scale.NUMERIC
    with pytest.raises(InputError) as refused:
        rounded(*table(scale, values), base, kind)
    assert refused.value.code == code
    assert refused.value.where == "masking[0].bases.a"


@pytest.mark.parametrize(
    "parameters",
    [
        {"bases": {"a": 0}},
        {"bases": {"a": -5}},
        {"bases": {"a": "5"}},
        {"bases": {}},
        {"bases": {"a": 5}, "attributes": ("b",)},
        {"bases": {"a": 5}, "by": ("b",)},
        {"bases": {"a": 5}, "kind": "nearest"},
    ],
)
def test_parameters_that_make_no_sense(parameters):
    with pytest.raises(ValidationError):
        Rounding(method="rounding", **{"kind": "random", **parameters})


def test_what_may_be_told():
    spec = step("random", {"b": 500, "a": 0.5})
    stored = TypeAdapter(Masking)
    assert stored.validate_json(stored.dump_json(spec)) == spec
    assert spec.rule == "random rounding of a to multiples of 0.5 and b to multiples of 500"
    assert spec.moves_values
    assert not step("deterministic", {"a": 5}).moves_values


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_intruder_concludes_never_rules_out_the_truth(numbers, kind):
    rng = np.random.default_rng(2)
    days = np.datetime64("2001-01-01T00:00") + rng.integers(0, 10**5, 90).astype("timedelta64[m]").astype("timedelta64[us]")
    cents = np.where(rng.random(90) < 0.1, np.nan, rng.integers(0, 900, 90) / 100)
    data, schema = numbers({"a": cents, "d": days, "n": rng.integers(-40, 40, 90)}, d=Scale.DATE)
    seen = followed(data, schema, (step(kind, {"a": 0.35, "d": 86_400, "n": 7}),))
    assert not seen.rules_out_the_truth.any()
    assert seen.knowledge.is_certain(("a", "d", "n")) == (kind == "deterministic")
    assert 1 <= seen.sizes.min() < seen.sizes.max() < 90 / 2


def test_random_rounding_leaves_the_rows_that_show_a_neighbouring_multiple(numbers):
    data, schema = numbers({"a": [3, 8, 12, 18, 24, 30]})
    seen = followed(data, schema, (step("controlled", {"a": 10}),))
    shown = seen.masked.floats("a")
    expected = [int(((shown >= low) & (shown <= high)).sum()) for low, high in
                ((0, 10), (0, 10), (10, 20), (10, 20), (20, 30), (30, 30))]  # fmt: skip
    assert seen.sizes.tolist() == expected
    # a later step rounds the multiples around each value again
    data, schema = numbers({"a": [3, 8, 12, 18, 24, 30], "b": [1, 1, 1, 2, 2, 2]})
    twice = followed(data, schema, (step("random", {"a": 10}), step("deterministic", {"a": 20})))
    (ends,) = (part for part in twice.knowledge.between if part.name == "a")
    assert ends.low.tolist() == [0, 0, 0, 0, 20, 40]
    assert ends.high.tolist() == [0, 0, 20, 20, 40, 40]
