"""Compare the smallest and largest values that a Parquet file states of pages and columns with the values.

What readers skip by, and what could be another person's value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tasks.audit.certificates.coverage.parquet_pages import NotExplained, Values
from tasks.audit.certificates.coverage.parquet_shapes import NamedFields

_INT32, _INT64, _FLOAT, _DOUBLE, _BYTES, _FIXED = 1, 2, 4, 5, 6, 7
_NUMBERS = {0: "?", _INT32: "<i4", _INT64: "<i8", _FLOAT: "<f4", _DOUBLE: "<f8"}
_UNSIGNED = range(11, 15)  # converted types of unsigned integers
_DECIMAL = 5
_WRONG = "statistics that are not those of the values"

Bounds = tuple[Any, Any] | None


def check_statistics(
    pages: Sequence[tuple[Values, int, NamedFields | None]], whole: NamedFields | None, element: NamedFields
) -> None:
    """Raises NotExplained where statistics of a page or of the column (`whole`) say what the values do not."""
    bounds = [compute_bounds(values, element) if stated or whole else None for values, _, stated in pages]
    for (values, rows, stated), found in zip(pages, bounds, strict=True):
        _check_bounds(stated or {}, found, rows - len(values), element)
    missing = sum(rows - len(values) for values, rows, _ in pages)
    _check_bounds(whole or {}, merge_bounds(bounds), missing, element)


def compute_bounds(values: Values, element: NamedFields) -> Bounds:
    """The smallest and the largest value; None where there is none, or where the type has no order that is known here."""
    if _is_decimal(element) and isinstance(values, list):
        numbers = [_parse_integer(value) for value in values]
        return (min(numbers), max(numbers)) if numbers else None
    if element["type"] == _BYTES and isinstance(values, list):
        return (min(values), max(values)) if values else None
    if element["type"] not in _NUMBERS or not isinstance(values, np.ndarray):
        return None
    shown = values.view(values.dtype.str.replace("i", "u")) if _is_unsigned(element) else values
    present = shown[~np.isnan(shown)] if shown.dtype.kind == "f" else shown
    return (present.min(), present.max()) if len(present) else None


def merge_bounds(bounds: Iterable[Bounds]) -> Bounds:
    present = [one for one in bounds if one is not None]
    return (min(low for low, _ in present), max(high for _, high in present)) if present else None


def is_bound(stored: bytes, offset: int, bounds: Bounds, element: NamedFields) -> bool:
    """Are these bytes the smallest (`offset` 0) or the largest (1) value, as Parquet writes it?"""
    if bounds is None:
        return False
    if element["type"] in (_BYTES, _FIXED):
        return bool((_parse_integer(stored) if _is_decimal(element) else stored) == bounds[offset])
    kind = np.dtype(_NUMBERS[element["type"]])
    numbers = np.frombuffer(stored, kind.str.replace("i", "u") if _is_unsigned(element) else kind)
    return len(numbers) == 1 and bool(numbers[0] == bounds[offset])


def _check_bounds(stated: NamedFields, bounds: Bounds, missing: int, element: NamedFields) -> None:
    offsets = {"max": 1, "min": 0, "max_value": 1, "min_value": 0}
    wrong = (
        not all(is_bound(stated[field], offset, bounds, element) for field, offset in offsets.items() if field in stated)
        or stated.get("null_count", missing) != missing
        or stated.get("distinct_count", 0) < 0
    )
    if wrong:
        raise NotExplained(_WRONG)


def _is_unsigned(element: NamedFields) -> bool:
    integer: NamedFields = element.get("logicalType", {}).get("INTEGER", {})
    return element.get("converted_type") in _UNSIGNED or integer.get("isSigned") is False


def _is_decimal(element: NamedFields) -> bool:
    return element.get("converted_type") == _DECIMAL or "DECIMAL" in element.get("logicalType", {})


def _parse_integer(stored: bytes) -> int:
    return int.from_bytes(stored, "big", signed=True)
