"""Reverse mapping in words."""

from __future__ import annotations

from tasks.mask.ranks.reverse_mapping import ReverseMapping
from tasks.microdata.words import join_with_and
from tasks.report.masks.mask_text import MaskText
from tasks.report.masks.rank_swapping import ANALYSTS


def describe_reverse_mapping(step: ReverseMapping) -> MaskText:
    return MaskText(
        title="Reverse mapping",
        text=f"In {join_with_and(step.target_attributes)} the masked values were replaced, in order, by the source's "
        "own: the lowest by the "
        "lowest, and so on, equal ones in random order. Each column keeps exactly its values; which record holds which is "
        "as the steps before left it, in ranks.",
        missing="Reverse mapping hands out values among the records that have one; records without a value take no part.",
        attribute=lambda _: "mapped back to the source's values of the same ranks",
        analysts=ANALYSTS,
    )
