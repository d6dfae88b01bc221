"""The chart of what each masked attribute lost.

What it may tell: the figures of the scorecard, rounded there for the public edition; nothing is computed anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.microdata.estimate import Estimate
from tasks.score.measures.loss import CELLS_CHANGED, IL1S, SSE_PERCENT

MEASURES = (SSE_PERCENT.name, IL1S.name, CELLS_CHANGED.name)
MOST_ATTRIBUTES = 15


@dataclass(frozen=True, slots=True)
class Loss:
    attribute: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """One measure of loss by attribute, the largest first; n_attributes: how many there were to choose from."""

    measure: str
    unit: str
    losses: tuple[Loss, ...]
    n_attributes: int


def collect_losses(estimates: tuple[Estimate, ...]) -> tuple[Losses, ...]:
    """The measures that have a figure for at least two attributes: one bar alone shows nothing."""
    by_measure = {name: [one for one in estimates if one.measure == name and one.attribute and one.value is not None]
                  for name in MEASURES}  # fmt: skip
    return tuple(_create_losses(name, found) for name, found in by_measure.items() if len(found) > 1)


def _create_losses(measure: str, found: list[Estimate]) -> Losses:
    ranked = sorted(found, key=lambda one: -(one.value or 0.0))[:MOST_ATTRIBUTES]
    bars = tuple(Loss(one.attribute or "", one.value or 0.0) for one in ranked)
    return Losses(measure=measure, unit=found[0].unit, losses=bars, n_attributes=len(found))
