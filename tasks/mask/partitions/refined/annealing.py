"""Simulated annealing of groups: changes for the worse are allowed at first, and less and less.

Source: Kirkpatrick, Gelatt and Vecchi (1983), "Optimization by simulated annealing", Science 220. Done otherwise than there:
records are visited in turn, and a change is tried only with a record that is near.
"""

from __future__ import annotations

import numpy as np

from tasks.mask.partitions.refined.groups import (
    TRAILED,
    VACANT,
    MutablePartition,
    move,
    move_change,
    move_with_trail,
    swap,
    swap_change,
    undo,
)
from tasks.mask.partitions.refined.sites import Sites, record_at
from tasks.microdata.compiled import njit

REACH = 12  # nearest sites among which a partner is drawn
WHOLE_GROUPS = 0.01  # share of the visits that try to found or dissolve a group, which costs as much as a hundred others


@njit
def anneal(groups: MutablePartition, sites: Sites, hot: float, cold: float, sweeps: int, rng: np.random.Generator) -> None:
    """Change groups at random; a change that adds d to the sum of squares is kept with probability exp(-d / temperature).

    Meaning: as long as the temperature is high, groups rearrange; as it falls, they settle where little is left to gain.
    Formula in words: the temperature falls from `hot` to `cold` by the same factor in each sweep. Each visit of a record tries
    one change: it moves to the group of a near record, or swaps with a member of it; one in a hundred founds a group of k
    records around it, or dissolves its group into those nearby. No group ever leaves k..2k-1.

    Parameters
    ----------
    hot >= cold > 0: in the unit of the sum of squares. sweeps: visits of each record.

    Cost: O(n p) per sweep; a million visits take about 0.1 s in a table of 1,000 records, 0.5 s in one of 100,000.
    """
    whole = WHOLE_GROUPS if sites.near.shape[1] + 2 >= groups.k else 0.0
    reach = min(REACH, sites.near.shape[1])
    for sweep in range(sweeps if reach > 0 else 0):
        temperature = hot * (cold / hot) ** (sweep / max(sweeps - 1, 1))
        for i in range(len(groups.group)):
            local = temperature * sites.warmth[sites.of[i]]
            choice = rng.random()
            if choice >= whole:
                _exchange(groups, sites, i, reach, local, rng)
            elif choice < whole / 2:
                _dissolve(groups, sites, groups.group[i], local, rng)
            elif groups.counts[VACANT] > 0:
                _create_group(groups, sites, i, local, rng)


@njit
def _accept_change(change: float, temperature: float, rng: np.random.Generator) -> bool:
    return change <= 0.0 or rng.random() < np.exp(-change / temperature)


@njit
def _exchange(groups: MutablePartition, sites: Sites, i: int, reach: int, temperature: float, rng: np.random.Generator) -> None:
    site = sites.near[sites.of[i], int(rng.random() * reach)]
    a, b = groups.group[i], groups.group[record_at(sites, site, rng)]
    if a == b:
        return
    size = groups.sizes[b]
    drawn = int(rng.random() * (size + 1))
    if drawn < size:
        j = groups.members[b, drawn]
        if _accept_change(swap_change(groups, i, j), temperature, rng):
            swap(groups, i, j)
    elif groups.sizes[a] > groups.k and size < 2 * groups.k - 1 and _accept_change(move_change(groups, i, b), temperature, rng):
        move(groups, i, b)


@njit
def _create_group(groups: MutablePartition, sites: Sites, i: int, temperature: float, rng: np.random.Generator) -> None:
    g = groups.vacant[groups.counts[VACANT] - 1]
    change = _gather(groups, sites, i, sites.of[i], g, rng)
    for site in sites.near[sites.of[i]]:
        change += _gather(groups, sites, i, site, g, rng)
    if groups.sizes[g] == groups.k and _accept_change(change, temperature, rng):
        groups.counts[VACANT] -= 1
        groups.counts[TRAILED] = 0
    else:
        undo(groups)


@njit
def _gather(groups: MutablePartition, sites: Sites, i: int, site: int, g: int, rng: np.random.Generator) -> float:
    """Records of a site whose groups can spare them join group g, until it has k; at i's own site i is the first."""
    change, first, equals = 0.0, sites.first[site], sites.equals[site]
    start = i if site == sites.of[i] else record_at(sites, site, rng)
    for step in range(min(equals, 2 * groups.k)):
        j = first + (start - first + step) % equals
        if groups.sizes[g] < groups.k and groups.group[j] != g and groups.sizes[groups.group[j]] > groups.k:
            change += move_with_trail(groups, j, g)
    return change


@njit
def _dissolve(groups: MutablePartition, sites: Sites, g: int, temperature: float, rng: np.random.Generator) -> None:
    change = 0.0
    for position in range(groups.sizes[g] - 1, -1, -1):
        i = groups.members[g, position]
        to = _host(groups, sites, i, rng)
        if to < 0:
            change = np.inf
            break
        change += move_with_trail(groups, i, to)
    if _accept_change(change, temperature, rng):
        groups.vacant[groups.counts[VACANT]] = g
        groups.counts[VACANT] += 1
        groups.counts[TRAILED] = 0
    else:
        undo(groups)


@njit
def _host(groups: MutablePartition, sites: Sites, i: int, rng: np.random.Generator) -> int:
    """The group near record i that takes it at the least cost and has room; -1 if none has."""
    host, least = -1, np.inf
    for rank in range(-1, sites.near.shape[1]):
        site = sites.of[i] if rank < 0 else sites.near[sites.of[i], rank]
        g = groups.group[record_at(sites, site, rng)]
        if g == groups.group[i] or groups.sizes[g] >= 2 * groups.k - 1:
            continue
        change = move_change(groups, i, g)
        if change < least:
            host, least = g, change
    return host
