"""Rows of Python values, as database drivers give them, as typed columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from types import NoneType
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from tasks.ingest.readers.raw import too_large
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_TABLE

_WORDS: dict[type, str] = {
    bool: "true/false",
    int: "whole numbers",
    float: "decimals",
    Decimal: "exact decimals",
    str: "text",
    datetime: "moments",
    date: "dates",
    time: "times of day",
}
_READ = "whole numbers, decimals, text, true/false, dates, times of day, moments"
_BYTES = frozenset({bytes, bytearray, memoryview})


def as_columns(names: Sequence[str], chunks: Iterable[Sequence[Sequence[Any]]], label: str) -> pa.Table:
    """A table with one type per column, from rows of Python values in pieces; None is missing.

    Raises InputError: a column of bytes, of mixed kinds (SQLite allows them), of another kind, or of numbers beyond the types;
    more than `LARGEST_TABLE` bytes.
    """
    kinds: list[set[type]] = [set() for _ in names]
    parts: list[pa.Table] = []
    taken = 0
    for chunk in chunks:
        columns = [_convert_uuids(column) for column in zip(*chunk, strict=True)]
        for seen, column in zip(kinds, columns, strict=True):
            seen.update({type(value) for value in column} - {NoneType})
        for name, seen in zip(names, kinds, strict=True):
            _refuse_unfitting(seen, f"{label}: column {name}")
        arrays = [_array(column, f"{label}: column {name}") for name, column in zip(names, columns, strict=True)]
        parts.append(pa.table(dict(zip(names, arrays, strict=True))))
        taken += parts[-1].nbytes
        if taken > LARGEST_TABLE:
            raise too_large(label, "select the columns and rows that are needed")
    if not parts:
        return pa.table({name: pa.nulls(0) for name in names})
    return pa.concat_tables(parts, promote_options="permissive").combine_chunks()


def _convert_uuids(column: tuple[Any, ...]) -> tuple[Any, ...]:
    """UUIDs in the text that databases show them in."""
    return tuple(str(value) if isinstance(value, UUID) else value for value in column)


def sort_by_all_columns(table: pa.Table) -> pa.Table:
    """The rows sorted by all columns from left to right, smallest first, texts by their code points, missing last."""
    numbered = table.rename_columns([f"c{position}" for position in range(table.num_columns)])
    flags_as_numbers = [
        field.with_type(pa.int8()) if pa.types.is_boolean(field.type) or pa.types.is_null(field.type) else field
        for field in numbered.schema
    ]
    sortable = numbered.cast(pa.schema(flags_as_numbers))
    return table.take(pc.sort_indices(sortable, sort_keys=[(name, "ascending") for name in sortable.column_names]))


def _refuse_unfitting(kinds: set[type], where: str) -> None:
    if kinds & _BYTES:
        raise InputError("unsupported-type", where, "The column holds bytes.", _READ, "leave it out of the query")
    unknown = sorted(kind.__name__ for kind in kinds if kind not in _WORDS)
    if unknown:
        raise InputError("unsupported-type", where, f"Values of type {', '.join(unknown)} are not read.", _READ,
                         "cast the column in the query, e.g. CAST(... AS text), or leave it out")  # fmt: skip
    if len(kinds) > 1:
        text = " and ".join(words for kind, words in _WORDS.items() if kind in kinds)
        raise InputError("mixed-types", where, f"The column holds {text} side by side.", "one kind of values per column",
                         "cast it in the query, e.g. CAST(... AS REAL), or correct the rows that differ")  # fmt: skip


def _array(values: Sequence[Any], where: str) -> pa.Array:
    if any(isinstance(value, Decimal) and not value.is_finite() for value in values):
        raise InputError("infinite", where, "Exact decimals that are infinite or no number are not read.", "finite numbers",
                         "make them missing in the query, e.g. NULLIF(..., 'NaN')")  # fmt: skip
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, OverflowError):
        raise InputError("beyond-64-bits", where, "The column holds numbers that no column type can hold.",
                         "-9223372036854775808 to 9223372036854775807, up to 76 decimal digits",
                         "cast it to text in the query")  from None  # fmt: skip
