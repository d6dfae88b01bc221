"""The chart of claims and hits: where an intruder says that a guess is right with 70 %, how often is it?

What it may tell: rates of an attack, which are public as they are. In the public edition they have 2 digits, and no point
stands for fewer targets than a bar holds records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.microdata.table import Microdata
from tasks.report.charts.editions import DrawingRule
from tasks.score.figure_rounding import FEW, round_significant

PARTS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityPoint:
    """Guesses that claim about so much are right so often."""

    claimed: float
    right: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityCurve:
    """One attack's curve by the declared intruder, claims ascending; no points where it has no probabilities."""

    attack: str
    points: tuple[ReliabilityPoint, ...]


def create_reliability_curve(attack: str, outcomes: Microdata, rule: DrawingRule) -> ReliabilityCurve:
    """The targets by tenths of what the guess claims: of each tenth with enough targets the mean claim and the mean credit.

    Example: claims of 0.5 for guesses of which 4 in 5 are right: one point (0.5, 0.8).
    """
    if "claimed" not in outcomes.names:
        return ReliabilityCurve(attack=attack, points=())
    claimed, credit = outcomes.floats("claimed"), outcomes.floats("credit")
    part = np.minimum((claimed * PARTS).astype(np.int64), PARTS - 1)
    chosen = [part == one for one in range(PARTS) if (part == one).sum() >= rule.least]
    pairs = [(float(claimed[some].mean()), float(credit[some].mean())) for some in chosen]
    points = (ReliabilityPoint(*(one if rule.exact else round_significant(one, FEW) for one in pair)) for pair in pairs)
    return ReliabilityCurve(attack=attack, points=tuple(points))
