"""The form of a step whose parameters differ by attribute: a mapping from attribute names to theirs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tasks.microdata.spec import Name


@dataclass(frozen=True)
class WrittenMapping:
    """Turns a mapping name -> parameters into tuples sorted by name, so that equal steps are equal and can be hashed.

    parameters: the type of one attribute's parameters.
    """

    parameters: Any

    def __call__(self, value: object) -> object:
        if isinstance(value, tuple):
            return value
        if not isinstance(value, dict):
            raise ValueError("a mapping from attribute names to their parameters is expected")  # noqa: TRY004 - pydantic's own
        form: Any = dict[Name, self.parameters]  # type: ignore[name-defined]  # which type it is, is known only here
        adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(form)
        found = adapter.validate_json(json.dumps(value, default=_plain), strict=True)
        return tuple(sorted(found.items(), key=lambda item: item[0]))


@dataclass(frozen=True)
class MappingForm:
    """The JSON schema of what `WrittenMapping` reads."""

    parameters: type[BaseModel]

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        one = handler(self.parameters.__pydantic_core_schema__)
        return {"type": "object", "minProperties": 1, "additionalProperties": one}


def _plain(value: object) -> object:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)


def refuse_other_attributes(attributes: tuple[str, ...] | None, named: tuple[str, ...], field: str) -> None:
    """ValueError where `attributes` is given beside a mapping and names others than its keys."""
    if attributes is not None and set(attributes) != set(named):
        raise ValueError(f"{field} must hold the same attributes as `attributes`, or `attributes` be left out")
