"""By how many ranks rank jitter moves a value: the law of the rank in the end, for each rank at the beginning."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

EXACT_EVENTS, EXACT_RANKS = 128, 600  # up to here sums of independent events are added up, beyond they count as normal
_CELLS = 4096
_ROUNDS = 20
# Gauss-Legendre on [0, 1], exact up to degree 5
_NODES = np.array([0.5 - np.sqrt(0.15), 0.5, 0.5 + np.sqrt(0.15)])
_WEIGHTS = np.array([5 / 18, 8 / 18, 5 / 18])


def compute_displacement_distribution(width: float, begins: Integers) -> Floats:
    """How probable it is that a value moves from one block of ranks to another under rank jitter.

    Meaning: what an intruder who knows the width w expects of the released rank of a value whose rank they know.
    Formula in words: record i has the sum S = i + U(-w, w) and receives the rank that is the number of the other sums below it.
    Given S = s each other sum j is below s with probability p_j = clip((s - j + w) / 2w, 0, 1), independently of the others:
    the rank is a sum of independent events, of mean F(s) = sum of p_j and variance V(s) = sum of p_j (1 - p_j), and its law
    the mean of that over s in i - w..i + w. Far from both ends F(s) = s and V = w/3, so that the rank is i + U(-w, w), blurred
    by sqrt(w/3): hardly ever do ranks move by more than w and a few such deviations, though the bound is nearly 2w. Near an end
    nothing comes from outside: at the first rank F(s) = (s + w)^2 / 4w, and ranks crowd there.
    This is the law of one value. Those of several depend on each other (no two receive one rank), which is for who matches.

    Parameters
    ----------
    width: w in ranks, above 0. begins: shape (b + 1,), the rank at which each block of consecutive ranks begins, and n last.

    Returns shape (b, b): of a value whose rank is equally likely any of block a, the chance to receive one of block c; rows sum
    to 1.
    Exact, but for rounding and the integral over s (quadrature between the kinks of the p_j), where n <= 600 and at most 128
    sums can lie on both sides of s; beyond, the rank is taken as normal given s, s in 4,096 cells, and the law is scaled so
    that each block receives as many values as it holds. Cost: 0.1 to 0.5 s, O(b^2) memory.
    Source: the mask is of this project, and so is the law.
    Example: two ranks, w = 1: they change places with chance 1/8.
    """
    return _compute_distribution(float(width), tuple(int(begin) for begin in begins))


@lru_cache(maxsize=32)
def _compute_distribution(width: float, begins: tuple[int, ...]) -> Floats:
    blocks, n = np.array(begins), begins[-1]
    exact = n <= EXACT_RANKS and min(2 * width + 1, n) <= EXACT_EVENTS
    distribution = _exact(width, blocks, *_quadrature(width, n)) if exact else _normal(width, blocks)
    distribution = np.asarray(np.maximum(distribution, 0.0))
    sizes = np.diff(blocks)
    for _ in range(1 if exact else _ROUNDS):
        received = sizes @ distribution
        distribution *= np.divide(sizes, received, out=np.zeros(len(sizes)), where=received > 0)
        distribution /= distribution.sum(axis=1, keepdims=True)
    distribution.flags.writeable = False
    return distribution


def _quadrature(width: float, n: int) -> tuple[Floats, Floats]:
    """Values of a sum and their weights: some in each piece between the kinks, where a p_j leaves 0 or reaches 1."""
    ranks = np.arange(n)
    kinks = np.unique(np.concatenate([ranks - width, ranks + width, ranks + 0.0]))
    lengths = np.diff(kinks)
    sums = kinks[:-1, np.newaxis] + lengths[:, np.newaxis] * _NODES
    return sums.ravel(), (lengths[:, np.newaxis] * _WEIGHTS).ravel()


@njit
def _exact(width: float, begins: Integers, sums: Floats, weights: Floats) -> Floats:
    n, block = begins[-1], 0
    block_of = np.empty(n, dtype=np.int64)
    for rank in range(n):
        while begins[block + 1] <= rank:
            block += 1
        block_of[rank] = block
    distribution = np.zeros((len(begins) - 1, len(begins) - 1))
    for e in range(len(sums)):
        s = sums[e]
        first = max(int(np.ceil(s - width)), 0)
        last = min(int(np.floor(s + width)), n - 1)
        chances = (s - np.arange(first, last + 1) + width) / (2 * width)
        counts = _compute_poisson_binomial(chances)
        for own in range(len(chances)):
            a = block_of[first + own]
            share = weights[e] / (2 * width * (begins[a + 1] - begins[a]))
            rest = _remove_event(counts, chances[own])
            for k in range(len(rest)):
                distribution[a, block_of[first + k]] += share * rest[k]
    return distribution


@njit
def _compute_poisson_binomial(chances: Floats) -> Floats:
    """The law of how many of independent events happen."""
    distribution = np.zeros(len(chances) + 1)
    distribution[0] = 1.0
    for e in range(len(chances)):
        for k in range(e + 1, 0, -1):
            distribution[k] = distribution[k] * (1 - chances[e]) + distribution[k - 1] * chances[e]
        distribution[0] *= 1 - chances[e]
    return distribution


@njit
def _remove_event(distribution: Floats, chance: float) -> Floats:
    """The same without one event, from the end at which errors shrink."""
    rest = np.empty(len(distribution) - 1)
    if chance < 0.5:
        before = 0.0
        for k in range(len(rest)):
            before = (distribution[k] - chance * before) / (1 - chance)
            rest[k] = before
    else:
        above = 0.0
        for k in range(len(rest) - 1, -1, -1):
            above = (distribution[k + 1] - (1 - chance) * above) / chance
            rest[k] = above
    return rest


def _normal(width: float, begins: Integers) -> Floats:
    """The chance of each cell of sums for each block it may come from, times that of each block it may end in."""
    n = int(begins[-1])
    cells = np.linspace(-width, n - 1 + width, _CELLS + 1)
    came = np.diff(np.diff(_below(cells, width, begins), axis=0), axis=1) / np.diff(begins)[:, np.newaxis]
    middle = (cells[1:] + cells[:-1]) / 2
    mean, variance = _moments(middle, width, n)
    spread = np.sqrt(variance + (cells[1] - cells[0]) ** 2 / 12)
    # the least sum has rank 0 for certain, the largest n - 1
    ends = np.concatenate([[-np.inf], begins[1:-1] - 0.5, [np.inf]])
    goes = np.diff(ndtr((ends - mean[:, np.newaxis]) / spread[:, np.newaxis]), axis=1)
    distribution: Floats = came @ goes
    return distribution


def _below(cells: Floats, width: float, begins: Integers) -> Floats:
    """Shape (b + 1, cells): how many of the sums of the ranks before each block are expected below each value."""
    first = np.clip(np.ceil(cells - width), 0, begins[-1])  # ranks from here are not below for certain
    last = np.clip(np.floor(cells + width), -1, begins[-1] - 1)
    until = np.minimum(last, begins[:, np.newaxis] - 1)
    certain = np.minimum(first, begins[:, np.newaxis])
    m = np.maximum(until - certain + 1, 0)
    return np.asarray(certain + m * (0.5 + (cells - (certain + until) / 2) / (2 * width)))


def _moments(sums: Floats, width: float, n: int) -> tuple[Floats, Floats]:
    """Mean and variance of the number of other sums below each of these: a half, and a sixth, are the record's own."""
    first, last = np.clip(np.ceil(sums - width), 0, n), np.clip(np.floor(sums + width), -1, n - 1)
    m = np.maximum(last - first + 1, 0)
    far = (sums - (first + last) / 2) / (2 * width)
    mean = first + m * (0.5 + far) - 0.5
    spread = (m**2 - 1) / (48 * width**2)  # of p_j among the m ranks
    variance = m * (0.25 - far**2 - spread) - 1 / 6
    return mean, np.maximum(variance, 0.0)
