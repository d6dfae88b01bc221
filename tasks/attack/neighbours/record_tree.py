"""Search trees over records with categories and gaps, one for each group of records: exact, with ties and the runner-up.

The boxes hold the numbers alone, and whether one is missing. Records are grouped beforehand by the categories in which query
and record must agree; in the other nominal columns they must all differ, which adds at least a known amount to each distance.

The least distance to a box is the same sum, in the same order of the columns, as that to a record, and rounding keeps order: so
the bound holds to the last digit, and no box is passed over by mistake. scipy's tree knows no gaps, and takes one radius for
all queries.
Source: Friedman, Bentley and Finkel (1977), "An algorithm for finding best matches in logarithmic expected time", ACM TOMS
3(3). Done otherwise than there: a box is first split by whether a value is missing, then at the median of the widest column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.attack.neighbours.ties import TIE, ensure_capacity
from tasks.mask.partitions.removable_tree import select_smallest
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

LEAF = 8
_HALVINGS = 64  # more than any number of records allows; a tree is split once more for each column by its gaps
_GAPS = "it asks for missing values"
_BOUNDS = "nothing was found yet; it only compares with it"
_MISSING = {"queries": _GAPS, "tree.rows": _GAPS}
_INFINITE = {"tree.low": "a box without numbers", "tree.high": "a box without numbers", "least": _BOUNDS, "runner_up": _BOUNDS}


class ColumnTerms(NamedTuple):
    """What the columns add to a squared distance. A named tuple: compiled code takes those.

    nominal: shape (columns,), is it compared by equality? weight: of a squared difference; root: its square root. form: what
    the distance weighs the column by. mismatch, missing: what a nominal column adds where two values differ, and any column
    where one of two is missing. is_plain: is `form` 1 everywhere, and not multiplied by?
    """

    nominal: Booleans
    weight: Floats
    root: Floats
    form: Floats
    mismatch: Floats
    missing: Floats
    is_plain: bool


class RecordTree(NamedTuple):
    """Nodes in the order in which they are entered: the left child of i is i + 1, the right one right[i]; 0 for a leaf.

    rows: shape (c, columns), the records in the order of the leaves; records: shape (c,), their numbers. start, stop: shape
    (nodes,), the places of a node's records. low, high: shape (nodes, columns), the box round their numbers, infinite the wrong
    way round where there is none. gaps: shape (nodes, columns), is one missing? roots: shape (groups,), -1 for an empty group.
    """

    rows: Floats
    records: Integers
    start: Integers
    stop: Integers
    right: Integers
    low: Floats
    high: Floats
    gaps: Booleans
    roots: Integers


@njit(missing={"values": _GAPS})
def build_record_tree(values: Floats, grouped: Integers, groups: Integers, terms: ColumnTerms) -> RecordTree:
    """One tree for each group of records.

    values: shape (c, columns), NaN is missing. grouped: the numbers of the records, group by group: of group g
    grouped[groups[g]:groups[g + 1]]. Cost: O(c columns log c).
    """
    records, n_groups, columns = grouped.copy(), len(groups) - 1, values.shape[1]
    room = 4 * (len(records) // LEAF) + 2 * n_groups + 16
    start, stop, right = (np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64))
    roots, nodes = np.full(n_groups, -1, dtype=np.int64), 0
    height = columns + _HALVINGS
    first, last, parent = np.empty(height, np.int64), np.empty(height, np.int64), np.empty(height, np.int64)
    for g in range(n_groups):
        if groups[g] == groups[g + 1]:
            continue
        roots[g], height = nodes, 1
        first[0], last[0], parent[0] = groups[g], groups[g + 1], -1
        while height:
            height -= 1
            begin, end = first[height], last[height]
            start, stop, right = (
                ensure_capacity(start, nodes),
                ensure_capacity(stop, nodes),
                ensure_capacity(right, nodes),
            )
            start[nodes], stop[nodes], right[nodes] = begin, end, 0
            if parent[height] >= 0:
                right[parent[height]] = nodes
            middle = begin + _split(values, records[begin:end], terms) if end - begin > LEAF else begin
            if middle > begin:
                first[height], last[height], parent[height] = middle, end, nodes
                first[height + 1], last[height + 1], parent[height + 1] = begin, middle, -1
                height += 2
            nodes += 1
    tree = RecordTree(
        values[records],
        records,
        start[:nodes].copy(),
        stop[:nodes].copy(),
        right[:nodes].copy(),
        np.full((nodes, columns), np.inf),
        np.full((nodes, columns), -np.inf),
        np.zeros((nodes, columns), dtype=np.bool_),
        roots,
    )
    _enclose(tree, terms.nominal)
    return tree


@njit(missing=_MISSING, infinite=_INFINITE)
def search_record_tree(
    tree: RecordTree,
    terms: ColumnTerms,
    queries: Floats,
    some: Integers,
    entered: Integers,
    differing: Booleans,
    least_mismatch: Floats,
    least: Floats,
    runner_up: Floats,
) -> tuple[Integers, Integers, Floats, int]:
    """What the records of the tree change in the least distances and the next ones of some queries, in place.

    queries: shape (q, columns). some: shape (a,), which of them ask. entered: shape (a,), the root at which each begins, -1 for
    none. differing: shape (columns,), the nominal columns in which query and record must all differ; records that agree in one
    are passed over. least_mismatch: shape (columns,), what a nominal column adds at least where the query's value is no gap and
    the record's differs. least, runner_up: shape (q,), infinite where nothing was found.

    Returns all records that tie with the least distance known so far: whose they are, which, and at what distance; and at how
    many records and boxes the queries looked.
    """
    whose, found, distances = np.empty(len(some) + 16, np.int64), np.empty(len(some) + 16, np.int64), np.empty(len(some) + 16)
    stack, bounds = np.empty(len(terms.weight) + _HALVINGS, np.int64), np.empty(len(terms.weight) + _HALVINGS)
    differs, best, used, looked = np.zeros(len(terms.weight)), np.empty(2), 0, 0
    for a in range(len(some)):
        if entered[a] < 0:
            continue
        query, first = queries[some[a]], used
        best[0], best[1] = least[some[a]], runner_up[some[a]]
        for j in range(len(differs)):
            if differing[j]:
                differs[j] = terms.missing[j] if np.isnan(query[j]) else least_mismatch[j]
        stack[0], bounds[0], height = entered[a], 0.0, 1
        while height:
            height -= 1
            if bounds[height] > best[1]:
                continue
            node = stack[height]
            if tree.right[node]:
                near, far = node + 1, tree.right[node]
                of_near = _compute_bound(tree, near, query, terms, differs, best[1])
                of_far = _compute_bound(tree, far, query, terms, differs, best[1])
                if of_far < of_near:
                    near, far, of_near, of_far = far, near, of_far, of_near
                stack[height], bounds[height], stack[height + 1], bounds[height + 1] = far, of_far, near, of_near
                height += 2
                looked += 2
                continue
            looked += tree.stop[node] - tree.start[node]
            for e in range(tree.start[node], tree.stop[node]):
                record = tree.rows[e]
                if _agree(query, record, differing):
                    continue
                distance = _compute_distance(query, record, terms, best[1])
                if _is_tied(distance, best):
                    found, distances = ensure_capacity(found, used), ensure_capacity(distances, used)
                    found[used], distances[used] = tree.records[e], distance
                    used += 1
        used = _drop_beaten(found, distances, first, used, best)
        while len(whose) < len(found):
            whose = ensure_capacity(whose, len(whose))
        whose[first:used] = some[a]
        least[some[a]], runner_up[some[a]] = best[0], best[1]
    return whose[:used].copy(), found[:used].copy(), distances[:used].copy(), looked


@njit
def _is_tied(distance: float, best: Floats) -> bool:
    """Is a distance the least so far, or equal to it? Keeps the least and the next: best[0], best[1]."""
    if distance * TIE < best[0]:
        best[1], best[0] = best[0], distance
    elif distance <= best[0] * TIE:
        best[0] = min(best[0], distance)
    else:
        best[1] = min(best[1], distance)
        return False
    return True


@njit
def _drop_beaten(found: Integers, distances: Floats, first: int, used: int, best: Floats) -> int:
    """Keep of the records from place `first` on those that tie with the least distance; where they end."""
    kept = first
    for e in range(first, used):
        if distances[e] <= best[0] * TIE:
            found[kept], distances[kept] = found[e], distances[e]
            kept += 1
        else:
            best[1] = min(best[1], distances[e])
    return kept


@njit
def _agree(query: Floats, record: Floats, differing: Booleans) -> bool:
    """Are two records equal in a column in which they must differ? Two gaps are equal."""
    for j in range(len(query)):
        if differing[j] and (query[j] == record[j] or (np.isnan(query[j]) and np.isnan(record[j]))):
            return True
    return False


@njit
def _compute_distance(x: Floats, y: Floats, terms: ColumnTerms, enough: float) -> float:
    """The squared distance as `distances` has it, to the last digit; infinity as soon as it is sure to be above `enough`."""
    total = 0.0
    for j in range(len(x)):
        if np.isnan(x[j]) or np.isnan(y[j]):
            total += 0.0 if np.isnan(x[j]) and np.isnan(y[j]) else terms.missing[j]
        elif terms.nominal[j]:
            total += terms.mismatch[j] if x[j] != y[j] else 0.0
        else:
            total += _weigh(x[j] - y[j], terms, j)
        if total > enough:
            return np.inf
    return total


@njit
def _weigh(difference: float, terms: ColumnTerms, j: int) -> float:
    if terms.is_plain:
        plain: float = terms.weight[j] * difference * difference
        return plain
    delta = terms.root[j] * difference
    weighted: float = terms.form[j] * (delta * delta)
    return weighted


@njit
def _compute_bound(tree: RecordTree, node: int, query: Floats, terms: ColumnTerms, differs: Floats, enough: float) -> float:
    """No record below a node is nearer; infinity as soon as that is above `enough`."""
    low, high, gaps, total = tree.low[node], tree.high[node], tree.gaps[node], 0.0
    for j in range(len(query)):
        if terms.nominal[j]:
            total += differs[j]
        elif np.isnan(query[j]):
            total += 0.0 if gaps[j] else terms.missing[j]
        elif low[j] > high[j]:
            total += terms.missing[j]
        elif query[j] < low[j] or query[j] > high[j]:
            term = _weigh(low[j] - query[j] if query[j] < low[j] else query[j] - high[j], terms, j)
            total += min(term, terms.missing[j]) if gaps[j] else term
        if total > enough:
            return np.inf
    return total


@njit
def _split(values: Floats, records: Integers, terms: ColumnTerms) -> int:
    """Rearrange the records of a node in two parts; where the second begins, 0 where they cannot be told apart.

    By the column in which the rarer of gap and value is most frequent; where there is none, at the median of the widest one.
    """
    of_gaps, rarer, widest, width = -1, 0, -1, 0.0
    for j in range(values.shape[1]):
        if terms.nominal[j]:
            continue
        low, high, missing = np.inf, -np.inf, 0
        for record in records:
            if np.isnan(values[record, j]):
                missing += 1
            else:
                low, high = min(low, values[record, j]), max(high, values[record, j])
        if min(missing, len(records) - missing) > rarer:
            of_gaps, rarer = j, min(missing, len(records) - missing)
        if high > low and _weigh(high - low, terms, j) > width:
            widest, width = j, _weigh(high - low, terms, j)
    if of_gaps >= 0:
        return part_by_gap(values[:, of_gaps], records)
    if widest < 0:
        return 0
    select_smallest(values[:, widest][records], records, len(records) // 2)
    return len(records) // 2


@njit
def part_by_gap(column: Floats, records: Integers) -> int:
    """Put the records with a value before those with a gap; returns where these begin."""
    present = 0
    for e in range(len(records)):
        if not np.isnan(column[records[e]]):
            records[present], records[e] = records[e], records[present]
            present += 1
    return present


@njit
def _enclose(tree: RecordTree, nominal: Booleans) -> None:
    """Write the boxes, of children before their parents."""
    low, high, gaps = tree.low, tree.high, tree.gaps
    for node in range(len(tree.right) - 1, -1, -1):
        for j in np.flatnonzero(~nominal):
            if tree.right[node]:
                one, two = node + 1, tree.right[node]
                low[node, j], high[node, j] = min(low[one, j], low[two, j]), max(high[one, j], high[two, j])
                gaps[node, j] = gaps[one, j] or gaps[two, j]
                continue
            for value in tree.rows[tree.start[node] : tree.stop[node], j]:
                if np.isnan(value):
                    gaps[node, j] = True
                else:
                    low[node, j], high[node, j] = min(low[node, j], value), max(high[node, j], value)
