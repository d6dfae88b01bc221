"""`Microdata`: an immutable table of one row per respondent, and the few ways to look at its columns.

Held as an Arrow table of seven logical types (int64, double, string, bool, date, moment, time of day) with validity apart from
the values: a missing value is never a number, and an integer column with gaps stays integer.

As numbers, dates count whole days since 1970-01-01, moments (a date with a time, without a zone) days with their fraction since
then, and times seconds since midnight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.chunks import join_chunks
from tasks.microdata.schema import CATEGORICAL, Attribute
from tasks.microdata.value_ranks import encode_column

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

DATE, MOMENT, TIME = pa.date32(), pa.timestamp("us"), pa.time64("us")
CALENDAR_TYPES = (DATE, MOMENT, TIME)
LOGICAL_TYPES = (pa.int64(), pa.float64(), pa.string(), pa.bool_(), *CALENDAR_TYPES)
SECONDS_OF_A_DAY = 86_400
WHOLE_NUMBERS = 2.0**63  # whole numbers are below it
EXACT_MOMENT_DAYS = 2**16  # about 179 years from 1970: there a float64 of days tells microseconds apart
_UNITS = {DATE: 1.0, MOMENT: SECONDS_OF_A_DAY * 1e6, TIME: 1e6}  # stored whole numbers in one day, day, second
_ENDS = {  # what is stored for the first and the last of each: the years 1 to 9999, one day
    DATE: (-719_162, 2_932_896),
    MOMENT: (-719_162 * SECONDS_OF_A_DAY * 10**6, 2_932_897 * SECONDS_OF_A_DAY * 10**6 - 1),
    TIME: (0, SECONDS_OF_A_DAY * 10**6 - 1),
}


@dataclass(frozen=True, slots=True)
class Microdata:
    """A table of n rows. Columns are of the logical types; nulls are missing values; doubles hold no NaN."""

    arrow: pa.Table

    def __post_init__(self) -> None:
        for field in self.arrow.schema:
            if field.type not in LOGICAL_TYPES:
                raise TypeError(f"column {field.name}: {field.type} is not one of {[str(t) for t in LOGICAL_TYPES]}")

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[object] | npt.NDArray[np.generic] | pa.Array]) -> Microdata:
        """Build a table from columns; None and NaN become missing. Python's and NumPy's dates and times are taken."""
        return cls(pa.table({name: _create_array(values) for name, values in columns.items()}))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.arrow.column_names)

    @property
    def n(self) -> int:
        return int(self.arrow.num_rows)

    def column(self, name: str) -> pa.Array:
        """One column as a single contiguous Arrow array; nothing is copied where it is one already."""
        return join_chunks(self.arrow.column(name))

    def is_text(self, name: str) -> bool:
        return bool(pa.types.is_string(self.arrow.schema.field(name).type))

    def is_integer(self, name: str) -> bool:
        return bool(pa.types.is_integer(self.arrow.schema.field(name).type))

    def is_calendar(self, name: str) -> bool:
        """Does the column hold dates, moments or times of day?"""
        return self.arrow.schema.field(name).type in CALENDAR_TYPES

    def missing(self, name: str) -> Booleans:
        """Shape (n,): True where the value is missing."""
        return np.asarray(self.column(name).is_null().to_numpy(zero_copy_only=False), dtype=bool)

    def floats(self, name: str, *, writable: bool = True) -> Floats:
        """Shape (n,): the numbers of a numeric (or bool) column, NaN where missing.

        Dates in days since 1970-01-01, moments in days and their fraction, times in seconds since midnight.
        writable: a fresh array; else one that may be the column's own memory, and then cannot be written to.
        """
        column = self.column(name)
        cast = pc.cast(to_stored_integers(column) if self.is_calendar(name) else column, pa.float64(), safe=False)
        numbers = cast.to_numpy(zero_copy_only=False)  # with gaps it is fresh
        values = np.array(numbers, dtype=np.float64, copy=True if writable and not cast.null_count else None)
        return values / _UNITS[column.type] if column.type in _UNITS else values

    def positions(self, attribute: Attribute) -> Floats:
        """Shape (n,): where each value stands on a measured or ordinal scale (the number, or the index of the ordered text)."""
        if attribute.scale in CATEGORICAL:
            raise TypeError(f"{attribute.name} is {attribute.scale}: its values have no positions")
        if not self.is_text(attribute.name):
            return self.floats(attribute.name)
        if attribute.order is None:
            raise TypeError(f"{attribute.name} is text on an {attribute.scale} scale without a declared order")
        index = pc.index_in(self.column(attribute.name), value_set=pa.array(attribute.order, type=pa.string()))
        return np.array(pc.cast(index, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)

    def replace_positions(self, attribute: Attribute, positions: Floats) -> Microdata:
        """The table with one column replaced by what stands at `positions`: the inverse of `positions`; NaN is missing.

        An integer column, dates and an ordered text take whole positions only, moments and times go to the nearest microsecond
        (before 1791 and after 2149: millisecond);
        dates and moments lie in the years 1 to 9999, times in one day (ValueError otherwise).
        """
        field = self.arrow.schema.field(attribute.name)
        if field.type in CALENDAR_TYPES:
            values = _create_calendar_values(positions, field.type, attribute.name)
        elif field.type == pa.float64():
            values = pa.array(positions, from_pandas=True)
        else:
            whole = _round_to_whole(positions, attribute.name)
            if pa.types.is_string(field.type):
                values = pa.array(attribute.order or (), type=pa.string()).take(whole)
            else:
                values = whole.cast(field.type)
        return self.replace_column(attribute.name, values)

    def replace_column(self, name: str, values: pa.Array) -> Microdata:
        """The table with the values of one column replaced; the type stays."""
        position = self.names.index(name)
        field = self.arrow.schema.field(name)
        return Microdata(self.arrow.set_column(position, field, values.cast(field.type)))

    def select(self, names: Iterable[str]) -> Microdata:
        return Microdata(self.arrow.select(list(names)))

    def take(self, rows: npt.NDArray[np.integer]) -> Microdata:
        """The given rows in the given order."""
        return Microdata(self.arrow.take(pa.array(rows)))


def to_stored_integers(column: pa.Array) -> pa.Array:
    """Dates, moments and times as the whole numbers they are stored as: days, microseconds, microseconds since midnight."""
    return column.cast(pa.int32()).cast(pa.int64()) if column.type == DATE else column.cast(pa.int64())


def from_stored_integers(whole: pa.Array, kind: pa.DataType) -> pa.Array:
    """The inverse of `to_stored_integers`."""
    return whole.cast(pa.int32()).cast(kind) if kind == DATE else whole.cast(kind)


def iso_texts(values: pa.Array) -> pa.Array:
    """Dates, moments and times as ISO 8601 writes them: YYYY-MM-DD, YYYY-MM-DDTHH:MM:SS and HH:MM:SS, fractions as needed."""
    texts = values.cast(pa.string())
    if values.type == DATE:
        return texts
    texts = pc.replace_substring_regex(texts, pattern=r"\.?0*$", replacement="", max_replacements=1)
    return pc.replace_substring(texts, pattern=" ", replacement="T")


def write_plain_texts(values: pa.Array) -> list[str | None]:
    """Each value as its plainest text: 1, 1.0 and "1" are the same value, whatever type a reader gave the column."""
    if values.type in CALENDAR_TYPES:
        values = iso_texts(values)
    elif pa.types.is_floating(values.type):
        numbers = values.to_pylist()
        return [None if one is None else str(int(one)) if float(one).is_integer() else repr(one) for one in numbers]
    return [None if text is None else str(text) for text in pc.cast(values, pa.string()).to_pylist()]


def is_in_calendar(values: pa.Array) -> bool:
    """Do all dates and moments lie in the years 1 to 9999, and all times in one day? Others have no ISO 8601 text."""
    low, high = _ENDS[values.type]
    ends = pc.min_max(to_stored_integers(values)).as_py()
    return ends["min"] is None or bool(low <= ends["min"] <= ends["max"] <= high)


def encode_jointly(*columns: pa.Array) -> tuple[Integers, ...]:
    """Codes 0..c-1 for the values of several columns over one common dictionary (ascending); missing is -1.

    Equal values have equal codes across the columns, so that an original and a masked column can be compared, and a column with
    that of another version, whose values may be of another type: then their texts are compared.
    """
    kinds = {column.type for column in columns if column.null_count < len(column)} or {columns[0].type}
    if len(kinds) == 1:  # a column without values may have been read as another type
        (kind,) = kinds
        columns = tuple(column if column.type == kind else pa.nulls(len(column), kind) for column in columns)
    elif all(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) for kind in kinds):
        columns = tuple(pc.cast(column, pa.float64(), safe=False) for column in columns)  # numbers that a mask made decimals
    else:  # read as another type in another version of the source
        columns = tuple(pa.array(write_plain_texts(column), pa.string()) for column in columns)
    codes = encode_column(pa.chunked_array(list(columns), columns[0].type))
    return tuple(np.split(codes, np.cumsum([len(column) for column in columns[:-1]])))


def holds_same_values(column: pa.Array, other: pa.Array) -> bool:
    """Do two columns hold the same values in the same order, numbers bit for bit? Of numbers with gaps it is not asked."""
    if column.type != other.type or len(column) != len(other):
        return False
    if not pa.types.is_floating(column.type):
        return bool(column.equals(other))
    if column.null_count or other.null_count:
        return False
    return np.array_equal(np.asarray(column).view(np.int64), np.asarray(other).view(np.int64))


def _create_array(values: Sequence[object] | npt.NDArray[np.generic] | pa.Array) -> pa.Array:
    array = values if isinstance(values, pa.Array) else pa.array(values, from_pandas=True)
    return array if array.type in LOGICAL_TYPES else array.cast(_choose_logical_type(array.type))


def _choose_logical_type(kind: pa.DataType) -> pa.DataType:
    families = (
        (pa.types.is_integer, pa.int64()),
        (pa.types.is_floating, pa.float64()),
        (pa.types.is_date, DATE),
        (pa.types.is_timestamp, MOMENT),
        (pa.types.is_time, TIME),
    )
    return next((logical for belongs, logical in families if belongs(kind)), pa.string())


def _create_calendar_values(positions: Floats, kind: pa.DataType, name: str) -> pa.Array:
    missing = np.isnan(positions)
    numbers = np.where(missing, 0.0, positions)
    if kind == DATE and not np.array_equal(np.rint(numbers), numbers):
        raise ValueError(f"column {name} takes whole days only")
    low, high = (end / _UNITS[kind] for end in _ENDS[kind])
    if ((numbers < low) | (numbers > high)).any():
        raise ValueError(f"column {name} takes the years 1 to 9999, or times of one day")
    whole = _to_microseconds(numbers) if kind == MOMENT else np.rint(numbers * _UNITS[kind]).astype(np.int64)
    return from_stored_integers(pa.array(whole, mask=missing), kind)


def _to_microseconds(days: Floats) -> Integers:
    """Days apart from their fraction, so that nothing is lost in a product; far from 1970 a float64 holds milliseconds."""
    day = np.floor(days)
    within = np.rint((days - day) * _UNITS[MOMENT])
    within = np.where(np.abs(days) < EXACT_MOMENT_DAYS, within, np.rint(within / 1000) * 1000)
    microseconds: Integers = day.astype(np.int64) * int(_UNITS[MOMENT]) + within.astype(np.int64)
    return microseconds


def _round_to_whole(positions: Floats, name: str) -> pa.Array:
    missing = np.isnan(positions)
    numbers = np.where(missing, 0.0, positions)
    if not np.array_equal(np.rint(numbers), numbers) or (np.abs(numbers) >= WHOLE_NUMBERS).any():
        raise ValueError(f"column {name} takes whole positions of 64 bits only")
    return pa.array(numbers.astype(np.int64), mask=missing)
