"""What the tests of the consistency attack share: codes that were exchanged, and pairs of records and rows."""

from __future__ import annotations

import numpy as np

from tasks.attack.consistency.exchanges import KindCounts
from tasks.attack.consistency.orbits import Boxes, Intervals, PossiblePairs


def single(n, **known):
    return KindCounts(np.ones(n, dtype=np.int64), np.ones(n, dtype=np.int64), **known)


def anything(n, m):
    """No condition on any pair."""
    return within(np.zeros((n, 1)), np.zeros((n, 1)), np.zeros((m, 1)))


def within(low, high, position):
    return Boxes.create_from_intervals(Intervals(low, high, position))


def as_set(pairs):
    return set(zip(pairs.records.tolist(), pairs.rows.tolist(), strict=True))


def of_pairs(chosen, n, m):
    chosen = sorted(chosen)
    sizes = np.bincount([i for i, _ in chosen], minlength=n)
    return PossiblePairs(np.append(0, np.cumsum(sizes)), np.array([row for _, row in chosen], dtype=np.int64), m)


def made(seed, n, different, d):
    """Codes of d attributes that were exchanged between random pairs, and rows in random order: held, shown, row of each."""
    rng = np.random.default_rng(seed)
    held = [rng.integers(0, different, n) for _ in range(d)]
    partner = []
    for _ in range(d):
        order, mine = rng.permutation(n), np.arange(n)
        for a, b in zip(order[: n // 2], order[n // 2 : 2 * (n // 2)], strict=True):
            if rng.random() < 0.8:
                mine[a], mine[b] = b, a
        partner.append(mine)
    row = rng.permutation(n)
    shown = [h[mine][np.argsort(row)] for h, mine in zip(held, partner, strict=True)]
    return rng, held, shown, row
