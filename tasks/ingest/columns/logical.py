"""Typed source columns (Parquet, data sets) as the logical types of `Microdata`."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.columns.calendar_rules import as_declared, type_without_values
from tasks.ingest.columns.numerals import NUMBER
from tasks.microdata.chunks import TextsTooLong, write_out_dictionary
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale
from tasks.microdata.table import CALENDAR_TYPES, DATE, LOGICAL_TYPES, MOMENT, TIME, is_in_calendar, iso_texts

_EXACT_DOUBLE = 2.0**53
_TYPES_OF_SCALE = {Scale.DATE: (DATE, MOMENT), Scale.TIME: (TIME,)}


def from_typed(column: pa.ChunkedArray, spec: AttributeSpec, label: str) -> tuple[pa.Array, tuple[str, ...]]:
    """One column as one of the logical types, with notes.

    Integers, floats, decimals, text, booleans, dates, times and dictionaries of them are taken; NaN and the empty text become
    missing, as the empty cell of a text table is. Moments with a zone become moments in UTC; those finer than a microsecond are
    refused. `order` and `scale: code` read whole numbers as text; `scale: nominal` reads dates and times as their ISO 8601
    text, as it leaves them in a text table. Text becomes dates or times only where they are declared.

    Raises
    ------
    InputError: an infinity; a whole number beyond 64 bits; a decimal that a double cannot hold; durations, lists, bytes; texts
        that are not in UTF-8; values that are not of the declared scale.
    TextsTooLong: more than 2 GiB of texts.
    """
    where = f"{label}: column {spec.name}"
    values, notes = _logical(write_out_dictionary(column), where)
    values, declared = _blank_missing_codes(values, spec.missing)
    values, read = _as_declared(values, spec, label)
    return values, (*notes, *declared, *read)


def _as_declared(values: pa.Array, spec: AttributeSpec, label: str) -> tuple[pa.Array, tuple[str, ...]]:
    where = f"{label}: column {spec.name}"
    if spec.date_format is not None and (values.type == pa.string() or values.type == pa.int64()):
        return as_declared(values.cast(pa.string()), spec, label)
    if spec.order is not None or spec.scale in {Scale.CODE, Scale.FREE_TEXT}:
        return _as_text(values, where), ()
    calendar = values.type in CALENDAR_TYPES
    if values.type == pa.string() and spec.scale in {Scale.DATE, Scale.TIME}:
        if values.null_count == len(values):
            return pa.nulls(len(values), type_without_values(spec)), ()
        return as_declared(values, spec, label)
    if calendar and spec.scale is Scale.NOMINAL:
        return iso_texts(values), ()
    if spec.scale is Scale.NUMERIC and (calendar or values.type in (pa.string(), pa.bool_())):
        raise InputError("not-numeric", where, f"The column is declared numeric and holds {values.type} values.",
                         "whole numbers or decimals", "store it as numbers, or declare another scale")  # fmt: skip
    fitting = LOGICAL_TYPES if spec.scale is None else _TYPES_OF_SCALE.get(spec.scale, LOGICAL_TYPES)
    if values.type not in fitting:
        raise InputError("not-of-scale", where, f"The column is declared {spec.scale} and holds {values.type} values.",
                         f"values of scale {spec.scale}",
                         "declare another scale, or `date_format` for dates in digits")  # fmt: skip
    return values, ()


def _logical(values: pa.Array, where: str) -> tuple[pa.Array, tuple[str, ...]]:
    kind = values.type
    if kind in (pa.bool_(), pa.int64()):
        return values, ()
    if pa.types.is_integer(kind):
        return _integers(values, where), ()
    if pa.types.is_floating(kind):
        return _doubles(values, where)
    if pa.types.is_decimal(kind):
        return _decimals(values, where), ()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view() or pa.types.is_null(kind):
        return _texts(_cast_to_string(values), where)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return _calendar(values, where)
    raise InputError("unsupported-type", where, f"Columns of type {kind} are not read.",
                     "numbers, text, true/false, dates, times",
                     "store durations as numbers; flatten lists; drop bytes")  # fmt: skip


def _calendar(values: pa.Array, where: str) -> tuple[pa.Array, tuple[str, ...]]:
    kind = values.type
    target = DATE if pa.types.is_date(kind) else MOMENT if pa.types.is_timestamp(kind) else TIME
    zoned = target == MOMENT and kind.tz is not None
    try:
        found = (values.cast(pa.timestamp("us", kind.tz)) if zoned else values).cast(target)
    except pa.ArrowInvalid:
        raise InputError("too-precise", where, "The column holds moments finer than a microsecond, or beyond all years.",
                         "microseconds or coarser", "round them at the source") from None  # fmt: skip
    if not is_in_calendar(found):
        raise InputError("no-such-day", where, "The column holds dates outside the years 1 to 9999, or times beyond one day.",
                         "the years 1 to 9999, times below 24:00", "make them missing at the source")  # fmt: skip
    return found, (f"moments of the zone {kind.tz} were converted to UTC",) if zoned else ()


def _cast_to_string(texts: pa.Array) -> pa.Array:
    try:
        return texts if texts.type == pa.string() else texts.cast(pa.string())
    except pa.ArrowInvalid:
        raise TextsTooLong from None


def _integers(values: pa.Array, where: str) -> pa.Array:
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid:
        raise InputError("beyond-64-bits", where, "The column holds whole numbers beyond 64 bits.",
                         "-9223372036854775808 to 9223372036854775807", "store codes as text") from None  # fmt: skip


def _doubles(values: pa.Array, where: str) -> tuple[pa.Array, tuple[str, ...]]:
    doubles = values if values.type == pa.float64() else values.cast(pa.float64())
    if math.isfinite(_sum(doubles)):  # no infinity, and no NaN
        return doubles, ()
    infinite = pc.sum(pc.is_inf(doubles)).as_py() or 0
    if infinite:
        raise InputError("infinite", where, f"{infinite:,} values are infinite.", "finite numbers",
                         "make them missing at the source")  # fmt: skip
    nan = pc.sum(pc.is_nan(doubles)).as_py() or 0
    if not nan:
        return doubles, ()
    return pc.if_else(pc.is_nan(doubles), pa.scalar(None, pa.float64()), doubles), (f"{nan:,} NaN became missing",)


def _sum(doubles: pa.Array) -> float:
    """The sum of what is there; numpy needs a third of the time, and knows no gaps."""
    if doubles.null_count:
        return float(pc.sum(doubles, min_count=0).as_py())
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.asarray(doubles).sum())


def _decimals(values: pa.Array, where: str) -> pa.Array:
    """Whole numbers where all of them fit, else each the double that is nearest to it, as the same digits in a text table.

    By their digits, as Arrow (25.0) takes a neighbour of that double for many decimals, and cannot cast decimal32 to integers.
    """
    kind = values.type
    digits = values.cast(pa.large_string())
    if kind.scale <= 0 and kind.precision - kind.scale <= 18:
        return (values.cast(pa.decimal128(38, 0)) if kind.scale else digits).cast(pa.int64())
    doubles = digits.cast(pa.float64())
    if kind.precision > 15 and not _same_decimals(doubles, values):
        raise InputError("too-precise", where, "The column holds decimals with more digits than a double can hold.",
                         "up to 15 significant digits", "round them at the source, or store them as text")  # fmt: skip
    return doubles


def _same_decimals(doubles: pa.Array, values: pa.Array) -> bool:
    try:
        return bool(doubles.cast(values.type).equals(values))
    except pa.ArrowInvalid:
        return False


def _texts(values: pa.Array, where: str) -> tuple[pa.Array, tuple[str, ...]]:
    _, stored, characters = values.buffers()
    if np.frombuffer(characters or b"", dtype=np.int8).min(initial=0) < 0:  # not all are ASCII
        _refuse_other_encodings(values, where)
    ends = np.frombuffer(stored or b"", dtype=np.int32)[values.offset : values.offset + len(values) + 1]
    if not (ends[1:] == ends[:-1]).any():
        return values, ()
    empty = pc.sum(pc.equal(values, "")).as_py() or 0
    if not empty:
        return values, ()
    return pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values), (f"{empty:,} empty texts became missing",)


def _refuse_other_encodings(texts: pa.Array, where: str) -> None:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raise InputError("not-utf-8", where, "The column holds texts that are not in UTF-8.", "texts in UTF-8",
                         "decode them where the source is written, and write it again") from None  # fmt: skip


def _blank_missing_codes(values: pa.Array, words: tuple[str, ...]) -> tuple[pa.Array, tuple[str, ...]]:
    if not words:
        return values, ()
    if pa.types.is_string(values.type):
        codes = pa.array(words, type=pa.string())
    elif pa.types.is_boolean(values.type):
        return values, ()
    elif values.type in CALENDAR_TYPES:
        return _blank_cells(values, pc.is_in(iso_texts(values), value_set=pa.array(words, type=pa.string())))
    else:
        numbers = pa.array(words, type=pa.string()).filter(pc.match_substring_regex(pa.array(words, type=pa.string()), NUMBER))
        codes, values_as_doubles = numbers.cast(pa.float64()), values.cast(pa.float64(), safe=False)
        return _blank_cells(values, pc.is_in(values_as_doubles, value_set=codes))
    return _blank_cells(values, pc.is_in(values, value_set=codes))


def _blank_cells(values: pa.Array, hit: pa.Array) -> tuple[pa.Array, tuple[str, ...]]:
    count = pc.sum(hit).as_py() or 0
    if not count:
        return values, ()
    return pc.if_else(hit, pa.scalar(None, values.type), values), (f"{count:,} cells hold a declared missing code",)


def _as_text(values: pa.Array, where: str) -> pa.Array:
    if values.type in CALENDAR_TYPES:
        return iso_texts(values)
    if pa.types.is_floating(values.type):
        values = _whole(values, where)
    return values.cast(pa.string())


def _whole(values: pa.Array, where: str) -> pa.Array:
    numbers = values.drop_null()
    if pc.all(pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), _EXACT_DOUBLE))).as_py() is False:
        raise InputError("order-of-decimals", where, "`order`, `scale: code` or `free_text` is declared for decimals.",
                         "text or whole numbers", "leave it out: decimals are ordered as numbers")  # fmt: skip
    return values.cast(pa.int64())
