"""What became of missing values, in words."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.microdata.numbers import count
from tasks.report.content import Content
from tasks.report.mask_description import describe_mask
from tasks.report.wording.sentence import say


def missing_in_words(content: Content) -> tuple[str, ...]:
    """How the missing values of masked attributes were treated; empty where none is missing."""
    missing = {column.name: column.n_missing for column in content.ingest.columns if column.n_missing}
    masked = [name for name in content.masking_targets if name in missing]
    if not masked:
        return ()
    if content.of_nobody:
        return tuple(dict.fromkeys(_treatments(content, set(masked))))
    exact = content.edition == "internal" or _gaps_are_released(content)
    gaps = [f"{name} ({count(missing[name])} of {count(content.rows_read)})" if exact else name for name in masked]
    return (say("missing.gaps_stay", gaps=gaps), *dict.fromkeys(_treatments(content, set(masked))))


def _gaps_are_released(content: Content) -> bool:
    """Can everybody count the source's gaps in the released table?"""
    return content.is_certified and not content.masked_elsewhere and not content.absent


def _treatments(content: Content, masked: set[str]) -> Iterator[str]:
    for step in content.mechanisms:
        if masked & set(step.target_attributes):
            yield describe_mask(step, content.schema).missing
