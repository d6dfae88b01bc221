"""Smallest and largest values that a Parquet file states of its pages and columns: are they those of the values?

What readers skip by, and what could be another person's value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tasks.audit.certificates.coverage.parquet_pages import NotExplained, Values
from tasks.audit.certificates.coverage.thrift import Struct

_INT32, _INT64, _FLOAT, _DOUBLE, _BYTES, _FIXED = 1, 2, 4, 5, 6, 7
_NUMBERS = {0: "?", _INT32: "<i4", _INT64: "<i8", _FLOAT: "<f4", _DOUBLE: "<f8"}
_UNSIGNED = range(11, 15)  # converted types of unsigned integers
_DECIMAL = 5
_WRONG = "statistics that are not those of the values"

Bounds = tuple[Any, Any] | None


def check_statistics(pages: Sequence[tuple[Values, int, Struct | None]], whole: Struct | None, element: Struct) -> None:
    """Raises NotExplained where statistics of a page or of the column (`whole`) say what the values do not."""
    bounds = [compute_bounds(values, element) if stated or whole else None for values, _, stated in pages]
    for (values, rows, stated), found in zip(pages, bounds, strict=True):
        _check(stated or {}, found, rows - len(values), element)
    missing = sum(rows - len(values) for values, rows, _ in pages)
    _check(whole or {}, merge_bounds(bounds), missing, element)


def compute_bounds(values: Values, element: Struct) -> Bounds:
    """The smallest and the largest value; None where there is none, or where the type has no order that is known here."""
    if _is_decimal(element) and isinstance(values, list):
        numbers = [_whole(value) for value in values]
        return (min(numbers), max(numbers)) if numbers else None
    if element[1] == _BYTES and isinstance(values, list):
        return (min(values), max(values)) if values else None
    if element[1] not in _NUMBERS or not isinstance(values, np.ndarray):
        return None
    shown = values.view(values.dtype.str.replace("i", "u")) if _is_unsigned(element) else values
    present = shown[~np.isnan(shown)] if shown.dtype.kind == "f" else shown
    return (present.min(), present.max()) if len(present) else None


def merge_bounds(bounds: Iterable[Bounds]) -> Bounds:
    present = [one for one in bounds if one is not None]
    return (min(low for low, _ in present), max(high for _, high in present)) if present else None


def is_bound(stored: bytes, offset: int, bounds: Bounds, element: Struct) -> bool:
    """Are these bytes the smallest (`offset` 0) or the largest (1) value, as Parquet writes it?"""
    if bounds is None:
        return False
    if element[1] in (_BYTES, _FIXED):
        return bool((_whole(stored) if _is_decimal(element) else stored) == bounds[offset])
    kind = np.dtype(_NUMBERS[element[1]])
    numbers = np.frombuffer(stored, kind.str.replace("i", "u") if _is_unsigned(element) else kind)
    return len(numbers) == 1 and bool(numbers[0] == bounds[offset])


def _check(stated: Struct, bounds: Bounds, missing: int, element: Struct) -> None:
    offsets = {1: 1, 2: 0, 5: 1, 6: 0}
    wrong = (
        not all(is_bound(stated[field], offset, bounds, element) for field, offset in offsets.items() if field in stated)
        or stated.get(3, missing) != missing
        or stated.get(4, 0) < 0
    )
    if wrong:
        raise NotExplained(_WRONG)


def _is_unsigned(element: Struct) -> bool:
    integer: Struct = element.get(10, {}).get(10, {})
    return element.get(6) in _UNSIGNED or integer.get(2) is False


def _is_decimal(element: Struct) -> bool:
    return element.get(6) == _DECIMAL or _DECIMAL in element.get(10, {})


def _whole(stored: bytes) -> int:
    return int.from_bytes(stored, "big", signed=True)
