import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tasks.classify.methods import ClassifyPlan, _comparable, classify, list_target_attributes
from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.sources import SourceSpec, read
from tasks.microdata.errors import InputError
from tasks.microdata.scaling import is_comparable
from tasks.microdata.schema import MaskTargets, Role, Scale, Schema
from tasks.microdata.table import Microdata

ORDERED = (Scale.NUMERIC, Scale.ORDINAL)
N = 40
TABLE = Microdata.from_columns(
    {
        "pid": list(range(500, 500 + N)),
        "age": [20 + (7 * i) % 31 + (i % 3) for i in range(N)],
        "town": [["a", "b", "c"][(i * i) % 3] for i in range(N)],
        "opinion": [["low", "mid", "high"][(i // 2) % 3] for i in range(N)],
        "income": [1000.5 + 13.7 * ((i * 29) % 37) for i in range(N)],
        "vote": [(i * i // 5) % 2 for i in range(N)],
        "year": [2020] * N,
        "nothing": [None] * N,
    }
)


def plan(**fields: object) -> ClassifyPlan:
    """The plan of the table above, as a release file would give it, with some fields changed."""
    content: dict[str, object] = {
        "key": "pid",
        "attributes": {"vote": {"role": "confidential"}, "opinion": {"order": ["low", "mid", "high"]}},
        "masks": [{"named": ["age", "income"], "scales": ["numeric", "ordinal"]}],
        "known": ["age", "town"],
    }
    return ClassifyPlan.model_validate_json(json.dumps(content | fields))


def test_the_schema_holds_every_column_in_order() -> None:
    schema = classify(TABLE, plan())
    assert schema.names == TABLE.names
    assert schema.release_columns == TABLE.names[1:]
    decided = {a.name: (a.role, a.scale, a.decided_by) for a in schema.attributes}
    assert decided == {
        "pid": (Role.IDENTIFIER, Scale.CODE, "declared"),
        "age": (Role.QUASI_IDENTIFIER, Scale.NUMERIC, "pipeline"),
        "town": (Role.QUASI_IDENTIFIER, Scale.NOMINAL, "pipeline"),
        "opinion": (Role.QUASI_IDENTIFIER, Scale.ORDINAL, "pipeline"),
        "income": (Role.QUASI_IDENTIFIER, Scale.NUMERIC, "pipeline"),
        "vote": (Role.CONFIDENTIAL, Scale.NOMINAL, "declared"),
        "year": (Role.QUASI_IDENTIFIER, Scale.NUMERIC, "pipeline"),
        "nothing": (Role.QUASI_IDENTIFIER, Scale.NOMINAL, "pipeline"),
    }
    assert "all values are equal" in schema["year"].evidence
    assert "no row has a value" in schema["nothing"].evidence
    assert any("40 rows searched" in words for words in schema["age"].evidence)
    assert not any("searched" in words for words in schema["vote"].evidence)


def test_the_schema_and_the_plan_survive_json() -> None:
    schema, adapter = classify(TABLE, plan()), TypeAdapter(Schema)
    assert adapter.validate_json(adapter.dump_json(schema)) == schema
    assert ClassifyPlan.model_validate_json(plan().model_dump_json(by_alias=True)) == plan()


def test_masked_attributes_are_those_named_or_fitting() -> None:
    schema = classify(TABLE, plan(masks=[]))
    assert list_target_attributes(schema, (MaskTargets(("vote",), ORDERED), MaskTargets(("age",), ORDERED))) == ("age", "vote")
    assert list_target_attributes(schema, (MaskTargets(None, (Scale.ORDINAL,)),)) == ("opinion",)


def mask(*names: str) -> list[dict[str, object]]:
    return [{"named": list(names), "scales": ["numeric"]}]


@pytest.mark.parametrize(
    ("fields", "code", "where"),
    [
        ({"key": None}, "undeclared-identifier", "attributes.pid"),
        ({"key": "pidd"}, "unknown-attribute", "key"),
        ({"known": ["agee"]}, "unknown-attribute", "intruder.knows"),
        ({"masks": mask("agee")}, "unknown-attribute", "masking[0].attributes"),
        ({"attributes": {"agee": {}}}, "unknown-attribute", "attributes.agee"),
        ({"attributes": {"age": {"role": "derived", "from": ["agee"]}}}, "unknown-attribute", "attributes.age.from"),
        ({"masks": mask("pid")}, "unpublished-attribute", "masking[0].attributes"),
        ({"known": ["pid"]}, "unpublished-attribute", "intruder.knows"),
        ({"masks": mask("year")}, "nothing-to-mask", "masking: year"),
        ({"masks": mask("nothing")}, "nothing-to-mask", "masking: nothing"),
        ({"masks": [{"named": None, "scales": ["numeric"]}]}, "nothing-to-mask", "masking: year"),
        ({"attributes": {"opinion": {"order": ["low", "mid"]}}}, "unlisted-category", "attributes.opinion.order"),
        ({"attributes": {"opinion": {"scale": "ordinal"}}}, "order-missing", "attributes.opinion.scale"),
        ({"attributes": {"town": {"scale": "numeric"}}}, "not-numeric", "attributes.town.scale"),
        ({"attributes": {"pid": {"role": "confidential"}}}, "published-key", "attributes.pid.role"),
    ],
)
def test_wrong_plans_are_refused(fields: dict[str, object], code: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        classify(TABLE, plan(**fields))
    assert (caught.value.code, caught.value.where) == (code, where)


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(InputError, match="did you mean `income`"):
        classify(TABLE, plan(known=["incom"]))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (Microdata.from_columns({}), "no-columns"),
        (Microdata.from_columns({"a": [1]}), "too-few-rows"),
        (Microdata.from_columns({"a": [1][:0]}), "too-few-rows"),
    ],
)
def test_tables_that_cannot_be_released(data: Microdata, code: str) -> None:
    with pytest.raises(InputError) as caught:
        classify(data, ClassifyPlan())
    assert caught.value.code == code


def test_a_table_of_identifiers_alone_has_nothing_to_publish() -> None:
    with pytest.raises(InputError) as caught:
        classify(Microdata.from_columns({"a": [1, 2]}), ClassifyPlan(key="a"))
    assert caught.value.code == "nothing-to-publish"


def test_small_tables_say_that_nothing_was_searched() -> None:
    data = Microdata.from_columns({"a": [1, 2, 3], "b": [1, 2, 3]})
    schema = classify(data, ClassifyPlan(masks=(MaskTargets(("a",), ORDERED),)))
    assert any("not searched" in words for words in schema["a"].evidence)


def anes96() -> Microdata:
    return Microdata(read(SourceSpec(dataset="anes96")).table)


def test_anes96_is_refused_until_logpopul_is_declared() -> None:
    masks = (MaskTargets(("popul",), ORDERED),)
    with pytest.raises(InputError) as caught:
        classify(anes96(), ClassifyPlan(masks=masks))
    assert caught.value.code == "undoes-the-mask"
    assert caught.value.where == "attributes.logpopul"
    assert "logpopul is a one-to-one recoding of popul" in caught.value.what
    assert "logpopul: {role: derived, from: [popul]}" in caught.value.remedy
    derived = AttributeSpec(name="logpopul", role=Role.DERIVED, derived_from=("popul",))
    schema = classify(anes96(), ClassifyPlan(masks=masks, attributes=(derived,)))
    assert "logpopul" not in schema.release_columns
    assert schema["logpopul"].derived_from == ("popul",)


def test_anes96_scales_are_those_of_its_codebook() -> None:
    """income (1..24) and educ (1..7) are ordinal codes, popul and age are measured, vote has two categories."""
    schema = classify(anes96(), ClassifyPlan())
    scales = {name: schema[name].scale for name in ("popul", "age", "income", "educ", "vote")}
    assert scales == {
        "popul": Scale.NUMERIC,
        "age": Scale.NUMERIC,
        "income": Scale.ORDINAL,
        "educ": Scale.ORDINAL,
        "vote": Scale.NOMINAL,
    }
    assert {a.role for a in schema.attributes} == {Role.QUASI_IDENTIFIER}
    assert "whole numbers stored as decimals" in schema["income"].evidence


@pytest.mark.parametrize("values", [[1, *range(1, N)], [None, *range(1, N)]])
def test_a_key_that_does_not_tell_units_apart_is_refused(values: list[object]) -> None:
    with pytest.raises(InputError, match="does not tell the units apart"):
        classify(TABLE.replace_column("pid", pa.array(values)), plan())


def test_a_row_without_its_person_is_refused_and_repeated_persons_are_not() -> None:
    declared = {"pid": {"role": "person", "scale": "nominal"}, "opinion": {"order": ["low", "mid", "high"]}}
    persons = TABLE.replace_column("pid", pa.array([i // 2 for i in range(N)]))
    assert classify(persons, plan(key=None, attributes=declared))["pid"].role == Role.PERSON
    with pytest.raises(InputError, match="whose rows they are is not known"):
        classify(TABLE.replace_column("pid", pa.array([None, *range(1, N)])), plan(key=None, attributes=declared))


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2**60 + 1013 * (i * i % 37) for i in range(N)]),
        pa.array([1e175 * (i + 1) for i in range(N)]),
        pa.array([1e-200 * (i + 1) for i in range(N)]),
    ],
)
def test_numbers_that_double_precision_cannot_compare_are_refused(values: pa.Array) -> None:
    table = Microdata(TABLE.arrow.set_column(1, "age", values))
    with pytest.raises(InputError, match="double precision"):
        classify(table, plan())


SIZES = st.sampled_from([0.0, 1e-46, 1e-45, 3e-45, 1e-44, 1.0, 9.99e44, 1e45, 1.01e45, 1e300, 1.7e308, float("inf")])


@given(st.lists(st.one_of(st.none(), st.builds(lambda size, sign: sign * size, SIZES, st.sampled_from([-1, 1]))), max_size=9))
@example([1e45, 1e45 - 1e30])
@example([1e-45, -1e-45, 0.0])
@example([1.7e308, 1.7e308])
def test_the_ends_of_a_column_say_no_more_than_all_its_numbers(numbers: list[float | None]) -> None:
    data = Microdata.from_columns({"x": pa.array(numbers, pa.float64())})
    with np.errstate(over="ignore", invalid="ignore"):
        assert _comparable(data, "x") == is_comparable(data.floats("x"))
