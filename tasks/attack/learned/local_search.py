"""Search for the parameters that link the most, by moves along lines on which the best step is found exactly.

On a line p + t h each record is linked on one open interval of t (the meeting of one half-line for each of its rows). A sweep
over the sorted ends finds where most of the weight overlaps; so a move never links less than the place it starts from. Lines:
a coordinate, a random direction (whitened by the rows), a row that is broken, two coordinates. The search counts all pairs
after each round of moves, and the rows that were overlooked join.

Source of the objective: D11.2, section 3.1. The search is ours.
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
    least, most = _limits(a, b)
    q, used = len(starts) - 1, 0
    first, last, worth = np.empty(q), np.empty(q), np.empty(q)
    for i in range(q):
        begins, ends = low, high
        for row in range(starts[i], starts[i + 1]):
            begins = least[row] if least[row] > begins else begins
            ends = most[row] if most[row] < ends else ends
        first[used], last[used], worth[used] = begins, ends, weight[i]
        used += begins < ends and weight[i] > 0.0
    return _deepest(*_around(first[:used], last[:used], worth[:used], low, high), spread, pick)


@njit
def _limits(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The steps between which each row is positive: without branches, which a processor would guess wrong."""
    zero, least, most = -a / b, np.empty(len(a)), np.empty(len(a))
    for row in range(len(a)):
        never = b[row] == 0.0 and a[row] <= 0.0
        least[row] = zero[row] if b[row] > 0.0 else -np.inf
        most[row] = zero[row] if b[row] < 0.0 else -np.inf if never else np.inf
    return least, most


@njit
def _around(first: Floats, last: Floats, worth: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """The ends of intervals, and by how much the weight changes there, as far from 0 as the weight may be that of 0 or more.

    Beyond a step where more of those are lost that are linked at 0 than others may be won, nothing need be looked at.
    """
    here = (first <= 0.0) & (last >= 0.0)
    least = worth.min() if len(worth) else 1.0
    after = int(worth[~here & (last > 0.0)].sum() / least) + 1
    before = int(worth[~here & (first < 0.0)].sum() / least) + 1
    some = np.count_nonzero(here)
    if after < some:
        high = min(high, np.partition(last[here], after)[after])
    if before < some:
        low = max(low, -np.partition(-first[here], before)[before])
    ends, change, used = np.empty(2 * len(first) + 2), np.empty(2 * len(first) + 2), 2
    ends[0], change[0], ends[1], change[1] = low, 0.0, high, 0.0
    for i in range(len(first)):
        if first[i] <= low < last[i]:
            change[0] += worth[i]
        elif low < first[i] < high:
            ends[used], change[used] = first[i], worth[i]
            used += 1
        if low < last[i] < high:
            ends[used], change[used] = last[i], -worth[i]
            used += 1
    return ends[:used], change[:used]


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
def compute_step_range(bounds: Floats, point: Floats, direction: Floats, reach: float) -> tuple[float, float]:
    """The steps along a direction for which bounds . (place + t direction) >= 0, within reach."""
    return _compute_step_range(*_entries(bounds), point, direction, reach)


@njit
def _entries(bounds: Floats) -> tuple[Integers, Integers, Floats]:
    """The entries that are not 0, by rows: most bounds are about few parameters. Starts, shape (rows + 1,), places, values."""
    starts = np.zeros(len(bounds) + 1, dtype=np.int64)
    positions, values = np.nonzero(bounds)[1], np.empty(np.count_nonzero(bounds))
    at = 0
    for row in range(len(bounds)):
        for k in range(bounds.shape[1]):
            if bounds[row, k] != 0.0:
                values[at] = bounds[row, k]
                at += 1
        starts[row + 1] = at
    return starts, positions, values


@njit
def _compute_step_range(
    starts: Integers, positions: Integers, values: Floats, point: Floats, direction: Floats, reach: float
) -> tuple[float, float]:
    low, high = -reach, reach
    for row in range(len(starts) - 1):
        a, b = 0.0, 0.0
        for at in range(starts[row], starts[row + 1]):
            a += values[at] * point[positions[at]]
            b += values[at] * direction[positions[at]]
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
    point, best = start.copy(), -1.0
    a, entries, columns = d @ point, _entries(bounds), np.ascontiguousarray(d.T)
    for _ in range(moves):
        direction = _direction(d, a, white, rng)
        size = np.sqrt(np.sum(direction**2))
        if size == 0.0:
            continue
        direction /= size
        length = np.sqrt(np.sum(point**2))
        low, high = _compute_step_range(*entries, point, direction, 1e4 * length)
        if high - low <= 1e-12 * length:
            continue
        b = _along(columns, direction)
        step, depth = line_overlap(a, b, starts, weight, low, high, length, rng.random())
        if depth < best - 1e-9 or step == 0.0:
            continue
        best = depth
        point += step * direction
        length = np.sqrt(np.sum(point**2))
        point /= length
        for row in range(len(a)):
            a[row] = (a[row] + step * b[row]) / length
    return point, best


@njit
def _along(columns: Floats, direction: Floats) -> Floats:
    """direction @ columns; most often only one or two entries are not 0."""
    some = np.flatnonzero(direction)
    b: Floats = direction @ columns if len(some) > 2 else direction[some[0]] * columns[some[0]]
    if len(some) > 2:
        return b
    for k in some[1:]:
        b += direction[k] * columns[k]
    return b


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
