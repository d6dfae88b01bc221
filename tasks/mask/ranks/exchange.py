"""Who changes places with whom: the three rules by which rank swapping pairs the ranks of a column."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

_BLOCK = 64  # ranks
_MOST_BUCKETS_WEIGHED = 60  # a weight under 2^-60 of the first one is never drawn by a uniform number of 53 bits


@njit
def exchange_ranks(window: int, uniforms: Floats) -> Integers:
    """Shape (n,): the rank each rank is exchanged with, itself where it stays; one uniform number in [0, 1) for each rank.

    From the lowest up, each waiting rank takes a waiting one among the next `window` ranks, all equally likely.
    """
    n = len(uniforms)
    partner, waiting, counts = np.arange(n), np.ones(n, dtype=np.bool_), _full_tree(n)
    candidates = min(window, n - 1) + 1  # waiting ranks up to `window` above, with `rank`: none waits below it
    for rank in range(n):
        if waiting[rank]:
            _take(counts, waiting, rank)
            candidates -= 1
            if candidates > 0:
                chosen = _find_rank(counts, waiting, min(int(uniforms[rank] * candidates), candidates - 1))
                partner[rank], partner[chosen] = chosen, rank
                _take(counts, waiting, chosen)
                candidates -= 1
        candidates += rank + 1 + window < n  # who comes into reach waits: nobody below has reached as far
    return partner


@njit
def exchange_in_buckets(begins: Integers, uniforms: Floats) -> Integers:
    """Shape (n,): the rank each rank is exchanged with, itself where it stays.

    From the lowest up, each waiting rank of bucket r draws a bucket s >= r that holds a waiting rank, with chances proportional
    to 2^-(s - r + 1), and takes one of its waiting ranks, all equally likely. begins: shape (p + 1,), where the buckets begin,
    with n at the end. uniforms: shape (n, 2), in [0, 1): the first draws the bucket, the second the rank in it.
    Only the last waiting rank of an odd number has nobody to change with.
    """
    n, p = len(uniforms), len(begins) - 1
    partner, waiting, counts = np.arange(n), np.ones(n, dtype=np.bool_), _full_tree(n)
    left, own, first = np.diff(begins), 0, 0
    for rank in range(n):
        while begins[own + 1] <= rank:
            own += 1
        if not waiting[rank]:
            continue
        _take(counts, waiting, rank)
        left[own] -= 1
        first = max(first, own)
        while first < p and left[first] == 0:
            first += 1
        if first < p:
            bucket = _draw_bucket(left, first, uniforms[rank, 0])
            position = min(int(uniforms[rank, 1] * left[bucket]), left[bucket] - 1)
            chosen = _find_rank(counts, waiting, _count_through(counts, waiting, begins[bucket] - 1) + position)
            partner[rank], partner[chosen] = chosen, rank
            _take(counts, waiting, chosen)
            left[bucket] -= 1
    return partner


@njit
def _draw_bucket(left: Integers, first: int, uniform: float) -> int:
    """A bucket from `first` up that is not empty, with chances that halve from each bucket to the next."""
    end, total, weight = min(len(left), first + _MOST_BUCKETS_WEIGHED), 0.0, 1.0
    for bucket in range(first, end):
        total += weight if left[bucket] > 0 else 0.0
        weight /= 2
    target, weight, chosen = uniform * total, 1.0, first
    for bucket in range(first, end):
        if left[bucket] > 0:
            chosen = bucket
            if target < weight:
                break
            target -= weight
        weight /= 2
    return chosen


def normal_targets(spread_ranks: float, uniforms: Floats) -> Integers:
    """Shape (n,): for each rank i the rank i + r it aims at, r normal with mean and sd `spread_ranks` / 2, in whole ranks.

    r is conditioned to i + r in i + 1..n - 1, by the inverse of the normal distribution at a uniform number of the part that
    is left. The last rank has nothing above it and aims at itself. uniforms: shape (n,), in [0, 1).
    """
    n, scale = len(uniforms), spread_ranks / 2
    above = np.arange(n - 1, -1, -1)
    least = ndtr((0.5 - scale) / scale)
    most = ndtr((above + 0.5 - scale) / scale)
    drawn = np.rint(scale + scale * ndtri(least + uniforms * (most - least)))
    # at the very ends of the distribution the last digit of the inverse may fall half a rank outside
    return np.arange(n) + np.minimum(np.maximum(drawn, 1), above).astype(np.int64)


@njit
def exchange_near(targets: Integers) -> Integers:
    """Shape (n,): the rank each rank is exchanged with, itself where it stays; targets: shape (n,), each above its own rank.

    From the lowest up, each waiting rank takes the waiting one nearest to its target, the upper one of two equally near.
    """
    n = len(targets)
    partner, waiting, counts = np.arange(n), np.ones(n, dtype=np.bool_), _full_tree(n)
    left = n
    for rank in range(n):
        if not waiting[rank]:
            continue
        _take(counts, waiting, rank)
        left -= 1
        if left > 0:
            chosen = _nearest(counts, waiting, left, targets[rank])
            partner[rank], partner[chosen] = chosen, rank
            _take(counts, waiting, chosen)
            left -= 1
    return partner


@njit
def _nearest(counts: Integers, waiting: Booleans, left: int, target: int) -> int:
    """The waiting rank nearest to `target`, of `left` waiting ones."""
    through = _count_through(counts, waiting, target)
    if through == 0:
        return _find_rank(counts, waiting, 0)
    below = _find_rank(counts, waiting, through - 1)
    if through == left or below == target:
        return below
    above = _find_rank(counts, waiting, through)
    return below if target - below < above - target else above


# A Fenwick tree of how many ranks of each block wait: the window may be a tenth of the file, and looking through it would take
# O(n^2). A tree of single ranks would not fit into the processor's cache.
@njit
def _full_tree(n: int) -> Integers:
    counts = np.zeros((n + _BLOCK - 1) // _BLOCK + 1, dtype=np.int64)
    for node in range(1, len(counts)):
        counts[node] += min(_BLOCK, n - (node - 1) * _BLOCK)
        above = node + (node & -node)
        if above < len(counts):
            counts[above] += counts[node]
    return counts


@njit
def _take(counts: Integers, waiting: Booleans, rank: int) -> None:
    waiting[rank] = False
    node = rank // _BLOCK + 1
    while node < len(counts):
        counts[node] -= 1
        node += node & -node


@njit
def _count_through(counts: Integers, waiting: Booleans, rank: int) -> int:
    if rank < 0:
        return 0
    total, node = 0, rank // _BLOCK
    for one in waiting[node * _BLOCK : rank + 1]:
        total += one
    while node > 0:
        total += counts[node]
        node -= node & -node
    return total


@njit
def _find_rank(counts: Integers, waiting: Booleans, skip: int) -> int:
    """The rank of the waiting value that has `skip` waiting values below it."""
    node, step = 0, 1
    while 2 * step < len(counts):
        step *= 2
    while step > 0:
        if node + step < len(counts) and counts[node + step] <= skip:
            node += step
            skip -= counts[node]
        step //= 2
    rank = node * _BLOCK
    while skip > 0 or not waiting[rank]:
        skip -= waiting[rank]
        rank += 1
    return rank
