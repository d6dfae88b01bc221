"""Descent: moves and swaps that gain, until none is left."""

from __future__ import annotations

import numpy as np

from tasks.mask.partitions.refined.groups import (
    MutablePartition,
    compute_squared_distance,
    move,
    move_change,
    swap,
    swap_change,
)
from tasks.mask.partitions.refined.sites import Sites
from tasks.microdata.compiled import njit

SWEEPS = 100  # an end should rounding ever make two swaps gain in a circle
TWINS = 4  # records of one site whose groups are looked at
ROUNDING = 1e-12  # smaller gains, as a share of the squared distances they come from, are none


@njit
def descend(groups: MutablePartition, sites: Sites) -> None:
    """Make, record by record, the move or swap with a near group that gains most, until no record has one.

    Meaning: what comes out is a local optimum; no record gains by going to the group of a near record, nor by changing places
    with a member of it. Groups keep k..2k-1 records. Cost: O(n q k p) per sweep, with q near sites.
    """
    for _ in range(SWEEPS):
        gained = 0
        for i in range(len(groups.group)):
            gained += _improve(groups, sites, i)
        if gained == 0:
            return


@njit
def _improve(groups: MutablePartition, sites: Sites, i: int) -> bool:
    least, partner, to = 0.0, -1, -1
    for rank in range(-1, sites.near.shape[1]):
        site = sites.of[i] if rank < 0 else sites.near[sites.of[i], rank]
        for j in range(sites.first[site], sites.first[site] + min(TWINS, sites.equals[site])):
            g = groups.group[j]
            if g != groups.group[i]:
                change, member = _best_change(groups, i, g)
                if change < least:
                    least, partner, to = change, member, g
    if to < 0 or least > -ROUNDING * _distances(groups, i, to):
        return False
    if partner < 0:
        move(groups, i, to)
    else:
        swap(groups, i, partner)
    return True


@njit
def _distances(groups: MutablePartition, i: int, g: int) -> float:
    point = groups.points[i]
    return compute_squared_distance(point, groups.means[g]) + compute_squared_distance(point, groups.means[groups.group[i]])


@njit
def _best_change(groups: MutablePartition, i: int, g: int) -> tuple[float, int]:
    """The change of the sum of squares that gains most between record i and group g, and the partner (-1: a move)."""
    least, partner = np.inf, -1
    if groups.sizes[groups.group[i]] > groups.k and groups.sizes[g] < 2 * groups.k - 1:
        least = move_change(groups, i, g)
    for position in range(groups.sizes[g]):
        change = swap_change(groups, i, groups.members[g, position])
        if change < least:
            least, partner = change, groups.members[g, position]
    return least, partner
