"""Search for the parameters that link the most, by moves along lines on which the best step is found exactly.

On a line p + t h each record is linked on one open interval of t (the meeting of one half-line for each of its rows). A sweep
over the sorted ends finds where most of the weight overlaps; so a move never links less than the place it starts from. Lines:
a coordinate, a random direction (whitened by the rows), a row that is broken, two coordinates. The search counts all pairs
after each round of moves, and the rows that were overlooked join.

Source of the objective: torra-2013 (D11.2), section 3.1. The search is ours.
"""

from __future__ import annotations

import numpy as np

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers


@njit
def line_overlap(
    a: Floats, b: Floats, starts: Integers, weight: Floats, low: float, high: float, spread: float, pick: float
) -> tuple[float, float]:
    """The step t in (low, high) where the weight of the linked is greatest, and that weight.

    a, b: shape (m,), the rows at the place and along the line. spread: the unit of t; steps are compared as angles.
    pick: in [0, 1), chooses among equally good intervals and inside them.
    """
    q = len(starts) - 1
    ends, change = np.empty(2 * q), np.empty(2 * q)
    used = 0
    for i in range(q):
        first, last = low, high
        for row in range(starts[i], starts[i + 1]):
            if b[row] > 0.0:
                first = max(first, -a[row] / b[row])
            elif b[row] < 0.0:
                last = min(last, -a[row] / b[row])
            elif a[row] <= 0.0:
                last = first
            if first >= last:
                break
        if first < last and weight[i] > 0.0:
            ends[used], change[used] = first, weight[i]
            ends[used + 1], change[used + 1] = last, -weight[i]
            used += 2
    if used == 0:
        return 0.0, 0.0
    return _deepest(ends[:used], change[:used], spread, pick)


@njit
def _deepest(ends: Floats, change: Floats, spread: float, pick: float) -> tuple[float, float]:
    order = np.argsort(ends)
    depth, best, equal = 0.0, 0.0, 0
    for e in range(len(order) - 1):
        depth += change[order[e]]
        if ends[order[e + 1]] > ends[order[e]]:
            if depth > best + 1e-9:
                best, equal = depth, 0
            equal += depth > best - 1e-9
    chosen = int(pick * equal)
    depth, at = 0.0, 0
    for e in range(len(order) - 1):
        depth += change[order[e]]
        if ends[order[e + 1]] > ends[order[e]] and depth > best - 1e-9:
            if at == chosen:
                inside = 0.25 + 0.5 * (pick * equal - chosen)
                first, last = np.arctan(ends[order[e]] / spread), np.arctan(ends[order[e + 1]] / spread)
                return np.tan(first + inside * (last - first)) * spread, best
            at += 1
    return 0.0, best


@njit
def allowed(bounds: Floats, place: Floats, direction: Floats, reach: float) -> tuple[float, float]:
    """The steps along a direction for which bounds . (place + t direction) >= 0, within reach."""
    return _allowed(*_entries(bounds), place, direction, reach)


@njit
def _entries(bounds: Floats) -> tuple[Integers, Integers, Floats]:
    """The entries that are not 0, by rows: most bounds are about few parameters. Starts, shape (rows + 1,), places, values."""
    starts = np.zeros(len(bounds) + 1, dtype=np.int64)
    places, values = np.nonzero(bounds)[1], np.empty(np.count_nonzero(bounds))
    at = 0
    for row in range(len(bounds)):
        for k in range(bounds.shape[1]):
            if bounds[row, k] != 0.0:
                values[at] = bounds[row, k]
                at += 1
        starts[row + 1] = at
    return starts, places, values


@njit
def _allowed(
    starts: Integers, places: Integers, values: Floats, place: Floats, direction: Floats, reach: float
) -> tuple[float, float]:
    low, high = -reach, reach
    for row in range(len(starts) - 1):
        a, b = 0.0, 0.0
        for at in range(starts[row], starts[row + 1]):
            a += values[at] * place[places[at]]
            b += values[at] * direction[places[at]]
        if b > 1e-14:
            low = max(low, -max(a, 0.0) / b)
        elif b < -1e-14:
            high = min(high, max(a, 0.0) / -b)
    return low, high


@njit
def climb(
    d: Floats, starts: Integers, weight: Floats, bounds: Floats, white: Floats, start: Floats,
    moves: int, rng: np.random.Generator,
) -> tuple[Floats, float]:  # fmt: skip
    """Moves from a start; returns the last place (no move links less than the one before) and the weight linked there."""
    place, best = start.copy(), -1.0
    a, entries = d @ place, _entries(bounds)
    for _ in range(moves):
        direction = _direction(d, a, white, rng)
        size = np.sqrt(np.sum(direction**2))
        if size == 0.0:
            continue
        direction /= size
        length = np.sqrt(np.sum(place**2))
        low, high = _allowed(*entries, place, direction, 1e4 * length)
        if high - low <= 1e-12 * length:
            continue
        b = d @ direction
        step, depth = line_overlap(a, b, starts, weight, low, high, length, rng.random())
        if depth < best - 1e-9 or step == 0.0:
            continue
        best = depth
        place += step * direction
        length = np.sqrt(np.sum(place**2))
        place /= length
        a = (a + step * b) / length
    return place, best


@njit
def _direction(d: Floats, a: Floats, white: Floats, rng: np.random.Generator) -> Floats:
    p = d.shape[1]
    direction = np.zeros(p)
    which = rng.random()
    if which < 0.35 or len(a) == 0:
        direction[rng.integers(0, p)] = 1.0
    elif which < 0.6:
        direction[:] = white @ rng.normal(0.0, 1.0, p)
    elif which < 0.8:
        row = rng.integers(0, len(a))
        for _ in range(50):
            if a[row] <= 0.0:
                break
            row = rng.integers(0, len(a))
        direction[:] = d[row]
        if which < 0.7:
            direction[:] = white @ (white.T @ d[row])
    else:
        for _ in range(2):
            direction[rng.integers(0, p)] = rng.normal()
    return direction
