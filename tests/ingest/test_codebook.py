import json

import jsonschema
import pytest
from pydantic import ValidationError

from tasks.ingest.codebooks.codebook import Attributes, AttributeSpec, index_by_name
from tasks.microdata.schema import Role, Scale
from tasks.microdata.spec import Spec


class Holder(Spec):
    attributes: Attributes = ()


MAPPING = {
    "age": {"role": "quasi_identifier", "scale": "numeric", "missing": ["-9"]},
    "opinion": {"scale": "ordinal", "order": ["low", "mid", "high"]},
    "logpop": {"role": "derived", "from": ["popul"]},
    "listed only": None,
}

CODED = {
    "grade": {"label": "Grade", "categories": {"1": "low", "2": None}, "hierarchy": {"1": "all", "2": "all"}},
    "town": {"unit": "place", "categories": ["a", "b"], "hierarchy": [{"a": "x", "b": "x"}, {"x": "y"}]},
}


def parsed(content: object) -> Holder:
    return Holder.model_validate_json(json.dumps({"attributes": content}))


def test_the_mapping_of_the_release_file_becomes_named_declarations() -> None:
    found = parsed(MAPPING).attributes
    assert [a.name for a in found] == ["age", "opinion", "logpop", "listed only"]
    assert found[0] == AttributeSpec(name="age", role=Role.QUASI_IDENTIFIER, scale=Scale.NUMERIC, missing=("-9",))
    assert found[1].order == ("low", "mid", "high")
    assert found[2].derived_from == ("popul",)
    assert found[3] == AttributeSpec(name="listed only")
    assert index_by_name(found)["age"].role is Role.QUASI_IDENTIFIER


@pytest.mark.parametrize("by_alias", [True, False])
@pytest.mark.parametrize("written", [MAPPING, CODED])
def test_what_is_written_as_json_reads_back_equal(by_alias: bool, written: dict[str, object]) -> None:
    holder = parsed(written)
    assert Holder.model_validate_json(holder.model_dump_json(by_alias=by_alias)) == holder


def test_the_list_form_and_the_mapping_mean_the_same() -> None:
    listed = [{"name": name, **(declaration or {})} for name, declaration in MAPPING.items()]
    assert parsed(listed) == parsed(MAPPING)


def test_python_objects_are_taken_as_they_are() -> None:
    attribute = AttributeSpec(name="vote", role=Role.CONFIDENTIAL)
    assert Holder(attributes=(attribute,)).attributes == (attribute,)


def test_the_json_schema_accepts_the_mapping_and_refuses_mistakes() -> None:
    schema = Holder.model_json_schema(by_alias=True)
    jsonschema.validate({"attributes": MAPPING}, schema)
    jsonschema.validate({"attributes": CODED}, schema)
    for wrong in ({"a": {"rule": "other"}}, {"a": {"role": "secret"}}, {"a": {"order": []}}, 3):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"attributes": wrong}, schema)


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        ({"a": {"role": "secret"}}, ("attributes", "a", "role"), "confidential"),
        ({"a": {"rule": "other"}}, ("attributes", "a", "rule"), "Extra"),
        ({"a": {"role": "derived"}}, ("attributes", "a"), "`from`"),
        ({"a": {"from": ["b"]}}, ("attributes", "a"), "`from`"),
        ({"a": {"role": "derived", "from": ["a"]}}, ("attributes",), "itself"),
        ({"a": {"order": ["x", "x"]}}, ("attributes", "a"), "twice"),
        ({"a": {"scale": "numeric", "order": ["x"]}}, ("attributes", "a"), "ordinal"),
        ({"a": {"order": ["x", "NA"], "missing": ["NA"]}}, ("attributes", "a"), "missing"),
        ({"a": {"scale": 3}}, ("attributes", "a", "scale"), "numeric"),
        ([{"name": "a"}, {"name": "a"}], ("attributes",), "twice"),
        (["a"], ("attributes", 0), "object"),
        ("age", ("attributes",), "mapping"),
    ],
)
def test_mistakes_name_their_place(content: object, place: tuple[str | int, ...], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        parsed(content)
    detail = caught.value.errors()[0]
    assert detail["loc"] == place
    assert words in detail["msg"]
