"""Who attacks, and what is theirs: intruders by what they know."""

from __future__ import annotations

from tasks.attack.methods import ATTACKS
from tasks.report.content import Content, extra_knowledge, parse_external_file
from tasks.report.wording.sentence import Sentence, say

WORST_CASE = "the worst case of a family of distances, and no intruder's rate"
NOT_DISJOINT = "The distance has seen the links by which the margin was calibrated: no intruder can assert as much."


def somebody(content: Content, intruder: str, attack: str | None) -> Sentence:
    """An intruder by what they know: `somebody who knows age and educ and how the masking works`."""
    kind = ATTACKS.get(content.method_of(attack) or "")
    return say("intruders.somebody", extra=extra_knowledge(intruder), file=parse_external_file(intruder),
               holder=kind and kind.about.holder, knows=content.intruder_knowledge, unit=content.unit, counts=content.counts,
               records=content.intruder.records, uses_masking=uses_the_masking(content, attack),
               like_owner=uses_all_true_links(content, attack))  # fmt: skip


def uses_the_masking(content: Content, attack: str | None) -> bool:
    kind = ATTACKS.get(content.method_of(attack) or "")
    return kind is not None and kind.follows_masking


def uses_all_true_links(content: Content, attack: str | None) -> bool:
    """Is it the attack of nobody who exists? Only the data's owner has all true links."""
    kind = ATTACKS.get(content.method_of(attack) or "")
    return kind is not None and kind.about.is_worst_case
