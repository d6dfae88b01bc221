"""Recognise how text cells are written where ingest does not decide by itself: decimal commas, days before months."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.columns.iso_cells import find_calendar_kind, parse_cells_by_format
from tasks.ingest.columns.numerals import COMMA_NUMBER, NUMBER, is_missing_word, why_not_a_number
from tasks.ingest.readers.raw import RawTable
from tasks.microdata.schema import Scale
from tasks.microdata.table import Floats

MOST_WORDS = 20
CODES = (-9, -99, -999, -9999, -8, -98, -998, 99, 999, 9999, 98, 998, 9998)  # usual numbers for "no answer", "does not know"
FAR = 0.25  # of the range of the other values
_MARKS = "[.,'\u2019 \u00a0\u202f]"
_THOUSANDS = rf"^-?[1-9][0-9]{{0,2}}({_MARKS}[0-9]{{3}})+([.,][0-9]+)?$"
_COMMA_GROUP, _POINT_GROUP = (rf"^-?[1-9][0-9]{{0,2}}({mark}[0-9]{{3}})+$" for mark in (",", r"\."))
_AMOUNT = rf"(0|[1-9][0-9]*|[1-9][0-9]{{0,2}}({_MARKS}[0-9]{{3}})+)([.,][0-9]+)?"
_FORMATTED_NUMBER = rf"^\s*[€$£]?\s*[+-]?\s*{_AMOUNT}\s*[%€$£]?\s*$"
_DAYS = {
    "%d.%m.%Y": r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}",
    "%d/%m/%Y": r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}",
    "%m/%d/%Y": r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}",
    "%Y/%m/%d": r"[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}",
    "%d-%m-%Y": r"[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}",
    "%m-%d-%Y": r"[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}",
}
_HOURS = {"": "", " %H:%M": " [0-9]{1,2}:[0-9]{2}", " %H:%M:%S": " [0-9]{1,2}:[0-9]{2}:[0-9]{2}"}
FORMATS = {day + hour: f"^{_DAYS[day]}{_HOURS[hour]}$" for day, hour in product(_DAYS, _HOURS)}
_SHORT_YEAR = r"^[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2}$"
AND_MICROAGGREGATE_IT = "and add it to the microaggregation"
AT_SOURCE_AND_INIT_AGAIN = "at the source and run `sdcert init` again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How one column of text is written.

    declared: what ingest has to be told of it, if anything. found: the same in words. undecided: why its values cannot be read
    without somebody who knows them, and what that person can write. doubt: a question about values that were read.
    codes: cells that are one of the usual numbers for "no answer", as they are written.
    """

    declared: AttributeSpec | None = None
    found: str | None = None
    undecided: tuple[str, str] | None = None
    doubt: str | None = None
    codes: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        return () if self.declared is None else self.declared.missing


def propose_readings(raw: RawTable) -> dict[str, Reading]:
    """The reading of each text column of a source, by name. About 2 s for 1,000,000 different cells."""
    columns = {name: raw.table.column(name) for name in raw.table.column_names}
    texts = {name: column for name, column in columns.items() if _is_text(column.type)}
    read = {name: _infer_reading(name, _find_distinct(column), raw) for name, column in texts.items()}
    return {name: reading for name, reading in read.items() if reading != Reading()}


def find_missing_codes(numbers: Floats) -> tuple[int, ...]:
    """Usual codes for "no answer" that stand in several rows, at the end of the values and far outside the others.

    numbers: the present values of a column. Far: beyond the others by a fourth of their range, or below zero where no other is.
    """
    others = numbers[~np.isin(numbers, CODES)]
    if len(others) == 0:
        return ()
    low, high = float(others.min()), float(others.max())
    return tuple(code for code in CODES if (numbers == code).sum() > 1 and _is_far(code, low, high))


def _is_far(code: int, low: float, high: float) -> bool:
    if code < 0 <= low:
        return True
    return max(low - code, code - high) > max(FAR * (high - low), 1.0)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def _find_distinct(column: pa.ChunkedArray) -> pa.Array:
    found = pc.unique(column.cast(pa.string()).drop_null())
    return found.filter(pc.not_equal(found, ""))


def _infer_reading(name: str, cells: pa.Array, raw: RawTable) -> Reading:
    words = [cell for cell in cells.to_pylist() if is_missing_word(cell)]
    rest = cells.filter(pc.invert(pc.is_in(cells, value_set=pa.array(words, type=pa.string()))))
    if len(rest) == 0 or len(words) > MOST_WORDS:
        return Reading()
    declared = AttributeSpec(name=name, missing=tuple(sorted(words)))
    if not raw.as_text:
        return _try_dates(rest, declared) or Reading()
    if _all_match(rest, NUMBER):
        return _try_numbers(rest, declared, raw)
    if find_calendar_kind(rest) is not None:
        return Reading(declared=declared) if words else Reading()
    return _try_dates(rest, declared) or _try_decimal_commas(rest, declared) or Reading()


def _try_numbers(cells: pa.Array, declared: AttributeSpec, raw: RawTable) -> Reading:
    return Reading(
        declared=declared if declared.missing else None,
        doubt=(
            f"are its points thousands separators? Then every value is a thousandth of what it should be: "
            f"take them out {AT_SOURCE_AND_INIT_AGAIN}"
            if raw.delimiter == ";" and _can_be_thousands(cells, r"\.", _POINT_GROUP)
            else None
        ),
        codes=_find_codes(cells, "."),
    )


def _try_decimal_commas(cells: pa.Array, declared: AttributeSpec) -> Reading | None:
    if not _all_match(cells, COMMA_NUMBER):
        return _try_formatted_numbers(cells)
    if _can_be_thousands(cells, ",", _COMMA_GROUP):
        why = "numbers with a comma before three digits: decimal commas or thousands separators"
        decide = (
            'are they decimal commas? Then write `role: quasi_identifier, scale: numeric, decimal: ","` '
            f"{AND_MICROAGGREGATE_IT}. Are they thousands separators? Then take them out {AT_SOURCE_AND_INIT_AGAIN}"
        )
        return Reading(undecided=(why, decide))
    found = declared.model_copy(update={"decimal": ",", "scale": Scale.NUMERIC})
    return Reading(declared=found, found="numbers with a decimal comma", codes=_find_codes(cells, ","))


def _can_be_thousands(cells: pa.Array, mark: str, pattern: str) -> bool:
    """Could each mark stand before thousands? Not where a part without marks is longer than three digits."""
    marked = cells.filter(pc.match_substring_regex(cells, mark))
    plain = cells.filter(pc.invert(pc.match_substring_regex(cells, mark)))
    return len(marked) > 0 and _all_match(marked, pattern) and _all_match(plain, r"^-?[0-9]{1,3}$")


def _try_formatted_numbers(cells: pa.Array) -> Reading | None:
    """Numbers that somebody wrote for the eye: with thousands separators, units, blanks."""
    if not _all_match(cells, _FORMATTED_NUMBER):
        return None
    others = cells.filter(pc.invert(pc.match_substring_regex(cells, NUMBER))).to_pylist()
    separated = any(re.match(_THOUSANDS, cell) for cell in others)
    explanation = "it has thousands separators" if separated else min(why_not_a_number(cell)[0] for cell in others)
    remove = "take the thousands separators out" if separated else "write plain numbers (no units, signs or blanks)"
    why = f"it holds numbers that cannot be read as they are written: of some cells, {explanation}; so it is not published"
    return Reading(undecided=(why, f"{remove} {AT_SOURCE_AND_INIT_AGAIN}"))


def _try_dates(cells: pa.Array, declared: AttributeSpec) -> Reading | None:
    fitting = [
        name for name, pattern in FORMATS.items() if _all_match(cells, pattern) and not parse_cells_by_format(cells, name)[1]
    ]
    if len(fitting) == 1:
        found = declared.model_copy(update={"date_format": fitting[0], "scale": Scale.DATE})
        return Reading(declared=found, found=f"dates written as {_describe_date_format(fitting[0])}")
    if len(fitting) > 1:
        first, second = (f'`date_format: "{name}"`' for name in fitting[:2])
        why = "dates of which no day is above 12, so that days and months cannot be told apart; so it is not published"
        decide = (
            f"does the day come first ({first}) or the month ({second})? Write that one with "
            f"`role: quasi_identifier, scale: date` {AND_MICROAGGREGATE_IT}"
        )
        return Reading(undecided=(why, decide))
    if _all_match(cells, _SHORT_YEAR):
        why = "dates with two digits for the year, which leave the century open; so it is not published"
        return Reading(undecided=(why, f"write years of four digits {AT_SOURCE_AND_INIT_AGAIN}"))
    return None


def _describe_date_format(date_format: str) -> str:
    names = (("%d", "day"), ("%m", "month"), ("%Y", "year"), ("%H", "hour"), ("%M", "minute"), ("%S", "second"))
    for directive, name in names:
        date_format = date_format.replace(directive, name)
    return date_format


def _find_codes(cells: pa.Array, mark: str) -> tuple[str, ...]:
    short = cells.filter(pc.less_equal(pc.utf8_length(cells), 8)).to_pylist()
    return tuple(cell for cell in short if float(cell.replace(mark, ".")) in CODES)


def _all_match(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern)).as_py())


def list_spellings(code: int, codes: Sequence[str]) -> tuple[str, ...]:
    """How a code is written in the cells; as a whole number where the source holds numbers."""
    return tuple(cell for cell in codes if float(cell.replace(",", ".")) == code) or (str(code),)
