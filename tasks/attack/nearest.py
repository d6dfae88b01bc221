"""Exact nearest neighbours with all ties, by a search tree or by looking at every pair: the same answer either way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from tasks.attack.comparison import squared_distance
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

TIE = 1 + 1e-9  # squared distances within this factor of the least are equal
MOST_DIMENSIONS_OF_TREE = 16
FEWEST_RECORDS_OF_TREE = 200
_QUERIES_AT_A_TIME = 4096


def nearest(queries: Floats, searched: Floats, nominal: Booleans, weight: Floats) -> tuple[Integers, Integers]:
    """For each query all records at the least squared distance (`comparison`), ties within a relative 1e-9.

    queries: shape (q, d); searched: shape (c, d), c >= 1; NaN is missing. Returns starts (q + 1,) and the found records:
    those of query i stand at starts[i]:starts[i + 1], ascending.

    Cost: a k-d tree where nothing is missing and the coordinates are few (nominal attributes take one per category), else
    O(q c d) time; memory is linear in the records and the ties.
    """
    dimensions = _dimensions(queries, searched, nominal)
    if len(searched) >= FEWEST_RECORDS_OF_TREE and dimensions <= MOST_DIMENSIONS_OF_TREE:
        return nearest_by_tree(queries, searched, nominal, weight)
    return nearest_by_pairs(queries, searched, nominal, weight)


def nearest_by_tree(queries: Floats, searched: Floats, nominal: Booleans, weight: Floats) -> tuple[Integers, Integers]:
    """`nearest` by a k-d tree; no value may be missing.

    The tree proposes all records within a hair of the least distance; who is nearest among them is decided by the distance
    itself, so that rounding in the tree's coordinates decides nothing.
    """
    points, places = _embedded(queries, searched, nominal, weight)
    tree = cKDTree(places)
    slack = 1e-12 * (1 + float(np.abs(places).max(initial=0)) + float(np.abs(points).max(initial=0)))
    counts, found = [np.zeros(1, dtype=np.int64)], []
    for some in _batches(len(points)):
        radius = tree.query(points[some])[0] * (1 + 1e-6) + slack
        proposed = list(tree.query_ball_point(points[some], radius, return_sorted=True))
        sizes = np.array([len(ball) for ball in proposed])
        candidates = np.concatenate([np.asarray(ball, dtype=np.int64) for ball in proposed])
        kept, kept_sizes = _nearest_among(queries[some], searched, nominal, weight, np.append(0, np.cumsum(sizes)), candidates)
        counts.append(kept_sizes)
        found.append(kept)
    return np.cumsum(np.concatenate(counts)), np.concatenate(found)


@njit
def nearest_by_pairs(queries: Floats, searched: Floats, nominal: Booleans, weight: Floats) -> tuple[Integers, Integers]:
    """`nearest` by looking at every pair."""
    starts = np.zeros(len(queries) + 1, dtype=np.int64)
    found = np.empty(len(queries) + 16, dtype=np.int64)
    distances = np.empty(len(searched))
    used = 0
    for i in range(len(queries)):
        least = _distances(queries[i], searched, nominal, weight, distances)
        for c in np.flatnonzero(distances <= least * TIE):
            found = with_room(found, used)
            found[used] = c
            used += 1
        starts[i + 1] = used
    return starts, found[:used].copy()


@njit
def _distances(query: Floats, searched: Floats, nominal: Booleans, weight: Floats, distances: Floats) -> float:
    """Write the squared distances of one query into `distances`, infinity for those surely not the least; returns the least."""
    least = np.inf
    for c in range(len(searched)):
        distances[c] = squared_distance(query, searched[c], nominal, weight, least * TIE)
        least = min(least, distances[c])
    return least


@njit
def with_room(values: npt.NDArray[Any], used: int) -> npt.NDArray[Any]:
    """The array, twice as long if it is full."""
    if used < len(values):
        return values
    longer = np.empty(2 * len(values), dtype=values.dtype)
    longer[:used] = values
    return longer


@njit
def _nearest_among(
    queries: Floats, searched: Floats, nominal: Booleans, weight: Floats, starts: Integers, candidates: Integers
) -> tuple[Integers, Integers]:
    kept = np.empty(len(candidates), dtype=np.int64)
    sizes = np.zeros(len(queries), dtype=np.int64)
    used = 0
    for i in range(len(queries)):
        least = np.inf
        for e in range(starts[i], starts[i + 1]):
            least = min(least, squared_distance(queries[i], searched[candidates[e]], nominal, weight, np.inf))
        for e in range(starts[i], starts[i + 1]):
            if squared_distance(queries[i], searched[candidates[e]], nominal, weight, np.inf) <= least * TIE:
                kept[used] = candidates[e]
                used += 1
                sizes[i] += 1
    return kept[:used].copy(), sizes


def _dimensions(queries: Floats, searched: Floats, nominal: Booleans) -> float:
    """How many coordinates the tree would need; infinite where a value is missing."""
    if np.isnan(queries).any() or np.isnan(searched).any():
        return np.inf
    categories = [len(_categories(queries, searched, int(j))) for j in np.flatnonzero(nominal)]
    return int((~nominal).sum()) + sum(categories)


def _categories(queries: Floats, searched: Floats, j: int) -> Floats:
    return np.unique(np.concatenate([queries[:, j], searched[:, j]]))


def _embedded(queries: Floats, searched: Floats, nominal: Booleans, weight: Floats) -> tuple[Floats, Floats]:
    """Coordinates whose Euclidean distance is the distance of `comparison`, for queries and searched records."""
    points, places = [], []
    for j in range(queries.shape[1]):
        x, y = queries[:, j : j + 1], searched[:, j : j + 1]
        if nominal[j]:
            categories = _categories(queries, searched, j)
            points.append((x == categories) * np.sqrt(weight[j] / 2))
            places.append((y == categories) * np.sqrt(weight[j] / 2))
        else:
            points.append((x - y.mean()) * np.sqrt(weight[j]))
            places.append((y - y.mean()) * np.sqrt(weight[j]))
    return np.hstack(points), np.hstack(places)


def _batches(n: int) -> Iterator[slice]:
    return (slice(start, start + _QUERIES_AT_A_TIME) for start in range(0, n, _QUERIES_AT_A_TIME))
