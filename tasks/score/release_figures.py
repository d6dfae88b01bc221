"""What the score stage leaves: all figures of a release and the verdict on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tasks.attack.target_looks import TargetLook
from tasks.microdata.estimate import Estimate
from tasks.score.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Score:
    """All figures of a release at full precision, and what the policy says of them. Private.

    look: of planned looks at targets the one at which they ended; None: none were planned.
    """

    estimates: tuple[Estimate, ...]
    verdict: Verdict
    look: Annotated[TargetLook | None, Field(exclude_if=lambda look: look is None)] = None
