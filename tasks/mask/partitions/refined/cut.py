"""The best way to cut a sequence of records into groups."""

from __future__ import annotations

import numpy as np

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers


@njit
def cut(points: Floats, k: int) -> Integers:
    """Cut a sequence of records into runs of k..2k-1 so that the sum of squares within the runs is least.

    Formula in words: the best cut of the first t records ends with a run of m records, k <= m < 2k, after the best cut of the
    first t - m; the squares of a run grow record by record about its own mean, so that no large numbers cancel.

    Parameters
    ----------
    points: shape (n, p), n >= k >= 1, in the order in which they are cut.

    Returns the run 0..g-1 of each record, shape (n,). Cost: O(n k p).
    Source: Hansen and Mukherjee (2003), IEEE TKDE 15(4), along a path as in Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz and
    Sebe (2006), "Efficient multivariate data-oriented microaggregation", VLDB Journal 15. On one sorted column: the optimum.
    Example: 0, 1, 5, 6, 7 and k = 2 become 0, 1 and 5, 6, 7.
    """
    n, p = points.shape
    least = np.full(n + 1, np.inf)
    least[0] = 0.0
    length = np.zeros(n + 1, dtype=np.int64)
    mean = np.empty(p)
    for end in range(k, n + 1):
        mean[:] = 0.0
        squares = 0.0
        for m in range(1, min(2 * k - 1, end) + 1):
            squares += _included(points[end - m], mean, m)
            if m >= k and least[end - m] + squares < least[end]:
                least[end], length[end] = least[end - m] + squares, m
    return _numbered(length)


@njit
def _included(point: Floats, mean: Floats, m: int) -> float:
    """What the m-th record adds to the squares; the mean moves."""
    added = 0.0
    for j in range(len(point)):
        step = point[j] - mean[j]
        mean[j] += step / m
        added += step * step
    return added * (m - 1) / m


@njit
def _numbered(length: Integers) -> Integers:
    groups = np.empty(len(length) - 1, dtype=np.int64)
    end = len(groups)
    run = 0
    while end > 0:
        groups[end - length[end] : end] = run
        end -= length[end]
        run += 1
    return run - 1 - groups
