"""One-to-one linkage: every released row is given to at most one record, so that the distances add up to the least.

An intruder who holds many records links them together: a row that is surely somebody else's is nobody's second choice. Under
normal noise of equal variance the least sum of squared distances is the likeliest assignment.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from tasks.attack.linkage.search import Search
from tasks.microdata.table import Integers

Assigned = tuple[Integers, Integers]
MOST_OF_A_FULL_MATRIX = 3_000  # records or rows of an assignment over all pairs
NEIGHBOURS = 16  # of each record of the smaller file that a larger assignment may choose from
LEFT_OUT = 2.0  # what it costs to be given none of these, over the largest distance among them


def assigned(search: Search, of_query: Integers, of_searched: Integers, *, full: int = MOST_OF_A_FULL_MATRIX) -> Assigned:
    """Assign the records of the two files to each other, one to one, with the least sum of squared distances.

    of_query, of_searched: which of the distinct records each record of either file is. In files of different sizes the records
    of the larger one that are left over are given to nobody.

    Returns starts and classes of the links: which distinct searched records the records of each query class were given to.
    Equal records cannot be told apart: those of one class share all that was given to any of them. The solver sees the distinct
    records in ascending order, so that the order of neither file decides between assignments of the same sum.

    Cost: up to `full` records in each file O(n^3) time and O(n^2) memory over all pairs (scipy's linear_sum_assignment).
    Beyond, in rounds: each record of the smaller file may be given one of its 16 nearest distinct ones still free, or none at
    twice the distance of the last of these (the sparse assignment of scipy.sparse.csgraph; free to be given none, every round
    has a solution); who is given none goes into the next round, the last `full` over all pairs. That is the least sum among
    near neighbours, not surely over all.
    """
    queries, searched = _members(of_query, len(search.queries)), _members(of_searched, len(search.searched))
    if len(queries) > len(searched):
        turned = Search(search.searched, search.queries, search.columns, search.form)
        rows, records = _in_rounds(turned, searched, queries, full)
    else:
        records, rows = _in_rounds(search, queries, searched, full)
    return _links(queries[records], searched[rows], len(search.queries))


def _members(classes: Integers, n_classes: int) -> Integers:
    """The class of each record, ascending: records of a file, without their order."""
    return np.repeat(np.arange(n_classes), np.bincount(classes, minlength=n_classes))


def _in_rounds(search: Search, queries: Integers, searched: Integers, full: int) -> Assigned:
    """Places in `queries` (the smaller file) and in `searched` that are given to each other."""
    left, free = np.arange(len(queries)), np.arange(len(searched))
    parts: list[Assigned] = []
    while len(left):
        part = _part(search, queries[left], searched[free])
        given = _over_all(*part) if max(len(left), len(free)) <= full or len(left) * len(free) <= full**2 else _sparse(*part)
        parts.append((left[given[0]], free[given[1]]))
        left, free = np.delete(left, given[0]), np.delete(free, given[1])
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _part(search: Search, queries: Integers, searched: Integers) -> tuple[Search, Integers, Integers]:
    """The search among the distinct records of some of both files, and which of them each of these records is."""
    some, own = np.unique(queries, return_inverse=True)
    others, theirs = np.unique(searched, return_inverse=True)
    return Search(search.queries[some], search.searched[others], search.columns, search.form), own, theirs


def _over_all(search: Search, queries: Integers, searched: Integers) -> Assigned:
    distances = search.matrix(np.arange(len(search.queries)))
    records, rows = linear_sum_assignment(distances[queries][:, searched])
    return records, rows


def _sparse(search: Search, queries: Integers, searched: Integers) -> Assigned:
    """The least assignment among near neighbours, of those who are given one."""
    near, apart = search.few_nearest(NEIGHBOURS)
    begins, n = np.searchsorted(searched, near), len(queries)
    sizes = (np.searchsorted(searched, near, "right") - begins)[queries]
    costs = apart - apart.min() + max(1e-6 * float(np.ptp(apart)), 1e-9)  # a stored 0 would be no edge
    nobody = LEFT_OUT * costs.max(axis=1)
    starts = np.append(0, np.cumsum(sizes.sum(axis=1) + 1))
    columns, weights = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
    last = starts[1:] - 1
    others = np.delete(np.arange(starts[-1]), last)
    columns[others], columns[last] = _spread(begins[queries].ravel(), sizes.ravel()), len(searched) + np.arange(n)
    weights[others], weights[last] = np.repeat(costs[queries].ravel(), sizes.ravel()), nobody[queries]
    graph = csr_array((weights, columns, starts), shape=(n, len(searched) + n))
    records, rows = min_weight_full_bipartite_matching(graph)
    there = rows < len(searched)
    return np.asarray(records[there], dtype=np.int64), np.asarray(rows[there], dtype=np.int64)


def _spread(begins: Integers, sizes: Integers) -> Integers:
    """begins[0], begins[0] + 1, ... (sizes[0] of them), then begins[1], ..."""
    before = np.cumsum(sizes) - sizes
    spread: Integers = np.arange(int(sizes.sum())) + np.repeat(begins - before, sizes)
    return spread


def _links(queries: Integers, searched: Integers, n_classes: int) -> Assigned:
    pairs = np.unique(np.column_stack([queries, searched]), axis=0)
    return np.searchsorted(pairs[:, 0], np.arange(n_classes + 1)), np.ascontiguousarray(pairs[:, 1])
