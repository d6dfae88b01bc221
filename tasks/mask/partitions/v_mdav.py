"""V-MDAV: MDAV whose groups grow beyond k where records lie closer to the group than to the others.

Source: Solanas and Martinez-Balleste (2006), "V-MDAV: a multivariate microaggregation with variable group size", COMPSTAT.
Done otherwise than there: ties and the place of the last records, which the source leaves open, are settled (see `partition`).
"""

from __future__ import annotations

import numpy as np

from tasks.mask.partitions import mdav
from tasks.mask.partitions.exact_mean import compute_mean, compute_sums, convert_to_fixed_point
from tasks.mask.partitions.removable_tree import NEAREST, KdTree, build_tree, remove_records, search_nearest
from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

GAMMA = 0.5


def partition(points: Floats, k: int, gamma: float = GAMMA) -> Integers:
    """Group records by V-MDAV.

    While k or more records are left, the one farthest from the mean of ALL records and its k - 1 nearest form a group. As long
    as it has fewer than 2k - 1 records, the record left that is nearest to one of its members joins if the distance to that
    member, d_in, is below gamma times that to the nearest other record left, d_out (infinite where there is none).

    The last records, fewer than k, join in lexicographic order the group whose mean is nearest at that moment among those of
    fewer than 2k - 1 records. If there is none, one joins the nearest of all, and these 2k records are cut in two by MDAV. Of
    equally far or near records the first in lexicographic order is taken, of equally near groups the one formed first.

    Parameters
    ----------
    points: shape (n, p), n >= k, scaled coordinates without NaN.
    k: smallest group, >= 1.
    gamma: readiness to grow, >= 0: 0 gives groups of k. The source advises 0.2 for scattered and 1.1 for clustered data; for
        data of which neither is known the default lies between: 100 * SSE / SST for gamma 0.2, 0.5, 1.1 and k = 3 was 5.66,
        5.67, 7.06 on the 13 columns of Census (scattered) and 0.71, 0.49, 0.54 on the 10 of EIA (clustered).

    Returns the group 0..g-1 of each record, shape (n,); all groups have k..2k-1 records. Records that are equal in every
    coordinate are interchangeable: which of them goes to which group is the only thing that follows the order of the file.

    Raises ValueError if k > n or gamma is negative or not finite. Cost: about n log n for few attributes, at most O(k n^2 p).
    Example: for (0, 1, 3, 7, 8) and k = 2, {7, 8} is formed first; then 3 joins {0, 1}: d_in = 2 is below an infinite d_out.
    """
    n = len(points)
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} is not in 1..{n}")
    if not 0 <= gamma < np.inf:
        raise ValueError(f"gamma = {gamma} is not a finite number of at least 0")
    canonical = mdav.lexicographic(points)
    ordered = np.ascontiguousarray(points[canonical])
    numbers = convert_to_fixed_point(ordered)
    groups = _v_mdav(ordered, _outermost_first(ordered, compute_mean(compute_sums(numbers), n, numbers)), k, gamma)
    result = np.empty(n, dtype=np.int64)
    result[canonical] = _assign_last_records(ordered, groups, k)
    return result


def _outermost_first(points: Floats, centre: Floats) -> Integers:
    squares = np.zeros(len(points))
    for column, coordinate in zip(points.T, centre, strict=True):
        squares += (column - coordinate) ** 2
    return np.argsort(-squares, kind="stable")


@njit
def _v_mdav(points: Floats, seeds: Integers, k: int, gamma: float) -> Integers:
    groups = np.full(len(points), -1, dtype=np.int64)
    tree, in_tree = build_tree(points, np.arange(len(points))), len(points)
    left, formed = len(points), 0
    for seed in seeds:
        # not `if`: where squared distances underflow to 0, a record may be passed over in the group formed round itself
        while groups[seed] < 0 and left >= k:
            if 2 * left < in_tree:
                tree, in_tree = build_tree(points, np.flatnonzero(groups < 0)), left
            members = _grow_group(tree, points, search_nearest(tree, points[seed], k, NEAREST)[0], gamma)
            groups[members] = formed
            left -= len(members)
            formed += 1
    return groups


@njit
def _grow_group(tree: KdTree, points: Floats, core: Integers, gamma: float) -> Integers:
    """The group of k records with those that join it; all of them are taken from the tree."""
    remove_records(tree, core)
    k = len(core)
    members, nearest, distance = np.empty(2 * k - 1, dtype=np.int64), np.empty(2 * k - 1, dtype=np.int64), np.empty(2 * k - 1)
    members[:k] = core
    size, known = k, 0
    while size < 2 * k - 1:
        for at in range(known, size):
            found, keys = search_nearest(tree, points[members[at]], 1, NEAREST)
            nearest[at], distance[at] = found[0], keys[0]
        known, joins = size, _first_of_least(nearest[:size], distance[:size])
        candidate, inward = nearest[joins], distance[joins]
        if candidate == len(points):
            break
        # the candidate finds itself first, at distance 0
        outward = search_nearest(tree, points[candidate], 2, NEAREST)[1][1]
        if not np.sqrt(inward) < gamma * np.sqrt(outward):
            break
        members[size] = candidate
        remove_records(tree, members[size : size + 1])
        size += 1
        for at in range(known):
            if nearest[at] == candidate:
                found, keys = search_nearest(tree, points[members[at]], 1, NEAREST)
                nearest[at], distance[at] = found[0], keys[0]
    return members[:size]


@njit
def _first_of_least(numbers: Integers, distances: Floats) -> int:
    best = 0
    for at in range(1, len(numbers)):
        if distances[at] < distances[best] or (distances[at] == distances[best] and numbers[at] < numbers[best]):
            best = at
    return best


def _assign_last_records(points: Floats, groups: Integers, k: int) -> Integers:
    for record in np.flatnonzero(groups < 0):
        sizes = np.bincount(groups[groups >= 0])
        room = sizes < 2 * k - 1
        apart = _squares_from_means(points, groups, points[record])
        if room.any():
            groups[record] = np.argmin(np.where(room, apart, np.inf))
            continue
        groups[record] = np.argmin(apart)
        members = np.flatnonzero(groups == groups[record])
        groups[members[mdav.partition(points[members], k) == 1]] = len(sizes)
    return groups


def _squares_from_means(points: Floats, groups: Integers, coordinate: Floats) -> Floats:
    grouped = groups >= 0
    sizes = np.bincount(groups[grouped])
    squares = np.zeros(len(sizes))
    for column, value in zip(points.T, coordinate, strict=True):
        squares += (np.bincount(groups[grouped], weights=column[grouped]) / sizes - value) ** 2
    return squares
