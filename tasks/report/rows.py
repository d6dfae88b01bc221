"""Rows of ready texts, and the figures in them."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.microdata.estimate import Estimate
from tasks.report.numbers import count, in_unit

_OF_THE_TARGETS = ("reidentification", "records_exposed", "truth_among_nearest")


@dataclass(frozen=True, slots=True)
class Bar:
    """Places on a bar from 0 to 100 %, in percent; None: no such mark."""

    value: float
    limit: float | None = None
    chance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRow:
    """One measure: its name, what it says, its figure, and what chance would give."""

    title: str
    sentence: str
    value: str
    chance: str
    note: str = ""
    bar: Bar | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRow:
    """A row of plain cells under a head."""

    head: str
    cells: tuple[str, ...]


def figure_text(one: Estimate | None) -> str:
    """A figure with its unit and, where targets were sampled, its bounds; a dash where there is none."""
    if one is None:
        return "\u2013"
    if one.value is None:
        return f"{one.status.replace('_', ' ')}: {one.reason or 'no reason was given'}"
    shown = in_unit(one.value, one.unit)
    if one.low is None or one.high is None or one.low == one.high:
        return shown
    return f"{shown} ({in_unit(one.low, one.unit)} to {in_unit(one.high, one.unit)})"


def people_text(estimate: Estimate) -> str:
    """A rate as a number of records; empty for figures that are not rates of the targets."""
    if estimate.measure not in _OF_THE_TARGETS or estimate.value is None or not estimate.n_targets:
        return ""
    hits, targets = estimate.value * estimate.n_targets, count(estimate.n_targets)
    if hits == estimate.n_targets:
        return f"all {targets} records"
    if hits < 1:
        return f"fewer than 1 of {targets} records" if hits else f"none of {targets} records"
    return f"about {count(round(hits))} of {targets} records"
