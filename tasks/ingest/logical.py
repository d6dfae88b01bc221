"""Typed source columns (Parquet, data sets) as the four logical types of `Microdata`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tasks.ingest.codebook import AttributeSpec
from tasks.ingest.numerals import NUMBER
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale


def from_typed(column: pa.ChunkedArray, spec: AttributeSpec, label: str) -> tuple[pa.Array, tuple[str, ...]]:
    """One column as int64, double, string or bool, with notes.

    Integers, floats, decimals, text, booleans and dictionaries of them are taken; NaN and the empty text become missing, as the
    empty cell of a text table is. `order` reads whole numbers as text.

    Raises
    ------
    InputError: an infinity; a whole number beyond 64 bits; a decimal that a double cannot hold; dates, times, lists, bytes.
    """
    where = f"{label}: column {spec.name}"
    values, notes = _logical(_decoded(column), where)
    values, declared = _without_declared_missing(values, spec.missing)
    if spec.order is not None:
        values = _as_text(values, where)
    if spec.scale is Scale.NUMERIC and (pa.types.is_string(values.type) or pa.types.is_boolean(values.type)):
        raise InputError("not-numeric", where, f"The column is declared numeric and holds {values.type} values.",
                         "whole numbers or decimals", "store it as numbers, or declare another scale")  # fmt: skip
    return values, (*notes, *declared)


def _decoded(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    whole = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def _logical(values: pa.Array, where: str) -> tuple[pa.Array, tuple[str, ...]]:
    kind = values.type
    if pa.types.is_boolean(kind):
        return values, ()
    if pa.types.is_integer(kind):
        return _integers(values, where), ()
    if pa.types.is_floating(kind):
        return _doubles(values, where)
    if pa.types.is_decimal(kind):
        return _decimals(values, where), ()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view() or pa.types.is_null(kind):
        return _texts(values.cast(pa.string()))
    raise InputError("unsupported-type", where, f"Columns of type {kind} are not read.", "numbers, text, true/false",
                     "store dates and times as text or as numbers of days; flatten lists; drop bytes")  # fmt: skip


def _integers(values: pa.Array, where: str) -> pa.Array:
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid:
        raise InputError("beyond-64-bits", where, "The column holds whole numbers beyond 64 bits.",
                         "-9223372036854775808 to 9223372036854775807", "store codes as text") from None  # fmt: skip


def _doubles(values: pa.Array, where: str) -> tuple[pa.Array, tuple[str, ...]]:
    doubles = values.cast(pa.float64())
    infinite = pc.sum(pc.is_inf(doubles)).as_py() or 0
    if infinite:
        raise InputError("infinite", where, f"{infinite:,} values are infinite.", "finite numbers",
                         "make them missing at the source")  # fmt: skip
    nan = pc.sum(pc.is_nan(doubles)).as_py() or 0
    if not nan:
        return doubles, ()
    return pc.if_else(pc.is_nan(doubles), pa.scalar(None, pa.float64()), doubles), (f"{nan:,} NaN became missing",)


def _decimals(values: pa.Array, where: str) -> pa.Array:
    kind = values.type
    if kind.scale <= 0 and kind.precision - kind.scale <= 18:
        return values.cast(pa.int64())
    doubles = values.cast(pa.float64())
    if kind.precision > 15 and not _same_decimals(doubles, values):
        raise InputError("too-precise", where, "The column holds decimals with more digits than a double can hold.",
                         "up to 15 significant digits", "round them at the source, or store them as text")  # fmt: skip
    return doubles


def _same_decimals(doubles: pa.Array, values: pa.Array) -> bool:
    try:
        return bool(doubles.cast(values.type).equals(values))
    except pa.ArrowInvalid:
        return False


def _texts(values: pa.Array) -> tuple[pa.Array, tuple[str, ...]]:
    empty = pc.sum(pc.equal(values, "")).as_py() or 0
    if not empty:
        return values, ()
    return pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values), (f"{empty:,} empty texts became missing",)


def _without_declared_missing(values: pa.Array, words: tuple[str, ...]) -> tuple[pa.Array, tuple[str, ...]]:
    if pa.types.is_string(values.type):
        codes = pa.array(words, type=pa.string())
    elif pa.types.is_boolean(values.type):
        return values, ()
    else:
        numbers = pa.array(words, type=pa.string()).filter(pc.match_substring_regex(pa.array(words, type=pa.string()), NUMBER))
        codes, values_as_doubles = numbers.cast(pa.float64()), values.cast(pa.float64(), safe=False)
        return _blanked(values, pc.is_in(values_as_doubles, value_set=codes))
    return _blanked(values, pc.is_in(values, value_set=codes))


def _blanked(values: pa.Array, hit: pa.Array) -> tuple[pa.Array, tuple[str, ...]]:
    count = pc.sum(hit).as_py() or 0
    if not count:
        return values, ()
    return pc.if_else(hit, pa.scalar(None, values.type), values), (f"{count:,} cells hold a declared missing code",)


def _as_text(values: pa.Array, where: str) -> pa.Array:
    if pa.types.is_floating(values.type):
        raise InputError("order-of-decimals", where, "`order` is declared for a column of decimals.", "text or whole numbers",
                         "leave `order` out: numbers are ordered as numbers")  # fmt: skip
    return values.cast(pa.string())
