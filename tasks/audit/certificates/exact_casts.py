"""Cast columns read from any format to the logical type that a certificate states, only if not a single value changes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tasks.audit.certificates.exact_numerals import parse_doubles
from tasks.ingest.columns.iso_cells import find_calendar_kind, parse_iso_cells
from tasks.ingest.columns.numerals import NUMBER
from tasks.microdata.chunks import write_out_dictionary
from tasks.microdata.table import CALENDAR_TYPES, DATE, LOGICAL_TYPES, TIME, iso_texts

KINDS = {str(kind): kind for kind in LOGICAL_TYPES}
WORDS_FOR_MISSING = ("NA", "NaN", "nan", "NaT", "<NA>", "NULL", "null", "None")  # among numbers, dates, true and false
WORDS_FOR_MISSING_TEXT = ("NA", "NaN", "nan", "<NA>", "NULL", "null")  # None is a category in many tables
_WHOLE = r"^-?(0|[1-9][0-9]*)(\.0*)?$"  # 3.0 is how programs without missing integers write a 3
_ZEROS = r"\.0*$"
_BOOLEAN, _TRUE = r"^(true|false|1|0)$", ("true", "1")


class Misfit(Exception):
    """The column holds values that the type does not have."""


def cast_exactly(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    """The values of a column as `kind`, a logical type.

    Text is read as numbers, booleans (true, 1), ISO 8601 dates and times; words for missing values count as missing except in
    text. Whole decimals are integers and integers decimals, NaN is missing, midnights are dates. Raises Misfit where a value
    would change, or would be read as another one: moments with an offset from UTC, in text or as a type, show another clock,
    and perhaps another day.
    """
    try:
        values = _plain(column)
        if values.type == kind and kind != pa.float64():
            return values
        return _from_text(values, kind) if pa.types.is_string(values.type) else _from_typed(values, kind)
    except (pa.ArrowException, TypeError):
        raise Misfit from None


def _plain(column: pa.ChunkedArray) -> pa.Array:
    values = write_out_dictionary(column)
    texts = pa.types.is_large_string(values.type) or values.type == pa.string_view()
    values = values.cast(pa.string()) if texts else values
    if pa.types.is_string(values.type):
        values.validate(full=True)  # other files may hold bytes that are no text
    return values


def _from_text(cells: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return cells
    cells = _blank_missing_words(pc.if_else(pc.equal(cells, ""), pa.scalar(None, pa.string()), cells))
    if kind == pa.int64():
        _require_match(cells, _WHOLE)
        return pc.replace_substring_regex(cells, _ZEROS, "").cast(kind)
    if kind == pa.float64():
        _require_match(cells, NUMBER)
        return _require_finite(_cast_to_doubles(cells))
    if kind == pa.bool_():
        lower = pc.utf8_lower(cells)
        _require_match(lower, _BOOLEAN)
        return pc.if_else(pc.is_valid(lower), pc.is_in(lower, pa.array(_TRUE)), pa.scalar(None, kind))
    return _parse_calendar_text(cells, kind)


def _parse_calendar_text(cells: pa.Array, kind: pa.DataType) -> pa.Array:
    if cells.null_count == len(cells):
        return pa.nulls(len(cells), kind)
    written = find_calendar_kind(cells)
    values = None if written in (None, "moment_with_offset") else parse_iso_cells(cells, written)
    if values is None:
        raise Misfit
    return _from_typed(values, kind)


def _from_typed(values: pa.Array, kind: pa.DataType) -> pa.Array:
    stored = values.type
    if pa.types.is_null(stored):
        return pa.nulls(len(values), kind)
    if pa.types.is_floating(stored):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, stored), values)
    if pa.types.is_string(kind):
        return _as_text(values)
    if kind == pa.bool_():
        return _zero_or_one(values)
    if kind in CALENDAR_TYPES:
        return _cast_calendar(values, kind)
    if not (pa.types.is_integer(stored) or pa.types.is_floating(stored) or pa.types.is_decimal(stored)):
        raise Misfit
    if not pa.types.is_decimal(stored):
        return values.cast(kind)
    return _cast_to_doubles(values.cast(pa.string())) if kind == pa.float64() else values.cast(pa.string()).cast(kind)


def _as_text(values: pa.Array) -> pa.Array:
    if pa.types.is_floating(values.type):
        values = values.cast(pa.int64())
    if values.type in CALENDAR_TYPES:
        return iso_texts(values)
    if not (pa.types.is_integer(values.type) or pa.types.is_boolean(values.type)):
        raise Misfit
    return values.cast(pa.string())


def _zero_or_one(values: pa.Array) -> pa.Array:
    whole = values.cast(pa.int64())
    _require_all(pc.and_(pc.greater_equal(whole, 0), pc.less_equal(whole, 1)))
    return whole.cast(pa.bool_())


def _cast_calendar(values: pa.Array, kind: pa.DataType) -> pa.Array:
    stored = values.type
    if pa.types.is_timestamp(stored) and stored.tz is not None:
        raise Misfit
    same = pa.types.is_time if kind == TIME else lambda one: pa.types.is_date(one) or pa.types.is_timestamp(one)
    if not same(stored):
        raise Misfit
    if pa.types.is_date64(stored) or (kind == DATE and pa.types.is_timestamp(stored)):  # date64 counts milliseconds
        values = values.cast(pa.timestamp(stored.unit if pa.types.is_timestamp(stored) else "ms"))
        _require_all(pc.equal(pc.floor_temporal(values, unit="day"), values))
    return values.cast(kind)


def blank_word(cells: pa.Array, word: str) -> pa.Array:
    """Text in which a word for missing values is missing."""
    return pc.if_else(pc.equal(cells, word), pa.scalar(None, pa.string()), cells)


def find_missing_word(cells: pa.Array) -> str | None:
    """The word for missing values that stands in a column of text, where it is one alone."""
    words = pc.unique(cells.filter(pc.is_in(cells, pa.array(WORDS_FOR_MISSING_TEXT))))
    return words[0].as_py() if len(words) == 1 else None


def _blank_missing_words(cells: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_in(cells, pa.array(WORDS_FOR_MISSING)), pa.scalar(None, pa.string()), cells)


def _cast_to_doubles(cells: pa.Array) -> pa.Array:
    numbers = parse_doubles(cells)
    if numbers is None:
        raise Misfit
    return numbers


def _require_finite(numbers: pa.Array) -> pa.Array:
    _require_all(pc.is_finite(numbers))
    return numbers


def _require_match(cells: pa.Array, pattern: str) -> None:
    _require_all(pc.match_substring_regex(cells, pattern))


def _require_all(checks: pa.Array) -> None:
    if pc.all(checks).as_py() is False:  # None: nothing is present
        raise Misfit
