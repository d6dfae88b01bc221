"""What a membership attack says of its targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tasks.microdata.table import Floats

ThresholdFrom = Literal["own_rule", "training_loss", "shadow_models", "calibration"]


@dataclass(frozen=True, slots=True)
class MembershipScores:
    """A score for each target row: the higher, the likelier a member. Flagged are scores >= threshold.

    scores: shape (t,), finite, in the order of the frame's `target_rows`.
    threshold: never chosen on the targets that are judged by it; None: it is to be found on the frame's calibration half.
    lost: of which attributes a law could not be followed, as a reason: the whole attack would find at least as much.
    remark: what is to be added to what the attack infers, such as that its likelihood is heuristic.
    of_insiders: the same scores of intruders who also know another column, by the name of the intruder.
    """

    scores: Floats
    threshold: float | None
    threshold_from: ThresholdFrom
    of_insiders: tuple[tuple[str, Floats], ...] = ()
    lost: str | None = None
    remark: str = ""
