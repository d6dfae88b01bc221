"""What a partition costs: the share of the squares that lies within its groups."""

from __future__ import annotations

import numpy as np

from tasks.microdata.table import Floats, Integers


def compute_within_group_loss(points: Floats, groups: Integers) -> float:
    """The information loss of publishing the mean of each group, 100 * SSE / SST.

    Formula in words: 100 times the sum of the squared distances between the records and the means of their groups, divided by
    the sum of the squared distances between the records and the mean of all.

    Parameters
    ----------
    points: shape (n, p), n >= 1, coordinates without NaN, scaled as they were when the groups were formed.
    groups: shape (n,), the group 0..g-1 of each record.

    Returns a percentage: 0 where records of a group are all equal (also where all records are), 100 for one group. Records
    are centred first, so that an offset of 1e9 costs no digits. Chance level: 100 * (n - g) / (n - 1) on average for groups
    drawn at random. Cost: O(n p).
    Source: Domingo-Ferrer and Mateo-Sanz (2002), IEEE TKDE 14(1).
    Example: (0, 2, 10, 12) in the groups {0, 2} and {10, 12}: SSE 4, SST 104, 3.85 %.
    """
    centred = points - points.mean(axis=0)
    sizes = np.bincount(groups)
    means = [np.bincount(groups, weights=column) / np.maximum(sizes, 1) for column in centred.T]
    within = sum(float(np.square(column - mean[groups]).sum()) for column, mean in zip(centred.T, means, strict=True))
    total = float(np.square(centred).sum())
    return 100 * within / total if total > 0 else 0.0
