"""The open question on a kind of disclosure that a policy does not limit, or limits in part."""

from __future__ import annotations

from tasks.score.kinds import WHAT_IT_IS, Subject, can_be_limited
from tasks.score.measure import DisclosureKind


def write_limit_question(kind: DisclosureKind, measures: tuple[str, ...], subject: Subject) -> str:
    """Ask for a limit by each of some measures, or for a reason. measures: as `find_unlimited_kinds` gives them."""
    is_in_words = WHAT_IT_IS[kind]
    if not can_be_limited(kind, subject):
        return f"Why is there no limit, where {is_in_words}?"
    control = " (with `control: 0.2` at the top of the file)" if kind == "membership" else ""
    lines = " and ".join(f"`{measure}, at_most: ...`" for measure in measures)
    return f"Which limit, where {is_in_words}? {lines}{control}; or in a sentence, why is there none?"
