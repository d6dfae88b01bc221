"""What the stage leaves: all figures of a release and the verdict on them."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.microdata.estimate import Estimate
from tasks.score.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Score:
    """All figures of a release at full precision, and what the policy says of them. Private."""

    estimates: tuple[Estimate, ...]
    verdict: Verdict
