"""The nearest records where attributes have categories or gaps: exact, by the columns in which two records differ.

A query first searches the records that agree with it in all nominal columns. The distance of the next one found bounds how many
mismatches can still win: for each set of columns whose mismatches alone add no more, it searches the records that differ in
these and agree in all others. Numbers and their gaps are searched by trees (`record_tree`). The queries look at all records
where trees would take longer: because few queries are left, there are too many sets of columns, or there are too many numbers
for boxes to keep records apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from tasks.attack.neighbours.distances import MISSING_AGAINST_PRESENT, DistanceKind, Form
from tasks.attack.neighbours.record_comparison import EQUAL, ComparedColumns
from tasks.attack.neighbours.record_tree import ColumnTerms, build_record_tree, search_record_tree
from tasks.attack.neighbours.ties import TIE
from tasks.attack.neighbours.tree import Decided
from tasks.microdata.codes import joint_codes
from tasks.microdata.table import Booleans, Floats, Integers

PAIRS_A_RECORD = 100  # pairs of records that are looked at in the time in which one record is put into a tree
PAIRS_A_QUERY = 600  # and in which one query searches a tree
_TRIED = 250  # queries; if they look at more than this share of the records, boxes do not keep records apart
_MOST_LOOKED_AT = 1 / 3
_FEW_QUERIES = 10_000  # fewer are not put in the order of a tree of their own
_ROUNDING = 1 - 1e-12  # of a sum in another order of the columns

LookAtAll = Callable[[Integers], Decided]  # the answer for some queries, by all pairs


@dataclass(frozen=True, slots=True)
class _NominalColumns:
    """The nominal columns in which two records can differ, as far as that counts.

    columns: shape (k,), their places. of_queries, of_searched: shape (q, k) and (c, k), codes, of which a gap has one of its
    own. least_mismatch: shape (all columns,), what a mismatch adds at least to a query that has a value. cost: shape (q, k),
    the same for each query.
    """

    columns: Integers
    of_queries: Integers
    of_searched: Integers
    least_mismatch: Floats
    cost: Floats


@dataclass(frozen=True, slots=True)
class _Search:
    """Queries and searched records, and what is known so far.

    least, runner_up: shape (q,), the least distances and the next ones. ties: by trees, whose they are, which and how far.
    settled: shape (q,), who has looked at all records; decided: what they found.
    """

    queries: Floats
    searched: Floats
    terms: ColumnTerms
    nominal: _NominalColumns
    look_at_all: LookAtAll
    least: Floats
    runner_up: Floats
    settled: Booleans
    ties: list[tuple[Integers, Integers, Floats]]
    decided: list[tuple[Integers, Decided]]

    def settle(self, asking: Integers) -> None:
        """Some queries look at all records."""
        if len(asking):
            self.settled[asking] = True
            self.decided.append((asking, self.look_at_all(asking)))

    def list_asking(self, differing: tuple[int, ...]) -> Integers:
        """The queries for which records that differ in these columns, and in no other, can be nearest or next."""
        cost = np.zeros(len(self.queries))
        for k in differing:
            cost += self.nominal.cost[:, k]
        return np.flatnonzero((cost <= self.runner_up) & ~self.settled)

    def search_trees(self, differing: tuple[int, ...], asking: Integers) -> None:
        """Some queries search the records that differ from them in these columns and agree in the other nominal ones."""
        nominal, n = self.nominal, len(asking)
        agreeing = (k for k in range(len(nominal.columns)) if k not in differing)
        joined = (np.concatenate([nominal.of_queries[asking, k], nominal.of_searched[:, k]]) for k in agreeing)
        codes = joint_codes(joined, n + len(self.searched))
        n_groups = int(codes.max()) + 1
        tree = build_record_tree(self.searched, *_group(codes[n:], n_groups), self.terms)
        order, groups = _group(codes[:n], n_groups)
        if n > _FEW_QUERIES:  # what one query needs of the tree is still at hand for the next
            order = build_record_tree(self.queries[asking], order, groups, self.terms).records
        must_differ = np.zeros(self.queries.shape[1], dtype=bool)
        must_differ[nominal.columns[list(differing)]] = True
        known = (must_differ, nominal.least_mismatch, self.least, self.runner_up)
        entered, step = tree.roots[codes[:n]], max(n // _TRIED, 1)
        for tried in (True, False):
            some = order[(np.arange(n) % step == 0) == tried]
            found = search_record_tree(tree, self.terms, self.queries, asking[some], entered[some], *known)
            self.ties.append(found[:3])
            looked = found[3]
            if tried and looked > _MOST_LOOKED_AT * len(some) * len(self.searched):
                self.settle(asking[order[np.arange(n) % step > 0]])
                return

    def collect(self) -> tuple[Integers, Decided]:
        """The answer for those who did not look at all records."""
        whose, found, distances = (np.concatenate(of) for of in zip(*self.ties, strict=True))
        beyond = distances > self.least[whose] * TIE
        np.minimum.at(self.runner_up, whose[beyond], distances[beyond])
        kept = ~beyond & ~self.settled[whose]
        whose, found = whose[kept], found[kept]
        order, asked = np.lexsort((found, whose)), np.flatnonzero(~self.settled)
        sizes = np.bincount(whose, minlength=len(self.queries))[asked]
        return asked, (found[order], sizes, self.least[asked], self.runner_up[asked])


def can_split_by_mismatches(columns: ComparedColumns, form: Form) -> bool:
    """Does each column add a term >= 0 of its own to the distance, a squared difference or a mismatch?"""
    return columns.is_plain and form.kind is DistanceKind.WEIGHTED and bool((form.vector >= 0).all())


def create_column_terms(columns: ComparedColumns, form: Form) -> ColumnTerms:
    """What the columns add to a distance of which `can_split_by_mismatches`, in the arithmetic of that distance."""
    root, is_plain = np.sqrt(columns.weight), form.is_plain
    mismatch = columns.weight if is_plain else form.vector * (root * root)
    missing = form.vector * MISSING_AGAINST_PRESENT
    return ColumnTerms(columns.kind == EQUAL, columns.weight, root, form.vector, mismatch, missing, is_plain)


def find_nearest_by_mismatches(
    queries: Floats, searched: Floats, terms: ColumnTerms, look_at_all: LookAtAll
) -> list[tuple[Integers, Decided]]:
    """For each query all records at the least distance and how far the next one is, as by all pairs; in parts of the queries.

    queries: shape (q, columns), searched: shape (c, columns), c >= 1; NaN is missing.
    Cost: O((q + c) log c) for each set of nominal columns in which mismatches can win; where that is more, as by all pairs.
    """
    queries, searched = _blank_what_adds_nothing(queries, searched, terms)
    nominal, n = _encode(queries, searched, terms), len(queries)
    bounds = np.full(n, np.inf), np.full(n, np.inf)
    search = _Search(queries, searched, terms, nominal, look_at_all, *bounds, np.zeros(n, dtype=bool), [], [])
    cheapest = np.cumsum(np.sort(nominal.cost, axis=1), axis=1) * _ROUNDING
    for size in range(len(nominal.columns) + 1):
        left = ~search.settled & (cheapest[:, size - 1] <= search.runner_up) if size else ~search.settled
        if not left.any():
            break
        if is_scan_faster(int(left.sum()), len(searched), comb(len(nominal.columns), size)):
            search.settle(np.flatnonzero(left))
            break
        for differing in combinations(range(len(nominal.columns)), size):
            asking = search.list_asking(differing)
            if is_scan_faster(len(asking), len(searched), 1):
                search.settle(asking)
            elif len(asking):
                search.search_trees(differing, asking)
    return [*search.decided, search.collect()] if search.ties else search.decided


def is_scan_faster(queries: int, records: int, trees: int) -> bool:
    """Do some queries look at all records in less time than they search so many trees?"""
    return 0 < queries * records < trees * (PAIRS_A_RECORD * records + PAIRS_A_QUERY * queries)


def _blank_what_adds_nothing(queries: Floats, searched: Floats, terms: ColumnTerms) -> tuple[Floats, Floats]:
    """Both files with one value for all of a column whose values add nothing, so that nobody searches by them."""
    queries, searched = queries.copy(), searched.copy()
    for j in range(queries.shape[1]):
        for of in (queries, searched):
            if terms.missing[j] == 0:
                of[:, j] = 0.0
            elif terms.nominal[j] and terms.mismatch[j] == 0:
                of[~np.isnan(of[:, j]), j] = 0.0
    return queries, searched


def _encode(queries: Floats, searched: Floats, terms: ColumnTerms) -> _NominalColumns:
    kept, codes, costs = [], [], []
    least_mismatch = np.where(terms.mismatch == 0, terms.missing, terms.mismatch)
    for j in np.flatnonzero(terms.nominal):
        values, code = np.unique(np.concatenate([queries[:, j], searched[:, j]]), return_inverse=True)
        if len(values) < 2:
            continue
        if np.isnan(searched[:, j]).any():
            least_mismatch[j] = min(least_mismatch[j], terms.missing[j])
        kept.append(j)
        codes.append(code)
        costs.append(np.where(np.isnan(queries[:, j]), terms.missing[j], least_mismatch[j]))
    columns, n = np.array(kept, dtype=np.int64), len(queries)
    coded = np.array(codes, dtype=np.int64).reshape(len(kept), n + len(searched)).T
    cost = np.array(costs, dtype=np.float64).reshape(len(kept), n).T
    return _NominalColumns(columns, coded[:n], coded[n:], least_mismatch, cost)


def _group(codes: Integers, n_groups: int) -> tuple[Integers, Integers]:
    """Numbers of records, group by group, and where the groups start and end."""
    return np.argsort(codes, kind="stable"), np.append(0, np.cumsum(np.bincount(codes, minlength=n_groups)))
