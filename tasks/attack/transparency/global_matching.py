"""The global matcher: all records are given to the released rows one to one, so that all together is most probable."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tasks.attack.linkage.assignment import solve_assignment
from tasks.attack.neighbours.distances import compute_record_distance
from tasks.attack.neighbours.record_comparison import Comparison
from tasks.attack.transparency.intersection import Conditions
from tasks.attack.transparency.scores import MISSING, UNBOUNDED, ImageScores, find_images
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

_PAIRS_AT_A_TIME = 1 << 23
_BESIDE_LIKELIHOODS = 1e-6  # what distances count where there are laws

_RECORDS = dict.fromkeys(("own", "shown"), "a missing value, which `compute_record_distance` asks for")


@dataclass(frozen=True, slots=True)
class ImageCosts:
    """What it costs to give distinct record i the distinct row l: -log r(l) but for terms of the row or the record alone.

    both: the comparison. beside: how much half its squared distance counts: only between assignments that are equally likely.
    never: what a row costs that cannot be the record's image: more than any assignment of possible images.
    """

    both: Comparison
    whole: ImageScores
    beside: float
    never: float

    @property
    def queries(self) -> Floats:
        return self.both.own

    @property
    def searched(self) -> Floats:
        return self.both.shown

    def swap_sides(self) -> ImageCosts:
        raise TypeError("as many rows as records are matched: neither file is the larger")

    def matrix(self, some: Integers) -> Floats:
        """Shape (len(some), c): the costs of some records."""
        both = self.both
        return _matrix(some, self.whole, both.own, both.shown, both.nominal, both.weight * self.beside, self.never)

    def few_nearest(self, k: int, some: Integers | None = None, price: Floats | None = None) -> tuple[Integers, Floats, Floats]:
        """The k rows of the least cost less price, their costs, and what the cost less price of all others is at least."""
        queries = np.arange(len(self.queries)) if some is None else some
        prices, k = np.zeros(len(self.searched)) if price is None else price, min(k, len(self.searched))
        near, apart = np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k))
        low = np.full(len(queries), np.inf)
        for block in np.array_split(np.arange(len(queries)), max(-(-len(queries) * len(prices) // _PAIRS_AT_A_TIME), 1)):
            costs = self.matrix(queries[block])
            net = costs - prices
            near[block] = np.argpartition(net, k - 1, axis=1)[:, :k]
            apart[block] = np.take_along_axis(costs, near[block], axis=1)
            if k < len(prices):
                low[block] = np.take_along_axis(net, near[block], axis=1).max(axis=1)
        return near, apart, low

    def apart(self, queries: Integers, searched: Integers) -> Floats:
        """The costs of some records and rows, one by one."""
        kinds, back = np.unique(queries, return_inverse=True)
        order, costs = np.argsort(back, kind="stable"), np.empty(len(queries))
        at_a_time = max(_PAIRS_AT_A_TIME // len(self.searched), 1)
        for begin in range(0, len(kinds), at_a_time):
            some = order[np.searchsorted(back[order], begin) : np.searchsorted(back[order], begin + at_a_time)]
            costs[some] = self.matrix(kinds[begin : begin + at_a_time])[back[some] - begin, searched[some]]
        return costs


def assign_likeliest_rows(both: Comparison, conditions: Conditions, whole: ImageScores) -> tuple[Integers, Integers]:
    """Starts and classes of the likeliest assignment of all records to all released rows, no row for two of them.

    Meaning: an intruder who has the whole original of a complete release links everybody together: a row that is surely
    somebody else's is nobody's second choice.
    Formula in words: the assignment with the largest sum of log r. Where everybody is given a row, the terms of r that belong
    to a row or to a record alone are the same for all assignments, so that it is also the one with the largest product of
    P(row | record): under Bayes' rule, with all assignments equally likely before, the most probable of all. Of
    several the one with the least sum of squared distances, as `comparison` has them, over the attributes without a law.
    Equal records share what was given to any of them; a row that cannot be a record's image is no link.

    whole: as `score_images` makes it of the conditions. Returns, for each distinct record, its distinct rows.
    Cost: as `solve_assignment`, with every pair of distinct records and rows looked at in each of its rounds.
    """
    costs = ImageCosts(both, whole, _BESIDE_LIKELIHOODS if conditions.likelihoods.any else 1.0, 0.0)
    costs = replace(costs, never=(len(both.own_of_record) + 1) * (1.0 + _largest(costs)))
    given = solve_assignment(costs, both.own_of_record, both.shown_of_row)
    records = np.repeat(np.arange(len(both.own)), np.diff(given.starts))
    possible = costs.apart(records, given.classes) < costs.never
    return np.searchsorted(records[possible], np.arange(len(both.own) + 1)), given.classes[possible]


def _largest(costs: ImageCosts) -> float:
    """The largest cost of a possible image, or what bounds it."""
    largest, n = 0.0, len(costs.queries)
    for block in np.array_split(np.arange(n), max(-(-n * len(costs.searched) // _PAIRS_AT_A_TIME), 1)):
        largest = max(largest, float(costs.matrix(block).max(initial=0.0)))
    return largest


@njit(missing=MISSING | _RECORDS, infinite=UNBOUNDED)
def _matrix(
    some: Integers, whole: ImageScores, own: Floats, shown: Floats, nominal: Booleans, weight: Floats, never: float
) -> Floats:
    costs = np.full((len(some), len(whole.sizes)), never)
    possible, scores = np.empty(len(whole.sizes), dtype=np.int64), np.empty(len(whole.sizes))
    for at in range(len(some)):
        i = some[at]
        for e in range(find_images(i, whole, possible, scores)):
            row = whole.rows[possible[e]]
            distance = compute_record_distance(own[i], shown[row], nominal, weight, np.inf)
            costs[at, row] = max(-scores[e], 0.0) + distance / 2
    return costs
