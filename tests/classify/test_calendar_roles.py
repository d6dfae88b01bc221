"""What is proposed for dates, times, codes and free text, and what is refused of them."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

import numpy as np
import pytest

from tasks.classify.dependence import find_dependences
from tasks.classify.evidence import count_column_evidence, is_birth_date_name
from tasks.classify.methods import ClassifyPlan, classify
from tasks.classify.roles import create_attribute
from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

DAY = date(1990, 1, 1)
DATES = [DAY + timedelta(days=37 * i % 9000) for i in range(40)]
MOMENTS = [datetime(2020, 1, 1) + timedelta(hours=37 * i) for i in range(40)]
TIMES = [time(i % 24, i) for i in range(40)]
REMARK = "came in on foot with a sprained ankle, record {}"
REMARKS = [REMARK.format(i // 2) for i in range(40)]


def attribute(name, values, *, key=False, **declared):
    spec = AttributeSpec(name=name, **declared) if declared else None
    return create_attribute(
        count_column_evidence(Microdata.from_columns({name: values}), name), spec, is_key=key, is_known=False
    )


@pytest.mark.parametrize(
    ("name", "values", "scale"),
    [
        ("admitted", DATES, Scale.DATE),
        ("admitted", [DAY, DAY + timedelta(days=1)] * 20, Scale.DATE),
        ("seen", MOMENTS, Scale.DATE),
        ("clock", TIMES, Scale.TIME),
        ("birth_name_date", DATES, Scale.DATE),
        ("postcode", [f"{i // 2:04}" for i in range(40)], Scale.CODE),
        ("region", ["01", "02"] * 20, Scale.CODE),
        ("region", ["01", "2"] * 20, Scale.NOMINAL),
        ("region", ["1a", "2b"] * 20, Scale.NOMINAL),
        ("answer", ["very satisfied with all of it", "not at all satisfied with it"] * 20, Scale.NOMINAL),
    ],
)
def test_proposed_scales(name, values, scale):
    found = attribute(name, values)
    assert (found.role, found.scale) == (Role.QUASI_IDENTIFIER, scale)
    assert any(words.startswith(f"scale {scale}") for words in found.evidence)


@pytest.mark.parametrize("role", [Role.IDENTIFIER, Role.PERSON, Role.GROUP])
def test_numbers_that_name_units_are_codes(role):
    assert attribute("x", [7, 9, 7, 30], role=role).scale is Scale.CODE
    assert attribute("x", [0.5, 9.0, 7.0, 30.0], role=role).scale is Scale.NUMERIC


@pytest.mark.parametrize(
    ("name", "expected"),
    [("birth_date", True), ("DateOfBirth", True), ("dob", True), ("BDATE", True), ("admission", False), ("birthplace", False)],
)
def test_names_of_dates_of_birth(name, expected):
    assert is_birth_date_name(name) is expected


def test_a_date_of_birth_is_told_to_be_a_strong_quasi_identifier():
    assert any("strongest quasi-identifiers" in words for words in attribute("birth_date", DATES).evidence)
    assert any("strongest" in words for words in attribute("dob", DATES, role=Role.CONFIDENTIAL).evidence)
    assert any("known to others" in words for words in attribute("admitted", DATES).evidence)
    assert not any("strongest" in words for words in attribute("dob", DATES, role=Role.IDENTIFIER).evidence)


@pytest.mark.parametrize(
    ("values", "declared"),
    [
        (REMARKS, {}),
        (REMARKS, {"role": Role.CONFIDENTIAL}),
        (REMARKS, {"role": Role.OTHER}),
        (["a", "b"], {"scale": Scale.FREE_TEXT}),
        (["a", "b"], {"scale": Scale.FREE_TEXT, "role": Role.QUASI_IDENTIFIER}),
    ],
)
def test_free_text_is_refused_where_it_would_be_published(values, declared):
    with pytest.raises(InputError) as caught:
        attribute("remark", values, **declared)
    assert caught.value.code == "free-text"
    assert "remark: {role: withheld}" in caught.value.remedy
    assert "ankle" not in str(caught.value)


def test_free_text_that_is_not_published_or_is_said_to_be_categories_stands():
    assert attribute("remark", REMARKS, role=Role.IDENTIFIER).scale is Scale.FREE_TEXT
    assert attribute("remark", REMARKS, key=True).scale is Scale.FREE_TEXT
    assert attribute("remark", REMARKS, role=Role.OTHER, scale=Scale.NOMINAL).scale is Scale.NOMINAL


def test_worked_facts_of_texts():
    facts = count_column_evidence(
        Microdata.from_columns({"x": ["a text of twenty-one ch", "short one here", "one two", None]}), "x"
    )
    assert (facts.prose, facts.digits, facts.free_text) == (1 / 3, False, False)
    assert count_column_evidence(Microdata.from_columns({"x": ["01", "10", None]}), "x").digits


@pytest.mark.parametrize(
    ("values", "declared", "code"),
    [
        ([1, 2], {"scale": Scale.DATE}, "not-of-scale"),
        (DATES, {"scale": Scale.TIME}, "not-of-scale"),
        (TIMES, {"scale": Scale.DATE}, "not-of-scale"),
        (DATES, {"scale": Scale.NUMERIC}, "not-numeric"),
        (DATES, {"order": ("a",)}, "order-of-numbers"),
    ],
)
def test_declarations_that_the_column_does_not_fit(values, declared, code):
    with pytest.raises(InputError) as caught:
        attribute("x", values, **declared)
    assert caught.value.code == code


def test_moments_too_fine_for_a_double_are_refused():
    fine = {"m": [datetime(2300, 1, 1, 0, 0, 0, i) for i in range(1, 41)], "n": list(range(0, 80, 2))}
    with pytest.raises(InputError, match="too fine"):
        classify(Microdata.from_columns(fine), ClassifyPlan(attributes=(AttributeSpec(name="n", role=Role.OTHER),)))
    fine["m"] = [datetime(2023, 1, 1, 0, 0, 0, i) for i in range(1, 41)]
    assert (
        classify(Microdata.from_columns(fine), ClassifyPlan(attributes=(AttributeSpec(name="n", role=Role.OTHER),)))["m"].scale
        is Scale.DATE
    )


RNG = np.random.default_rng(5)
ADMITTED = RNG.integers(10_000, 15_000, 200)
STAY = RNG.integers(0, 30, 200)


def dated(**columns):
    """Columns of day numbers become dates, the others stay; every column is a published quasi-identifier."""
    made = {name: np.asarray(v).astype("datetime64[D]") if name.endswith("date") else v for name, v in columns.items()}
    table = Microdata.from_columns(made)
    scale = {name: Scale.DATE if table.is_calendar(name) else Scale.NUMERIC for name in table.names}
    return table, Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, scale[name], "declared") for name in table.names))


def test_a_length_of_stay_undoes_the_mask_of_a_date():
    data, schema = dated(in_date=ADMITTED, out_date=ADMITTED + STAY + RNG.integers(0, 3000, 200), sex=RNG.integers(0, 2, 200))
    assert find_dependences(data, schema, ["in_date"]) == ()
    data, schema = dated(in_date=ADMITTED, out_date=ADMITTED + STAY * 100, stay=STAY * 100)
    (found,) = find_dependences(data, schema, ["in_date"])
    assert (found.relation, found.masked, found.unmasked) == ("linear", ("in_date",), ("out_date", "stay"))


def test_the_year_of_a_date_undoes_its_mask():
    data, schema = dated(birth_date=ADMITTED, year=ADMITTED // 365)
    (found,) = find_dependences(data, schema, ["birth_date"])
    assert found.unmasked == ("year",)
