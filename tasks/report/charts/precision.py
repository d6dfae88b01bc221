"""The chart of precision against coverage: how many links are right among the surest ones.

What it may tell: rates of an attack, which are public as they are. In the public edition they have 2 digits, and no point
stands for fewer links than a bar holds records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.linkage.assertable_links import precision_curve
from tasks.microdata.table import Microdata
from tasks.report.charts.editions import DrawingRule
from tasks.score.figure_rounding import FEW, round_significant

COVERAGES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class Asserted:
    """Asserting the surest links, this share of the targets, this share of them is right."""

    coverage: float
    precision: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionCoverage:
    """One attack's curve by the declared intruder, coverage ascending; no points where no link has a margin."""

    attack: str
    points: tuple[Asserted, ...]


def precision(attack: str, outcomes: Microdata, rule: DrawingRule) -> PrecisionCoverage:
    """The curve of `linkage.assertable_links` at round coverages: of each the last point that does not exceed it, and of the
    last all.

    Example: of ten links the five surest are right and no other: 1 up to a coverage of 50 %, one half at 100 %.
    """
    if not {"margin", "named_right"} <= set(outcomes.names):
        return PrecisionCoverage(attack=attack, points=())
    curve = precision_curve(outcomes.floats("margin"), np.asarray(outcomes.floats("named_right") == 1))
    positions = np.searchsorted(curve.coverage, np.array(COVERAGES) + 1e-12, side="right") - 1
    kept = [
        position
        for position in np.unique(positions[positions >= 0])
        if round(curve.coverage[position] * outcomes.n) >= rule.least
    ]
    pairs = [(float(curve.coverage[position]), float(curve.precision[position])) for position in kept]
    return PrecisionCoverage(
        attack=attack,
        points=tuple(Asserted(*(one if rule.exact else round_significant(one, FEW) for one in pair)) for pair in pairs),
    )
