"""Exact nearest neighbours with all ties, by a search tree or by looking at every pair: the same answer either way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from tasks.attack.comparison import compute_record_distance
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

TIE = 1 + 1e-9  # squared distances within this factor of the least are equal
MOST_DIMENSIONS_OF_TREE = 16
FEWEST_RECORDS_OF_TREE = 200
_QUERIES_AT_A_TIME = 16384
_NEIGHBOURS_AT_A_TIME = 1 << 21
_FEW_QUERIES = 10_000  # fewer are searched by one thread


Decided = tuple[Integers, Integers, Floats, Floats]

_MISSING = dict.fromkeys(("queries", "searched"), "a missing value, which `compute_record_distance` asks for")


class Nearest(NamedTuple):
    """For q queries all records at the least squared distance: of query i found[starts[i]:starts[i + 1]], ascending.

    least: shape (q,), that distance. runner_up: shape (q,), the least one beyond the tie; infinite where there is none.
    """

    starts: Integers
    found: Integers
    least: Floats
    runner_up: Floats


def nearest(queries: Floats, searched: Floats, nominal: Booleans, weight: Floats) -> Nearest:
    """For each query all records at the least squared distance (`comparison`), ties within a relative 1e-9.

    queries: shape (q, d); searched: shape (c, d), c >= 1; NaN is missing.

    Cost: a k-d tree where nothing is missing and the coordinates are few (nominal attributes take one per category), else
    O(q c d) time; memory is linear in the records and the ties.
    """
    dimensions = _dimensions(queries, searched, nominal)
    if len(searched) >= FEWEST_RECORDS_OF_TREE and dimensions <= MOST_DIMENSIONS_OF_TREE:
        return nearest_by_tree(queries, searched, nominal, weight)
    return nearest_by_pairs(queries, searched, nominal, weight)


def nearest_by_tree(queries: Floats, searched: Floats, nominal: Booleans, weight: Floats) -> Nearest:
    """`nearest` by a k-d tree; no value may be missing.

    The tree proposes all records within a hair of the least distance; who is nearest among them is decided by the distance
    itself, so that rounding in the tree's coordinates decides nothing.
    """

    def decide(some: Integers, starts: Integers, candidates: Integers) -> Decided:
        return _nearest_among(queries[some], searched, nominal, weight, starts, candidates)

    return resolve_tree_proposals(*_embed_records(queries, searched, nominal, weight), decide)


def nearest_by_pairs(queries: Floats, searched: Floats, nominal: Booleans, weight: Floats) -> Nearest:
    """`nearest` by looking at every pair."""
    return Nearest(*_nearest_by_pairs(queries, searched, nominal, weight))


def resolve_tree_proposals(
    points: Floats, places: Floats, decide: Callable[[Integers, Integers, Integers], Decided]
) -> Nearest:
    """The nearest records by a tree over their places, which proposes; `decide` says who of the proposed is nearest.

    points: shape (q, p), places: shape (c, p): coordinates whose Euclidean distance is the distance, but for rounding.
    decide: queries, starts, candidates -> for each query who is kept, how many, the least and the next squared distance.
    Queries are asked in the order of a tree of their own, so that what one needs of the tree is still at hand for the next.
    """
    tree = cKDTree(places)
    slack = 1e-12 * (1 + float(np.abs(places).max(initial=0)) + float(np.abs(points).max(initial=0)))
    order = cKDTree(points).indices if len(points) > _FEW_QUERIES else np.arange(len(points))
    proposals = (one for batch in _batches(order) for one in _proposals(tree, points, batch, slack))
    parts = [(some, decide(some, starts, candidates)) for some, starts, candidates in proposals]
    return merge_nearest(parts, len(points))


def _proposals(tree: cKDTree, points: Floats, queries: Integers, slack: float) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Of some queries: all records within a hair of the least distance and at least one further out; more where many tie."""
    k, workers = 2, 1 if len(points) <= _FEW_QUERIES else -1
    while len(queries):
        unsettled = []
        for some in np.array_split(queries, -(-len(queries) * k // _NEIGHBOURS_AT_A_TIME)):
            distances, records = (np.asarray(of) for of in tree.query(points[some], k=k, workers=workers))
            settled = (distances[:, -1] > distances[:, 0] * (1 + 1e-6) + slack) | (k >= tree.n)
            there = np.isfinite(distances[settled])
            yield some[settled], np.append(0, np.cumsum(there.sum(axis=1))), records[settled][there]
            unsettled.append(some[~settled])
        queries, k = np.concatenate(unsettled), 4 * k


def merge_nearest(parts: list[tuple[Integers, Decided]], n: int) -> Nearest:
    """What was found of parts of the queries, in the order of the queries."""
    sizes, least, runner_up = np.zeros(n, dtype=np.int64), np.empty(n), np.empty(n)
    for some, (_, kept, nearest_one, next_one) in parts:
        sizes[some], least[some], runner_up[some] = kept, nearest_one, next_one
    starts = np.append(0, np.cumsum(sizes))
    found = np.empty(starts[-1], dtype=np.int64)
    for some, (records, kept, _, _) in parts:
        before = np.cumsum(kept) - kept
        found[np.arange(len(records)) + np.repeat(starts[some] - before, kept)] = records
    return Nearest(starts, found, least, runner_up)


@njit(missing=_MISSING)
def _nearest_by_pairs(
    queries: Floats, searched: Floats, nominal: Booleans, weight: Floats
) -> tuple[Integers, Integers, Floats, Floats]:
    starts = np.zeros(len(queries) + 1, dtype=np.int64)
    found = np.empty(len(queries) + 16, dtype=np.int64)
    nearest_one, next_one = np.empty(len(queries)), np.empty(len(queries))
    distances = np.empty(len(searched))
    used = 0
    for i in range(len(queries)):
        least = _distances(queries[i], searched, nominal, weight, distances)
        nearest_one[i], next_one[i] = least, np.inf
        for c in range(len(searched)):
            if distances[c] <= least * TIE:
                found = ensure_capacity(found, used)
                found[used] = c
                used += 1
            else:
                next_one[i] = min(next_one[i], distances[c])
        starts[i + 1] = used
    return starts, found[:used].copy(), nearest_one, next_one


@njit
def _distances(query: Floats, searched: Floats, nominal: Booleans, weight: Floats, distances: Floats) -> float:
    """Write the squared distances of one query into `distances`, infinity where surely beyond the next; returns the least."""
    least, second = np.inf, np.inf
    for c in range(len(searched)):
        distance = compute_record_distance(query, searched[c], nominal, weight, second)
        distances[c] = distance
        if distance * TIE < least:
            second, least = least, distance
        elif distance <= least * TIE:
            least = min(least, distance)
        else:
            second = min(second, distance)
    return least


@njit
def ensure_capacity(values: npt.NDArray[Any], used: int) -> npt.NDArray[Any]:
    """The array, twice as long if it is full."""
    if used < len(values):
        return values
    longer = np.empty(2 * len(values), dtype=values.dtype)
    longer[:used] = values
    return longer


@njit
def write_nearest(distances: Floats, candidates: Integers, kept: Integers, used: int) -> tuple[int, float, float]:
    """Write those of some candidates that are at the least distance into `kept`, ascending; how many, the least, the next."""
    least = distances.min()
    bound, runner_up, n = least * TIE if least >= 0 else least / TIE, np.inf, 0
    for e in range(len(candidates)):
        if distances[e] <= bound:
            kept[used + n] = candidates[e]
            n += 1
        else:
            runner_up = min(runner_up, distances[e])
    kept[used : used + n].sort()
    return n, least, runner_up


@njit
def _nearest_among(
    queries: Floats, searched: Floats, nominal: Booleans, weight: Floats, starts: Integers, candidates: Integers
) -> tuple[Integers, Integers, Floats, Floats]:
    kept = np.empty(len(candidates), dtype=np.int64)
    sizes = np.zeros(len(queries), dtype=np.int64)
    least, runner_up = np.empty(len(queries)), np.empty(len(queries))
    used = 0
    for i in range(len(queries)):
        mine = candidates[starts[i] : starts[i + 1]]
        distances = np.empty(len(mine))
        for e in range(len(mine)):
            distances[e] = compute_record_distance(queries[i], searched[mine[e]], nominal, weight, np.inf)
        sizes[i], least[i], runner_up[i] = write_nearest(distances, mine, kept, used)
        used += sizes[i]
    return kept[:used].copy(), sizes, least, runner_up


def _dimensions(queries: Floats, searched: Floats, nominal: Booleans) -> float:
    """How many coordinates the tree would need; infinite where a value is missing."""
    if np.isnan(queries).any() or np.isnan(searched).any():
        return np.inf
    categories = [len(_categories(queries, searched, int(j))) for j in np.flatnonzero(nominal)]
    return int((~nominal).sum()) + sum(categories)


def _categories(queries: Floats, searched: Floats, j: int) -> Floats:
    return np.unique(np.concatenate([queries[:, j], searched[:, j]]))


def _embed_records(queries: Floats, searched: Floats, nominal: Booleans, weight: Floats) -> tuple[Floats, Floats]:
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


def _batches(order: Integers) -> Iterator[Integers]:
    return (order[start : start + _QUERIES_AT_A_TIME] for start in range(0, len(order), _QUERIES_AT_A_TIME))
