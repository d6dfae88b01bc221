"""Figures as they stand in a sentence: with their unit, and `at least` before a lower bound."""

from __future__ import annotations

from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import format_with_unit
from tasks.report.wording.names import end_as_sentence


def nearly_none(unit: str) -> str:
    """A 0 that is rounded to three decimals, and may be more."""
    return format_with_unit(0.0, unit).replace("0", "under 0.0005", 1)


def unit_of(one: Estimate) -> str:
    """The unit of a figure: records are persons where it counts persons."""
    return one.counts if one.unit == "records" else one.unit


def mark_bound(one: Estimate, shown: str) -> str:
    """A figure as it is shown; of a lower bound `at least` before it."""
    return f"at least {shown}" if one.is_lower_bound else shown


def format_figure(one: Estimate) -> str:
    """A figure within a sentence: with its unit, and `at least` where it is a lower bound."""
    return mark_bound(one, format_with_unit(one.value or 0.0, unit_of(one)))


def caution(one: Estimate) -> str:
    """What a figure says of itself, as a sentence; empty where there is nothing, or no figure."""
    return end_as_sentence(one.reason) if one.status == "ok" and one.reason else ""
