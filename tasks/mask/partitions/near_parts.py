"""Large tables in parts: records are split by a k-d tree, and each part is partitioned by itself.

Source: Solanas, Martínez-Ballesté, Domingo-Ferrer and Mateo-Sanz (2006), "A 2^d-tree-based blocking method for microaggregating
very large data sets", ARES. Done otherwise than there: parts are halved at medians, as in the k-d trees of Bentley (1975),
"Multidimensional binary search trees used for associative searching", CACM 18(9), so that all have about the same size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tasks.mask.partitions.mdav import lexicographic
from tasks.microdata.table import Floats, Integers
from tasks.microdata.value_order import order_values


def partition_in_parts(points: Floats, most: int, partition: Callable[[Floats], Integers]) -> Integers:
    """Shape (n,): the group 0..g-1 of each record; no group has records of two parts.

    points: shape (n, p), coordinates without NaN. most: see `split_into_parts`. partition: of the points of a part.
    """
    groups, formed = np.empty(len(points), dtype=np.int64), 0
    for part in split_into_parts(points, most):
        found = partition(points[part])
        groups[part] = found + formed
        formed += int(found.max()) + 1
    return groups


def split_into_parts(points: Floats, most: int) -> Iterator[Integers]:
    """The records of each part, at most `most` of them and, where there is more than one part, at least half as many.

    A part that is too large is halved along the coordinate in which it reaches farthest, the first of several. Records that are
    equal there keep their order: at first the lexicographic one, so that the parts do not depend on the order of the file.

    points: shape (n, p), coordinates without NaN; without any coordinate there is one part. most: >= 2.
    Cost: O(n p log(n / most)), and twice the memory of the points.
    Example: (0, 0), (9, 1), (1, 0), (8, 1) with most = 2 are the parts {0, 2} and {1, 3}.
    """
    order = lexicographic(points)
    waiting = [(order, points.T[:, order])]
    while waiting:
        part, coordinates = waiting.pop()
        if len(part) <= most or not len(coordinates):
            yield part
            continue
        widest = int(np.argmax(coordinates.max(axis=1) - coordinates.min(axis=1)))
        ordered, half = order_values(coordinates[widest]), len(part) // 2
        waiting += [(part[rows], coordinates.take(rows, axis=1)) for rows in (ordered[half:], ordered[:half])]
