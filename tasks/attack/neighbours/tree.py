"""Search trees over coordinates whose Euclidean distance is the distance, but for rounding: they propose candidates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy

from tasks.attack.neighbours.distances import DistanceKind, Form
from tasks.attack.neighbours.record_comparison import EQUAL, SQUARED, ComparedColumns
from tasks.microdata.table import Booleans, Floats, Integers

MOST_DIMENSIONS_OF_TREE = 16
FEWEST_RECORDS_OF_TREE = 200
_QUERIES_AT_A_TIME = 16384
_NEIGHBOURS_AT_A_TIME = 1 << 21
_FEW_QUERIES = 10_000  # so many, or fewer, are searched by one thread
_FEW_FOR_COMPACT_BOXES = 20  # times as many searched records: boxes drawn tight then cost more than the queries save by them
_PAIRS_AT_A_TIME = 1 << 23
_LEAF = 32  # of a tree over places with prices: they are near to each other

Decided = tuple[Integers, Integers, Floats, Floats]  # found records of some queries, how many, the least distance, the next


def find_embedding(queries: Floats, searched: Floats, columns: ComparedColumns, form: Form) -> tuple[Floats, Floats] | None:
    """Coordinates, shapes (q, p) and (c, p), whose Euclidean distance is that of the form, or None where there are none.

    There are for weighted means with weights >= 0, and for semidefinite quadratic forms (Cholesky's L, or the root by
    eigenvalues: delta^T M delta = |delta L|^2) in which attributes without signed differences stand alone; categories take a
    coordinate each. Not where a value is missing, attributes are compared by their absolute difference, more than 16
    coordinates are needed, or all distances are 0.
    """
    if not form.is_euclidean or (columns.kind > EQUAL).any() or np.isnan(queries).any() or np.isnan(searched).any():
        return None
    signed = columns.kind == SQUARED
    if _coordinates(queries, searched, signed) > MOST_DIMENSIONS_OF_TREE:
        return None
    of_signed, unsigned = columns.attribute[signed], np.unique(columns.attribute[~signed])
    matrix = np.diag(form.vector) if form.kind is DistanceKind.WEIGHTED else form.matrix
    if matrix[unsigned].any(axis=0).sum() > matrix[unsigned, unsigned].astype(bool).sum():
        return None
    root = form.square_root[of_signed]
    root = root[:, root.any(axis=0)]
    if not len(unsigned) and not root.shape[1]:
        return None
    numbers = [of if signed.all() else of[:, signed] for of in (queries, searched)]
    centre = np.array([column.mean() for column in numbers[1].T])  # one by one: rounded alike however the numbers are stored
    scale = centre, np.sqrt(columns.weight[signed]), root
    points, coordinates = ([_transform(of, *scale)] for of in numbers)
    if signed.all():
        return points[0], coordinates[0]
    for j in np.flatnonzero(~signed):
        scale = np.sqrt(columns.weight[j] * matrix[columns.attribute[j], columns.attribute[j]] / 2)
        for of, coded in zip((points, coordinates), encode_one_hot(queries[:, j], searched[:, j]), strict=True):
            of.append(coded * scale)
    return np.hstack(points), np.hstack(coordinates)


def _transform(values: Floats, centre: Floats, weight: Floats, root: Floats) -> Floats:
    scaled = values - centre
    scaled *= weight
    diagonal = np.diag(root)
    if root.shape != (len(diagonal), len(diagonal)) or np.count_nonzero(root) != np.count_nonzero(diagonal):
        return scaled @ root
    scaled *= diagonal
    return scaled


def encode_one_hot(queries: Floats, searched: Floats) -> tuple[Floats, Floats]:
    """A coordinate for each value; a gap is 0 in all. scikit-learn's encoder refuses empty columns, and codes gaps as well."""
    values = np.unique(np.concatenate([queries, searched]))
    present = values[~np.isnan(values)]
    return (queries[:, np.newaxis] == present).astype(np.float64), (searched[:, np.newaxis] == present).astype(np.float64)


def propose_by_tree(points: Floats, coordinates: Floats) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Some queries, starts and candidates: all records within a hair of the least distance, and at least one further out.

    points: shape (q, p), coordinates: shape (c, p), of `find_embedding`.
    Queries are asked in the order of a tree of their own, so that what one needs of the tree is still at hand for the next.
    """
    few = _FEW_FOR_COMPACT_BOXES * len(points) < len(coordinates)
    tree = scipy.spatial.cKDTree(coordinates, compact_nodes=not few)
    slack = 1e-12 * (1 + _find_largest(coordinates) + _find_largest(points))
    order = scipy.spatial.cKDTree(points).indices
    for start in range(0, len(order), _QUERIES_AT_A_TIME):
        yield from _propose(tree, points, order[start : start + _QUERIES_AT_A_TIME], slack)


def _find_largest(values: Floats) -> float:
    """In size; without a copy of all."""
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))


def merge_decided(parts: list[tuple[Integers, Decided]], n: int) -> tuple[Integers, Integers, Floats, Floats]:
    """What was found of parts of the queries, in the order of the queries: starts, found, the least distance, the next."""
    sizes, least, runner_up = np.zeros(n, dtype=np.int64), np.empty(n), np.empty(n)
    for some, (_, kept, nearest_one, next_one) in parts:
        sizes[some], least[some], runner_up[some] = kept, nearest_one, next_one
    starts = np.append(0, np.cumsum(sizes))
    found = np.empty(starts[-1], dtype=np.int64)
    for some, (records, kept, _, _) in parts:
        before = np.cumsum(kept) - kept
        found[np.arange(len(records)) + np.repeat(starts[some] - before, kept)] = records
    return starts, found, least, runner_up


def find_cheapest_by_tree(points: Floats, coordinates: Floats, price: Floats, k: int) -> tuple[Integers, Floats]:
    """The k least by a tree: |x - y|^2 - price is a squared distance once the price is a coordinate of its own."""
    top = float(price.max(initial=0.0))
    lifted = np.column_stack([coordinates, np.sqrt(top - price)])
    tree, order = scipy.spatial.cKDTree(lifted, leafsize=_LEAF), scipy.spatial.cKDTree(points).indices
    far, near = np.empty(len(points)), np.empty((len(points), k), dtype=np.int64)
    workers = 1 if len(points) <= _FEW_QUERIES else -1
    for some in np.array_split(order, max(-(-len(order) * k // _PAIRS_AT_A_TIME), 1)):
        distances, found = tree.query(np.column_stack([points[some], np.zeros(len(some))]), k=k, workers=workers)
        near[some], far[some] = np.reshape(found, (-1, k)), np.reshape(distances, (-1, k))[:, -1]
    rounding = 1e-12 * (1 + float(np.abs(lifted).max()) + float(np.abs(points).max(initial=0.0))) ** 2
    return near, far**2 - top - rounding


def _propose(
    tree: scipy.spatial.cKDTree, points: Floats, queries: Integers, slack: float
) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Of some queries; more neighbours where many tie."""
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


def _coordinates(queries: Floats, searched: Floats, signed: Booleans) -> int:
    categories = (len(np.unique(np.concatenate([queries[:, j], searched[:, j]]))) for j in np.flatnonzero(~signed))
    return int(signed.sum()) + sum(categories)
