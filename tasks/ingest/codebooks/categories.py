"""Categories of an attribute as people write them down: codes with labels, and trees of codes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, GetJsonSchemaHandler, StringConstraints, TypeAdapter, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tasks.microdata.spec import Name, Spec

CategoryText = Annotated[str, StringConstraints(min_length=1, max_length=32_000)]
Edge = tuple[str, str]


class Category(Spec):
    """One code as the table holds it, always as text, and what it stands for."""

    code: Name
    label: CategoryText | None = None


_LABELS: TypeAdapter[dict[Name, CategoryText | None]] = TypeAdapter(dict[Name, CategoryText | None])
_LISTED: TypeAdapter[tuple[Name | Category, ...]] = TypeAdapter(tuple[Name | Category, ...])
_LEVELS: TypeAdapter[tuple[tuple[Edge, ...], ...]] = TypeAdapter(tuple[tuple[Edge, ...], ...])
_PARENTS: TypeAdapter[dict[Name, Name]] = TypeAdapter(dict[Name, Name])


def _from_written(value: object) -> object:
    """A mapping code -> label, or a list of codes, as categories; anything else is left to the next validator."""
    if isinstance(value, dict):
        return tuple(Category(code=code, label=label) for code, label in _LABELS.validate_json(json.dumps(value)).items())
    if isinstance(value, list):
        found = _LISTED.validate_json(json.dumps(value, default=_plain))
        return tuple(Category(code=one) if isinstance(one, str) else one for one in found)
    if isinstance(value, tuple):
        return value
    raise ValueError("a mapping from codes to labels, or a list of codes, is expected")


def _plain(value: object) -> object:
    return value.model_dump(mode="json") if isinstance(value, Spec) else str(value)


def _each_once(categories: tuple[Category, ...]) -> tuple[Category, ...]:
    codes = list_codes(categories)
    if len(set(codes)) < len(codes):
        raise ValueError("a code is listed twice")
    return categories


def list_codes(categories: tuple[Category, ...] | None) -> tuple[str, ...]:
    return tuple(category.code for category in categories or ())


class _WrittenForm:
    """JSON schema of the two forms that people write."""

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        labels = {"type": "object", "additionalProperties": {"type": ["string", "null"]}}
        return {"anyOf": [labels, {"type": "array", "items": {"type": "string"}}]}


CategoryList = Annotated[tuple[Category, ...], AfterValidator(_each_once), BeforeValidator(_from_written), _WrittenForm()]


class CategoryTree(Spec):
    """A forest over categories: `levels[0]` gives every category its parent, `levels[1]` every parent its own, and so on."""

    levels: tuple[tuple[Edge, ...], ...]

    @model_validator(mode="after")
    def _every_member_has_a_parent_at_each_level(self) -> Self:
        if not self.levels or not all(self.levels):
            raise ValueError("a hierarchy has at least one level, and no empty one")
        for edges in self.levels:
            if len(dict(edges)) < len(edges):
                raise ValueError("a category has two parents at one level")
        for below, above in zip(self.levels, self.levels[1:], strict=False):
            if {parent for _, parent in below} != {child for child, _ in above}:
                raise ValueError("every category needs a parent at each level, and every parent a category below it")
        return self

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories at the bottom, in the order they are written."""
        return tuple(child for child, _ in self.levels[0])

    def ancestors(self, level: int) -> dict[str, str]:
        """Category -> its ancestor `level` levels up; level 0 is the category itself.

        Raises IndexError for a level that is not there.
        """
        if not 0 <= level <= len(self.levels):
            raise IndexError(f"level {level} of {len(self.levels)}")
        found = {category: category for category in self.categories}
        for edges in self.levels[:level]:
            parents = dict(edges)
            found = {category: parents[here] for category, here in found.items()}
        return found


def _tree(value: object) -> object:
    """A mapping child -> parent, or a list of them, one per level, as a tree."""
    if isinstance(value, CategoryTree):
        return value
    if isinstance(value, list):
        return CategoryTree(levels=tuple(tuple(_PARENTS.validate_json(json.dumps(level)).items()) for level in value))
    if isinstance(value, dict) and isinstance(value.get("levels"), list):
        return CategoryTree(levels=_LEVELS.validate_json(json.dumps(value["levels"])))
    if isinstance(value, dict):
        return CategoryTree(levels=_levels(_PARENTS.validate_json(json.dumps(value))))
    raise ValueError("a mapping from categories to their parents, or a list of them, one per level, is expected")


def _levels(parents: Mapping[str, str]) -> tuple[tuple[Edge, ...], ...]:
    height = {child: _height(child, parents) for child in parents}
    inner = set(parents.values())
    bottom = {height[child] for child in parents if child not in inner}
    if len(bottom) > 1:
        raise ValueError("every category needs a parent at each level: some have fewer ancestors than others")
    highest = max(bottom, default=0)
    return tuple(tuple((c, p) for c, p in parents.items() if height[c] == above) for above in range(highest, 0, -1))


def _height(child: str, parents: Mapping[str, str]) -> int:
    """How many ancestors; ValueError where the walk comes back to where it was."""
    steps, here = 0, child
    while here in parents:
        steps, here = steps + 1, parents[here]
        if steps > len(parents):
            raise ValueError("the hierarchy has a cycle: a category is its own ancestor")
    return steps


class _TreeForm:
    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        level: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}
        return {"anyOf": [level, {"type": "array", "items": level, "minItems": 1}]}


Hierarchy = Annotated[CategoryTree, BeforeValidator(_tree), _TreeForm()]
