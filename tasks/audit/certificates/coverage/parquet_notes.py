"""Check the key-value metadata of a Parquet file: covered is what describes its columns, and no more."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from tasks.audit.certificates.coverage.parquet_shapes import NamedFields

_PANDAS, _ARROW = b"pandas", b"ARROW:schema"
_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}((a|b|rc|\.dev)[0-9]{1,4})?")
_TYPE = re.compile(
    r"(u?int|U?Int|float|Float)(8|16|32|64)|bool|boolean|object|bytes|empty|string(\[(python|pyarrow|pyarrow_numpy)\])?|str|unicode"
    r"|category|categorical|date|time|datetime|datetimetz|decimal|datetime64\[(s|ms|us|ns)\]"
)
_COLUMN_KEYS = {"name", "field_name", "pandas_type", "numpy_type", "metadata"}
_SHOWN = 3


def list_unexplained_notes(footer: NamedFields, names: Sequence[str]) -> Iterator[str]:
    """The notes in the footer of a Parquet file that say more than its columns do, in words."""
    notes = [(note["key"], note.get("value", b"")) for note in footer.get("key_value_metadata", ())]
    others = [key for key, value in notes if not _is_covered(key, value, dict(notes), names)]
    if others or len(dict(notes)) < len(notes):
        shown = ", ".join(key.decode("utf-8", "replace")[:40] for key in others[:_SHOWN])
        yield f"metadata ({shown}{', ...' if len(others) > _SHOWN else ''})" if others else "metadata"


def _is_covered(key: bytes, value: bytes, notes: dict[bytes, bytes], names: Sequence[str]) -> bool:
    try:
        if key == _PANDAS:
            return _describes_columns(json.loads(value, object_pairs_hook=_refuse_repeats), names)
        return key == _ARROW and _is_plain_schema(value, notes.get(_PANDAS), names)
    except (ValueError, TypeError, KeyError, AttributeError, binascii.Error, pa.ArrowException, OSError):
        return False


def _is_plain_schema(value: bytes, pandas: bytes | None, names: Sequence[str]) -> bool:
    """Is it the schema of these columns, as Arrow writes it, without notes but those of pandas, which are looked at?"""
    stored = base64.b64decode(value, validate=True)
    schema = pa.ipc.read_schema(pa.BufferReader(stored))
    notes = schema.metadata or {}
    return (
        schema.names == list(names)
        and notes == ({} if _PANDAS not in notes else {_PANDAS: pandas})
        and all(_is_number_alone(field.metadata or {}) for field in schema)
        and not any(isinstance(field.type, pa.BaseExtensionType) for field in schema)
        and schema.serialize().to_pybytes() == stored
        and base64.b64encode(stored) == value
    )


def _is_number_alone(notes: dict[bytes, bytes]) -> bool:
    return all(key == b"PARQUET:field_id" and value.isdigit() for key, value in notes.items())


def _describes_columns(note: Any, names: Sequence[str]) -> bool:
    known = {"index_columns", "column_indexes", "columns", "creator", "pandas_version", "attributes", "partition_columns"}
    creator = note.get("creator", {"library": "pyarrow", "version": "1.0"})
    return (
        note.keys() <= known
        and all(_is_column(column, names) for column in note["columns"])
        and all(_is_column(column, (None,)) for column in note.get("column_indexes", ()))
        and all(_is_count(index) for index in note.get("index_columns", ()))
        and creator.keys() == {"library", "version"}
        and creator["library"] in ("pyarrow", "fastparquet")
        and all(_VERSION.fullmatch(one) for one in (creator["version"], note.get("pandas_version") or "1.0"))
        and not note.get("attributes")
        and not note.get("partition_columns")
    )


def _is_column(column: Any, names: Sequence[str | None]) -> bool:
    details = column.get("metadata") or {}
    return (
        column.keys() <= _COLUMN_KEYS
        and column["name"] in names
        and column.get("field_name", column["name"]) in (column["name"], str(column["name"]))
        and all(_TYPE.fullmatch(column[key]) for key in ("pandas_type", "numpy_type"))
        and all((key in ("num_categories", "ordered", "precision", "scale") and isinstance(one, int | bool))
                or (key, one) in (("encoding", "UTF-8"), ("timezone", None)) for key, one in details.items())
    )  # fmt: skip


def _is_count(index: Any) -> bool:
    """The index of rows that are counted, of which nothing is stored."""
    numbers = [index[key] for key in ("start", "stop", "step")]
    return bool(index == {"kind": "range", "name": None, **dict(zip(("start", "stop", "step"), numbers, strict=True))}
                and all(isinstance(one, int) for one in numbers))  # fmt: skip


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)
