"""Rank jitter in words."""

from __future__ import annotations

from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.microdata.words import join_with_and
from tasks.report.masks.mask_text import MaskText
from tasks.report.masks.rank_swapping import ANALYSTS
from tasks.report.wording.numbers import SPACE, number

DISPLACEMENTS = (
    "Rank jitter exchanges no pairs, so that the consistency attack on rank swapping does not apply. That does not make it "
    "safe: ranks hardly ever move by more than the window, and somebody who knows it and several attributes weighs each row by "
    "how probable all its displacements are together"
)


def describe_rank_jitter(step: RankJitter) -> MaskText:
    window = f"{number(step.window_percent)}{SPACE}%"
    apart = ", each attribute by itself," if len(step.target_attributes) > 1 else ","
    return MaskText(
        title=f"Rank jitter, window {window}",
        text=f"In {join_with_and(step.target_attributes)}{apart} the ranks of the values were shifted at random by "
        f"up to {window} of the number "
        f"of records, up or down, and the values were handed out by the new order{_describe_displacement_bound(step)}. "
        "Each column keeps exactly its values; which record holds which value is blurred.",
        missing="Rank jitter moves present values only among the records that have one; records without a value take no part.",
        attribute=lambda _: f"handed out anew by ranks that were shifted by up to {window}",
        analysts=ANALYSTS,
    )


def _describe_displacement_bound(step: RankJitter) -> str:
    twice = 2 * step.window_percent
    return f", so that none moved by as much as {number(twice)}{SPACE}% of the ranks" if twice < 100 else ""
