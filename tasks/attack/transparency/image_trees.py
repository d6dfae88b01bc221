"""Search trees where noise was added: over the rows for a record's likely images, over the records for what speaks for a row.

Where the noise is white with variance 1, a row at distance t is e^(-t^2 / 2) times as probable as one on the spot. So rows and
records that are far from each other are passed over a box at a time, and all other pairs of records and rows are looked at.
The search for the likeliest row ends near the record. The sums need all that is within about nine standard deviations of the
noise. That is a share of all pairs which does not shrink as the table grows, so the sums stay quadratic: with independent noise
of 30 percent on six correlated attributes it was three quarters of the pairs. Nothing is approximated to save them: a sum
leaves out at most 1e-12 of itself (`LEFT_OUT`).

The least distance to a box is summed as that to a point, in the same order, and rounding keeps order: no box is passed over by
mistake. `neighbours.record_tree` builds the trees; that room searches the nearest by one distance, this one sums, and searches
by a law that is no distance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.attack.neighbours.record_tree import ColumnTerms, RecordTree, build_record_tree
from tasks.attack.transparency.intersection import (
    MISSING_POSITIONS,
    UNBOUNDED_CONDITIONS,
    ArrangedConditions,
    meets_conditions,
)
from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

BLOCK = 32  # records or rows of which all are looked at together
LEFT_OUT = 1e-12  # the share of a sum that is left out at most
REACH = 9.0  # standard deviations of the noise, for the shape of the boxes
_HALVINGS = 64  # of a tree; it is split once more for each column with gaps
_NARROWEST = 1e-6  # an interval, relative to all positions, for the shape of the boxes


class SearchedPlaces(NamedTuple):
    """Places that are searched, in the order of the leaves: of rows, or of records.

    tree: over the coordinates, and after these what intervals ask for: of rows their positions; of records the low ends, then
        the high ends, of their intervals.
    coordinates: shape (D, k). codes: shape (L, k), as `shown_at` and `own_at`. price: shape (k,), what is taken off a
        logarithm: of a row its evidence, infinite if it is nobody's. least: shape (nodes,), the least price in each node.
    most: what the logarithms of the probabilities of the discrete laws are together at most.
    """

    tree: RecordTree
    coordinates: Floats
    codes: Integers
    price: Floats
    least: Floats
    most: float


def compute_reach(n: int) -> float:
    """Terms that are e^-reach times a sum are together at most 1e-12 of it, if there are n of them."""
    return float(np.log(max(n, 1) / LEFT_OUT))


def arrange_rows(conditions: ArrangedConditions, evidence: Floats) -> SearchedPlaces:
    """The rows as records search them. evidence: shape (c,), log q of each row."""
    everybody = np.arange(len(conditions.shown_at))
    price = np.where(np.isneginf(evidence), np.inf, evidence)
    return _arrange(
        conditions.shown_coordinates,
        conditions.shown_at,
        measure_intervals(conditions, of_records=False),
        (everybody, conditions.group_starts),
        price,
        conditions.log_probability,
    )


def arrange_records(conditions: ArrangedConditions) -> tuple[SearchedPlaces, bool]:
    """The records as rows search them, and whether they are grouped by their code in the first list: where each has but one."""
    is_grouped, groups = group_records(conditions)
    places = _arrange(
        conditions.own_coordinates,
        conditions.own_at,
        measure_intervals(conditions, of_records=True),
        groups,
        np.zeros(len(conditions.own_at)),
        conditions.log_probability,
    )
    return places, is_grouped


def group_records(conditions: ArrangedConditions) -> tuple[bool, tuple[Integers, Integers]]:
    """Whether records are grouped by their code in the first list, and the records group by group and where each begins."""
    begins, ends = conditions.begins[0], conditions.ends[0]
    is_grouped = bool((ends - begins == 1).all())
    codes = conditions.allowed[begins] if is_grouped else np.zeros(len(begins), dtype=np.int64)
    return is_grouped, order_by_group(codes, len(conditions.group_starts) - 1 if is_grouped else 1)


def order_by_group(groups: Integers, n_groups: int) -> tuple[Integers, Integers]:
    """The records group by group, shape (r,), and where each group begins, shape (n_groups + 1,). groups: shape (r,); whoever
    is in none, by a number below 0, stands before all of them.
    """
    records = np.argsort(groups, kind="stable")
    return records, np.searchsorted(groups[records], np.arange(n_groups + 1))


def measure_intervals(conditions: ArrangedConditions, *, of_records: bool) -> tuple[Floats, Floats]:
    """What intervals ask for, as columns, and how wide the intervals of each column are."""
    widths = _measure_widths(conditions)
    if not of_records:
        return conditions.positions, widths
    # An interval without an end asks for nothing that a row does not have: its end may as well be the outermost position.
    least, most = _find_ends(conditions.positions)
    bounds = np.column_stack([np.clip(conditions.low, least, most), np.clip(conditions.high, least, most)])
    return bounds, np.concatenate([widths, widths])


def join_columns(coordinates: Floats, of_intervals: Floats) -> Floats:
    """Coordinates, and beside them what intervals ask for, which are not copied where there are no coordinates."""
    columns = np.column_stack([coordinates, of_intervals]) if coordinates.shape[1] else of_intervals
    return np.ascontiguousarray(columns)


def arrange_nothing() -> SearchedPlaces:
    """No places, where no noise was added."""
    empty, none, places = np.empty((0, 0)), np.empty(0), np.empty(0, dtype=np.int64)
    tree = RecordTree(empty, places, places, places, places, empty, empty, np.empty((0, 0), dtype=bool), places)
    return SearchedPlaces(tree, empty, np.empty((0, 0), dtype=np.int64), none, none, 0.0)


def _arrange(
    coordinates: Floats,
    codes: Integers,
    of_intervals: tuple[Floats, Floats],
    groups: tuple[Integers, Integers],
    price: Floats,
    log_probability: Floats,
) -> SearchedPlaces:
    values = join_columns(coordinates, of_intervals[0])
    root = np.concatenate([np.ones(coordinates.shape[1]), REACH / of_intervals[1]])
    nothing, ones = np.zeros(len(root)), np.ones(len(root))
    terms = ColumnTerms(np.zeros(len(root), dtype=bool), root**2, root, ones, nothing, nothing, True)
    tree = build_record_tree(values, *groups, terms)
    order = tree.records
    return SearchedPlaces(
        tree,
        np.ascontiguousarray(coordinates[order].T),
        np.ascontiguousarray(codes[order].T),
        price[order],
        find_least(tree.start, tree.stop, price[order]),
        codes.shape[1] * max(float(log_probability.max(initial=0.0)), 0.0),
    )


def _measure_widths(conditions: ArrangedConditions) -> Floats:
    """Shape (q,): how wide the intervals are on average, above 0."""
    least, most = _find_ends(conditions.positions)
    widths = np.clip(conditions.high, least, most) - np.clip(conditions.low, least, most)
    present = ~np.isnan(widths)
    mean = np.where(present, widths, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    floor = np.maximum(most - least, 1.0) * _NARROWEST
    found: Floats = np.maximum(mean, floor)
    return found


def _find_ends(positions: Floats) -> tuple[Floats, Floats]:
    """The least and the largest position of each column, 0 where all are missing."""
    none = np.isnan(positions).all(axis=0) if len(positions) else np.ones(positions.shape[1], dtype=bool)
    least = np.where(none, 0.0, np.where(np.isnan(positions), np.inf, positions).min(axis=0, initial=np.inf))
    most = np.where(none, 0.0, np.where(np.isnan(positions), -np.inf, positions).max(axis=0, initial=-np.inf))
    return least, most


@njit(infinite={"price": "infinite: a row that is nobody's; it only compares"})
def find_least(start: Integers, stop: Integers, price: Floats) -> Floats:
    least = np.empty(len(start))
    for node in range(len(start)):
        least[node] = price[start[node] : stop[node]].min()
    return least


@njit
def write_images_in_reach(
    i: int, conditions: ArrangedConditions, shown: SearchedPlaces, reach: float, possible: Integers, scores: Floats
) -> int:
    """Write the possible images of record i with a log P / q of at least the largest less `reach`, in no order, and that
    logarithm of each; returns how many they are.
    """
    point, at, tree = conditions.own_coordinates[i], conditions.own_at[i], shown.tree
    low, high = conditions.low[i], conditions.high[i]
    most = tree.low.shape[1] + (len(at) + 1) * _HALVINGS  # a sampled tree is split by each law as well
    stack, bounds, block = np.empty(most, dtype=np.int64), np.empty(most), np.empty(BLOCK)
    asks = len(conditions.shown) > 1 or len(low) > 0
    best, n = -np.inf, 0
    for option in conditions.allowed[conditions.begins[0, i] : conditions.ends[0, i]]:
        if tree.roots[option] < 0:
            continue
        stack[0], bounds[0], height = tree.roots[option], np.inf, 1
        while height:
            height -= 1
            if bounds[height] < best - reach:
                continue
            node = stack[height]
            start, stop = tree.start[node], tree.stop[node]
            if tree.right[node] and stop - start > BLOCK:
                near, far = node + 1, tree.right[node]
                of_near = -np.inf if misses_rows(tree, near, low, high) else _compute_bound(shown, near, point)
                of_far = -np.inf if misses_rows(tree, far, low, high) else _compute_bound(shown, far, point)
                height = push(stack, bounds, height, near, far, of_near, of_far, best - reach)
                continue
            for begin in range(start, stop, BLOCK):
                end = min(begin + BLOCK, stop)
                write_scores(point, at, shown, begin, end, conditions.log_probability, block)
                for e in range(begin, end):
                    score = block[e - begin]
                    if score == -np.inf or score < best - reach:
                        continue
                    row = tree.records[e]
                    if not asks or meets_conditions(i, row, conditions, 1):
                        possible[n], scores[n] = row, score
                        n += 1
                        best = max(best, score)
    return keep_best(possible, scores, n, best - reach)


@njit
def push(stack: Integers, bounds: Floats, height: int, near: int, far: int, of_near: float, of_far: float, least: float) -> int:
    """Put the children of a node that can hold at least `least` on the stack, the better on top; returns the new height."""
    if of_far > of_near:
        near, far, of_near, of_far = far, near, of_far, of_near
    for child, bound in ((far, of_far), (near, of_near)):
        if bound > -np.inf and bound >= least:
            stack[height], bounds[height] = child, bound
            height += 1
    return height


@njit
def keep_best(possible: Integers, scores: Floats, n: int, least: float) -> int:
    """Keep of the first n images those with at least this score, in place; returns how many they are."""
    kept = 0
    for e in range(n):
        if scores[e] >= least:
            possible[kept], scores[kept] = possible[e], scores[e]
            kept += 1
    return kept


@njit(
    missing={"own.tree.rows": "a missing end: the nodes say whether they have one"} | MISSING_POSITIONS,
    infinite=dict.fromkeys(("own.tree.low", "own.tree.high"), "a box without numbers") | UNBOUNDED_CONDITIONS,
)
def sum_by_tree(conditions: ArrangedConditions, own: SearchedPlaces, is_grouped: bool, records: Floats, reach: float) -> Floats:
    """Shape (c,): the logarithm of the sum of P(row | record) over all records; -inf: the row is nobody's.

    own, is_grouped: as `arrange_records` gives them. records: shape (r,), how many of each kind there are. reach: records that
    are e^-reach times as probable as all that were found so far are passed over.
    """
    tree, n_rows = own.tree, len(conditions.shown_at)
    most = tree.low.shape[1] + _HALVINGS
    stack, bounds, block = np.empty(most, dtype=np.int64), np.empty(most), np.empty(BLOCK)
    evidence = np.full(n_rows, -np.inf)
    first_list = 1 if is_grouped else 0
    asks = len(conditions.shown) > first_list or conditions.positions.shape[1] > 0
    counts = records[tree.records]
    for row in range(n_rows):
        group = conditions.shown[0, row] if is_grouped else 0
        point, at, positions = conditions.shown_coordinates[row], conditions.shown_at[row], conditions.positions[row]
        if tree.roots[group] < 0:
            continue
        largest, total, least = -np.inf, 0.0, -np.inf
        stack[0], bounds[0], height = tree.roots[group], np.inf, 1
        while height:
            height -= 1
            if bounds[height] < least:
                continue
            node = stack[height]
            start, stop = tree.start[node], tree.stop[node]
            if tree.right[node] and stop - start > BLOCK:
                near, far = node + 1, tree.right[node]
                of_near = -np.inf if misses_records(tree, near, positions) else _compute_bound(own, near, point)
                of_far = -np.inf if misses_records(tree, far, positions) else _compute_bound(own, far, point)
                height = push(stack, bounds, height, near, far, of_near, of_far, least)
                continue
            for begin in range(start, stop, BLOCK):
                end = min(begin + BLOCK, stop)
                write_scores(point, at, own, begin, end, conditions.log_probability, block)
                top = -np.inf
                for e in range(end - begin):
                    record = tree.records[begin + e]
                    if block[e] < least or (asks and not meets_conditions(record, row, conditions, first_list)):
                        block[e] = -np.inf
                    top = max(top, block[e])
                if top == -np.inf:
                    continue
                if top > largest:
                    total, largest = total * np.exp(largest - top), top
                for e in range(end - begin):
                    if block[e] > -np.inf:
                        total += counts[begin + e] * np.exp(block[e] - largest)
                least = largest + np.log(total) - reach
        if total > 0:
            evidence[row] = largest + np.log(total)
    return evidence


@njit
def write_scores(
    point: Floats, at: Integers, places: SearchedPlaces, begin: int, end: int, log_probability: Floats, scores: Floats
) -> None:
    """Write the logarithms of the probabilities of a point and the places from `begin` to `end`, less their prices.

    Term by term in the order of `likelihood.rule_out`, and each term of all places at once, four in one instruction.
    """
    size = end - begin
    scores[:size] = 0.0
    for j in range(len(at)):
        codes = places.codes[j, begin:end]
        for e in range(size):
            scores[e] += log_probability[at[j] + codes[e]]
    for j in range(len(point)):
        own, coordinates = point[j], places.coordinates[j, begin:end]
        for e in range(size):
            scores[e] -= (own - coordinates[e]) ** 2 / 2
    price = places.price[begin:end]
    for e in range(size):
        scores[e] -= price[e]


@njit
def _compute_bound(places: SearchedPlaces, node: int, point: Floats) -> float:
    """No place below a node has a larger logarithm less price."""
    low, high, most = places.tree.low[node], places.tree.high[node], places.most
    for j in range(len(point)):
        if point[j] < low[j]:
            most -= (low[j] - point[j]) ** 2 / 2
        elif point[j] > high[j]:
            most -= (point[j] - high[j]) ** 2 / 2
    bound: float = most - places.least[node]
    return bound


@njit
def misses_rows(tree: RecordTree, node: int, low: Floats, high: Floats) -> bool:
    """Is each row below a node outside one of the intervals of a record?"""
    first = tree.low.shape[1] - len(low)
    for j in range(len(low)):
        if np.isnan(low[j]):
            if not tree.gaps[node, first + j]:
                return True
        elif tree.high[node, first + j] < low[j] or tree.low[node, first + j] > high[j]:
            return True
    return False


@njit
def misses_records(tree: RecordTree, node: int, positions: Floats) -> bool:
    """Is a row outside one of the intervals of each record below a node?"""
    q = len(positions)
    first = tree.low.shape[1] - 2 * q
    for j in range(q):
        if np.isnan(positions[j]):
            if not tree.gaps[node, first + j]:
                return True
        elif positions[j] < tree.low[node, first + j] or positions[j] > tree.high[node, first + q + j]:
            return True
    return False
