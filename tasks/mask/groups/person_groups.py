"""Groups of k persons where a table has several rows of a person: k rows of one person hide nobody."""

from __future__ import annotations

import numpy as np

from tasks.mask.step import MaskContext
from tasks.microdata.schema import Role
from tasks.microdata.table import Floats, Integers
from tasks.microdata.units import find_units

_DIGITS = 9  # of coordinates; below, they differ by the order in which rows were summed up


def find_persons(site: MaskContext) -> Integers | None:
    """Shape (n,): the person of each row of the site; None where rows are persons, or it is not known whose they are."""
    if any(name not in site.source.names for name in site.schema.find_by_role(Role.PERSON)):
        return None
    units = find_units(site.source, site.schema)
    return units.of_row if units.counts == "persons" else None


def join_to_k_persons(points: Floats, groups: Integers, persons: Integers, k: int) -> Integers:
    """Join each group of fewer than k persons to the nearest other one, until every group has k persons or more.

    Meaning: who is known to be in a group is one of k persons or more, also where persons have several rows in it.
    Formula in words: groups are looked at in the order of their centroids; a group of fewer than k persons is joined to the
    group whose centroid is nearest, as long as there is one. On one axis that is a neighbour, so that groups that lie side by
    side still do.

    Parameters
    ----------
    points: shape (n, p), coordinates without NaN. groups: shape (n,), the groups 0..g-1 of a partition.
    persons: shape (n,), with at least k different ones.

    Returns shape (n,), groups 0..h-1; they may be larger than 2k - 1. Groups that hold k persons already stay, unless others
    join them. Cost: O(g p) for each group that is joined.
    Example: rows 0, 1, 10, 11 of the persons a, a, b, c in two groups, k = 2: the first holds a alone, and all become one.
    """
    sizes = np.bincount(groups)
    sums = np.stack([np.bincount(groups, column) for column in points.T], axis=1)
    order = np.lexsort(np.round(sums / sizes[:, None], _DIGITS).T[::-1])
    held = [set[int]() for _ in sizes]
    for group, person in zip(groups.tolist(), persons.tolist(), strict=True):
        held[group].add(person)
    alive, joined_to = np.ones(len(sizes), dtype=bool), np.arange(len(sizes))
    waiting = [int(group) for group in order[::-1] if len(held[group]) < k]
    while waiting:
        group = waiting.pop()
        if not alive[group] or len(held[group]) >= k:
            continue
        others = order[alive[order] & (order != group)]
        if len(others) == 0:
            break
        apart = ((sums[others] / sizes[others, None] - sums[group] / sizes[group]) ** 2).sum(axis=1)
        nearest = int(others[np.argmin(np.round(apart, _DIGITS))])
        alive[group], joined_to[group] = False, nearest
        sizes[nearest] += sizes[group]
        sums[nearest] += sums[group]
        held[nearest] |= held[group]
        if len(held[nearest]) < k:
            waiting.append(nearest)
    while (joined_to != joined_to[joined_to]).any():
        joined_to = joined_to[joined_to]
    found: Integers = np.unique(joined_to[groups], return_inverse=True)[1].astype(np.int64)
    return found
