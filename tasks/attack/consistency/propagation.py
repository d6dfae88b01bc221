"""What is left of possible pairs when each of them needs a second one: the greatest set in which all have what they need."""

from __future__ import annotations

import numpy as np
import scipy

from tasks.attack.consistency.exchanges import Exchange, KindCounts
from tasks.attack.consistency.orbits import PossiblePairs
from tasks.attack.consistency.tolerance import PartnerKinds
from tasks.microdata.errors import AttackFailed
from tasks.microdata.table import Booleans, Integers

MOST_ASSIGNED = 2_000_000  # pairs up to which whole assignments are looked at


def propagate_constraints(pairs: PossiblePairs, exchanges: tuple[Exchange, ...], counts: KindCounts) -> PossiblePairs:
    """The pairs that are left when `keep_supported_pairs` and `assignable` leave out no more.

    Sound: if the pairs hold the truth, so do those that are left.
    Raises AttackFailed as `assignable`. Cost: that of both for each round; from the orbits on 2 to 4 rounds were seen.
    """
    while True:
        left = keep_supported_pairs(pairs, exchanges)
        if len(left.rows) <= MOST_ASSIGNED:
            left = assignable(left, counts)
        if len(left.rows) == len(pairs.rows):
            return left
        pairs = left


def keep_supported_pairs(pairs: PossiblePairs, exchanges: tuple[Exchange, ...]) -> PossiblePairs:
    """The largest set of pairs in which each has a partner in each attribute.

    Formula in words: a pair of a record that held b with a row that shows a needs a pair of a record that held a with a row
    that shows b; that is its own, where a = b. Nothing is asked where not all who held a, or not all rows that show b, are
    known. Pairs without a partner are left out, until all have one. Any partner will do: of equal values it is not known whose,
    and so of values that are shown within bounds (`PartnerKinds`).
    Cost: O(e log e) per attribute for e pairs, then O(e) per attribute and round.
    Example: records that held 1, 2, 3, rows that show 2, 1, 3: that 1 became 3 needs that 3 became 1.
    """
    records = pairs.records
    kinds = [classify_changes(exchange, records, pairs.rows) for exchange in exchanges if exchange.tolerance is None]
    within = [
        PartnerKinds.create_from_exchange(exchange, exchange.tolerance, records, pairs.rows)
        for exchange in exchanges
        if exchange.tolerance is not None
    ]
    alive = np.ones(len(records), dtype=bool)
    while True:
        left = alive.copy()
        for kind, opposite, n_kinds in kinds:
            there = np.bincount(kind[alive], minlength=n_kinds + 2) > 0
            there[n_kinds:] = True, False
            left &= there[opposite]
        for partners in within:
            left &= partners.find_supported(alive)
        if left.all() or left.sum() == alive.sum():
            return pairs.select_pairs(left)
        alive = left


def classify_changes(exchange: Exchange, records: Integers, rows: Integers) -> tuple[Integers, Integers, int]:
    """The kind (held, shown) of each pair, that of the partner it needs, and how many kinds there are, k.

    The kind k stands for a partner that is not asked for, k + 1 for one that does not exist.
    """
    before, after = exchange.held[records].astype(np.int64), exchange.shown[rows].astype(np.int64)
    n_values = len(exchange.holder)
    codes, kind = np.unique(before * n_values + after, return_inverse=True)
    wanted = after * n_values + before
    opposite = np.minimum(np.searchsorted(codes, wanted), max(len(codes) - 1, 0))
    there = codes[opposite] == wanted if len(codes) else np.zeros(0, dtype=bool)
    asked = exchange.holders_known[after] & exchange.rows_known[before]
    return kind, np.where(asked, np.where(there, opposite, len(codes) + 1), len(codes)), len(codes)


def assignable(pairs: PossiblePairs, counts: KindCounts) -> PossiblePairs:
    """The pairs that some assignment of rows to records contains; each row goes to one record.

    Every record has a row where all are released, every row a record where the intruder holds all; else nothing follows.
    One assignment is found by maximum flow; another one contains a pair if and only if a circle of pairs within and outside
    the first leads through it, that is, if both ends are in one strong component of the residual graph.

    Raises AttackFailed where there is no assignment: then some true pair was not among these.
    Cost: one maximum flow and a pass over the pairs.
    Source: Regin (1994), "A filtering algorithm for constraints of difference in CSPs".
    """
    if not (counts.all_records or counts.all_rows):
        return pairs
    records, rows = pairs.records, pairs.rows + len(counts.records)
    used = _flow(records, rows, counts)
    done = np.bincount(records, weights=used, minlength=len(counts.records))
    taken = np.bincount(pairs.rows, weights=used, minlength=pairs.n_rows)
    if (counts.all_rows and (done < counts.records).any()) or (counts.all_records and (taken < counts.rows).any()):
        raise AttackFailed("no assignment of rows to records is consistent: the stated exchange is not what was done")
    component = _components(records, rows, used > 0, len(done) + len(taken), _free(done, taken, counts))
    return pairs.select_pairs((used > 0) | (component[records] == component[rows]))


def _flow(records: Integers, rows: Integers, counts: KindCounts) -> Integers:
    """Shape (e,): how many of the records of each pair have rows of it in one largest assignment."""
    n_records, n = len(counts.records), len(counts.records) + len(counts.rows)
    source, sink = n, n + 1
    tails = np.concatenate([np.full(n_records, source), records, np.arange(n_records, n)])
    heads = np.concatenate([np.arange(n_records), rows, np.full(len(counts.rows), sink)])
    most = np.concatenate([counts.records, np.minimum(counts.records[records], counts.rows[rows - n_records]), counts.rows])
    arcs_by_ends = most.astype(np.int32), (tails.astype(np.int32), heads.astype(np.int32))
    graph = scipy.sparse.csr_array(arcs_by_ends, shape=(n + 2, n + 2))
    flow = scipy.sparse.csgraph.maximum_flow(graph, source, sink).flow.tocoo()
    arcs = flow.row.astype(np.int64) * (n + 2) + flow.col  # each of the arcs is among them, and its way back
    order = np.argsort(arcs)
    positions = order[np.searchsorted(arcs[order], records * (n + 2) + rows)]
    return np.asarray(np.maximum(flow.data[positions], 0), dtype=np.int64)


def _free(done: Integers, taken: Integers, counts: KindCounts) -> tuple[Integers, Integers]:
    """Of the side that need not be used up the nodes from which an arc leads to what is not used, and those it leads to."""
    if counts.all_records and counts.all_rows:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if counts.all_rows:
        return len(done) + np.flatnonzero(taken < counts.rows), len(done) + np.flatnonzero(taken > 0)
    return np.flatnonzero(done > 0), np.flatnonzero(done < counts.records)


def _components(records: Integers, rows: Integers, used: Booleans, n: int, free: tuple[Integers, Integers]) -> Integers:
    """The strong component of each of n nodes in the residual graph, and of one more that stands for what is not used up."""
    more, less = free
    tail = np.concatenate([records, rows[used], more, np.full(len(less), n)])
    head = np.concatenate([rows, records[used], np.full(len(more), n), less])
    graph = scipy.sparse.csr_array((np.ones(len(tail), dtype=bool), (tail, head)), shape=(n + 1, n + 1))
    _, component = scipy.sparse.csgraph.connected_components(graph, directed=True, connection="strong")
    return np.asarray(component, dtype=np.int64)
