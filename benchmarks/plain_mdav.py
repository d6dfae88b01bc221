"""MDAV as its definition reads, by scanning all records left: the twin that tests and the benchmark set beside the fast one.

Kept here, where nothing of sdcert imports it; the tests load the file by its path. The mean comes from the same exact sums,
which have tests of their own: two means that differ in the last digit part at the first near tie.
"""

from __future__ import annotations

import numpy as np

from tasks.mask.partitions.exact_mean import FixedPoint, compute_mean, compute_sums, convert_to_fixed_point, take_away
from tasks.mask.partitions.mdav import lexicographic
from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers


def partition(points: Floats, k: int) -> Integers:
    """The groups of `tasks.mask.partitions.mdav.partition`. Cost: O(n^2 p / k)."""
    canonical = lexicographic(points)
    groups = np.empty(len(points), dtype=np.int64)
    ordered = np.ascontiguousarray(points[canonical])
    numbers = convert_to_fixed_point(ordered)
    groups[canonical] = _mdav(ordered, numbers, compute_sums(numbers), k)
    return groups


@njit
def _squared_distance(point: Floats, other: Floats) -> float:
    total = 0.0
    for j in range(len(point)):
        step = point[j] - other[j]
        total += step * step
    return total


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
def _mdav(points: Floats, numbers: FixedPoint, sums: Integers, k: int) -> Integers:
    groups = np.full(len(points), -1, dtype=np.int64)
    left, formed = np.arange(len(points)), 0
    while len(left) >= 2 * k:
        reference = compute_mean(sums, len(left), numbers)
        for _ in range(2 if len(left) >= 3 * k else 1):
            seed = _farthest(points, left, reference)
            reference = points[seed]
            group = _nearest(points, left, reference, k)
            groups[group] = formed
            take_away(sums, numbers, group)
            left = left[groups[left] < 0]
            formed += 1
    groups[left] = formed
    return groups
