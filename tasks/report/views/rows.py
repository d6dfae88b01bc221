"""Rows of ready texts, and the figures in them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import count, format_with_unit
from tasks.report.charts.editions import Edition
from tasks.report.wording.figure_formats import format_figure, nearly_none, unit_of
from tasks.score.figure_rounding import STATISTICS
from tasks.score.measures.linkage import RECORDS_EXPOSED, REIDENTIFICATION, TRUTH_AMONG_NEAREST
from tasks.score.public_shares import FEWEST, FIRST, LEAST

_OF_THE_TARGETS = (REIDENTIFICATION.name, RECORDS_EXPOSED.name, TRUTH_AMONG_NEAREST.name)  # `groups_exposed` counts groups
PUBLIC_CLASSES_NOTE = (
    f"Shares of n people are shown in classes of ten: fewer than {FIRST}, perhaps nobody, as {LEAST} of n, more as the nearest "
    f"ten, and all but {LEAST} to {2 * LEAST - 1} or more as all; of fewer than {FEWEST} people none is shown. The verdict "
    "rests on the exact figures."
)


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
    if one.value == 0 and one.measure in STATISTICS:
        return nearly_none(unit_of(one))
    shown = format_figure(one)
    bounds = bounds_text(one)
    return f"{shown} ({bounds})" if bounds else shown


def bounds_text(one: Estimate) -> str:
    """The bounds of a figure, where its targets were sampled; empty for every other."""
    if one.low is None or one.high is None or one.low == one.high or (one.is_lower_bound and one.low == one.value):
        return ""
    return f"{format_with_unit(one.low, unit_of(one))} to {format_with_unit(one.high, unit_of(one))}"


def share_in_words(one: Estimate, edition: Edition) -> str:
    """What a sentence says of a share of people: of the first public class no share, because nobody is in it too."""
    shown = format_figure(one)
    if one.is_lower_bound or edition == "internal" or one.basis != "exact" or not one.value or not one.n_targets:
        return shown
    return shown if round(one.value * one.n_targets, 6) > LEAST else f"fewer than {FIRST}, perhaps none,"


def format_rate_as_count(estimate: Estimate, edition: Edition) -> str:
    """A rate as a number of records or persons; empty for figures that are not rates of the targets.

    edition: the public one knows classes of people alone, and of the last of them not that it is everybody.
    """
    if estimate.measure not in _OF_THE_TARGETS or estimate.value is None or not estimate.n_targets:
        return ""
    hits, targets = estimate.value * estimate.n_targets, count(estimate.n_targets)
    if estimate.is_lower_bound:
        return f"at least {count(math.floor(round(hits, 6)))} of {targets} {estimate.counts}"
    if share_in_words(estimate, edition).startswith("fewer"):
        return f"fewer than {FIRST} of {targets} {estimate.counts}"
    if hits == estimate.n_targets and edition == "internal":
        return f"all {targets} {estimate.counts}"
    if hits < 1:
        return f"fewer than 1 of {targets} {estimate.counts}" if hits else f"none of {targets} {estimate.counts}"
    return f"about {count(round(hits))} of {targets} {estimate.counts}"
