import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.classify.evidence import (
    classify_identifier_name,
    count_column_evidence,
    is_group_name,
    is_person_name,
    is_survey_weight_name,
)
from tasks.classify.roles import create_attribute, looks_like_identifier
from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale
from tasks.microdata.table import Microdata


def attribute(name: str, values: list[object], *, key: bool = False, known: bool = False, **declared: object) -> Attribute:
    spec = AttributeSpec(name=name, **declared) if declared else None  # type: ignore[arg-type]  # declarations by name
    return create_attribute(
        count_column_evidence(Microdata.from_columns({name: values}), name), spec, is_key=key, is_known=known
    )


def test_worked_facts() -> None:
    facts = count_column_evidence(Microdata.from_columns({"x": [1.0, 2.0, 2.0, None, 4.0]}), "x")
    assert (facts.kind, facts.n, facts.n_missing, facts.n_distinct, facts.whole) == ("double", 5, 1, 3, True)
    assert (facts.unique, facts.running, facts.positive, facts.constant) == (False, False, True, False)
    assert facts.describe() == ("3 distinct of 4 values", "1 missing (20%)", "whole numbers stored as decimals")
    running = count_column_evidence(Microdata.from_columns({"x": [3, 1, 2]}), "x")
    assert (running.running, running.unique, running.one_width) == (True, True, False)
    empty = count_column_evidence(Microdata.from_columns({"x": [None, None]}), "x")
    assert (empty.n_present, empty.n_distinct, empty.whole, empty.near_unique) == (0, 0, False, False)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("person_id", "a number or code of a unit"),
        ("CustomerID", "a number or code of a unit"),
        ("UTILITYID", "a number or code of a unit"),
        ("LastName", "a person or company"),
        ("E-Mail", "a contact"),
        ("email2", "a contact"),
        ("ssn", "an official number"),
        ("zip_code", "a place"),
        ("income", None),
        ("paid", None),
        ("valid", None),
        ("filename_count", None),
        ("age", None),
        ("日本", None),
    ],
)
def test_names_that_suggest_an_identifier(name: str, expected: str | None) -> None:
    assert classify_identifier_name(name) == expected


@pytest.mark.parametrize(
    ("name", "weight", "group", "person"),
    [
        ("sampling_weight", True, False, False),
        ("household_weights", True, True, False),
        ("AFNLWGT", True, False, False),
        ("weight", False, False, False),
        ("body weight", False, False, False),
        ("ori_hid", False, True, False),
        ("household_id", False, True, False),
        ("FirmNo", False, False, False),
        ("firm_nr", False, True, False),
        ("person_id", False, False, True),
        ("PID", False, False, True),
        ("household", False, True, False),
        ("rapid", False, False, False),
    ],
)
def test_names_of_weights_groups_and_persons(name: str, weight: bool, group: bool, person: bool) -> None:
    assert (is_survey_weight_name(name), is_group_name(name), is_person_name(name)) == (weight, group, person)


CODES = [1, 2, 3, 4, 5] * 8


@pytest.mark.parametrize(
    ("name", "values", "role", "scale"),
    [
        ("income", [1000.5 * i for i in range(1, 41)], Role.QUASI_IDENTIFIER, Scale.NUMERIC),
        ("expend", [7 * i * i for i in range(1, 41)], Role.QUASI_IDENTIFIER, Scale.NUMERIC),
        ("educ", CODES, Role.QUASI_IDENTIFIER, Scale.ORDINAL),
        ("educ", [float(code) for code in CODES], Role.QUASI_IDENTIFIER, Scale.ORDINAL),
        ("vote", [0, 1] * 20, Role.QUASI_IDENTIFIER, Scale.NOMINAL),
        ("married", [True, False] * 20, Role.QUASI_IDENTIFIER, Scale.NOMINAL),
        ("region", ["n", "s"] * 20, Role.QUASI_IDENTIFIER, Scale.NOMINAL),
        ("rate", [0.5, 1.5] * 20, Role.QUASI_IDENTIFIER, Scale.NUMERIC),
        ("constant", [7] * 40, Role.QUASI_IDENTIFIER, Scale.NUMERIC),
        ("empty", [None] * 40, Role.QUASI_IDENTIFIER, Scale.NOMINAL),
        ("sampling_weight", [100.0] * 40, Role.WEIGHT, Scale.NUMERIC),
        ("sampling_weight", [0.0, 1.0] * 20, Role.QUASI_IDENTIFIER, Scale.NOMINAL),
        ("weight", [61.5 + i % 29 for i in range(40)], Role.QUASI_IDENTIFIER, Scale.NUMERIC),
        ("household_id", [i // 3 for i in range(90)], Role.GROUP, Scale.CODE),
        ("UTILITYID", [i // 3 for i in range(90)], Role.GROUP, Scale.CODE),
        ("pid", [i // 3 for i in range(90)], Role.PERSON, Scale.CODE),
        ("PID", CODES, Role.QUASI_IDENTIFIER, Scale.ORDINAL),
        ("name", ["a", "b"] * 20, Role.QUASI_IDENTIFIER, Scale.NOMINAL),
        ("zip", [f"{i // 2:05}" for i in range(60)], Role.QUASI_IDENTIFIER, Scale.CODE),
        ("a", [1, 2, 3, 4, 5, 6, 7, 8], Role.QUASI_IDENTIFIER, Scale.NUMERIC),
    ],
)
def test_proposals_for_what_nobody_declared(name: str, values: list[object], role: Role, scale: Scale) -> None:
    found = attribute(name, values)
    assert (found.role, found.scale, found.decided_by) == (role, scale, "pipeline")
    assert any(words.startswith(f"role {role}") for words in found.evidence)
    assert any(words.startswith(f"scale {scale}") for words in found.evidence)


IDENTIFIERS = [
    ("person_id", [5, 9, 2]),
    ("household_id", [5, 9, 2, 7]),
    ("name", ["Ann", "Bob", "Cem"]),
    ("surname", [f"s{i // 3}" for i in range(120)]),
    ("phone", [555000 + 7 * (i // 2) for i in range(100)]),
    ("comment", [f"free text {i}" for i in range(20)]),
    ("x", list(range(100, 130))),
    ("x", [float(i) for i in range(30)]),
    ("x", [100003 + 7919 * i for i in range(30)]),
    ("x", [f"{i * 7919:06}" for i in range(1, 30)]),
    ("zip", [f"{i:05}" for i in range(40)]),
]


@pytest.mark.parametrize(("name", "values"), IDENTIFIERS)
def test_what_looks_like_an_identifier_must_be_declared(name: str, values: list[object]) -> None:
    with pytest.raises(InputError) as caught:
        attribute(name, values)
    assert caught.value.code == "undeclared-identifier"
    assert caught.value.where == f"attributes.{name}"
    assert f"{name}: {{role: identifier}}" in caught.value.remedy
    assert attribute(name, values, key=True).role is Role.IDENTIFIER
    for role in (Role.IDENTIFIER, Role.CONFIDENTIAL, Role.OTHER):
        assert attribute(name, values, role=role).role is role
    with pytest.raises(InputError):
        attribute(name, values, known=True)


def test_a_near_unique_measurement_is_no_identifier() -> None:
    rng = np.random.default_rng(3)
    for values in (np.exp(rng.normal(10, 1, 500)), np.round(np.exp(rng.normal(10, 1, 500))).astype(np.int64)):
        assert looks_like_identifier(count_column_evidence(Microdata.from_columns({"income": values}), "income")) is None


def test_a_declared_confidential_near_unique_column_stands_and_is_warned_about() -> None:
    found = attribute("expend", [i * i for i in range(40)], role=Role.CONFIDENTIAL)
    assert (found.role, found.decided_by) == (Role.CONFIDENTIAL, "declared")
    assert any("links records" in words for words in found.evidence)


def test_the_key_is_an_identifier_or_a_person_and_nothing_published() -> None:
    assert attribute("k", [1, 2], key=True).decided_by == "declared"
    assert attribute("k", [1, 2], key=True, role=Role.PERSON).role is Role.PERSON
    with pytest.raises(InputError) as caught:
        attribute("k", [1, 2], key=True, role=Role.CONFIDENTIAL)
    assert caught.value.code == "published-key"


def test_what_the_intruder_is_declared_to_know_is_a_quasi_identifier() -> None:
    found = attribute("sampling_weight", [100.0, 50.0] * 10, known=True)
    assert found.role is Role.QUASI_IDENTIFIER
    assert any("declared to know" in words for words in found.evidence)


@pytest.mark.parametrize(
    ("values", "declared", "code"),
    [
        (["a", "b"], {"scale": Scale.NUMERIC}, "not-numeric"),
        ([True, False], {"scale": Scale.NUMERIC}, "not-numeric"),
        (["a", "b"], {"scale": Scale.ORDINAL}, "order-missing"),
        ([1, 2], {"order": ("1", "2")}, "order-of-numbers"),
    ],
)
def test_declarations_that_the_column_does_not_fit(values: list[object], declared: dict[str, object], code: str) -> None:
    with pytest.raises(InputError) as caught:
        attribute("x", values, **declared)
    assert caught.value.code == code


def test_an_order_makes_text_ordinal() -> None:
    found = attribute("x", ["lo", "hi", "lo"], order=("lo", "hi"))
    assert (found.scale, found.order) == (Scale.ORDINAL, ("lo", "hi"))


CANARY = "4711canary"


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(["x", "name", "household_id", "weights", "zip"]),
    st.lists(st.sampled_from([CANARY, "b", "c", None]), min_size=2, max_size=30),
)
def test_evidence_and_refusals_hold_no_value(name: str, values: list[object]) -> None:
    try:
        told = " ".join(attribute(name, values).evidence)
    except InputError as error:
        told = str(error)
    assert CANARY not in told


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=2, max_size=60), st.randoms())
def test_the_decision_does_not_depend_on_the_order_of_the_rows(values: list[object], random: object) -> None:
    def decided(column: list[object]) -> object:
        try:
            return attribute("x", column)
        except InputError as error:
            return str(error)

    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # Hypothesis gives a random.Random
    assert decided(values) == decided(shuffled)


WORDS = st.sampled_from(
    [
        "000123",
        "123456",
        "12345",
        "a12345",
        "long words of one person",
        "two  blanks, twenty long",
        "\u0663\u0664\u0665\u0666\u0667\u0668",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.none(), WORDS), min_size=1, max_size=12))
def test_the_evidence_of_texts_is_that_of_a_plain_count(cells: list[str | None]) -> None:
    facts = count_column_evidence(Microdata.from_columns({"x": pa.array(cells, pa.string())}), "x")
    present = [cell for cell in cells if cell is not None]
    widths = {len(cell) for cell in present}
    assert facts.n_distinct == len(set(present))
    assert facts.digits == (len(widths) == 1 and all(cell.isascii() and cell.isdigit() for cell in present))
    has_digits = all(any(letter in "0123456789" for letter in cell) for cell in present)
    assert facts.one_width == (len(widths) == 1 and min(widths) >= 6 and has_digits)
    prose = [len(cell) >= 20 and cell.count(" ") >= 2 for cell in present]
    assert facts.prose == pytest.approx(sum(prose) / max(len(prose), 1))
