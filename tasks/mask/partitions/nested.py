"""A coarser partition whose groups are unions of the groups of a finer one, formed by MDAV on the finer centroids.

Source: Domingo-Ferrer and Mateo-Sanz (2002) for MDAV. Done otherwise than there: a finer group goes to one coarser group as a
whole, so a coarser group holds k records or more, and more than 2k - 1 where the finer groups are large.
"""

from __future__ import annotations

import numpy as np

from tasks.mask.partitions.exact_mean import FixedPoint, compute_mean, convert_to_fixed_point
from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers


def join_groups(points: Floats, groups: Integers, k: int) -> Integers:
    """Join whole groups of a partition until each holds k records or more.

    Meaning: what a release of the coarser groups shows follows from a release of the finer ones, so both together tell no more
    than the finer one.
    Formula in words: as MDAV, with the centroids of the finer groups as its records. While 2k or more records are left, the
    group farthest from their mean and the groups nearest to it are joined until they hold k; of 3k or more, then the same from
    the group farthest from that one. The rest is the last group if it holds k records; otherwise each of its groups goes to
    the coarser group whose centroid is nearest. Of equally far or near groups the first in lexicographic order is taken.

    Parameters
    ----------
    points: shape (n, p), n >= k, coordinates without NaN. groups: shape (n,), 0..g-1, none empty.
    k: smallest group.

    Returns shape (n,), groups 0..h-1; one group of all records where no other is possible. The sums are exact, so the result
    depends on the finer groups alone, not on the order of the records. Cost: O(g^2 p).
    Raises ValueError if k > n.
    Example: points 0, 1, 5, 6, 20, 21 in pairs and k = 3: the pair 20, 21 joins 5, 6, and 0, 1, too few alone, join them.
    """
    if not 1 <= k <= len(points):
        raise ValueError(f"k = {k} is not in 1..{len(points)}")
    numbers, sizes = convert_to_fixed_point(points), np.bincount(groups).astype(np.int64)
    sums = np.zeros((len(sizes), 2, points.shape[1]), dtype=np.int64)
    np.add.at(sums[:, 0], groups, numbers.whole)
    np.add.at(sums[:, 1], groups, numbers.rest)
    centres = _compute_centres(sums, sizes, numbers)
    order = np.lexsort((np.arange(len(sizes)), sizes, *centres.T[::-1]))
    coarser = np.empty(len(sizes), dtype=np.int64)
    coarser[order] = _join(centres[order], sums[order], sizes[order], numbers, k)
    found: Integers = coarser[groups]
    return found


@njit
def _compute_centres(sums: Integers, sizes: Integers, numbers: FixedPoint) -> Floats:
    centres = np.empty((len(sizes), sums.shape[2]))
    for group in range(len(sizes)):
        centres[group] = compute_mean(sums[group], sizes[group], numbers)
    return centres


@njit
def _join(centres: Floats, sums: Integers, sizes: Integers, numbers: FixedPoint, k: int) -> Integers:
    """The coarser group of each finer one."""
    joined = np.full(len(sizes), -1, dtype=np.int64)
    total, left, formed = sums.sum(axis=0), sizes.sum(), 0
    while left >= 2 * k:
        reference = compute_mean(total, left, numbers)
        for _ in range(2 if left >= 3 * k else 1):
            if left < 2 * k:  # the first of the two was large
                break
            reference = centres[_find_extreme(centres, joined, reference, -1.0)].copy()
            held = 0
            while held < k:
                nearest = _find_extreme(centres, joined, reference, 1.0)
                joined[nearest] = formed
                held += sizes[nearest]
                total -= sums[nearest]
            left -= held
            formed += 1
    if left >= k or formed == 0:
        joined[joined < 0] = formed
    elif left:
        _assign_rest(centres, sums, sizes, numbers, joined, formed)
    return joined


@njit
def _find_extreme(centres: Floats, joined: Integers, reference: Floats, sign: float) -> int:
    """The group not yet joined that is nearest to the reference (sign 1) or farthest from it (sign -1)."""
    best, found = np.inf, -1
    for i in range(len(centres)):
        if joined[i] >= 0:
            continue
        apart = 0.0
        for j in range(centres.shape[1]):
            apart += (centres[i, j] - reference[j]) ** 2
        if sign * apart < best:
            best, found = sign * apart, i
    return found


@njit
def _assign_rest(centres: Floats, sums: Integers, sizes: Integers, numbers: FixedPoint, joined: Integers, formed: int) -> None:
    """Give each finer group that is left to the nearest coarser one, in place."""
    total, held = np.zeros((formed, 2, centres.shape[1]), dtype=np.int64), np.zeros(formed, dtype=np.int64)
    for i in np.flatnonzero(joined >= 0):
        total[joined[i]] += sums[i]
        held[joined[i]] += sizes[i]
    means, free = _compute_centres(total, held, numbers), np.full(formed, -1, dtype=np.int64)
    for i in np.flatnonzero(joined < 0):
        joined[i] = _find_extreme(means, free, centres[i], 1.0)
