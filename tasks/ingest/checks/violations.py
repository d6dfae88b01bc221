"""Which rows break an expectation: our own count, computed from the columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, assert_never

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tasks.ingest.checks.expectations import (
    AnyExpectation,
    Between,
    HoldsNumbers,
    InSet,
    Matches,
    NotMissing,
    RowsBetween,
    Unique,
    anchor_pattern,
    parse_iso_value,
)
from tasks.microdata.table import CALENDAR_TYPES, Booleans, Microdata, to_stored_integers


def violations(expectation: AnyExpectation, data: Microdata) -> Booleans:
    """Shape (n,): the rows that break the expectation; a wrong number of rows breaks it in every row (one if there is none)."""
    match expectation:
        case NotMissing():
            return data.missing(expectation.attribute)
        case Between():
            return _outside(data.column(expectation.attribute), expectation.low, expectation.high)
        case InSet():
            return _present(data, expectation.attribute) & ~_flags(
                _member(data.column(expectation.attribute), expectation.values)
            )
        case Unique():
            return _find_repeated_rows(data, expectation.attributes)
        case RowsBetween():
            high = data.n if expectation.high is None else expectation.high
            return np.full(max(data.n, 1), not expectation.low <= data.n <= high)
        case Matches():
            return _present(data, expectation.attribute) & ~_flags(
                _matching(data.column(expectation.attribute), expectation.pattern)
            )
        case HoldsNumbers():
            return np.full(data.n, data.is_text(expectation.attribute) or data.is_calendar(expectation.attribute))
        case _:
            assert_never(expectation)


def _flags(mask: pa.Array) -> Booleans:
    return np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False), dtype=bool)


def _present(data: Microdata, name: str) -> Booleans:
    return ~data.missing(name)


def _outside(column: pa.Array, low: float | str | None, high: float | str | None) -> Booleans:
    numbers, low, high = _numbers(column), as_number(low), as_number(high)
    below = np.zeros(len(column), dtype=bool) if low is None else _flags(_compare_numbers(pc.less, numbers, low))
    above = np.zeros(len(column), dtype=bool) if high is None else _flags(_compare_numbers(pc.greater, numbers, high))
    return below | above


def _numbers(column: pa.Array) -> pa.Array:
    """Truth values as 0 and 1, dates and times as the whole numbers they are stored as."""
    if column.type in CALENDAR_TYPES:
        return to_stored_integers(column)
    return column.cast(pa.int64()) if pa.types.is_boolean(column.type) else column


def as_number(bound: float | str | None) -> float | None:
    """A bound as it is compared: dates and times as the whole numbers they are stored as."""
    if not isinstance(bound, str):
        return bound
    whole: int = to_stored_integers(parse_iso_value(bound)).as_py()
    return whole


def _compare_numbers(compare: Callable[..., Any], numbers: pa.Array, bound: float) -> Any:
    if isinstance(bound, int):
        return compare(numbers, pa.scalar(bound, type=numbers.type))
    return compare(numbers.cast(pa.float64(), safe=False), pa.scalar(bound, type=pa.float64()))


def _member(column: pa.Array, values: Sequence[object]) -> pa.Array:
    if pa.types.is_string(column.type):
        return pc.is_in(column, value_set=pa.array(values, type=pa.string()))
    numbers = _numbers(column)
    values = [as_number(value) if isinstance(value, str) else value for value in values]
    if pa.types.is_integer(numbers.type):
        whole = [int(value) for value in values if isinstance(value, bool | int | float) and float(value).is_integer()]
        return pc.is_in(numbers, value_set=pa.array(whole, type=pa.int64()))
    return pc.is_in(numbers, value_set=pa.array([float(str(float(v))) for v in values if isinstance(v, bool | int | float)]))


def _find_repeated_rows(data: Microdata, names: tuple[str, ...]) -> Booleans:
    frame = pd.DataFrame({str(i): series(data.column(name)) for i, name in enumerate(names)})
    complete = frame.notna().all(axis=1)
    return np.asarray(complete & frame.duplicated(keep=False), dtype=bool)


def _matching(column: pa.Array, pattern: str) -> pa.Array:
    texts = pc.unique(column.drop_null())
    whole = re.compile(anchor_pattern(pattern))
    return pc.is_in(
        column, value_set=texts.filter(pa.array([bool(whole.search(text)) for text in texts.to_pylist()], pa.bool_()))
    )


def series(column: pa.Array) -> pd.Series[Any]:
    """A pandas column that keeps every digit: nullable integers and booleans, Python texts; dates and times as integers."""
    column = to_stored_integers(column) if column.type in CALENDAR_TYPES else column
    nullable: dict[Any, Any] = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    if pa.types.is_string(column.type):
        return pd.Series(column.to_numpy(zero_copy_only=False), dtype=object)
    return column.to_pandas(types_mapper=nullable.get)  # type: ignore[no-any-return]  # Arrow has no types
