"""What speaks for released rows where the records are too many to sum over all of them for each row: sums over samples.

Noise that is wide against the distances of the records makes each sum one over a share of all pairs (`image_trees`). Here the
tree of the records is searched, the near side first. A node whose n records add at most b each is not opened where a few
records drawn from it answer for all: so many that n b is at most 2 * draws * error^2 times what was summed before. So what adds
much is never left to chance: a record's own part in the sum of its row is exact wherever it counts.

An estimate is unbiased, though the larger of it and the bound before is what is kept, and its standard error at most `error` of
the sum, without any assumption on the values: whether a node is opened depends on what was drawn outside it alone, so that the
errors of the nodes add up as variances; values between 0 and b with mean m have a variance of at most m b (Bhatia and Davis
2000); so the whole variance is at most 2 error^2 times the sum of the products of each node's part with those before it, which
is at most half the square of the sum.
Source: Holmes, Gray and Isbell (2008), "Ultrafast Monte Carlo for statistical summations", NIPS 20. Done otherwise than there:
the samples are drawn once for each node, and the bound needs no normal approximation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.attack.transparency.image_trees import BLOCK, misses_records, misses_rows, push, write_scores
from tasks.attack.transparency.intersection import (
    MISSING_POSITIONS,
    UNBOUNDED_CONDITIONS,
    ArrangedConditions,
    meets_conditions,
)
from tasks.attack.transparency.sampled_tree import DRAWS, HALVINGS, SampledTree
from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

_LOST = 40.0  # e^-40 times the largest term is left out of a sum
_NODES = "a missing value: the nodes say whether they have one"
_BOX = "a box without numbers, which is only compared with"
_NOBODY = "infinite is a row that is nobody's, and so among nobody's images"
_MISSING = {f"law.{name}": why for name, why in MISSING_POSITIONS.items()} | {"law.own.places.tree.rows": _NODES}
_INFINITE = {
    **{f"law.{name}": why for name, why in UNBOUNDED_CONDITIONS.items()},
    **dict.fromkeys(("law.own.places.tree.low", "law.own.places.tree.high"), _BOX),
    "law.most": "-inf where no record can show the row; it is only compared with",
}
_MISSING_OF_ROWS = {"rows.places.tree.rows": _NODES}
_INFINITE_OF_ROWS = {
    **dict.fromkeys(("rows.places.tree.low", "rows.places.tree.high"), _BOX),
    "most": "-inf where no row can show the record; it is only compared with",
    **dict.fromkeys(("rows.places.price", "rows.places.least"), _NOBODY),
}
_NO_IMAGE = "-inf where nothing can be an image, so that nothing is lowered to it"


class RowLaw(NamedTuple):
    """What estimates of log q need.

    own: the records, in groups by the component of their codes in the first list. component: of each code. is_single: has every
    record one code there, so that all of a group can have shown it? most: shape (c, L), of each row and law the largest
    logarithm of a probability. reach: nodes that add less than e^-reach times the sum are passed over.
    """

    conditions: ArrangedConditions
    own: SampledTree
    component: Integers
    is_single: bool
    most: Floats
    reach: float


@njit(missing=_MISSING, infinite=_INFINITE | {"evidence": _NOBODY})
def bound_evidence(law: RowLaw, rows: Integers, evidence: Floats) -> None:
    """Write what log q of each row is at least, in place: the sum over the first leaf with records that can show the row.

    -inf: the row is nobody's.
    """
    for row in rows:
        evidence[row] = _estimate(row, law, np.inf)


@njit(missing=_MISSING, infinite=_INFINITE | {"evidence": _NOBODY})
def estimate_evidence(law: RowLaw, rows: Integers, error: float, evidence: Floats) -> None:
    """Write log q of some rows, in place, with this relative standard error at most. evidence: what it is at least."""
    for row in rows:
        if evidence[row] > -np.inf:
            evidence[row] = max(_estimate(row, law, error), evidence[row])


@njit(missing=_MISSING | _MISSING_OF_ROWS, infinite=_INFINITE | _INFINITE_OF_ROWS)
def estimate_best(
    targets: Integers, law: RowLaw, rows: SampledTree, most: Floats, error: float, margin: float, level: int, levels: Integers
) -> Floats:
    """Estimate log q of the rows with a log P / q of at most `margin` less than the largest of a target. Returns the largest
    among the rows that were looked at, shape (t,), -inf for a record that nothing can be an image of.

    At the first level the largest is that of the estimates so far. At the others, where there is an estimate of each row that
    counts, it is that of all rows as they are known before: of many rows that are about as likely only those are estimated
    that seem the best. If these turn out to be less likely, so that others exceed them by more than the margin, the others are
    estimated too.
    targets: places of distinct records, shape (t,). rows: the released rows; their prices, and with them `levels`, shape (c,),
    are changed in place: a price was a lower bound or an estimate before, and never falls. most: shape (r, L), of each record
    and law the largest logarithm of a probability.
    """
    best = np.full(len(targets), -np.inf)
    for t in range(len(targets)):
        if level == 1:
            best[t] = _look(targets[t], law, rows, most, error, margin, level, -np.inf, levels)
            continue
        largest = _look(targets[t], law, rows, most, np.inf, 0.0, 0, -np.inf, levels)
        while largest > best[t] + margin:
            best[t] = max(best[t], _look(targets[t], law, rows, most, error, np.inf, level, largest - margin, levels))
            largest = _look(targets[t], law, rows, most, np.inf, 0.0, 0, -np.inf, levels)
    return best


@njit(missing=_MISSING | _MISSING_OF_ROWS, infinite=_INFINITE | _INFINITE_OF_ROWS | {"most_of_others": _NO_IMAGE})
def lower_others(
    targets: Integers, law: RowLaw, rows: SampledTree, most: Floats, most_of_others: Floats, level: int, levels: Integers
) -> None:
    """Lower log P / q of rows below a level, by a larger price, to `most_of_others`, shape (t,), of each target at most."""
    for t in range(len(targets)):
        _look(targets[t], law, rows, most, np.inf, np.inf, level, most_of_others[t], levels)


@njit
def _look(
    i: int,
    law: RowLaw,
    rows: SampledTree,
    most: Floats,
    error: float,
    margin: float,
    level: int,
    floor: float,
    levels: Integers,
) -> float:
    """Estimate the rows below a level whose log P / q for record i is at least the floor, and at most `margin` less than the
    largest among those looked at; returns the largest.

    No row is below level 0: then nothing is changed. Where the error is infinite, the rows are lowered to the floor instead,
    which is -inf only for a record without images.
    """
    conditions, shown, tree = law.conditions, rows.places, rows.places.tree
    low_of, high_of, shared, log_probability = tree.low, tree.high, rows.shared, law.conditions.log_probability
    room = tree.low.shape[1] + (conditions.own_at.shape[1] + 1) * HALVINGS
    stack, bounds, block = np.empty(room, dtype=np.int64), np.empty(room), np.empty(BLOCK)
    point, at, low, high = conditions.own_coordinates[i], conditions.own_at[i], conditions.low[i], conditions.high[i]
    asks, best, least = len(conditions.shown) > 1 or len(low) > 0, -np.inf, floor
    for option in conditions.allowed[conditions.begins[0, i] : conditions.ends[0, i]]:
        if tree.roots[option] < 0:
            continue
        stack[0], bounds[0], height = tree.roots[option], np.inf, 1
        while height:
            height -= 1
            if bounds[height] < least:
                continue
            node = stack[height]
            if tree.right[node]:
                near, far = node + 1, tree.right[node]
                of_near = of_far = -np.inf
                if not misses_rows(tree, near, low, high):
                    of_near = _bound(low_of, high_of, near, point) - shown.least[near]
                    of_near += _bound_laws(shared, near, at, most[i], log_probability)
                if not misses_rows(tree, far, low, high):
                    of_far = _bound(low_of, high_of, far, point) - shown.least[far]
                    of_far += _bound_laws(shared, far, at, most[i], log_probability)
                height = push(stack, bounds, height, near, far, of_near, of_far, least)
                continue
            for begin in range(tree.start[node], tree.stop[node], BLOCK):
                end = min(begin + BLOCK, tree.stop[node])
                write_scores(point, at, shown, begin, end, conditions.log_probability, block)
                for e in range(begin, end):
                    score, row = block[e - begin], tree.records[e]
                    if score == -np.inf or score < least:
                        continue
                    if asks and not meets_conditions(i, row, conditions, 1):
                        continue
                    if levels[row] < level:
                        if error == np.inf:
                            price = shown.price[e] + score - floor
                        else:
                            price, levels[row] = max(_estimate(row, law, error), shown.price[e]), level
                        score += shown.price[e] - price
                        shown.price[e] = price
                    best = max(best, score)
                    least = max(least, best - margin)
    return best


@njit
def _bound(low: Floats, high: Floats, node: int, point: Floats) -> float:
    apart = 0.0
    for j in range(len(point)):
        outside = max(low[node, j] - point[j], point[j] - high[node, j], 0.0)
        apart += outside * outside
    return -apart / 2


@njit
def _bound_laws(shared: Integers, node: int, at: Integers, most: Floats, log_probability: Floats) -> float:
    bound = 0.0
    for j in range(len(at)):
        code = shared[node, j]
        bound += log_probability[at[j] + code] if code >= 0 else most[j]
    return bound


@njit
def _estimate(row: int, law: RowLaw, error: float) -> float:
    """log q of one row; where the error is infinite, what it is at least."""
    conditions, own, tree = law.conditions, law.own, law.own.places.tree
    group = law.component[conditions.shown[0, row]]
    if tree.roots[group] < 0:
        return -np.inf
    # Fields are read once: compiled code counts the references to an array each time that it takes one out of a tuple.
    low, high, shared, log_probability = tree.low, tree.high, own.shared, conditions.log_probability
    right, starts, stops, weight, log_weight = tree.right, tree.start, tree.stop, own.weight, own.log_weight
    point, at, positions, most = (
        conditions.shown_coordinates[row],
        conditions.shown_at[row],
        conditions.positions[row],
        law.most[row],
    )
    first_list, n_intervals, reach = 1 if law.is_single else 0, len(positions), law.reach
    asks = len(conditions.shown) > first_list or n_intervals > 0
    room = low.shape[1] + (len(at) + 1) * HALVINGS
    stack, bounds, block = np.empty(room, dtype=np.int64), np.empty(room), np.empty(BLOCK)
    every = np.arange(BLOCK)
    is_bound, factor = error == np.inf, min(2 * error**2, 1e9)
    log_most = -np.inf if is_bound else np.log(factor * DRAWS)
    largest, total, log_total = -np.inf, 0.0, -np.inf
    stack[0], bounds[0], height = tree.roots[group], np.inf, 1
    while height and not (is_bound and total > 0):
        height -= 1
        node = stack[height]
        share = bounds[height] + log_weight[node] - log_total
        if share < -reach:
            continue
        start, stop = starts[node], stops[node]
        draws = int(np.ceil(np.exp(share) / factor)) if share <= log_most else stop - start
        if 0 < draws < stop - start:  # a few answer for all
            top = _write_drawn(point, at, own.coordinates, own.codes, node, draws, log_probability, block)
            if asks:
                top = _drop_unmet(tree.records, own.drawn[node], draws, row, conditions, first_list, block)
            if top == -np.inf or top + log_weight[node] < log_total - reach:
                continue
            if top > largest:
                total, largest = total * np.exp(largest - top), top
            found = 0.0
            for e in range(draws):
                found += np.exp(block[e] - largest)
            total += found * weight[node] / draws
            log_total = largest + np.log(total)
        elif right[node]:
            near, far = node + 1, right[node]
            of_near = of_far = -np.inf
            if n_intervals == 0 or not misses_records(tree, near, positions):
                of_near = _bound(low, high, near, point) + _bound_laws(shared, near, at, most, log_probability)
            if n_intervals == 0 or not misses_records(tree, far, positions):
                of_far = _bound(low, high, far, point) + _bound_laws(shared, far, at, most, log_probability)
            height = push(stack, bounds, height, near, far, of_near, of_far, -np.inf)
        else:
            for begin in range(start, stop, BLOCK):
                end = min(begin + BLOCK, stop)
                write_scores(point, at, own.places, begin, end, log_probability, block)
                top = block[: end - begin].max()
                if asks:
                    top = _drop_unmet(tree.records[begin:end], every, end - begin, row, conditions, first_list, block)
                if top == -np.inf:
                    continue
                if top > largest:
                    total, largest = total * np.exp(largest - top), top
                for e in range(end - begin):
                    if block[e] > largest - _LOST:
                        total += own.counts[begin + e] * np.exp(block[e] - largest)
                log_total = largest + np.log(total)
    return log_total


@njit
def _write_drawn(
    point: Floats,
    at: Integers,
    coordinates: Floats,
    codes: Integers,
    node: int,
    draws: int,
    log_probability: Floats,
    scores: Floats,
) -> float:
    """Write the logarithms of the probabilities of a row and the first records drawn below a node; returns the largest."""
    top = -np.inf
    for e in range(draws):
        apart = 0.0
        for j in range(len(point)):
            apart += (point[j] - coordinates[node, e, j]) ** 2
        score = -apart / 2
        for j in range(len(at)):
            score += log_probability[at[j] + codes[node, e, j]]
        scores[e] = score
        top = max(top, score)
    return top


@njit
def _drop_unmet(
    records: Integers, places: Integers, n: int, row: int, conditions: ArrangedConditions, first_list: int, scores: Floats
) -> float:
    """Give -inf to records whose conditions the row does not meet; returns the largest of the others."""
    top = -np.inf
    for e in range(n):
        if not meets_conditions(records[places[e]], row, conditions, first_list):
            scores[e] = -np.inf
        top = max(top, scores[e])
    return top
