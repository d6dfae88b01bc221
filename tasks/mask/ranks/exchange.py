"""Who changes places with whom: the three rules by which rank swapping pairs the ranks of a column."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers
from tasks.microdata.value_order import Rows

Words = npt.NDArray[np.uint64]  # bits of ranks, 64 in each

_WORD, _BLOCK = 64, 512  # ranks
_MOST_BUCKETS_WEIGHED = 60  # a weight under 2^-60 of the first one is never drawn by a uniform number of 53 bits


def exchange_ranks(window: int, uniforms: Floats) -> Rows:
    """Shape (n,): the rank each rank is exchanged with, itself where it stays; one uniform number in [0, 1) for each rank.

    From the lowest up, each waiting rank takes a waiting one among the next `window` ranks, all equally likely.
    """
    partner = np.arange(len(uniforms), dtype=np.int32)
    _exchange_ranks(window, uniforms, partner)
    return partner


@njit
def _exchange_ranks(window: int, uniforms: Floats, partner: Rows) -> None:
    n = len(uniforms)
    counts, waiting = _begin_waiting(n)
    candidates = min(window, n - 1) + 1  # waiting ranks up to `window` above, with `rank`: none waits below it
    for rank in range(n):
        if _is_waiting(waiting, rank):
            _take(counts, waiting, rank)
            candidates -= 1
            if candidates > 0:
                chosen = _find_rank(counts, waiting, min(int(uniforms[rank] * candidates), candidates - 1))
                partner[rank] = chosen
                _take(counts, waiting, chosen)
                candidates -= 1
        candidates += rank + 1 + window < n  # who comes into reach waits: nobody below has reached as far
    _return_partners(partner)


@njit
def exchange_in_buckets(begins: Integers, uniforms: Floats) -> Rows:
    """Shape (n,): the rank each rank is exchanged with, itself where it stays.

    From the lowest up, each waiting rank of bucket r draws a bucket s >= r that holds a waiting rank, with chances proportional
    to 2^-(s - r + 1), and takes one of its waiting ranks, all equally likely. begins: shape (p + 1,), where the buckets begin,
    with n at the end. uniforms: shape (n, 2), in [0, 1): the first draws the bucket, the second the rank in it.
    Only the last waiting rank of an odd number has nobody to change with.
    """
    n, p = len(uniforms), len(begins) - 1
    partner, (counts, waiting) = np.arange(n, dtype=np.int32), _begin_waiting(n)
    left, own, first = np.diff(begins), 0, 0
    for rank in range(n):
        while begins[own + 1] <= rank:
            own += 1
        if not _is_waiting(waiting, rank):
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
            partner[rank] = chosen
            _take(counts, waiting, chosen)
            left[bucket] -= 1
    _return_partners(partner)
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
def exchange_near(targets: Integers) -> Rows:
    """Shape (n,): the rank each rank is exchanged with, itself where it stays; targets: shape (n,), each above its own rank.

    From the lowest up, each waiting rank takes the waiting one nearest to its target, the upper one of two equally near.
    """
    n = len(targets)
    partner, (counts, waiting) = np.arange(n, dtype=np.int32), _begin_waiting(n)
    left = n
    for rank in range(n):
        if not _is_waiting(waiting, rank):
            continue
        _take(counts, waiting, rank)
        left -= 1
        if left > 0:
            chosen = _nearest(counts, waiting, left, targets[rank])
            partner[rank] = chosen
            _take(counts, waiting, chosen)
            left -= 1
    _return_partners(partner)
    return partner


@njit
def _nearest(counts: Rows, waiting: Words, left: int, target: int) -> int:
    """The waiting rank nearest to `target`, of `left` waiting ones."""
    through = _count_through(counts, waiting, target)
    if through == 0:
        return _find_rank(counts, waiting, 0)
    below = _find_rank(counts, waiting, through - 1)
    if through == left or below == target:
        return below
    above = _find_rank(counts, waiting, through)
    return below if target - below < above - target else above


@njit
def _return_partners(partner: Rows) -> None:
    """Each rank that a lower one chose is exchanged with that one.

    partner: shape (n,), the rank that each has chosen, itself where it has chosen none.
    Written as they are chosen, these far places would be waited for one by one; here the processor fetches many at once.
    """
    for rank in range(len(partner)):
        if partner[rank] > rank:
            partner[partner[rank]] = rank


# A Fenwick tree of how many ranks of each block wait: the window may be a tenth of the file, and looking through it would take
# O(n^2). Which ranks of a block wait is a bit each, so that both stay in the processor's cache: 0.13 MB of 1,000,000 ranks.
@njit
def _begin_waiting(n: int) -> tuple[Rows, Words]:
    """Shapes (blocks + 1,) and (words,): the tree and the bits of n ranks that all wait."""
    words = np.full((n + _WORD - 1) // _WORD, ~np.uint64(0))
    if n % _WORD > 0:
        words[-1] >>= np.uint64(_WORD - n % _WORD)
    counts = np.zeros((n + _BLOCK - 1) // _BLOCK + 1, dtype=np.int32)
    for node in range(1, len(counts)):
        counts[node] += min(_BLOCK, n - (node - 1) * _BLOCK)
        above = node + (node & -node)
        if above < len(counts):
            counts[above] += counts[node]
    return counts, words


@njit
def _is_waiting(words: Words, rank: int) -> bool:
    return bool((words[rank // _WORD] >> np.uint64(rank % _WORD)) & np.uint64(1))


@njit
def _take(counts: Rows, words: Words, rank: int) -> None:
    words[rank // _WORD] &= ~(np.uint64(1) << np.uint64(rank % _WORD))
    node = rank // _BLOCK + 1
    while node < len(counts):
        counts[node] -= 1
        node += node & -node


@njit
def _count_through(counts: Rows, words: Words, rank: int) -> int:
    """How many ranks up to this one wait."""
    if rank < 0:
        return 0
    node, last = rank // _BLOCK, rank // _WORD
    total = _count_bits(words[last] << np.uint64(_WORD - 1 - rank % _WORD))
    for word in words[node * (_BLOCK // _WORD) : last]:
        total += _count_bits(word)
    while node > 0:
        total += counts[node]
        node -= node & -node
    return total


@njit
def _find_rank(counts: Rows, words: Words, skip: int) -> int:
    """The rank of the waiting value that has `skip` waiting values below it."""
    node, step = 0, 1
    while 2 * step < len(counts):
        step *= 2
    while step > 0:
        if node + step < len(counts):
            below = counts[node + step]
            goes = below <= skip  # without a branch, which the processor would guess wrong half of the time
            node, skip = node + goes * step, skip - goes * below
        step //= 2
    at = node * (_BLOCK // _WORD)
    below = _count_bits(words[at])
    while below <= skip:
        at, skip = at + 1, skip - below
        below = _count_bits(words[at])
    word = words[at]
    for _ in range(skip):
        word &= word - np.uint64(1)  # without its lowest bit
    return at * _WORD + _count_bits(~word & (word - np.uint64(1)))


@njit
def _count_bits(word: np.uint64) -> int:
    """How many bits of a word of 64 are set: by sums of neighbours, which the compiler knows as one instruction."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56)))
