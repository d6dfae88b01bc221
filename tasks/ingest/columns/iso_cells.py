"""Cells of text as dates, moments and times of day: ISO 8601, or the format that is declared.

A date is YYYY-MM-DD; a moment a date, `T` or a blank, and HH:MM, HH:MM:SS or HH:MM:SS.ffffff; a time of day the same without
the date. All cells of a column are of one kind. A moment may end in its offset from UTC (`Z`, `+02:00`) if all of the column
do; it is then the moment in UTC, as in typed sources, because moments by several clocks cannot be compared; a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from typing import Literal, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from tasks.ingest.columns.cell_patterns import all_match
from tasks.microdata.table import DATE, MOMENT, TIME, is_in_calendar

CalendarKind = Literal["date", "moment", "moment_with_offset", "time"]

_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_OFFSET = r"(Z|[+-][0-9]{2}:?[0-9]{2})"
PATTERNS: dict[CalendarKind, str] = {
    "date": rf"^{_DATE}$",
    "moment": rf"^{_DATE}[T ]{_TIME}$",
    "moment_with_offset": rf"^{_DATE}[T ]{_TIME}{_OFFSET}$",
    "time": rf"^{_TIME}$",
}
_LIKE_DATE = r"([0-9]{1,2}[/.-][0-9]{1,2}[/.-]([0-9]{4}|[0-9]{2})|[0-9]{4}[/.-][0-9]{1,2}[/.-][0-9]{1,2})"
_LIKE_TIME = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?( ?[AaPp]\.?[Mm]\.?)?"
LIKE_CALENDAR = rf"^({_LIKE_DATE}([T ]+{_LIKE_TIME}{_OFFSET}?)?|{_LIKE_TIME})$"

DECLARE_FORMAT = 'declare `date_format` on the attribute, e.g. "%d/%m/%Y" or "%Y-%m-%d %H:%M"'
_READERS: dict[CalendarKind, Callable[[str], object]] = {
    "date": date.fromisoformat,
    "moment": datetime.fromisoformat,
    "moment_with_offset": datetime.fromisoformat,
    "time": time.fromisoformat,
}
UTC_NOTE = "moments were converted to UTC from the offsets in the cells; they are published without an offset"
_DAY_OF_STRPTIME = int(pa.scalar(datetime(1900, 1, 1), MOMENT).cast(pa.int64()).as_py())  # the date of a time without one
_DATE_DIRECTIVES, _TIME_DIRECTIVES = frozenset("dmYjbB"), frozenset("HIMSfp")


def find_calendar_kind(cells: pa.Array) -> CalendarKind | None:
    """The kind that all present cells are written as (at least one is present); None where they are not of one kind."""
    is_there = cells.null_count < len(cells)
    return next((kind for kind, pattern in PATTERNS.items() if is_there and all_match(cells, pattern)), None)


def parse_iso_cells(cells: pa.Array, kind: CalendarKind) -> pa.Array | None:
    """Cells written as `kind` as dates, moments or times; None where one of them does not exist (2023-02-30, 25:00)."""
    try:
        values = _cast_iso_cells(cells, kind)
    except pa.ArrowInvalid:
        return None
    return values if is_in_calendar(values) else None


def _exists(cell: str, kind: CalendarKind) -> bool:
    try:
        value = _READERS[kind](cell)
        if isinstance(value, datetime) and value.tzinfo is not None:
            value.astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return re.search(r"(^|[T ])24:", cell) is None  # some readers take it for the next day


def _cast_iso_cells(cells: pa.Array, kind: CalendarKind) -> pa.Array:
    match kind:
        case "date":
            return cells.cast(DATE)
        case "moment":
            return cells.cast(MOMENT)
        case "moment_with_offset":
            return cells.cast(pa.timestamp("us", "UTC")).cast(MOMENT)
        case "time":
            since_1970 = pc.binary_join_element_wise("1970-01-01", cells, "T")
            return since_1970.cast(MOMENT).cast(pa.int64()).cast(TIME)
        case _:
            assert_never(kind)


def wrong_rows(cells: pa.Array, kind: CalendarKind | None) -> list[int]:
    """The rows whose cell is not of the kind, or does not exist in the calendar; `kind` None: the rows of no kind at all."""
    kinds = tuple(PATTERNS) if kind is None else (kind,)
    return _rows(cells, lambda cell: any(re.fullmatch(PATTERNS[one], cell) and _exists(cell, one) for one in kinds))


def parse_cells_by_format(cells: pa.Array, date_format: str) -> tuple[pa.Array, list[int]]:
    """Cells read by a declared format, and the rows that do not fit it; the cells are read only if there is none.

    Cost: Python's strptime on each distinct cell, about 10 s for 1,000,000 different ones.
    """
    texts = pc.unique(cells.drop_null()).to_pylist()
    moments = {text: _strptime(text, date_format) for text in texts}
    if None in moments.values():
        return cells, _rows(cells, lambda cell: moments[cell] is not None)
    of_text = pa.array(list(moments.values()), type=MOMENT)
    values = of_text.take(pc.index_in(cells, value_set=pa.array(texts, type=pa.string())))
    target = choose_target_type(date_format)
    if target != TIME:
        return values.cast(target), []
    return pc.subtract(values.cast(pa.int64()), _DAY_OF_STRPTIME).cast(TIME), []


def choose_target_type(date_format: str) -> pa.DataType:
    """The logical type that cells of a format hold. Raises ValueError for a format that leaves a date or a time open."""
    given = set(re.findall(r"%(.)", date_format.replace("%%", "")))
    dates, times = given & _DATE_DIRECTIVES, given & _TIME_DIRECTIVES
    if given - dates - times:
        wrong = ", ".join(f"%{letter}" for letter in sorted(given - dates - times))
        raise ValueError(f"`date_format` does not take {wrong}; it takes %Y %m %d (or %j, %b, %B), %H %M %S %f (or %I with %p)")
    whole_date = "Y" in dates and ("j" in dates or ("d" in dates and bool(dates & {"m", "b", "B"})))
    whole_time = "M" in times and ("H" in times or {"I", "p"} <= times)
    if (dates and not whole_date) or (times and not whole_time) or not given:
        raise ValueError('`date_format` must tell the whole date or time, e.g. "%d/%m/%Y", "%Y-%m-%d %H:%M" or "%H:%M"')
    return DATE if not times else MOMENT if dates else TIME


def _strptime(text: str, date_format: str) -> datetime | None:
    try:
        return datetime.strptime(text, date_format)
    except ValueError:
        return None


def _rows(cells: pa.Array, is_right: Callable[[str], bool]) -> list[int]:
    wrong = [text for text in pc.unique(cells.drop_null()).to_pylist() if not is_right(text)]
    hit = pc.is_in(cells, value_set=pa.array(wrong, type=pa.string()))
    rows: list[int] = pc.indices_nonzero(hit).to_pylist()
    return rows
