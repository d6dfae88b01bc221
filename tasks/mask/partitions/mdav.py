"""MDAV, the partition of records into groups of k and a few more that are near each other.

Source: Domingo-Ferrer and Mateo-Sanz (2002), "Practical data-oriented microaggregation for statistical disclosure control",
IEEE TKDE 14(1); the form with two groups per round of Hundepool et al. (2003). Done otherwise than there: records are put
into lexicographic order first, so that ties, which the source leaves open, do not depend on the order of the file; the
farthest and the nearest records are found in a tree instead of by a scan of all, with the same result.
"""

from __future__ import annotations

import numpy as np

from tasks.mask.partitions.exact_mean import FixedPoint, compute_mean, compute_sums, convert_to_fixed_point, take_away
from tasks.mask.partitions.removable_tree import FARTHEST, NEAREST, build_tree, remove_records, search_nearest
from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers
from tasks.microdata.value_order import order_values


def partition(points: Floats, k: int) -> Integers:
    """Group records by MDAV.

    While 3k or more records are left: the record farthest from their mean and its k - 1 nearest form a group, then the record
    farthest from that record and its k - 1 nearest. Of the last 2k..3k-1 records one group of k is formed in the first way;
    the rest, k..2k-1 records, is the last group; fewer than 2k records form one group at once. Of equally far or near records
    the first in lexicographic order is taken. The mean is that of exact sums, rounded once: it follows from the records left
    alone, not from the order in which others went.

    Parameters
    ----------
    points: shape (n, p), n >= k, scaled coordinates without NaN.
    k: smallest group, >= 1.

    Returns the group 0..g-1 of each record, shape (n,); all groups have k..2k-1 records. Records that are equal in every
    coordinate are interchangeable: which of them goes to which group is the only thing that follows the order of the file.

    Raises ValueError if k > n. Cost: about n log n for few attributes (6), and never much above the O(n^2 p / k) of
    scans, which it nears as attributes get many (30). Example: for (0, 1, 5, 6) and k = 2 the groups are {0, 1} and {5, 6}.
    """
    n = len(points)
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} is not in 1..{n}")
    canonical = lexicographic(points)
    ordered = np.ascontiguousarray(points[canonical])
    numbers = convert_to_fixed_point(ordered)
    groups = np.empty(n, dtype=np.int64)
    groups[canonical] = _mdav(ordered, numbers, compute_sums(numbers), k)
    return groups


def lexicographic(points: Floats) -> Integers:
    """The order of records by their first coordinate, then the second and so on; points: shape (n, p). Cost: O(n p)."""
    order = np.arange(len(points))
    for values in np.ascontiguousarray(points.T[::-1]):  # each time equal values keep the order of the coordinates after it
        order = order[order_values(values[order])]
    return order


@njit
def _mdav(points: Floats, numbers: FixedPoint, sums: Integers, k: int) -> Integers:
    groups = np.full(len(points), -1, dtype=np.int64)
    tree, in_tree = build_tree(points, np.arange(len(points))), len(points)
    left, formed = len(points), 0
    while left >= 2 * k:
        if 2 * left < in_tree:
            tree, in_tree = build_tree(points, np.flatnonzero(groups < 0)), left
        reference = compute_mean(sums, left, numbers)
        for _ in range(2 if left >= 3 * k else 1):
            reference = points[search_nearest(tree, reference, 1, FARTHEST)[0][0]]
            group = search_nearest(tree, reference, k, NEAREST)[0]
            groups[group] = formed
            take_away(sums, numbers, group)
            remove_records(tree, group)
            left -= k
            formed += 1
    groups[groups < 0] = formed
    return groups
