"""A mapping of categories in a release file, and in a file of its own."""

from __future__ import annotations

import dataclasses
import json
import stat
from collections import Counter
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, PlainSerializer, TypeAdapter, ValidationError, WithJsonSchema

from tasks.ingest.readers import delimited
from tasks.microdata.document import read_document
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_file
from tasks.microdata.spec import Name
from tasks.microdata.suggestion import did_you_mean_file

LARGEST_BYTES = 10_000_000
COLUMNS = ("old", "new")
_MAPPING: TypeAdapter[dict[str, str | bool | int | float]] = TypeAdapter(dict[Name, Name | bool | int | float])


def _from_written(value: object) -> object:
    """A mapping becomes sorted pairs of texts: 3 is "3", true is "true"."""
    if isinstance(value, tuple):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("a mapping from categories to what they become is expected")  # noqa: TRY004 - pydantic's own
    found = _MAPPING.validate_json(json.dumps(dict(value)), strict=True)
    return tuple(sorted((old, new if isinstance(new, str) else json.dumps(new)) for old, new in found.items()))


CategoryPairs = Annotated[
    tuple[tuple[Name, Name], ...],
    Field(min_length=1),
    BeforeValidator(_from_written),
    PlainSerializer(dict),
    WithJsonSchema({
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"type": ["string", "number", "boolean"]},
    }),
]  # fmt: skip
_PAIRS: TypeAdapter[tuple[tuple[str, str], ...]] = TypeAdapter(CategoryPairs)


def read_mapping(path: Path, location: str) -> tuple[tuple[str, str], ...]:
    """The pairs (category, what it becomes) of a file, sorted.

    A `.csv` file has a header `old,new` and is UTF-8; every cell is text. A `.yaml` or `.yml` file holds one mapping.
    location: where the release file names it. Raises InputError for everything else; a category that stands twice is refused.
    """
    _refuse_unreadable(path, location)
    try:
        written = _from_csv(path) if path.suffix.lower() == ".csv" else read_document(path).content
        return _PAIRS.validate_python(written, strict=True)
    except ValidationError:
        what = "the file does not map categories to single categories"
        raise _unfit(path, location, what) from None
    except OSError as error:
        raise _unfit(path, location, f"the mapping file cannot be read ({error.strerror})", "make it readable") from None
    except InputError as error:
        remedy = f"{error.remedy} (in the mapping file that {location} names)"
        raise dataclasses.replace(error, code="mapping-file", allowed=_ALLOWED, remedy=remedy) from None


_ALLOWED = "a CSV file with the header `old,new`, or a YAML file with one mapping `old: new`"


def _refuse_unreadable(path: Path, location: str) -> None:
    if path.suffix.lower() not in (".csv", ".yaml", ".yml"):
        raise _unfit(path, location, "a mapping is read from a file named *.csv, *.yaml or *.yml", "name another file")
    try:
        found = path.stat()
    except (OSError, ValueError):  # ValueError: a name that no file can have
        beside = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        remedy = did_you_mean_file(path.name, beside, "correct the path; it is relative to the release file")
        raise InputError("no-such-file", location, "there is no such mapping file", _ALLOWED, remedy, str(path)) from None
    if not stat.S_ISREG(found.st_mode):
        raise _unfit(path, location, "this is a folder or a device, not a file", "name a file")
    if found.st_size > LARGEST_BYTES:
        raise _unfit(path, location, f"the mapping file is larger than {LARGEST_BYTES:,} bytes")


def _from_csv(path: Path) -> dict[str, str]:
    table = delimited.read(BytesIO(read_file(path)), path.name, encoding="utf-8").table
    if tuple(table.column_names) != COLUMNS:
        raise _unfit(path, path.name, "the header is not `old,new`", "write it as the first line", ",".join(table.column_names))
    old, new = (column.to_pylist() for column in table.columns)
    gap = next((row for row, pair in enumerate(zip(old, new, strict=True), 1) if None in pair), None)
    if gap is not None:
        raise _unfit(path, f"{path.name}: row {gap}", "a cell of the mapping file is empty", "fill it, or take the row out")
    twice = [category for category, times in Counter(old).items() if times > 1]
    if twice:
        raise _unfit(path, path.name, "a category stands twice in the column `old`", "keep one of the two rows", twice[0])
    return dict(zip(old, new, strict=True))


def _unfit(path: Path, location: str, what: str, remedy: str = "correct the file", value: str | None = None) -> InputError:
    return InputError("mapping-file", location, what, _ALLOWED, remedy, path.name if value is None else value)
