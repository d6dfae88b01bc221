"""Top and bottom coding: what is coded, what is published for it, and what is refused."""

from __future__ import annotations

from datetime import date, time

import numpy as np
import pytest
from followed import followed
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from sites import site_of

from tasks.mask.coding.top_bottom_coding import TopBottomCoding, code_positions, top_bottom_code
from tasks.mask.methods import Masking, mask
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata


def step(limits, **parameters):
    return TopBottomCoding(method="top_bottom_coding", limits=limits, **parameters)


def coded(data, schema, limits, name="a", **parameters):
    return top_bottom_code(site_of(data, schema), step({name: limits}, **parameters)).column(name).to_pylist()


AGES = [18, 34, 79, 80, 81, None, 95, 52]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"top": 80}, [18, 34, 79, 80, 80, None, 80, 52]),
        ({"bottom": 34}, [34, 34, 79, 80, 81, None, 95, 52]),
        ({"top": 80, "bottom": 30}, [30, 34, 79, 80, 80, None, 80, 52]),
        ({"top": 80, "publish": "mean"}, [18, 34, 79, 85, 85, None, 85, 52]),  # 256 / 3 = 85.33
        ({"top": 79, "publish": "median"}, [18, 34, 80, 80, 80, None, 80, 52]),  # 80.5, halves to even
        ({"top_percent": 40.0}, [18, 34, 79, 80, 80, None, 80, 52]),  # 2.8 of 7 values: the third largest
        ({"bottom_percent": 20.0}, [34, 34, 79, 80, 81, None, 95, 52]),  # 1.4 of 7: the second smallest
    ],
)
def test_worked_table(numbers, limits, expected):
    assert coded(*numbers({"a": AGES}), limits) == expected


def test_each_attribute_has_its_own_limits(numbers):
    data, schema = numbers({"a": [1, 2, 3, 4], "b": [10, 20, 30, 40]})
    done = top_bottom_code(site_of(data, schema), step({"a": {"top": 3}, "b": {"bottom": 20}}))
    assert done.arrow.to_pydict() == {"a": [1, 2, 3, 3], "b": [20, 20, 30, 40]}


def test_equal_values_are_coded_together(numbers):
    # half a record of 5 is one record, the largest; it has two equals
    data, schema = numbers({"a": [1, 2, 9, 9, 9]})
    assert coded(data, schema, {"top_percent": 10.0, "bottom": 2}) == [2, 2, 9, 9, 9]
    assert coded(data, schema, {"top_percent": 80.0}) == [1, 2, 2, 2, 2]


def test_percents_are_exact(numbers):
    # 29 / 100 * 100 is 28.999999999999996 and 1.1 * 1000 / 100 is 11.000000000000002
    for percent, n, m in ((29.0, 100, 29), (1.1, 1000, 11)):
        values = coded(*numbers({"a": np.arange(n)}), {"top_percent": percent})
        assert values.count(n - m) == m


def table(scale, values, order=None):
    attribute = Attribute("a", Role.QUASI_IDENTIFIER, scale, "declared", order=order)
    return Microdata.from_columns({"a": values}), Schema((attribute,))


def test_dates_times_and_ordered_categories():
    days = [date(1920, 5, 1), date(1950, 1, 1), date(1999, 12, 31), None]
    assert coded(*table(Scale.DATE, days), {"bottom": "1930-01-01"})[0] == date(1930, 1, 1)
    hours = [time(5, 10), time(9, 30), time(23, 50)]
    assert coded(*table(Scale.TIME, hours), {"top": "22:00"})[2] == time(22, 0)
    order = ("none", "school", "college", "doctor")
    grades = table(Scale.ORDINAL, ["none", "doctor", "school", "college", None, "college"], order)
    assert coded(*grades, {"top": "college"}) == ["none", "college", "school", "college", None, "college"]
    # school, college, college, doctor: of the middle two the lower one
    assert coded(*grades, {"top": "school", "publish": "median"}) == ["none", *["college"] * 3, None, "college"]


def test_the_limits_of_strata(numbers):
    data, schema = numbers({"a": [1, 2, 3, 4, 10, 20, 30, 40], "s": [0, 0, 0, 0, 1, 1, 1, 1]}, s=Scale.NOMINAL)
    steps = (step({"a": {"top_percent": 50.0}}, by=("s",)),)
    assert mask(data, schema, steps, seed=b"s" * 32, path=()).data.column("a").to_pylist() == [1, 2, 3, 3, 10, 20, 30, 30]
    # a stated limit may lie beyond a whole stratum
    steps = (step({"a": {"top": 20, "publish": "mean"}}, by=("s",)),)
    assert mask(data, schema, steps, seed=b"s" * 32, path=()).data.column("a").to_pylist() == [1, 2, 3, 4, 10, 30, 30, 30]


VALUES = st.lists(st.integers(-50, 50), min_size=4, max_size=40)


@settings(max_examples=80, deadline=None)
@given(VALUES, st.floats(-40, 40), st.floats(0.5, 40), st.sampled_from(["limit", "mean", "median"]), st.randoms())
def test_the_order_stays_and_rows_do_not_matter(values, bottom, width, publish, random):
    before, ends = np.array(values, dtype=float), (bottom, bottom + width)
    after = code_positions(before, ends, publish, ordinal=False)
    assert (np.diff(after[np.argsort(before, kind="stable")]) >= -1e-9).all()
    inside = (before > ends[0]) & (before < ends[1])
    assert (after[inside] == before[inside]).all()
    rows = np.array(random.sample(range(len(values)), len(values)))
    assert (code_positions(before[rows], ends, publish, ordinal=False) == after[rows]).all()
    if publish == "limit":
        assert (code_positions(after, ends, publish, ordinal=False) == after).all()
        assert (after == np.clip(before, *ends)).all()
    if publish == "mean":
        assert np.isclose(after.sum(), before.sum())


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"top": 96}, "nothing-coded"),
        ({"top_percent": 5.0}, "nothing-coded"),  # the largest alone, which becomes itself
        ({"bottom": 95}, "all-coded"),
        ({"top": 60, "bottom": 70}, "limits-meet"),
        ({"top_percent": 60.0, "bottom": 79}, "limits-meet"),
        ({"top": 81, "publish": "mean"}, "few-behind-a-centre"),
        ({"bottom": 18, "publish": "median"}, "few-behind-a-centre"),
        ({"top": 80.5}, "between-values"),
        ({"top": "80"}, "written-value"),
    ],
)
def test_refusals(numbers, limits, code):
    with pytest.raises(InputError) as refused:
        coded(*numbers({"a": AGES}), limits)
    assert refused.value.code == code
    assert refused.value.where.startswith("masking[0].limits.a")
    assert not {"95", "81", "79"} & set(refused.value.what.split())


@pytest.mark.parametrize(
    ("scale", "values", "order", "limits", "code"),
    [
        (Scale.ORDINAL, [1, 2, 3, 3, 3], None, {"top": 3, "publish": "mean"}, "no-mean"),
        (Scale.ORDINAL, ["lo", "hi", "hi"], ("lo", "hi"), {"top": "hihi"}, "unknown-category"),
        (Scale.DATE, [date(2000, 1, 1), date(2001, 1, 1)], None, {"top": "2000-13-01"}, "written-value"),
        (Scale.DATE, [date(2000, 1, 1), date(2001, 1, 1)], None, {"top": 2000}, "written-value"),
        (Scale.DATE, [date(2000, 1, 1), date(2001, 1, 1)], None, {"top": "2000-06-01T10:00"}, "written-value"),
        (Scale.TIME, [time(5), time(7)], None, {"top": "2000-06-01"}, "written-value"),
        (Scale.NUMERIC, [1.0, np.inf, 2.0], None, {"top": 2}, "infinite-value"),
    ],
)
def test_refusals_by_scale(scale, values, order, limits, code):
    with pytest.raises(InputError) as refused:
        coded(*table(scale, values, order), limits)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "parameters",
    [
        {"limits": {}},
        {"limits": {"a": {}}},
        {"limits": {"a": {"top": 1, "top_percent": 2.0}}},
        {"limits": {"a": {"top_percent": 60.0, "bottom_percent": 40.0}}},
        {"limits": {"a": {"top": True}}},
        {"limits": {"a": {"top": 1}}, "attributes": ("b",)},
        {"limits": {"a": {"top": 1}}, "by": ("b",)},
        {"limits": {"a": {"topp": 1}}},
    ],
)
def test_parameters_that_make_no_sense(parameters):
    with pytest.raises(ValidationError):
        TopBottomCoding(method="top_bottom_coding", **parameters)


def test_limits_are_stored_as_they_were_written_and_told_to_nobody():
    spec = step({"b": {"top": 80, "bottom_percent": 2.0}, "a": {"bottom": "2001-01-01", "publish": "median"}})
    stored = TypeAdapter(Masking)
    assert stored.validate_json(stored.dump_json(spec)) == spec
    assert spec.target_attributes == ()
    assert spec.explicit_attributes == ("a", "b")
    told = str(spec.public()) + spec.rule
    assert "80" not in told
    assert "2001" not in told
    assert spec.public()["limits"]["b"] == {"top": "stated", "bottom_percent": 2.0, "publish": "limit"}
    assert spec.rule == "coding of the bottom of a and the top and the bottom 2 percent of b"


@pytest.mark.parametrize(
    "limits", [{"top": 30, "bottom": 8}, {"top": 30, "publish": "mean"}, {"top_percent": 15.0, "publish": "median"}]
)
def test_the_intruder_who_knows_the_limits_codes_his_own_records(numbers, limits):
    rng = np.random.default_rng(5)
    data, schema = numbers({"a": rng.integers(0, 40, 80), "b": rng.integers(0, 4, 80)})
    seen = followed(data, schema, (step({"a": limits}),))
    assert seen.knowledge.is_certain(("a", "b"))
    assert not seen.rules_out_the_truth.any()
    shown = seen.masked.floats("a") * 10 + seen.masked.floats("b")
    assert (seen.sizes == (shown[:, None] == shown).sum(axis=1)).all()


@pytest.mark.parametrize("how", ["mean", "median"])
def test_three_rows_of_one_person_are_one_person(how):
    # the top three rows are those of person 9: their mean is their value
    data = Microdata.from_columns({"person": [1, 2, 3, 4, 9, 9, 9], "a": [10, 20, 30, 40, 90, 91, 92]})
    attributes = (
        Attribute("person", Role.PERSON, Scale.CODE, "declared"),
        Attribute("a", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
    )
    with pytest.raises(InputError) as refused:
        coded(data, Schema(attributes), {"top": 90, "publish": how})
    assert refused.value.code == "few-behind-a-centre"
    assert "1 person" in refused.value.what
    assert len(set(coded(data, Schema(attributes), {"top": 30, "publish": how}))) == 3  # persons 3, 4 and 9 are one value
