"""The loss of a partition beside that of another: what it costs to draw it at random, or to form it in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tasks.mask.groups.block import AttributeBlock, compute_coordinates
from tasks.mask.partitions import mdav
from tasks.mask.partitions.partition_loss import compute_within_group_loss
from tasks.microdata.numbers import format_two_digits
from tasks.microdata.table import Floats, Integers

MOST_CELLS = 60_000  # that are partitioned for a comparison alone: by MDAV in 0.1 s, by the refined partition in 7


def compute_own_and_mdav_loss(blocks: Iterable[AttributeBlock]) -> tuple[float, float]:
    """100 * SSE / SST of these groups, and of MDAV's; the mean over blocks and patterns of gaps. Cost: that of MDAV."""
    blocks = tuple(blocks)
    return _compute_loss(blocks), _compute_loss(blocks, mdav.partition)


def _compute_loss(blocks: Iterable[AttributeBlock], partition: Callable[[Floats, int], Integers] | None = None) -> float:
    """100 * SSE / SST of the groups of blocks, or of those that a partition forms of their records.

    Formula in words: in the coordinates in which records are grouped, the sum of squares within groups over that about the
    mean; each block and pattern counts by its records.
    """
    losses, weights = [], []
    for block in blocks:
        for part in block.groups:
            points = compute_coordinates(block.columns, part.rows, part.columns)
            groups = part.of_row if partition is None else partition(points, block.k)
            losses.append(compute_within_group_loss(points, groups))
            weights.append(len(part.rows))
    return float(np.average(losses, weights=weights))


def describe_partition_loss(blocks: Iterable[AttributeBlock], where: str) -> str:
    """What a steward should know of a randomised partition; two digits, as in public figures."""
    drawn, repeatable = (format_two_digits(loss) for loss in compute_own_and_mdav_loss(blocks))
    return (
        f"{where}: the randomised partition loses {drawn} % of the variation of what it groups; MDAV, which an intruder can "
        f"repeat, would lose {repeatable} %"
    )


def is_small_and_in_parts(blocks: Iterable[AttributeBlock], most: int | None) -> bool:
    """Is one of the blocks split into parts of at most `most` records, and is it quick to group them without parts as well?"""
    parts = [(len(part.rows), len(part.rows) * len(part.columns)) for block in blocks for part in block.groups]
    return most is not None and max(rows for rows, _ in parts) > most and sum(cells for _, cells in parts) <= MOST_CELLS


def describe_loss_of_parts(in_parts: Iterable[AttributeBlock], whole: Iterable[AttributeBlock], where: str) -> str:
    """What a steward should know of a partition in parts; two digits, as in public figures."""
    own, together = (format_two_digits(_compute_loss(blocks)) for blocks in (in_parts, whole))
    return (
        f"{where}: the partition in parts loses {own} % of the variation of what it groups; of all records together it would "
        f"lose {together} %"
    )
