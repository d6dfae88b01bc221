"""The loss of a partition beside that of MDAV of all records: what it costs to draw it at random, or to form it in parts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tasks.mask.groups.block import AttributeBlock, compute_coordinates
from tasks.mask.partitions import mdav
from tasks.mask.partitions.partition_loss import compute_within_group_loss
from tasks.microdata.numbers import format_two_digits

MOST_RECORDS = 300_000  # of which MDAV is formed for the comparison alone; 15 seconds


def compute_own_and_mdav_loss(blocks: Iterable[AttributeBlock]) -> tuple[float, float]:
    """100 * SSE / SST of these groups, and of MDAV's; the mean over blocks and patterns of gaps.

    Formula in words: in the coordinates in which records are grouped, the sum of squares within groups over that about the
    mean; each block and pattern counts by its records. Cost: that of MDAV.
    """
    parts = [
        (block.k, part, compute_coordinates(block.columns, part.rows, part.columns))
        for block in blocks
        for part in block.groups
    ]
    weights = [len(part.rows) for _, part, _ in parts]
    own = [compute_within_group_loss(points, part.of_row) for _, part, points in parts]
    of_mdav = [compute_within_group_loss(points, mdav.partition(points, k)) for k, _, points in parts]
    return float(np.average(own, weights=weights)), float(np.average(of_mdav, weights=weights))


def describe_partition_loss(blocks: Iterable[AttributeBlock], where: str) -> str:
    """What a steward should know of a randomised partition; two digits, as in public figures."""
    drawn, repeatable = (format_two_digits(loss) for loss in compute_own_and_mdav_loss(blocks))
    return (
        f"{where}: the randomised partition loses {drawn} % of the variation of what it groups; MDAV, which an intruder can "
        f"repeat, would lose {repeatable} %"
    )


def describe_loss_of_parts(blocks: Iterable[AttributeBlock], where: str) -> str:
    """What a steward should know of a partition in parts; two digits, as in public figures."""
    own, whole = (format_two_digits(loss) for loss in compute_own_and_mdav_loss(blocks))
    return (
        f"{where}: the partition in parts loses {own} % of the variation of what it groups; MDAV of all records together "
        f"would lose {whole} %"
    )
