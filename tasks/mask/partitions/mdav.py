"""MDAV, the partition of records into groups of k and a few more that are near each other.

Source: Domingo-Ferrer and Mateo-Sanz (2002), "Practical data-oriented microaggregation for statistical disclosure control",
IEEE TKDE 14(1); the form with two groups per round of Hundepool et al. (2003). Done otherwise than there: records are put
into lexicographic order first, so that ties, which the source leaves open, do not depend on the order of the file.
"""

from __future__ import annotations

import numpy as np

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers


def partition(points: Floats, k: int) -> Integers:
    """Group records by MDAV.

    While 3k or more records are left: the record farthest from their mean and its k - 1 nearest form a group, then the record
    farthest from that record and its k - 1 nearest. Of the last 2k..3k-1 records one group of k is formed in the first way;
    the rest, k..2k-1 records, is the last group. Of equally far or near records the first in lexicographic order is taken.

    Parameters
    ----------
    points: shape (n, p), n >= k, scaled coordinates without NaN.
    k: smallest group, >= 1.

    Returns the group 0..g-1 of each record, shape (n,); all groups have k..2k-1 records. Records that are equal in every
    coordinate are interchangeable: which of them goes to which group is the only thing that follows the order of the file.

    Raises ValueError if k > n. Cost: O(n^2 p / k). Example: for (0, 1, 5, 6) and k = 2 the groups are {0, 1} and {5, 6}.
    """
    n, p = points.shape
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} is not in 1..{n}")
    canonical = np.lexsort(points.T[::-1]) if p else np.arange(n)
    groups = np.empty(n, dtype=np.int64)
    groups[canonical] = _mdav(np.ascontiguousarray(points[canonical]), k)
    return groups


@njit
def _squared_distance(point: Floats, other: Floats) -> float:
    total = 0.0
    for j in range(len(point)):
        step = point[j] - other[j]
        total += step * step
    return total


@njit
def _mean(points: Floats, left: Integers) -> Floats:
    total = np.zeros(points.shape[1])
    for i in left:
        total += points[i]
    return total / len(left)


@njit
def _farthest(points: Floats, left: Integers, reference: Floats) -> int:
    farthest, most = left[0], -1.0
    for i in left:
        distance = _squared_distance(points[i], reference)
        if distance > most:
            farthest, most = i, distance
    return int(farthest)


@njit
def _nearest(points: Floats, left: Integers, reference: Floats, k: int) -> Integers:
    distances = np.full(k, np.inf)
    members = np.full(k, -1, dtype=np.int64)
    for i in left:
        distance = _squared_distance(points[i], reference)
        place = k
        while place > 0 and distances[place - 1] > distance:
            place -= 1
        if place < k:
            distances[place + 1 :] = distances[place : k - 1].copy()
            members[place + 1 :] = members[place : k - 1].copy()
            distances[place], members[place] = distance, i
    return members


@njit
def _mdav(points: Floats, k: int) -> Integers:
    groups = np.full(len(points), -1, dtype=np.int64)
    left = np.arange(len(points))
    formed = 0
    while len(left) >= 2 * k:
        reference = _mean(points, left)
        for _ in range(2 if len(left) >= 3 * k else 1):
            seed = _farthest(points, left, reference)
            reference = points[seed]
            groups[_nearest(points, left, reference, k)] = formed
            left = left[groups[left] < 0]
            formed += 1
    groups[left] = formed
    return groups
