"""Exact nearest neighbours by any distance of the family: by a tree where the distance is Euclidean, else over all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from tasks.attack.linkage.attributes import EQUAL, SQUARED, Columns, differences, write_differences
from tasks.attack.linkage.distances import MISSING, Form, Kind, aggregate_differences
from tasks.attack.nearest import (
    FEWEST_RECORDS_OF_TREE,
    MOST_DIMENSIONS_OF_TREE,
    Decided,
    Nearest,
    ensure_capacity,
    merge_nearest,
    resolve_tree_proposals,
    write_nearest,
)
from tasks.microdata.compiled import njit
from tasks.microdata.errors import NotFollowed
from tasks.microdata.table import Booleans, Floats, Integers

_PAIRS_AT_A_TIME = 1 << 23
_MOST_OF_A_KERNEL = 1000
_LEAF = 32  # of a tree over places with prices: they are near to each other

_MISSING = dict.fromkeys(("queries", "searched"), "a missing value, which `write_differences` asks for")


class _Distance(NamedTuple):
    """The distance as compiled functions take it: the rules of the columns (`Columns`), then the form of the differences."""

    of_column: Integers
    weight: Floats
    attribute: Integers
    n_attributes: int
    missing_out: bool
    kind: int
    vector: Floats
    matrix: Floats
    others: int


@dataclass(frozen=True, slots=True)
class Search:
    """Searching records, what they search, and the distance: a form of their differences, or the polynomial kernel's.

    queries: shape (q, columns), searched: shape (c, columns), c >= 1; NaN is missing. is_turned: a kernel is about the mean of
    the queries, else of the searched.
    """

    queries: Floats
    searched: Floats
    columns: Columns
    form: Form
    is_turned: bool = False

    def nearest(self) -> Nearest:
        """For each query all records at the least distance, ties within a relative 1e-9, and how far the next one is.

        Cost: a k-d tree where the distance is Euclidean in at most 16 coordinates (see `find_embedding`) and nothing is
        missing; else O(q c d) time, O(q c d^2) for forms with interactions; memory is linear in the records and the ties.
        """
        places = self._places()
        return self.find_nearest_by_pairs() if places is None else self.find_nearest_by_tree(places)

    def find_nearest_by_pairs(self) -> Nearest:
        """`nearest` by looking at every pair."""
        return merge_nearest([(some, _find_row_minima(self.matrix(some))) for some in self._blocks()], len(self.queries))

    def find_nearest_by_tree(self, places: tuple[Floats, Floats]) -> Nearest:
        """`nearest` by a k-d tree over the places of `find_embedding`; the distance itself decides."""

        def decide(some: Integers, starts: Integers, candidates: Integers) -> Decided:
            return _nearest_among(self.queries[some], self.searched, self._distance(), starts, candidates)

        return resolve_tree_proposals(*places, decide)

    def matrix(self, some: Integers) -> Floats:
        """The squared distances of some queries to all searched records."""
        if self.form.kind is Kind.POLYNOMIAL:
            points, places = kernel_places(self)
            return _kernel_matrix(points[some], places, self.form.degree)
        return _matrix(self.queries[some], self.searched, self._distance())

    def few_nearest(self, k: int, some: Integers | None = None, price: Floats | None = None) -> tuple[Integers, Floats, Floats]:
        """The k searched records of least distance less price (fewer if there are not so many) of each query, or of some.

        price: shape (c,), default 0. Returns the records and their distances, shape (q, k), and what the distance less price of
        all others is at least, shape (q,): infinite where there are none.
        """
        queries = np.arange(len(self.queries)) if some is None else some
        prices = np.zeros(len(self.searched)) if price is None else price
        k, places = min(k, len(self.searched)), self._places()
        if places is not None:
            near, low = _find_cheapest_by_tree(places[0][queries], places[1], prices, k)
        else:
            parts = [_least(self.matrix(block) - prices, k) for block in self._blocks(queries)]
            near, low = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        apart = np.column_stack([self.apart(queries, near[:, j]) for j in range(k)])
        return near, apart, low if k < len(self.searched) else np.full(len(queries), np.inf)

    def apart(self, queries: Integers, searched: Integers) -> Floats:
        """The distances of some queries and searched records, one by one."""
        if self.form.kind is Kind.POLYNOMIAL:
            points, places = kernel_places(self)
            return _kernel_distances(points[queries], places[searched], self.form.degree)
        return self.form.compute_distances(differences(self.queries[queries], self.searched[searched], *self._distance()[:5]))

    def swap_sides(self) -> Search:
        """The same distances, seen from the other file.

        A form may multiply the signed difference of a number with that of a category, which has no sign. The numbers are
        negated in both files, so that the difference of a pair keeps its sign although its records change places.
        """
        sign = np.where(self.columns.kind == EQUAL, 1.0, -1.0)
        return Search(self.searched * sign, self.queries * sign, self.columns, self.form, not self.is_turned)

    def _distance(self) -> _Distance:
        columns, form = self.columns, self.form
        about = (columns.kind, columns.weight, columns.attribute, columns.n_attributes, columns.missing_out)
        return _Distance(*about, int(form.kind), form.vector, form.matrix, form.others)

    def _blocks(self, queries: Integers | None = None) -> list[Integers]:
        some = np.arange(len(self.queries)) if queries is None else queries
        return np.array_split(some, max(-(-len(some) * len(self.searched) // _PAIRS_AT_A_TIME), 1))

    def _places(self) -> tuple[Floats, Floats] | None:
        if len(self.searched) < FEWEST_RECORDS_OF_TREE:
            return None
        return find_embedding(self.queries, self.searched, self.columns, self.form)


def find_embedding(queries: Floats, searched: Floats, columns: Columns, form: Form) -> tuple[Floats, Floats] | None:
    """Coordinates, shapes (q, p) and (c, p), whose Euclidean distance is that of the form, or None where there are none.

    There are for weighted means with weights >= 0, and for semidefinite quadratic forms (Cholesky's L, or the root by
    eigenvalues: delta^T M delta = |delta L|^2) in which attributes without signed differences stand alone; categories take a
    coordinate each. Not where a value is missing, attributes are compared by their absolute difference, or more than 16
    coordinates are needed.
    """
    if not form.is_euclidean or (columns.kind > EQUAL).any() or np.isnan(queries).any() or np.isnan(searched).any():
        return None
    signed = columns.kind == SQUARED
    if _coordinates(queries, searched, signed) > MOST_DIMENSIONS_OF_TREE:
        return None
    of_signed, unsigned = columns.attribute[signed], np.unique(columns.attribute[~signed])
    matrix = np.diag(form.vector) if form.kind is Kind.WEIGHTED else form.matrix
    if matrix[unsigned].any(axis=0).sum() > matrix[unsigned, unsigned].astype(bool).sum():
        return None
    root = form.square_root[of_signed]
    root = root[:, root.any(axis=0)]
    weight = np.sqrt(columns.weight[signed])
    centre = searched[:, signed].mean(axis=0)
    points, places = ([((of[:, signed] - centre) * weight) @ root] for of in (queries, searched))
    for j in np.flatnonzero(~signed):
        scale = np.sqrt(columns.weight[j] * matrix[columns.attribute[j], columns.attribute[j]] / 2)
        for of, coded in zip((points, places), _one_hot(queries[:, j], searched[:, j]), strict=True):
            of.append(coded * scale)
    return np.hstack(points), np.hstack(places)


def kernel_places(search: Search) -> tuple[Floats, Floats]:
    """Standardised coordinates of queries and searched records for a kernel; a gap stands at the mean, and apart from values.

    Raises NotFollowed for more than 1,000 coordinates.
    """
    points, places = [], []
    for j, (kind, weight) in enumerate(zip(search.columns.kind, search.columns.weight, strict=True)):
        x, y = search.queries[:, j], search.searched[:, j]
        if kind == EQUAL:
            coded = _one_hot(x, y)
            scaled = (coded[0] * np.sqrt(weight / 2), coded[1] * np.sqrt(weight / 2))
        else:
            middle = x if search.is_turned else y
            centre = float(np.nanmean(middle)) if not np.isnan(middle).all() else 0.0
            scaled = tuple(np.nan_to_num((of - centre) * np.sqrt(weight))[:, np.newaxis] for of in (x, y))
        points += [scaled[0], np.sqrt(MISSING) * np.isnan(x)[:, np.newaxis]]
        places += [scaled[1], np.sqrt(MISSING) * np.isnan(y)[:, np.newaxis]]
        if sum(one.shape[1] for one in points) > _MOST_OF_A_KERNEL:
            raise NotFollowed(f"a kernel would need more than {_MOST_OF_A_KERNEL:,} coordinates for these categories")
    return np.ascontiguousarray(np.hstack(points)), np.ascontiguousarray(np.hstack(places))


def _coordinates(queries: Floats, searched: Floats, signed: Booleans) -> int:
    categories = (len(np.unique(np.concatenate([queries[:, j], searched[:, j]]))) for j in np.flatnonzero(~signed))
    return int(signed.sum()) + sum(categories)


def _least(distances: Floats, k: int) -> tuple[Integers, Floats]:
    near = np.argpartition(distances, k - 1, axis=1)[:, :k]
    return near, np.take_along_axis(distances, near, axis=1).max(axis=1)


def _find_cheapest_by_tree(points: Floats, places: Floats, price: Floats, k: int) -> tuple[Integers, Floats]:
    """The k least by a tree: |x - y|^2 - price is a squared distance once the price is a coordinate of its own."""
    top = float(price.max(initial=0.0))
    lifted = np.column_stack([places, np.sqrt(top - price)])
    tree, order = cKDTree(lifted, leafsize=_LEAF), cKDTree(points).indices
    far, near = np.empty(len(points)), np.empty((len(points), k), dtype=np.int64)
    for some in np.array_split(order, max(-(-len(order) * k // _PAIRS_AT_A_TIME), 1)):
        distances, found = tree.query(np.column_stack([points[some], np.zeros(len(some))]), k=k, workers=-1)
        near[some], far[some] = np.reshape(found, (-1, k)), np.reshape(distances, (-1, k))[:, -1]
    rounding = 1e-12 * (1 + float(np.abs(lifted).max()) + float(np.abs(points).max(initial=0.0))) ** 2
    return near, far**2 - top - rounding


def _one_hot(queries: Floats, searched: Floats) -> tuple[Floats, Floats]:
    """A coordinate for each value; a gap is 0 in all. scikit-learn's encoder refuses empty columns, and codes gaps as well."""
    values = np.unique(np.concatenate([queries, searched]))
    present = values[~np.isnan(values)]
    return (queries[:, np.newaxis] == present).astype(np.float64), (searched[:, np.newaxis] == present).astype(np.float64)


@njit(infinite={"distances": "they are compared alone: whoever is infinitely far from all ties with all"})
def _find_row_minima(distances: Floats) -> tuple[Integers, Integers, Floats, Floats]:
    """For each row of a matrix of distances who is nearest, how many, the least distance and the next."""
    n, everybody = len(distances), np.arange(distances.shape[1])
    found, kept = np.empty(n + 16, dtype=np.int64), np.empty(distances.shape[1], dtype=np.int64)
    sizes, least, runner_up = np.zeros(n, dtype=np.int64), np.empty(n), np.empty(n)
    used = 0
    for i in range(n):
        sizes[i], least[i], runner_up[i] = write_nearest(distances[i], everybody, kept, 0)
        for e in range(sizes[i]):
            found = ensure_capacity(found, used)
            found[used] = kept[e]
            used += 1
    return found[:used].copy(), sizes, least, runner_up


@njit(missing=_MISSING)
def _matrix(queries: Floats, searched: Floats, distance: _Distance) -> Floats:
    distances, delta = np.empty((len(queries), len(searched))), np.empty(distance.n_attributes)
    for i in range(len(queries)):
        for c in range(len(searched)):
            distances[i, c] = _compute_distance(queries[i], searched[c], distance, delta)
    return distances


@njit
def _compute_distance(query: Floats, found: Floats, distance: _Distance, delta: Floats) -> float:
    write_differences(query, found, distance.of_column, distance.weight, distance.attribute, distance.missing_out, delta)
    return aggregate_differences(distance.kind, distance.vector, distance.matrix, distance.others, delta)


@njit
def _kernel_matrix(points: Floats, places: Floats, degree: int) -> Floats:
    distances = np.empty((len(points), len(places)))
    own = np.array([_inner(y, y) for y in places])
    for i in range(len(points)):
        length = _inner(points[i], points[i])
        for c in range(len(places)):
            distances[i, c] = _apart(length, _inner(points[i], places[c]), own[c], degree)
    return distances


@njit
def _kernel_distances(points: Floats, places: Floats, degree: int) -> Floats:
    """The distances of the rows of two lists, one by one."""
    distances = np.empty(len(points))
    for i in range(len(points)):
        x, y = points[i], places[i]
        distances[i] = _apart(_inner(x, x), _inner(x, y), _inner(y, y), degree)
    return distances


@njit
def _apart(length: float, both: float, own: float, degree: int) -> float:
    return max((1 + length) ** degree - 2 * (1 + both) ** degree + (1 + own) ** degree, 0.0)


@njit
def _nearest_among(
    queries: Floats, searched: Floats, distance: _Distance, starts: Integers, candidates: Integers
) -> tuple[Integers, Integers, Floats, Floats]:
    kept = np.empty(len(candidates), dtype=np.int64)
    sizes = np.zeros(len(queries), dtype=np.int64)
    least, runner_up = np.empty(len(queries)), np.empty(len(queries))
    delta = np.empty(distance.n_attributes)
    used = 0
    for i in range(len(queries)):
        mine = candidates[starts[i] : starts[i + 1]]
        distances = np.empty(len(mine))
        for e in range(len(mine)):
            distances[e] = _compute_distance(queries[i], searched[mine[e]], distance, delta)
        sizes[i], least[i], runner_up[i] = write_nearest(distances, mine, kept, used)
        used += sizes[i]
    return kept[:used].copy(), sizes, least, runner_up


@njit
def _inner(x: Floats, y: Floats) -> float:
    total = 0.0
    for j in range(len(x)):
        total += x[j] * y[j]
    return total
