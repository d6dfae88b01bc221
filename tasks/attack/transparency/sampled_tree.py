"""Trees over records, or released rows, whose nodes hold a random sample of what is below them (`sampled_sums`).

A node is split where that tells its probabilities apart best: by a coordinate, or by the code of a randomised attribute. The
samples are drawn from a public stream: they decide what an intruder computes, and are no part of the masking. So the same
tables always give the same figures.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.attack.neighbours.record_tree import RecordTree, part_by_gap
from tasks.attack.neighbours.ties import ensure_capacity
from tasks.attack.transparency.image_trees import BLOCK, REACH, SearchedPlaces, find_least, join_columns
from tasks.mask.partitions.removable_tree import select_smallest
from tasks.microdata.compiled import njit
from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.microdata.table import Floats, Integers

DRAWS = 8  # of each node, with replacement
HALVINGS = 64  # of a tree, and of each law; it is split once more for each column with gaps
_LARGEST_DIFFERENCE = 40.0  # of two logarithms of a law, for the order of the splits
_GAPS = "it asks for missing values"


class SampledTree(NamedTuple):
    """A tree over places, and of each node a simple random sample with replacement of the records or rows below it.

    places: as they are searched. shared: shape (nodes, L), the code of each law that all places below a node have, -1 where
    they differ. counts: shape (k,), how many records or rows stand at each place; weight, log_weight: shape (nodes,), their sum
    below a node. drawn: shape (nodes, DRAWS), places; coordinates: (nodes, DRAWS, D), codes: (nodes, DRAWS, L) of these.
    """

    places: SearchedPlaces
    shared: Integers
    counts: Floats
    weight: Floats
    log_weight: Floats
    drawn: Integers
    coordinates: Floats
    codes: Integers


def build_sampled_tree(
    coordinates: Floats,
    codes: Integers,
    of_intervals: tuple[Floats, Floats],
    groups: tuple[Integers, Integers],
    price: Floats,
    log_probability: Floats,
    counts: Floats,
    name: str,
) -> SampledTree:
    """Build the tree over k places and draw the samples.

    coordinates: shape (k, D), in standard deviations of the noise. codes: shape (k, L), as `own_at` or `shown_at`.
    of_intervals: what intervals ask for, shape (k, columns), and how wide they are. groups: places group by group, and where
    each begins. price: shape (k,). counts: shape (k,), records or rows at a place.
    name: of the stream that the samples are drawn from. Cost: O(k (D + L) log k).
    """
    values = join_columns(coordinates, of_intervals[0])
    scale = np.concatenate([np.ones(coordinates.shape[1]), REACH / of_intervals[1]])
    finite = log_probability[np.isfinite(log_probability)]
    difference = min(float(np.ptp(finite)) if len(finite) else 0.0, _LARGEST_DIFFERENCE)
    tree, shared = _build(values, scale, np.ascontiguousarray(codes), float(np.sqrt(2 * difference)), *groups)
    order = tree.records
    counts, price = counts[order].astype(np.float64), price[order]
    before = np.concatenate([[0.0], np.cumsum(counts)])
    weight = before[tree.stop] - before[tree.start]
    uniform = stream(bytes(SEED_BYTES), "sampled tree", name).random((len(weight), DRAWS))
    asked = before[tree.start, np.newaxis] + uniform * weight[:, np.newaxis]
    drawn = np.searchsorted(before, asked, side="right") - 1
    drawn = np.clip(drawn, tree.start[:, np.newaxis], tree.stop[:, np.newaxis] - 1)
    ordered, coded = np.ascontiguousarray(coordinates[order].T), np.ascontiguousarray(codes[order].T)
    most = codes.shape[1] * max(float(log_probability.max(initial=0.0)), 0.0)
    places = SearchedPlaces(tree, ordered, coded, price, find_least(tree.start, tree.stop, price), most)
    points, kinds = coordinates[order[drawn]], codes[order[drawn]]
    return SampledTree(places, shared, counts, weight, np.log(weight), drawn, points, kinds)


def find_largest(log_probability: Floats, asking: Integers, answering: Integers) -> Floats:
    """Shape (q, L): of each law the largest logarithm that any place can give who asks.

    asking: shape (q, L), answering: shape (k, L), as `own_at` and `shown_at`, or the other way round.
    """
    found = np.empty(asking.shape)
    for j in range(asking.shape[1]):
        kinds, back = np.unique(asking[:, j], return_inverse=True)
        found[:, j] = log_probability[kinds[:, np.newaxis] + np.unique(answering[:, j])].max(axis=1, initial=-np.inf)[back]
    return found


@njit(missing={"values": _GAPS})
def _build(
    values: Floats, scale: Floats, codes: Integers, width_of_codes: float, grouped: Integers, groups: Integers
) -> tuple[RecordTree, Integers]:
    records, n_groups, columns = grouped.copy(), len(groups) - 1, values.shape[1]
    room = 4 * (len(records) // BLOCK) + 2 * n_groups + 16
    start, stop, right = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    roots, nodes = np.full(n_groups, -1, dtype=np.int64), 0
    height = columns + (codes.shape[1] + 1) * HALVINGS
    first, last, parent = np.empty(height, np.int64), np.empty(height, np.int64), np.empty(height, np.int64)
    for g in range(n_groups):
        if groups[g] == groups[g + 1]:
            continue
        roots[g], height = nodes, 1
        first[0], last[0], parent[0] = groups[g], groups[g + 1], -1
        while height:
            height -= 1
            begin, end = first[height], last[height]
            start, stop, right = ensure_capacity(start, nodes), ensure_capacity(stop, nodes), ensure_capacity(right, nodes)
            start[nodes], stop[nodes], right[nodes] = begin, end, 0
            if parent[height] >= 0:
                right[parent[height]] = nodes
            middle = begin
            if end - begin > BLOCK:
                middle += _split(values, scale, codes, width_of_codes, records[begin:end])
            if middle > begin:
                first[height], last[height], parent[height] = middle, end, nodes
                first[height + 1], last[height + 1], parent[height + 1] = begin, middle, -1
                height += 2
            nodes += 1
    tree = RecordTree(
        values[:0].copy(),  # a slice would keep all values in memory
        records,
        start[:nodes].copy(),
        stop[:nodes].copy(),
        right[:nodes].copy(),
        np.full((nodes, columns), np.inf),
        np.full((nodes, columns), -np.inf),
        np.zeros((nodes, columns), dtype=np.bool_),
        roots,
    )
    shared = np.empty((nodes, codes.shape[1]), dtype=np.int64)
    _enclose(tree, values, codes, shared)
    return tree, shared


@njit
def _split(values: Floats, scale: Floats, codes: Integers, width_of_codes: float, records: Integers) -> int:
    """Rearrange the records of a node in two parts; where the second begins, 0 where they cannot be told apart.

    By the column in which the rarer of gap and value is most frequent; where there is none, at the median of the widest one,
    in which a law with several codes is as wide as two coordinates apart that make as much of a difference.
    """
    of_gaps, rarer, widest, width = -1, 0, -1, 0.0
    for j in range(values.shape[1]):
        low, high, missing = np.inf, -np.inf, 0
        for record in records:
            if np.isnan(values[record, j]):
                missing += 1
            else:
                low, high = min(low, values[record, j]), max(high, values[record, j])
        if min(missing, len(records) - missing) > rarer:
            of_gaps, rarer = j, min(missing, len(records) - missing)
        if high > low and (high - low) * scale[j] > width:
            widest, width = j, (high - low) * scale[j]
    if of_gaps >= 0:
        return part_by_gap(values[:, of_gaps], records)
    for j in range(codes.shape[1]):
        if width_of_codes > width:
            middle = _part_by_code(codes[:, j], records)
            if middle > 0:
                return middle
    if widest < 0:
        return 0
    select_smallest(values[:, widest][records], records, len(records) // 2)
    return len(records) // 2


@njit
def _part_by_code(column: Integers, records: Integers) -> int:
    """Order the records by their codes; where the code changes nearest to the middle, 0 where all have one code."""
    differs = False
    for record in records:
        if column[record] != column[records[0]]:
            differs = True
            break
    if not differs:
        return 0
    records[:] = records[np.argsort(column[records], kind="mergesort")]
    below = above = len(records) // 2
    while below > 0 and column[records[below - 1]] == column[records[below]]:
        below -= 1
    while above < len(records) and column[records[above - 1]] == column[records[above]]:
        above += 1
    if below == 0 or (above < len(records) and above - len(records) // 2 < len(records) // 2 - below):
        return above
    return below


@njit
def _enclose(tree: RecordTree, values: Floats, codes: Integers, shared: Integers) -> None:
    """Write the boxes, and the codes that are shared, of children before their parents."""
    low, high, gaps = tree.low, tree.high, tree.gaps
    for node in range(len(tree.right) - 1, -1, -1):
        one, two, first = node + 1, tree.right[node], tree.records[tree.start[node]]
        for j in range(values.shape[1]):
            if two:
                low[node, j], high[node, j] = min(low[one, j], low[two, j]), max(high[one, j], high[two, j])
                gaps[node, j] = gaps[one, j] or gaps[two, j]
                continue
            for record in tree.records[tree.start[node] : tree.stop[node]]:
                if np.isnan(values[record, j]):
                    gaps[node, j] = True
                else:
                    low[node, j], high[node, j] = min(low[node, j], values[record, j]), max(high[node, j], values[record, j])
        for j in range(codes.shape[1]):
            if two:
                shared[node, j] = shared[one, j] if shared[one, j] == shared[two, j] else -1
                continue
            shared[node, j] = codes[first, j]
            for record in tree.records[tree.start[node] : tree.stop[node]]:
                if codes[record, j] != codes[first, j]:
                    shared[node, j] = -1
