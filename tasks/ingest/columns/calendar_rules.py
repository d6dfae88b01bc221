"""When a column of text cells holds dates, moments or times of day: by its declaration, or because all cells are written so."""

from __future__ import annotations

import re

import pyarrow as pa

from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.columns.iso_cells import (
    DECLARE_FORMAT,
    LIKE_CALENDAR,
    UTC_NOTE,
    CalendarKind,
    choose_target_type,
    find_calendar_kind,
    parse_cells_by_format,
    parse_iso_cells,
    wrong_rows,
)
from tasks.ingest.columns.numerals import is_missing_word
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale
from tasks.microdata.table import DATE, TIME

Typed = tuple[pa.Array, tuple[str, ...]]

_ISO = {
    Scale.DATE: "dates YYYY-MM-DD, or moments YYYY-MM-DDTHH:MM:SS: one of both throughout",
    Scale.TIME: "times of day HH:MM:SS",
}
_WORDS: dict[CalendarKind, str] = {
    "date": "dates",
    "moment": "moments",
    "moment_with_offset": "moments with an offset from UTC",
    "time": "times of day",
}


def type_without_values(spec: AttributeSpec) -> pa.DataType:
    """The logical type of a column in which no cell holds a value."""
    if spec.date_format is not None:
        return choose_target_type(spec.date_format)
    return DATE if spec.scale is Scale.DATE else TIME if spec.scale is Scale.TIME else pa.string()


def as_declared(cells: pa.Array, spec: AttributeSpec, label: str) -> Typed:
    """Cells of a column that is declared to hold dates or times; InputError names the first row that does not."""
    if spec.date_format is not None:
        values, wrong = parse_cells_by_format(cells, spec.date_format)
        if wrong:
            raise _not_in_format(cells, wrong, spec, label)
        return values, ("read by the declared `date_format`",)
    scale = Scale.TIME if spec.scale is Scale.TIME else Scale.DATE
    kind = find_calendar_kind(cells)
    if kind is not None and (kind == "time") != (scale is Scale.TIME):
        raise InputError("not-of-scale", f"{label}: column {spec.name}",
                         f"The column is declared {scale} and holds {_WORDS[kind]}.", _ISO[scale],
                         f"declare `scale: {'time' if kind == 'time' else 'date'}`")  # fmt: skip
    values = None if kind is None else parse_iso_cells(cells, kind)
    if values is None:
        raise _not_in_calendar(cells, kind, scale, f"column {spec.name}", label)
    return values, _note_utc_conversion(kind)


def as_found(cells: pa.Array) -> tuple[pa.Array | None, tuple[str, ...]]:
    """Cells of a column of which nothing is declared; None where they are not all dates, moments or times that exist."""
    kind = find_calendar_kind(cells)
    if kind is None:
        return None, ()
    values = parse_iso_cells(cells, kind)
    if values is not None:
        return values, _note_utc_conversion(kind)
    count = len(wrong_rows(cells, kind))
    return None, (f"all cells are written as {_WORDS[kind]}, but {count:,} do not exist in the calendar: kept as text",)


def _note_utc_conversion(kind: CalendarKind | None) -> tuple[str, ...]:
    return (UTC_NOTE,) if kind == "moment_with_offset" else ()


def _not_in_calendar(cells: pa.Array, kind: CalendarKind | None, scale: Scale, column: str, label: str) -> InputError:
    rows = wrong_rows(cells, kind)
    mixed = not rows
    rows = rows or wrong_rows(
        cells, find_calendar_kind(cells.drop_null()[:1])
    )  # each cell is right by itself, but not beside the others
    cell = cells[rows[0]].as_py()
    reason, remedy = _why_mixed() if mixed else _why(cell, kind)
    return InputError(
        "not-a-date",
        f"{label}: row {rows[0] + 1}, {column}",
        f"The column is declared {scale} and {len(rows):,} cells do not fit: in the first, {reason}.",
        _ISO[scale],
        remedy,
        value=cell,
    )


def _why_mixed() -> tuple[str, str]:
    return "it is of another kind than the cells above it", "write all cells as dates, as moments, or as moments with an offset"


def _why(cell: str, kind: CalendarKind | None) -> tuple[str, str]:
    if kind is not None or find_calendar_kind(pa.array([cell])) is not None:
        return "there is no such day or time", "correct the cell, or declare it `missing`"
    if is_missing_word(cell):
        return "it is a word for a missing value", "declare it: `missing: [...]` on the attribute"
    if re.match(LIKE_CALENDAR, cell):
        return "it is not written as ISO 8601 says", DECLARE_FORMAT
    return "it is text", "correct the cell, declare it `missing`, or declare another scale"


def _not_in_format(cells: pa.Array, wrong: list[int], spec: AttributeSpec, label: str) -> InputError:
    return InputError(
        "not-in-format",
        f"{label}: row {wrong[0] + 1}, column {spec.name}",
        f"{len(wrong):,} cells do not fit the declared `date_format`, or do not exist in the calendar.",
        f"cells written as {spec.date_format}",
        "correct the cells, declare them `missing`, or correct `date_format`",
        value=cells[wrong[0]].as_py(),
    )
