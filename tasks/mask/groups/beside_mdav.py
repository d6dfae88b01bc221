"""The loss of a randomised partition beside that of MDAV: what it costs that nobody can repeat it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tasks.mask.groups.block import AttributeBlock, compute_coordinates
from tasks.mask.partitions import mdav
from tasks.mask.partitions.partition_loss import compute_within_group_loss
from tasks.microdata.numbers import format_two_digits


def compute_drawn_and_mdav_loss(blocks: Iterable[AttributeBlock]) -> tuple[float, float]:
    """100 * SSE / SST of the groups that were drawn, and of MDAV's; the mean over blocks and patterns of gaps.

    Formula in words: in the coordinates in which records are grouped, the sum of squares within groups over that about the
    mean; each block and pattern counts by its records. Cost: that of MDAV.
    """
    parts = [
        (block.k, part, compute_coordinates(block.columns, part.rows, part.columns))
        for block in blocks
        for part in block.groups
    ]
    weights = [len(part.rows) for _, part, _ in parts]
    drawn = [compute_within_group_loss(points, part.of_row) for _, part, points in parts]
    repeatable = [compute_within_group_loss(points, mdav.partition(points, k)) for k, _, points in parts]
    return float(np.average(drawn, weights=weights)), float(np.average(repeatable, weights=weights))


def describe_partition_loss(blocks: Iterable[AttributeBlock], where: str) -> str:
    """What a steward should know of a randomised partition; two digits, as in public figures."""
    drawn, repeatable = (format_two_digits(loss) for loss in compute_drawn_and_mdav_loss(blocks))
    return (
        f"{where}: the randomised partition loses {drawn} % of the variation of what it groups; MDAV, which an intruder can "
        f"repeat, would lose {repeatable} %"
    )
