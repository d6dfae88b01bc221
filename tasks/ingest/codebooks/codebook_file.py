"""The codebook of a table: a YAML file beside it, or the labels inside a data file of a statistics program."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, GetJsonSchemaHandler, TypeAdapter, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tasks.ingest.codebooks.categories import CategoryList, CategoryText, list_codes
from tasks.ingest.codebooks.codebook import AttributeSpec, Documentation, index_by_name
from tasks.microdata.document import read_document, validate_document
from tasks.microdata.errors import InputError
from tasks.microdata.spec import Name, Spec


class EntryDocumentation(Documentation):
    """What a codebook says about one attribute.

    missing: codes that mean "no value", with the reason (`{"-9": refused}`) or alone (`["-9", "NA"]`).
    """

    missing: CategoryList = ()

    @property
    def missing_codes(self) -> tuple[str, ...]:
        return list_codes(self.missing)


class CodebookEntry(EntryDocumentation):
    """What a codebook says about one attribute, together with its name."""

    name: Name


_WRITTEN: TypeAdapter[dict[Name, EntryDocumentation | None]] = TypeAdapter(dict[Name, EntryDocumentation | None])


def _entries(value: object) -> object:
    if not isinstance(value, dict):
        raise ValueError("a mapping from attribute names to what is known about them is expected")  # noqa: TRY004 - pydantic's own
    written = _WRITTEN.validate_json(json.dumps(value))
    return tuple(CodebookEntry(name=name, **_collect_set_fields(entry)) for name, entry in written.items())


def _collect_set_fields(entry: Documentation | None) -> dict[str, Any]:
    return {} if entry is None else {field: getattr(entry, field) for field in entry.model_fields_set}


class _MappingForm:
    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        entry = handler(EntryDocumentation.__pydantic_core_schema__)
        return {"type": "object", "additionalProperties": {"anyOf": [entry, {"type": "null"}]}}


class CodebookFile(Spec):
    """The content of a codebook file."""

    title: CategoryText | None = None
    description: CategoryText | None = None
    attributes: Annotated[tuple[CodebookEntry, ...], BeforeValidator(_entries), _MappingForm()]


@dataclass(frozen=True, slots=True)
class Codebook:
    """What is known about the attributes of a table. label: what messages call it. entries: one per attribute, names unique."""

    label: str
    entries: tuple[CodebookEntry, ...] = ()

    def index_by_name(self) -> dict[str, CodebookEntry]:
        return {entry.name: entry for entry in self.entries}


def load_codebook(path: Path) -> Codebook:
    """Read and check a codebook file.

    Raises InputError with the line: an absent file, no plain YAML 1.2, a name that stands twice, an unknown field, codes that
    are no texts, a category that is valid and missing, a hierarchy with a cycle or with a category that has no parent at some
    level.
    """
    try:
        return Codebook(path.name, validate_document(CodebookFile, read_document(path)).attributes)
    except InputError as error:
        raise _about_a_codebook(error) from None


def _about_a_codebook(error: InputError) -> InputError:
    """The error of a YAML file, with advice that fits a codebook."""
    absent = error.code == "no-such-file"
    example = "attributes: {age: {label: Age in years, missing: {'-9': refused}}}"
    allowed = "the path of a codebook file (YAML)" if absent else error.allowed
    remedy = error.remedy if "params/" not in error.remedy else f"compare it with `{example}`"
    return dataclasses.replace(error, code="no-such-codebook" if absent else "codebook-file",
                               allowed=allowed.replace("see params/schema/release.json", example), remedy=remedy)  # fmt: skip


def merge_codebook(attributes: tuple[AttributeSpec, ...], codebook: Codebook) -> tuple[AttributeSpec, ...]:
    """The declarations, completed by a codebook: field by field the declaration wins.

    First the declared attributes in their order, then those that only the codebook speaks of. Declared `missing` codes replace
    those of the codebook.

    Raises InputError where the two contradict each other, e.g. by a category that one calls valid and the other missing.
    """
    declared, entries = index_by_name(attributes), codebook.index_by_name()
    completed = tuple(_complete_declaration(spec, entries.get(spec.name), codebook.label) for spec in attributes)
    added = (entry for entry in codebook.entries if entry.name not in declared)
    return completed + tuple(AttributeSpec(name=e.name, only_in=codebook.label, **_fields(e)) for e in added)


def _fields(entry: CodebookEntry) -> dict[str, Any]:
    given = {
        field: value
        for field, value in _collect_set_fields(entry).items()
        if value is not None and field not in {"name", "missing"}
    }
    return given | ({"missing": entry.missing_codes} if entry.missing else {})


def _complete_declaration(spec: AttributeSpec, entry: CodebookEntry | None, label: str) -> AttributeSpec:
    if entry is None:
        return spec
    own = {field: getattr(spec, field) for field in spec.model_fields_set if getattr(spec, field) is not None}
    try:
        return AttributeSpec(**(_fields(entry) | own))
    except ValidationError as error:
        reason = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise InputError("contradictory-codebook", f"attributes.{spec.name}",
                         f"The declaration and {label} contradict each other: {reason}.",
                         "a codebook that agrees with the release file", "correct one of the two") from None  # fmt: skip


def refuse_contradiction(spec: AttributeSpec, built_in: CodebookEntry | None, label: str) -> None:
    """InputError where a declared category is a code that the data file itself calls missing."""
    both = set(spec.valid) & set(built_in.missing_codes) if built_in is not None else set()
    if both:
        raise InputError("contradictory-codebook", f"{label}: column {spec.name}",
                         f"{len(both)} declared categories are missing values by the labels inside the data file.",
                         "categories that are not missing", "correct `categories`, or the data file")  # fmt: skip
