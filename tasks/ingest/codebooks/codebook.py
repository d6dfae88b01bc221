"""What the release file declares about attributes, before a row is read."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, TypeAdapter, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tasks.ingest.codebooks.categories import CategoryList, CategoryText, Hierarchy, list_codes
from tasks.ingest.columns.iso_cells import choose_target_type
from tasks.microdata.schema import Role, Scale
from tasks.microdata.spec import Name, Public, Spec
from tasks.microdata.table import TIME


class Documentation(Spec):
    """What a codebook may say about one attribute, whoever publishes or attacks it.

    label, description: what the attribute is, in a few words and at length. unit: of its values (`years`, `SEK a month`).
    scale: what may be done with its values (`numeric`, `ordinal`, `nominal`, `date`, `time`, `code`, `free_text`).
    order: the categories of an ordinal text attribute, lowest first; the column is then read as text.
    categories: every code that may occur, with its label (`{"1": low, "2": high}`) or alone (`["1", "2"]`); codes are
        texts, also where the table holds numbers.
    hierarchy: the parent of each category (`{Oslo: Norway, Norway: Europe}`), or a list of such mappings, one per level.
    """

    label: Public[CategoryText | None] = None
    unit: Public[Name | None] = None
    description: CategoryText | None = None
    scale: Public[Scale | None] = None
    order: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    categories: Annotated[CategoryList, Field(min_length=1)] | None = None
    hierarchy: Hierarchy | None = None

    @property
    def valid(self) -> tuple[str, ...]:
        """The codes that may occur; () where nothing limits them."""
        bottom = () if self.hierarchy is None else self.hierarchy.categories
        return list_codes(self.categories) or self.order or bottom

    @property
    def missing_codes(self) -> tuple[str, ...]:
        return ()

    @model_validator(mode="after")
    def _one_set_of_categories(self) -> Self:
        if self.order is not None and self.scale not in {None, Scale.ORDINAL}:
            raise ValueError("`order` belongs to `scale: ordinal`")
        if self.order is not None and len(set(self.order)) < len(self.order):
            raise ValueError("`order` names a category twice")
        if self.order is not None and set(self.order) & set(self.missing_codes):
            raise ValueError("a category of `order` is declared `missing` as well")
        if set(self.valid) & set(self.missing_codes):
            raise ValueError("a category is declared valid and `missing` as well")
        if self.order is not None and self.categories is not None and set(self.order) != set(self.valid):
            raise ValueError("`order` and `categories` list different codes")
        if self.hierarchy is not None and set(self.hierarchy.categories) != set(self.valid):
            raise ValueError("`hierarchy` does not give a parent to exactly the declared categories")
        return self


class AttributeDeclaration(Documentation):
    """What is declared about one attribute; what is left out is decided by the pipeline, with its evidence.

    role: what the attribute is to an intruder and to the publisher.
    from: the attributes of which a derived attribute is a function; required for `role: derived`, refused elsewhere.
    missing: cells that mean "no value" besides the empty cell, e.g. `["NA", "-9"]`; compared as text in text tables and as
        numbers in typed ones.
    date_format: how dates or times are written where it is not ISO 8601, in the directives of Python's strptime
        (`"%d/%m/%Y"`, `"%H:%M"`).
    decimal: `","` where numbers are written with a decimal comma.
    """

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    role: Public[Role | None] = None
    derived_from: Public[Annotated[tuple[Name, ...], Field(alias="from")]] = ()
    missing: tuple[str, ...] = ()
    date_format: Public[Name | None] = None
    decimal: Public[Literal[",", "."] | None] = None

    @property
    def missing_codes(self) -> tuple[str, ...]:
        return self.missing

    @model_validator(mode="after")
    def _readable_numbers_and_dates(self) -> Self:
        if self.decimal is not None and self.scale not in {None, Scale.NUMERIC}:
            raise ValueError("`decimal` belongs to `scale: numeric`")
        if self.date_format is None:
            return self
        scale = Scale.TIME if choose_target_type(self.date_format) == TIME else Scale.DATE
        if self.scale not in {None, scale} or self.decimal is not None or self.order is not None:
            raise ValueError(f"`date_format` {self.date_format} belongs to `scale: {scale}`, without `order` or `decimal`")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.role is Role.DERIVED) != bool(self.derived_from):
            raise ValueError("`from` names the sources of a derived attribute: `role: derived` needs it, other roles refuse it")
        return self


class AttributeSpec(AttributeDeclaration):
    """The declaration of one attribute together with its name; `only_in` names the codebook that alone speaks of it."""

    name: Public[Name]
    only_in: Name | None = None

    @model_validator(mode="after")
    def _not_its_own_source(self) -> Self:
        if self.name in self.derived_from:
            raise ValueError("an attribute is not derived from itself")
        return self


class _MappingForm:
    """JSON schema of the form that people write: a mapping from names to declarations."""

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        declaration = handler(AttributeDeclaration.__pydantic_core_schema__)
        return {"type": "object", "additionalProperties": {"anyOf": [declaration, {"type": "null"}]}}


_DECLARATIONS: TypeAdapter[dict[Name, AttributeDeclaration | None]] = TypeAdapter(dict[Name, AttributeDeclaration | None])
_NAMED: TypeAdapter[tuple[AttributeSpec, ...]] = TypeAdapter(tuple[AttributeSpec, ...])


def _from_mapping(value: object) -> object:
    """A mapping name -> declaration, or a list of named ones, becomes a tuple; anything else is left to the next validator."""
    if isinstance(value, list):
        return _NAMED.validate_json(json.dumps(value, default=_plain))
    if isinstance(value, tuple):
        return value
    if not isinstance(value, dict):
        raise ValueError("a mapping from attribute names to their declarations is expected")  # noqa: TRY004 - pydantic's own
    declared = _DECLARATIONS.validate_json(json.dumps(value))
    return tuple(AttributeSpec(name=name, **_collect_set_fields(declaration)) for name, declaration in declared.items())


def _plain(value: object) -> object:
    return value.model_dump(mode="json") if isinstance(value, AttributeSpec) else str(value)


def _collect_set_fields(declaration: AttributeDeclaration | None) -> dict[str, Any]:
    return {} if declaration is None else {field: getattr(declaration, field) for field in declaration.model_fields_set}


def _unique_names(attributes: tuple[AttributeSpec, ...]) -> tuple[AttributeSpec, ...]:
    names = [attribute.name for attribute in attributes]
    if len(set(names)) < len(names):
        raise ValueError("an attribute is declared twice")
    return attributes


Attributes = Annotated[tuple[AttributeSpec, ...], AfterValidator(_unique_names), BeforeValidator(_from_mapping), _MappingForm()]
Declared = dict[str, AttributeSpec]


def index_by_name(attributes: tuple[AttributeSpec, ...]) -> Declared:
    return {attribute.name: attribute for attribute in attributes}
