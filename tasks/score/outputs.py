"""What the score stages return, by address."""

from __future__ import annotations

from typing import TypedDict

from tasks.microdata.refs import RecordRef
from tasks.score.look_decisions import LookOutcome
from tasks.score.release_figures import Score


class ScoreOutputs(TypedDict):
    """All figures and the verdict."""

    score: RecordRef[Score]


class LookOutputs(TypedDict):
    """What one planned look at the targets came to."""

    outcome: RecordRef[LookOutcome]
