"""Numbers for people: percent, two or three significant digits, nothing rounded to a 0, a 100 % or a limit that it is not."""

from __future__ import annotations

import math

SPACE = "\u202f"  # narrow, and no line break between a number and its unit
_UNITS = {"records": "records", "persons": "persons", "sd": "sd", "sd^2": "sd\u00b2"}
_PER_CENT = {"share": 100.0, "percent": 1.0}
_SMALLEST = 0.0001
_FULL_DIGITS = 17


def count(number: int) -> str:
    """A whole number with separators: 20,190."""
    return f"{number:,}"


def format_share(value: float) -> str:
    """A fraction as percent: 2 digits below 10 %, 3 from there. Examples: 0.08 is 8.0 %, 0.99999 over 99.9 %."""
    return _format_percent(100 * value, whole=100.0)


def number(value: float, digits: int = 3) -> str:
    """A number to at least so many significant digits; whole parts are never cut. Example: 1e-9 is under 0.0001."""
    if value == 0 or (value == round(value) and abs(value) < 10**digits):
        return f"{value:,.0f}"
    if abs(value) < _SMALLEST:
        return f"under {_SMALLEST}" if value > 0 else f"over \u2212{_SMALLEST}"
    return _strip_zeros(_format_significant(value, digits))


def format_with_unit(value: float, unit: str) -> str:
    """A figure with its unit as `Estimate.unit` names it."""
    if unit in _PER_CENT:
        return format_share(value) if unit == "share" else _format_percent(value, whole=None)
    return _append_unit(number(value), unit)


def format_limit(limit: float, unit: str) -> str:
    """A limit as its author wrote it: all its digits."""
    if unit in _PER_CENT:
        return f"{_format_all_digits(limit * _PER_CENT[unit])}{SPACE}%"
    return _append_unit(_format_all_digits(limit), unit)


def format_against_limit(value: float, limit: float, unit: str) -> str:
    """A figure shown beside its limit: with as many digits as it takes to see on which side it lies.

    Example: 0.1504 beside a limit of 0.15 is 15.04 %, not 15.0 %.
    """
    if value == limit:
        return format_limit(limit, unit)
    usual = format_with_unit(value, unit)
    factor = _PER_CENT.get(unit, 1.0)
    scaled, bound = value * factor, limit * factor
    digits = 3 if abs(scaled) >= 10 or unit not in _PER_CENT else 2
    if not _is_side_hidden(scaled, bound, digits) or value == 0:
        return usual
    enough = next(d for d in range(digits, _FULL_DIGITS + 1) if not _is_side_hidden(scaled, bound, d) or d == _FULL_DIGITS)
    shown = _format_significant(scaled, enough)
    return f"{shown}{SPACE}%" if unit in _PER_CENT else _append_unit(shown, unit)


def _append_unit(shown: str, unit: str) -> str:
    name = unit[:-1] if shown == "1" and unit in ("records", "persons") else _UNITS.get(unit, "")
    return f"{shown}{SPACE}{name}" if name else shown


def _is_side_hidden(value: float, limit: float, digits: int) -> bool:
    shown = float(_format_significant(value, digits).replace(",", "").replace("\u2212", "-")) if value else value
    return (shown > limit) != (value > limit) or (shown < limit) != (value < limit)


def format_two_digits(percent: float) -> str:
    """For a table and a name: `8.5`, `46`, and 100 for 99.7. Never `1e+02`."""
    return f"{float(f'{percent:.2g}'):g}"


def _format_percent(percent: float, *, whole: float | None) -> str:
    if percent in (0.0, 100.0):
        return f"{percent:.0f}{SPACE}%"
    if abs(percent) < 0.01:
        return f"under 0.01{SPACE}%"
    if whole is not None and whole - 0.05 <= percent < whole:
        return f"over 99.9{SPACE}%"
    shown = _format_significant(percent, 2 if abs(percent) < 9.95 else 3)
    return f"{shown if whole is not None and abs(percent) < 9.95 else _strip_zeros(shown)}{SPACE}%"


def _format_significant(value: float, digits: int) -> str:
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}".replace("-", "\u2212")


def _strip_zeros(shown: str) -> str:
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def _format_all_digits(value: float) -> str:
    return _strip_zeros(f"{float(f'{value:.12g}'):,.12f}").replace("-", "\u2212")
