"""Files of the intruder: what the release file says of them, and which of their columns the intruder links by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa
from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, PlainSerializer, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tasks.attack.linkage.holding import Holding, Holdings
from tasks.ingest.codebooks.codebook import Attributes, AttributeSpec, index_by_name
from tasks.ingest.external_table import FilePlan
from tasks.ingest.sources import SourceSpec
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale, Schema
from tasks.microdata.spec import Name, Slug
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import DATE, MOMENT, TIME, Microdata

FILE = "file"


def _parse_pairs(value: object) -> object:
    """`id`, `[age, sex]` or `{ID: id}` as pairs of names: a column of the file, and what it is."""
    match value:
        case str():
            return ((value, value),)
        case list():
            return tuple((name, name) for name in value)
        case dict():
            return tuple(value.items())
        case _:
            return value


class _PairsForm:
    """The JSON schema of what `_parse_pairs` reads."""

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        name = {"type": "string", "minLength": 1, "maxLength": 300}
        names = {"type": "array", "items": name, "minItems": 1}
        return {"anyOf": [name, names, {"type": "object", "additionalProperties": name, "minProperties": 1}]}


ColumnPairs = Annotated[
    tuple[tuple[Name, Name], ...],
    Field(min_length=1),
    BeforeValidator(_parse_pairs),
    PlainSerializer(dict),
    _PairsForm(),
]


class FileSpec(SourceSpec):
    """A file that the intruder holds: read as the source is, and as private.

    key: the column that says whose each of its records is, and the column of the source that it is matched with (`{ID: pid}`,
        or one name for both). The evaluation alone uses it, to know which links are right.
    attributes: which published attribute each of its columns is, `{AGE: age}`, or the names that both have; default: every
        published attribute that the file has a column of the same name for.
    columns: how columns of this file are written, where it is not as in the source: `{BORN: {date_format: "%d.%m.%Y"}}`.
    convert: what the intruder does with the values of some attributes before they compare them, in the words of
        `intruder.holds`: `{income: {times: 1000}}` where the file has thousands.
    name: the intruder is called `file:<name>` in figures and policy lines; default: the file's place in the list, from 1.
    """

    key: ColumnPairs
    attributes: ColumnPairs | None = None
    columns: Attributes = ()
    convert: Holdings = ()
    name: Slug | None = None

    @model_validator(mode="after")
    def _names_one_key(self) -> FileSpec:
        if len(self.key) != 1:
            raise ValueError("`key` is one column of the file, and the column of the source that it is matched with")
        if self.key[0][0] in dict(self.attributes or ()):
            raise ValueError(f"`{self.key[0][0]}` is the key, and so no attribute that the intruder links by")
        repeated = [name for name, times in Counter(name for _, name in self.attributes or ()).items() if times > 1]
        if repeated:
            raise ValueError(f"two columns of the file are the attribute {repeated[0]}")
        return self

    @property
    def source(self) -> SourceSpec:
        """Where it is, without what the intruder does with it."""
        return SourceSpec.model_validate(self.model_dump(include=set(SourceSpec.model_fields)))


@dataclass(frozen=True, slots=True)
class FileUse:
    """How the intruder uses a file that was read.

    location: of the file in the release file, for messages. key: its column, and the source's. columns: which attribute each of
    its columns is, in the order of the table. convert: what the intruder does with their values.
    """

    location: str
    key: tuple[str, str]
    columns: tuple[tuple[str, str], ...]
    convert: tuple[tuple[str, Holding], ...] = ()


def name_files(files: tuple[FileSpec, ...]) -> tuple[str, ...]:
    """What the holders of the files are called in figures and policy lines: `file:<name>`.

    Raises InputError for two of one name.
    """
    names = tuple(f"{FILE}:{file.name or position}" for position, file in enumerate(files, start=1))
    for position, name in enumerate(names):
        if name in names[:position]:
            where, what = f"intruder.files[{position}]", f"two files are called `{name.removeprefix(f'{FILE}:')}`"
            raise InputError("duplicate-file", where, what, "one file per name", "give each a `name`", name)
    return names


def plan_file(file: FileSpec, number: int, original: Microdata, schema: Schema, attributes: Attributes) -> FilePlan:
    """How a file is to be read: the columns that are used, each as the source's column was.

    number: its place among the files, from 0. attributes: the declarations of the release file.

    Raises InputError for a key that the source has not, or publishes, and for attributes that are not there or not published.
    """
    location = f"intruder.files[{number}]"
    _check_key(file.key[0][1], schema, location)
    for _, name in file.attributes or ():
        check_published(name, schema, location, "attributes")
    pairs = (*file.key, *(file.attributes or ((name, name) for name in schema.release_columns)))
    written, known = index_by_name(file.columns), index_by_name(attributes)
    declared = tuple(
        _as_in_source(column, original.arrow.schema.field(name).type, known.get(name), written.get(column))
        for column, name in pairs
    )
    others = tuple(one for one in file.columns if one.name not in dict(pairs))
    if others:
        remedy = did_you_mean(others[0].name, dict(pairs), "take it out")
        what = f"`columns` speaks of `{others[0].name}`, of which no use is made"
        raise InputError("unused-column", f"{location}.columns", what, ", ".join(dict(pairs)), remedy, others[0].name)
    by_column = {one.name: one for one in declared}
    key, optional = file.key[0][0], () if file.attributes else schema.release_columns
    required = (key, *(column for column, _ in file.attributes or ()))
    return FilePlan(
        source=file.source,
        place=location,
        required=tuple(dict.fromkeys(required)),
        optional=tuple(name for name in optional if name != key),
        declared=tuple(by_column.values()),
    )


def create_file_use(file: FileSpec, number: int, schema: Schema, columns: Iterable[str]) -> FileUse:
    """Which of the columns that were read are which attributes.

    Raises InputError for a file that has no attribute of the table, and a conversion of one that it has not.
    """
    location, key = f"intruder.files[{number}]", file.key[0]
    there = set(columns) - {key[0]}
    meant = {name: column for column, name in file.attributes or ((name, name) for name in there)}
    used = tuple((meant[name], name) for name in schema.release_columns if name in meant)
    if not used:
        what, allowed = "the file has no published attribute of the table: nothing can be linked by it", schema.release_columns
        remedy = "say which of its columns are which attributes: `attributes: {COLUMN: attribute}`"
        raise InputError("no-shared-attribute", f"{location}.attributes", what, ", ".join(allowed), remedy)
    names = [name for _, name in used]
    for name, _ in file.convert:
        if name not in names:
            what, remedy = f"the file has no attribute `{name}` to convert", did_you_mean(name, names, "take it out")
            raise InputError("unknown-attribute", f"{location}.convert", what, ", ".join(names), remedy, name)
    return FileUse(location, key, used, file.convert)


def _as_in_source(
    column: str, kind: pa.DataType, declared: AttributeSpec | None, written: AttributeSpec | None
) -> AttributeSpec:
    """A column is read as what the source's column holds, whatever its cells look like: text that may be digits stays text."""
    scale = {DATE: Scale.DATE, MOMENT: Scale.DATE, TIME: Scale.TIME, pa.string(): Scale.CODE}.get(kind)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        scale = Scale.NUMERIC
    if written is not None:
        free = written.scale is None and written.order is None and written.date_format is None
        return written.model_copy(update={"scale": scale}) if free else written
    fields = ("missing",) if scale is Scale.CODE else ("missing", "date_format", "decimal")
    given: dict[str, Any] = {} if declared is None else {field: getattr(declared, field) for field in fields}
    return AttributeSpec(name=column, scale=scale, **given)


def _check_key(name: str, schema: Schema, location: str) -> None:
    where, hidden = f"{location}.key", [one for one in schema.names if one not in schema.release_columns]
    if name not in schema:
        remedy = did_you_mean(name, schema.names, "compare it with the column names of the source")
        what = f"the source has no column `{name}` with which the file's key could be matched"
        raise InputError("unknown-key", where, what, ", ".join(hidden) or "a column that is not published", remedy, name)
    if schema[name].is_published:
        what = f"`{name}` is published: who has a file with it needs no attack to know which row is whose"
        remedy = f"declare `{name}` an identifier, or match the file by another column"
        raise InputError("published-key", where, what, ", ".join(hidden) or "a column that is not published", remedy, name)


def check_published(name: str, schema: Schema, location: str, field: str) -> None:
    """Raises InputError where an intruder is said, in a field, to know what is no published attribute."""
    where, published = f"{location}.{field}", ", ".join(schema.release_columns)
    if name not in schema:
        remedy = did_you_mean(name, schema.names, "compare it with the column names of the table")
        raise InputError("unknown-attribute", where, f"the table has no attribute `{name}`", published, remedy, name)
    if not schema[name].is_published:
        what = f"`{name}` has the role {schema[name].role} and is not published: nothing can be linked by it"
        raise InputError("unpublished-attribute", where, what, published, f"take it out of `{field}`", name)
