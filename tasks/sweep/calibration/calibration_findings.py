"""What a calibration leaves: one finding per property that must hold, with the figures that say whether it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CalibrationKind = Literal["null", "planted", "coverage", "posterior", "recount", "strength"]
LEVEL = 1e-4  # a right attack or interval is called wrong in one of so many checks (docs/SCIENCE.md section 1)
SHARE = 0.2  # of the targets that is drawn where only a sample is scored


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is computed. seeds: tables that are made for each check; samples: of targets, for each interval."""

    seeds: int
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationFinding:
    """One property that must hold.

    subject: the attack, or the figure. scene: what it was tried on. trials: tables, or samples of targets.
    found, expected: what it came to, and what it must be (of `coverage`: at least).
    p: how probable a deviation at least as large is where everything is right; None where nothing is left to chance.
    low, high: of `coverage`, the 95 % interval of what was found. width: of `coverage`, the mean width of the intervals.
    holds: is p at least LEVEL, and everything that leaves nothing to chance as it must be? reason: if not, what is wrong.
    """

    kind: CalibrationKind
    subject: str
    scene: str
    trials: int
    found: float
    expected: float
    holds: bool
    p: float | None = None
    low: float | None = None
    high: float | None = None
    width: float | None = None
    reason: str | None = None
