"""Which rows are nearest to a record: one exact search, with all ties, for every distance.

The plain distance (every attribute weighs the same) is a weighted mean among others. Only its inner loop is its own: it gives a
pair up as soon as the pair is sure to be too far. Where every column adds a term of its own, and there are categories or gaps,
trees decide (`mismatches`). Else, where the distance is Euclidean, a search tree proposes candidates (`tree`), and where it is
not, all rows are candidates. The distance itself decides among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tasks.attack.neighbours.distances import (
    MISSING_AGAINST_PRESENT,
    DistanceKind,
    Form,
    aggregate_differences,
    compute_record_distance,
)
from tasks.attack.neighbours.mismatches import (
    can_split_by_mismatches,
    create_column_terms,
    find_nearest_by_mismatches,
)
from tasks.attack.neighbours.record_comparison import EQUAL, ComparedColumns, write_differences
from tasks.attack.neighbours.ties import TIE, ensure_capacity
from tasks.attack.neighbours.tree import (
    FEWEST_RECORDS_OF_TREE,
    Decided,
    encode_one_hot,
    find_cheapest_by_tree,
    find_embedding,
    merge_decided,
    propose_by_tree,
)
from tasks.microdata.compiled import UnfitNumber, njit
from tasks.microdata.errors import NotFollowed
from tasks.microdata.table import Booleans, Floats, Integers

_PAIRS_AT_A_TIME = 1 << 23
_MOST_OF_A_KERNEL = 1000
_EVERYBODY = np.empty(0, dtype=np.int64)

_MISSING = dict.fromkeys(("queries", "searched"), "a missing value, which `_compute_distance` asks for")


class Nearest(NamedTuple):
    """For q queries all records at the least squared distance: of query i found[starts[i]:starts[i + 1]], ascending.

    least: shape (q,), that distance. runner_up: shape (q,), the least one beyond the tie; infinite where there is none.
    """

    starts: Integers
    found: Integers
    least: Floats
    runner_up: Floats


class _Distance(NamedTuple):
    """The distance as compiled functions take it: the rules of the columns (`ComparedColumns`), then the form of the
    differences. root: of the weights. adds_columns: is it a weighted mean of attributes of one column each?"""

    of_column: Integers
    weight: Floats
    attribute: Integers
    n_attributes: int
    missing_out: bool
    nominal: Booleans
    is_plain: bool
    kind: int
    vector: Floats
    matrix: Floats
    others: int
    root: Floats
    adds_columns: bool


@dataclass(frozen=True, slots=True)
class Search:
    """Searching records, what they search, and the distance: a form of their differences, or the polynomial kernel's.

    queries: shape (q, columns), searched: shape (c, columns), c >= 1; NaN is missing. is_turned: a kernel is about the mean of
    the queries, else of the searched.
    """

    queries: Floats
    searched: Floats
    columns: ComparedColumns
    form: Form
    is_turned: bool = False

    def nearest(self) -> Nearest:
        """For each query all records at the least distance, ties within a relative 1e-9, and how far the next one is.

        Cost: O((q + c) log c) for few attributes where each adds a term >= 0 of its own (see `find_nearest_by_mismatches` for
        many nominal ones), and by a k-d tree where the distance is Euclidean in at most 16 coordinates (see `find_embedding`)
        and nothing is missing; else O(q c d) time, O(q c d^2) for forms with interactions. Memory is linear in the records and
        the ties.
        """
        if self.is_mixed:
            return self.find_nearest_by_mismatches()
        coordinates = self._places()
        return self.find_nearest_by_pairs() if coordinates is None else self.find_nearest_by_tree(coordinates)

    def find_nearest_by_pairs(self) -> Nearest:
        """`nearest` by looking at every pair."""
        everybody = np.arange(len(self.queries))
        return _merge([(everybody, self.look_at_all(everybody))], len(self.queries))

    def find_nearest_by_mismatches(self) -> Nearest:
        """`nearest` by trees over records that agree in nominal columns; of terms >= 0 alone."""
        terms = create_column_terms(self.columns, self.form)
        decided = find_nearest_by_mismatches(self.queries, self.searched, terms, self.look_at_all)
        return _merge(decided, len(self.queries))

    def find_nearest_by_tree(self, coordinates: tuple[Floats, Floats]) -> Nearest:
        """`nearest` by a k-d tree over the places of `find_embedding`.

        The tree proposes all records within a hair of the least distance; who is nearest among them is decided by the distance
        itself, so that rounding in the tree's coordinates decides nothing.
        """
        queries, searched, distance = self._prepare()
        proposals = propose_by_tree(*coordinates)
        decided = [
            (some, _find_nearest(queries[some], searched, distance, starts, candidates))
            for some, starts, candidates in proposals
        ]
        return _merge(decided, len(queries))

    def matrix(self, some: Integers) -> Floats:
        """The squared distances of some queries to all searched records."""
        queries, searched, distance = self._prepare()
        return _matrix(queries[some], searched, distance)

    def few_nearest(self, k: int, some: Integers | None = None, price: Floats | None = None) -> tuple[Integers, Floats, Floats]:
        """The k searched records of least distance less price (fewer if there are not so many) of each query, or of some.

        price: shape (c,), default 0. Returns the records and their distances, shape (q, k), and what the distance less price of
        all others is at least, shape (q,): infinite where there are none.
        """
        queries = np.arange(len(self.queries)) if some is None else some
        prices = np.zeros(len(self.searched)) if price is None else price
        k, coordinates = min(k, len(self.searched)), self._places()
        if coordinates is not None:
            near, low = find_cheapest_by_tree(coordinates[0][queries], coordinates[1], prices, k)
        else:
            blocks = np.array_split(queries, max(-(-len(queries) * len(self.searched) // _PAIRS_AT_A_TIME), 1))
            parts = [_least(self.matrix(block) - prices, k) for block in blocks]
            near, low = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        apart = self.apart(np.repeat(queries, k), near.ravel()).reshape(near.shape)
        return near, apart, low if k < len(self.searched) else np.full(len(queries), np.inf)

    def apart(self, queries: Integers, searched: Integers) -> Floats:
        """The distances of some queries and searched records, one by one."""
        asked, found, distance = self._prepare()
        return _compute_distances(asked[queries], found, searched, distance)

    def swap_sides(self) -> Search:
        """The same distances, seen from the other file.

        A form may multiply the signed difference of a number with that of a category, which has no sign. The numbers are
        negated in both files, so that the difference of a pair keeps its sign although its records change places.
        """
        sign = np.where(self.columns.kind == EQUAL, 1.0, -1.0)
        return Search(self.searched * sign, self.queries * sign, self.columns, self.form, not self.is_turned)

    @property
    def is_mixed(self) -> bool:
        """Are there categories or gaps, in a distance that trees can split by them?"""
        if len(self.searched) < FEWEST_RECORDS_OF_TREE or not can_split_by_mismatches(self.columns, self.form):
            return False
        has_categories = bool((self.columns.kind == EQUAL).any())
        return has_categories or bool(np.isnan(self.queries).any() or np.isnan(self.searched).any())

    def look_at_all(self, some: Integers) -> Decided:
        """The answer for some queries, by every pair."""
        queries, searched, distance = self._prepare()
        return _find_nearest(queries[some], searched, distance, _EVERYBODY, np.arange(len(searched)))

    def _prepare(self) -> tuple[Floats, Floats, _Distance]:
        """Queries, searched records and the distance for compiled functions; a kernel takes coordinates and their length."""
        columns, form = self.columns, self.form
        of_columns = (columns.kind, columns.weight, columns.attribute, columns.n_attributes, columns.missing_out)
        is_plain = form.is_plain and columns.is_plain
        distance = _Distance(
            *(*of_columns, columns.kind == EQUAL, is_plain, int(form.kind), form.vector, form.matrix, form.others),
            root=np.sqrt(columns.weight),
            adds_columns=form.kind is DistanceKind.WEIGHTED and len(columns.kind) == columns.n_attributes,
        )
        if form.kind is DistanceKind.POLYNOMIAL:
            points, coordinates = compute_kernel_coordinates(self)
            return _append_lengths(points), _append_lengths(coordinates), distance
        return self.queries, self.searched, distance

    def _places(self) -> tuple[Floats, Floats] | None:
        if len(self.searched) < FEWEST_RECORDS_OF_TREE:
            return None
        return find_embedding(self.queries, self.searched, self.columns, self.form)


def compute_kernel_coordinates(search: Search) -> tuple[Floats, Floats]:
    """Standardised coordinates of queries and searched records for a kernel; a gap stands at the mean, and apart from values.

    Raises NotFollowed for more than 1,000 coordinates.
    """
    points, coordinates = [], []
    for j, (kind, weight) in enumerate(zip(search.columns.kind, search.columns.weight, strict=True)):
        x, y = search.queries[:, j], search.searched[:, j]
        if kind == EQUAL:
            coded = encode_one_hot(x, y)
            scaled = (coded[0] * np.sqrt(weight / 2), coded[1] * np.sqrt(weight / 2))
        else:
            middle = x if search.is_turned else y
            centre = float(np.nanmean(middle)) if not np.isnan(middle).all() else 0.0
            scaled = tuple(np.nan_to_num((of - centre) * np.sqrt(weight))[:, np.newaxis] for of in (x, y))
        points += [scaled[0], np.sqrt(MISSING_AGAINST_PRESENT) * np.isnan(x)[:, np.newaxis]]
        coordinates += [scaled[1], np.sqrt(MISSING_AGAINST_PRESENT) * np.isnan(y)[:, np.newaxis]]
        if sum(one.shape[1] for one in points) > _MOST_OF_A_KERNEL:
            raise NotFollowed(f"a kernel would need more than {_MOST_OF_A_KERNEL:,} coordinates for these categories")
    return np.ascontiguousarray(np.hstack(points)), np.ascontiguousarray(np.hstack(coordinates))


def _merge(decided: list[tuple[Integers, Decided]], n: int) -> Nearest:
    answer = Nearest(*merge_decided(decided, n))
    if np.isnan(answer.least).any():
        raise UnfitNumber(f"{__name__}.nearest", "distances", "NaN")
    return answer


def _least(distances: Floats, k: int) -> tuple[Integers, Floats]:
    near = np.argpartition(distances, k - 1, axis=1)[:, :k]
    return near, np.take_along_axis(distances, near, axis=1).max(axis=1)


@njit(missing=_MISSING)
def _find_nearest(
    queries: Floats, searched: Floats, distance: _Distance, starts: Integers, candidates: Integers
) -> tuple[Integers, Integers, Floats, Floats]:
    """Of each query the nearest among candidates[starts[i]:starts[i + 1]], or among all candidates where `starts` is empty.

    Returns them, ascending for each query; how many; the least distance (NaN if one cannot be computed); and the next.
    """
    n = len(queries)
    sizes, least, runner_up = np.zeros(n, dtype=np.int64), np.empty(n), np.empty(n)
    found, used = np.empty(n + 16, dtype=np.int64), 0
    distances, delta = np.empty(len(candidates)), np.empty(distance.n_attributes)
    for i in range(n):
        mine = candidates[starts[i] : starts[i + 1]] if len(starts) else candidates
        nearest = _write_distances(queries[i], searched, mine, distance, delta, distances, False)
        bound, first = nearest * TIE if nearest >= 0 else nearest / TIE, used
        least[i], runner_up[i] = nearest, np.inf
        for e in range(len(mine)):
            if distances[e] <= bound:
                found = ensure_capacity(found, used)
                found[used] = mine[e]
                used += 1
            else:
                runner_up[i] = min(runner_up[i], distances[e])
        sizes[i] = used - first
        if len(starts):
            found[first:used].sort()
    return found[:used].copy(), sizes, least, runner_up


@njit(missing=_MISSING)
def _matrix(queries: Floats, searched: Floats, distance: _Distance) -> Floats:
    everybody, delta = np.arange(len(searched)), np.empty(distance.n_attributes)
    distances = np.empty((len(queries), len(searched)))
    for i in range(len(queries)):
        _write_distances(queries[i], searched, everybody, distance, delta, distances[i], True)
    return distances


@njit(missing=_MISSING)
def _compute_distances(queries: Floats, searched: Floats, of_query: Integers, distance: _Distance) -> Floats:
    """The distance of each query from one searched record, searched[of_query[i]]."""
    distances, delta = np.empty(len(queries)), np.empty(distance.n_attributes)
    for i in range(len(queries)):
        _write_distances(queries[i], searched, of_query[i : i + 1], distance, delta, distances[i : i + 1], True)
    return distances


@njit
def _write_distances(
    query: Floats, searched: Floats, mine: Integers, distance: _Distance, delta: Floats, distances: Floats, in_full: bool
) -> float:
    """Write the distances of a query from some records into `distances`; returns the least, NaN if one cannot be computed.

    Unless they are wanted in full, plain distances are infinite where they are surely neither the least nor the next. The plain
    distance and the kernel's have loops of their own, because to choose between distances for each pair takes ten times as long
    as the pair.
    """
    if distance.is_plain and not in_full:
        return _write_plain_distances(query, searched, mine, distance.nominal, distance.weight, distances)
    if distance.kind == 6:
        _write_kernel_distances(query, searched, mine, int(distance.vector[0]), distances)
    elif distance.adds_columns:
        _write_weighted_distances(query, searched, mine, distance, distances)
    else:
        _write_form_distances(query, searched, mine, distance, delta, distances)
    least = np.inf
    for e in range(len(mine)):
        if np.isnan(distances[e]):
            return np.nan
        least = min(least, distances[e])
    return least


@njit
def _write_plain_distances(
    query: Floats, searched: Floats, mine: Integers, nominal: Booleans, weight: Floats, distances: Floats
) -> float:
    least, further = np.inf, np.inf
    for e in range(len(mine)):
        distance = compute_record_distance(query, searched[mine[e]], nominal, weight, further)
        distances[e] = distance
        if distance * TIE < least:
            further, least = least, distance
        elif distance <= least * TIE:
            least = min(least, distance)
        else:
            further = min(further, distance)
    return least


@njit
def _write_weighted_distances(query: Floats, searched: Floats, mine: Integers, distance: _Distance, distances: Floats) -> None:
    """`_write_form_distances` of a weighted mean, to the last digit, in a third of the time."""
    of_column, root, vector = distance.of_column, distance.root, distance.vector
    for e in range(len(mine)):
        record, total = searched[mine[e]], 0.0
        for j in range(len(query)):
            delta = query[j] - record[j]
            if np.isnan(delta):
                is_equal = np.isnan(query[j]) and np.isnan(record[j]) and not distance.missing_out
                total += 0.0 if is_equal else 2.0 * vector[j]
                continue
            if of_column[j] == 1:
                delta = root[j] if delta != 0 else 0.0
            elif of_column[j] == 2:
                delta = np.sqrt(distance.weight[j] * abs(delta))
            else:
                delta = root[j] * delta
            total += vector[j] * (delta * delta)
        distances[e] = total


@njit
def _write_form_distances(
    query: Floats, searched: Floats, mine: Integers, distance: _Distance, delta: Floats, distances: Floats
) -> None:
    of_column, weight, attribute, missing_out = distance.of_column, distance.weight, distance.attribute, distance.missing_out
    kind, vector, matrix, others = distance.kind, distance.vector, distance.matrix, distance.others
    for e in range(len(mine)):
        write_differences(query, searched[mine[e]], of_column, weight, attribute, missing_out, delta)
        distances[e] = aggregate_differences(kind, vector, matrix, others, delta)


@njit
def _write_kernel_distances(point: Floats, coordinates: Floats, mine: Integers, degree: int, distances: Floats) -> None:
    """By the polynomial kernel; the last coordinate of point and places is their own squared length."""
    last = len(point) - 1
    for e in range(len(mine)):
        position = coordinates[mine[e]]
        both = _inner(point, position, last)
        distances[e] = max((1 + point[last]) ** degree - 2 * (1 + both) ** degree + (1 + position[last]) ** degree, 0.0)


@njit
def _append_lengths(points: Floats) -> Floats:
    n, d = points.shape
    longer = np.empty((n, d + 1))
    longer[:, :d] = points
    for i in range(n):
        longer[i, d] = _inner(points[i], points[i], d)
    return longer


@njit
def _inner(x: Floats, y: Floats, d: int) -> float:
    total = 0.0
    for j in range(d):
        total += x[j] * y[j]
    return total
