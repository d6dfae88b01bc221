"""How an attack compares and counts, without which its figures mean nothing."""

from __future__ import annotations

from tasks.attack.outcomes.outcome import AttackResult
from tasks.report.wording.sentence import Sentence, say


def linkage_settings(result: AttackResult) -> Sentence:
    """Direction, scale and credit of an attack by linkage."""
    return say("settings.linkage", direction=result.direction, scale_by=result.scale_by)


def settings_of_nobody(result: AttackResult) -> Sentence:
    """The same of a fully synthetic table, where values are told and no rows found."""
    return say("settings.synthetic", direction=result.direction, scale_by=result.scale_by)
