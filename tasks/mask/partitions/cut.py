"""The best cut of records that already stand in an order into groups of k and a few more neighbours.

Source: Hansen and Mukherjee (2003), "A polynomial algorithm for optimal univariate microaggregation", IEEE TKDE 15(4); along an
order of multivariate records: Domingo-Ferrer et al. (2006), "Efficient multivariate data-oriented microaggregation", VLDB
Journal 15(4). Done otherwise than there: a loss is summed from differences inside the group instead of from sums over the file,
and losses are added with twice the digits, so that neither a large offset nor a few huge values blur the choice.
"""

from __future__ import annotations

import numpy as np

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers


def cut_along(points_in_order: Floats, k: int, *, absolute: bool = False) -> Integers:
    """Cut an order of records where the sum of the groups' losses is smallest.

    Formula in words: the best cut of the first i records is, over the sizes k..2k-1 of its last group, the best cut of those
    before it plus that group's loss: the sum of squared distances from its mean. Longer groups never pay, because cutting one
    in two does not raise the loss. Of last groups with the same total the shortest is taken.

    Parameters
    ----------
    points_in_order: shape (n, p), n >= k, finite. k: smallest group, >= 1.
    absolute: the loss is the sum of absolute deviations from the median instead, for p = 1 and ascending values only.

    Returns the group 0..g-1 of each record, ascending, shape (n,); all groups have k..2k-1 records. The total is the smallest
    up to rounding: a relative error of about k times 1e-16 in each group's loss.

    Raises ValueError if k > n or a coordinate is not finite. Cost: O(n k p), memory O(n p).
    Example: (0, 1, 2, 3) and k = 2 is cut in the middle; of n < 2k records all are one group.
    """
    if not 1 <= k <= len(points_in_order):
        raise ValueError(f"k = {k} is not in 1..{len(points_in_order)}")
    return _groups(_last_sizes(scale_to_unit(points_in_order), k, absolute))


def scale_to_unit(points: Floats) -> Floats:
    """The same points times a power of two, below 0.5 in size, so that squares of them are finite; ValueError if not finite."""
    largest = np.abs(points).max(initial=0.0)
    if not np.isfinite(largest):
        raise ValueError("a coordinate is not finite")
    scaled: Floats = np.ascontiguousarray(np.ldexp(points, -1 - int(np.frexp(largest)[1])))
    return scaled


@njit
def _last_sizes(points: Floats, k: int, absolute: bool) -> Integers:
    """For each number of records from the start the size of the last group in their best cut; 0 where there is no cut."""
    n = len(points)
    high, low, sizes = np.full(n + 1, np.inf), np.zeros(n + 1), np.zeros(n + 1, dtype=np.int64)
    high[0] = 0.0
    mean, losses = np.zeros(points.shape[1]), np.zeros(min(2 * k, n + 1))
    for end in range(k, n + 1):
        if absolute:
            _compute_absolute_losses(points, end, losses)
        else:
            _compute_squared_losses(points, end, mean, losses)
        _settle(end, k, losses, high, low, sizes)
    return sizes


@njit
def _compute_squared_losses(points: Floats, end: int, mean: Floats, losses: Floats) -> None:
    """losses[size]: that of the `size` records before `end`, one more at a time; only positive terms are added."""
    last = points[end - 1]
    mean[:] = 0.0
    total = 0.0
    for size in range(2, min(len(losses), end + 1)):
        point = points[end - size]
        square = 0.0
        for j in range(len(mean)):
            step = point[j] - last[j] - mean[j]
            mean[j] += step / size
            square += step * step
        total += square * (size - 1) / size
        losses[size] = total


@njit
def _compute_absolute_losses(points: Floats, end: int, losses: Floats) -> None:
    """As above; a new smallest value adds its distance from the lower median of the others."""
    total = 0.0
    for size in range(2, min(len(losses), end + 1)):
        first = end - size
        total += points[first + size // 2, 0] - points[first, 0]
        losses[size] = total


@njit
def _settle(end: int, k: int, losses: Floats, high: Floats, low: Floats, sizes: Integers) -> None:
    """The best cut of the first `end` records; its loss is the unevaluated sum high + low (Dekker 1971)."""
    for size in range(k, min(len(losses), end + 1)):
        before, loss = high[end - size], losses[size]
        if before == np.inf:
            continue
        total = before + loss
        added = total - before
        rest = (before - (total - added)) + (loss - added) + low[end - size]
        rounded = total + rest
        rest -= rounded - total
        if rounded < high[end] or (rounded == high[end] and rest < low[end]):
            high[end], low[end], sizes[end] = rounded, rest, size


@njit
def _groups(last_sizes: Integers) -> Integers:
    end = len(last_sizes) - 1
    starts = np.zeros(end, dtype=np.int64)
    while end > 0:
        end -= last_sizes[end]
        starts[end] = 1
    return np.cumsum(starts) - 1
