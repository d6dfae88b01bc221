"""One-to-one linkage: every released row is given to at most one record, so that the distances add up to the least.

An intruder who has many records links them together: a row that is surely somebody else's is nobody's second choice. Under
normal noise of equal variance the least sum of squared distances is the likeliest assignment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import scipy

from tasks.attack.linkage.transport import (
    Lists,
    State,
    auction,
    compute_exclusion_costs,
    create_workspace,
    give,
    hand_over,
    new_state,
    take_back,
)
from tasks.microdata.table import Booleans, Floats, Integers

Assigned = tuple[Integers, Integers]
MOST_OF_A_FULL_MATRIX = 3_000  # records or rows of an assignment over all pairs
NEIGHBOURS = 16  # that a record's list holds at first; a longer one holds twice as many
STEPS = (1.0, 0.2, 0.04, 0.008)  # of the auctions, in typical distances
PRICED = 3  # times in an auction: who then has no place waits for a path
MOST_COPIES = 64  # of a released row in an auction
CAREFUL = 3  # rounds of paths that keep to what is proven, before one that does not
LOOKED_AT = 64  # records in the first round; twice as many in the next
AROUND = 64  # records that are looked at for the next best assignment without a link
MOST_LISTED_IN_FULL = 1 / 8  # of the row classes, to see whether the assignment is the only one
ROUNDING = 1e-9  # of the largest that a record pays
STRAY = 1e-12


class AssignmentCosts(Protocol):
    """What it costs to link each query to each searched record, as `Search` tells it: in full, of the least, or one by one."""

    @property
    def queries(self) -> Floats: ...
    @property
    def searched(self) -> Floats: ...
    def matrix(self, some: Integers) -> Floats: ...
    def few_nearest(
        self, k: int, some: Integers | None = None, price: Floats | None = None
    ) -> tuple[Integers, Floats, Floats]: ...
    def apart(self, queries: Integers, searched: Integers) -> Floats: ...
    def swap_sides(self) -> Self: ...


@dataclass(frozen=True, slots=True)
class Assignment:
    """An assignment of records to rows, in classes of equal ones.

    starts, classes: of query class s the searched classes classes[starts[s]:starts[s + 1]].
    total: the sum of the distances; bound: no assignment has a lesser one, but for rounding.
    least, runner_up: shape (query classes,), of a record alone in its class that is given a row alone in its own: the mean
    distance of the links, and so much more as the least assignment without this link is dearer, or less where that is far
    (`transport.compute_exclusion_costs`); 0 for others. The mean, not the link's own distance: under normal noise the
    likelihood of an assignment falls with its sum, whatever the link (of 10,000 records the surest tenth are right in 84 %,
    against 59 %).
    """

    starts: Integers
    classes: Integers
    total: float
    bound: float
    least: Floats
    runner_up: Floats


def list_assigned_classes(
    search: AssignmentCosts, of_query: Integers, of_searched: Integers, *, full: int = MOST_OF_A_FULL_MATRIX
) -> Assigned:
    """Starts and classes of `solve_assignment`."""
    found = solve_assignment(search, of_query, of_searched, full=full)
    return found.starts, found.classes


def solve_assignment(
    search: AssignmentCosts, of_query: Integers, of_searched: Integers, *, full: int = MOST_OF_A_FULL_MATRIX
) -> Assignment:
    """Assign the records of the two files to each other, one to one, with the least sum of squared distances.

    of_query, of_searched: which of the distinct records each record of either file is. In files of different sizes the records
    of the larger one that are left over are given to nobody.

    Equal records cannot be told apart: those of one class share all that was given to any of them. The solver sees the distinct
    records in ascending order, so that the order of neither file decides between assignments of the same sum.

    Cost: memory is linear. Prices make the assignment exact over all pairs though only near ones are listed (`transport`):
    where the prices leave it open whether a pair that is not listed would be better, the list grows, by a search tree over
    distances less prices (a coordinate more than `Search.nearest`), or by looking at all rows where there is no tree.
    Up to `full` records in each file scipy's linear_sum_assignment over all pairs says which of the least assignments it is,
    where the prices do not prove that there is one alone. SciPy's solvers give no prices, so they prove nothing of pairs that
    are not listed, and have no runners-up.
    """
    queries = np.bincount(of_query, minlength=len(search.queries))
    searched = np.bincount(of_searched, minlength=len(search.searched))
    turned = queries.sum() > searched.sum()
    work = _Work(search.swap_sides() if turned else search, *((searched, queries) if turned else (queries, searched)))
    work.solve()
    if max(len(of_query), len(of_searched)) <= full or len(of_query) * len(of_searched) <= full**2:
        work.settle()
    return work.answer(turned=turned)


class _Work:
    """Units (the records of the smaller file) on their way to columns (the distinct records of the larger)."""

    def __init__(self, search: AssignmentCosts, units: Integers, capacity: Integers) -> None:
        self.search, self.units, self.capacity = search, units, capacity
        near, apart, low = search.few_nearest(NEIGHBOURS)
        starts = np.arange(0, near.size + 1, near.shape[1])
        order = np.argsort(near, axis=1)
        columns, costs = np.take_along_axis(near, order, axis=1).ravel(), np.take_along_axis(apart, order, axis=1).ravel()
        self.lists = Lists(starts, columns, costs, low)
        self.state = new_state(np.repeat(np.arange(len(units)), units), self._least(np.zeros(len(capacity))), capacity)
        self.wide = np.full(len(units), NEIGHBOURS)

    @property
    def waiting(self) -> Integers:
        return np.flatnonzero(self.state.given < 0)

    @property
    def slack(self) -> float:
        return ROUNDING * max(float(np.abs(self.state.pays).max()), 1e-300)

    def solve(self) -> None:
        """The least assignment, and prices that prove it."""
        everybody_goes = self.units.sum() == self.capacity.sum()
        if everybody_goes and self.capacity.max() <= MOST_COPIES:
            self._bid()
        number, most = 0, LOOKED_AT
        while len(self.waiting):
            careful = number < CAREFUL or not everybody_goes
            self._paths(most if careful else len(self.units), careful=careful)
            number, most = number + 1, min(2 * most, len(self.units))

    def _bid(self) -> None:
        """Auctions with smaller and smaller steps: they bring the prices near to where they end."""
        copies = np.append(0, np.cumsum(self.capacity))
        price, positions = np.zeros(copies[-1]), np.repeat(np.arange(len(self.capacity)), self.capacity)
        typical = float(np.median(self.state.pays)) or float(np.median(self.lists.costs))
        given = np.full(copies[-1], -1)
        for step in STEPS if typical > 0 else ():
            given, holder = np.full(copies[-1], -1), np.full(copies[-1], -1)
            for _ in range(PRICED):
                short = auction(self.lists, self.state.of_unit, copies, price, given, holder, step * typical)
                if not short.any():
                    break
                self._lengthen(short, np.maximum.reduceat(price, copies[:-1]))
        self.state.price[:] = np.maximum.reduceat(price, copies[:-1])
        self.state.pays[:] = self._least(self.state.price)
        self._keep(np.where(given >= 0, positions[given], -1))

    def _keep(self, column: Integers) -> None:
        """Leave what costs nothing at the prices."""
        units = np.flatnonzero(column >= 0)
        row, column = self.state.of_unit[units], column[units]
        left = self.search.apart(row, column) - self.state.price[column] - self.state.pays[row]
        tight = left <= STRAY * (1 + np.abs(self.state.pays[row]))
        hand_over(units[tight], column[tight], self.state)

    def _paths(self, most: int, *, careful: bool) -> None:
        slack = self.slack
        room = create_workspace(self.lists, len(self.capacity))
        short = give(self.waiting, self.lists, self.state, room, most, slack, not careful)
        if not careful:
            short |= self.state.pays > self.lists.low + slack
        if not short.any():
            return
        self._lengthen(short, self.state.price)
        if not careful:
            pays = self._least(self.state.price)
            take_back(pays < self.state.pays - slack, self.state)
            self.state.pays[:] = pays

    def _least(self, price: Floats) -> Floats:
        least: Floats = np.minimum.reduceat(self.lists.costs - price[self.lists.columns], self.lists.starts[:-1])
        return least

    def _lengthen(self, short: Booleans, price: Floats) -> None:
        """Longer lists for some row classes: twice as many of the best columns at these prices as last time."""
        for wide in np.unique(self.wide[short]):
            rows = np.flatnonzero(short & (self.wide == wide))
            near, apart, low = self.search.few_nearest(int(wide), rows, price)
            self.lists = _extend_lists(self.lists, rows, near, apart, low)
        self.wide[short] *= 2

    def settle(self) -> None:
        """Of several least assignments take that of scipy's solver over all pairs."""
        everybody, given = np.arange(len(self.state.given)), self.state.given.copy()
        self._give_anew(everybody, given)
        if self._is_only_assignment():
            return
        row, columns = self.state.of_unit, np.repeat(np.arange(len(self.capacity)), self.capacity)
        distances = self.search.matrix(np.arange(len(self.units)))
        if len(row) > len(self.units) or len(columns) > len(self.capacity):
            distances = distances[np.ix_(row, columns)]
        _, chosen = scipy.optimize.linear_sum_assignment(distances)
        self._give_anew(everybody, columns[chosen])

    def _is_only_assignment(self) -> bool:
        """`is_only_assignment`; False also where many row classes have bounds on the others as low as what they pay."""
        lists, short = self.lists, np.flatnonzero(self.lists.low - self.state.pays <= self.slack)
        if len(short) > MOST_LISTED_IN_FULL * len(self.units):
            return False
        if len(short):
            columns, beyond = np.tile(np.arange(len(self.capacity)), (len(short), 1)), np.full(len(short), np.inf)
            lists = _extend_lists(lists, short, columns, self.search.matrix(short), beyond)
        return is_only_assignment(lists, self.state, self.slack)

    def _give_anew(self, units: Integers, columns: Integers) -> None:
        take_back(np.ones(len(self.units), dtype=bool), self.state)
        hand_over(units, columns, self.state)

    def answer(self, *, turned: bool) -> Assignment:
        row, column = self.state.of_unit, self.state.given
        apart = self.search.apart(row, column)
        bound = float(self.units @ self.state.pays + self.capacity @ self.state.price)
        alone = np.flatnonzero((self.units[row] == 1) & (self.capacity[column] == 1))
        room = create_workspace(self.lists, len(self.capacity))
        dearer = compute_exclusion_costs(alone, self.lists, self.state, room, AROUND)
        queries, searched = (column, row) if turned else (row, column)
        least, runner_up = (np.zeros(len(self.capacity if turned else self.units)) for _ in range(2))
        typical = float(apart.sum()) / max(len(apart), 1)
        least[queries[alone]], runner_up[queries[alone]] = typical, typical + dearer
        return Assignment(*_links(queries, searched, len(least)), float(apart.sum()), bound, least, runner_up)


def is_only_assignment(lists: Lists, state: State, slack: float) -> bool:
    """Is every other assignment of the classes dearer by more than `slack`, by the prices? False where that is not known.

    lists: with all columns that are within `slack` of what their row class pays.

    Another assignment hands columns on round a circle of units, or from one that is left to one with room. It is dearer by the
    sum of what the links on its way cost above the prices, and by the price of what is left. So the links within `slack` must
    form no circle. Equal units with different columns do, and so it is not known of them. Cost: O(listed columns).
    """
    row = np.repeat(np.arange(len(lists.low)), np.diff(lists.starts))
    tight = np.flatnonzero(lists.costs - state.pays[row] - state.price[lists.columns] <= slack)
    starts, columns = np.searchsorted(row[tight], np.arange(len(lists.low) + 1)), lists.columns[tight]
    sizes = np.diff(starts)[state.of_unit]
    unit = np.repeat(np.arange(len(sizes)), sizes)
    column = columns[np.arange(len(unit)) + np.repeat(starts[state.of_unit] - (np.cumsum(sizes) - sizes), sizes)]
    unit, column = (of[column != state.given[unit]] for of in (unit, column))
    n_units, n = len(sizes), len(state.price)
    reached, left, outside = n_units + np.arange(n), n_units + n + np.arange(n), n_units + 2 * n
    roomy, free = state.room > 0, -state.price <= slack
    links = [
        (unit, reached[column]),
        (reached, left),
        (left[state.given], np.arange(n_units)),
        (reached[roomy], np.full(int(roomy.sum()), outside)),
        (np.full(int(free.sum()), outside), left[free]),
    ]
    begins, ends = (np.concatenate(side) for side in zip(*links, strict=True))
    graph = scipy.sparse.coo_array((np.ones(len(begins), dtype=np.int8), (begins, ends)), shape=(outside + 1, outside + 1))
    return int(scipy.sparse.csgraph.connected_components(graph, connection="strong")[0]) == outside + 1


def _extend_lists(lists: Lists, rows: Integers, near: Integers, apart: Floats, low: Floats) -> Lists:
    """The lists, those of some rows with more columns; a column stands in a list once."""
    some = np.zeros(len(lists.low), dtype=bool)
    some[rows] = True
    of_edge = np.repeat(np.arange(len(some)), np.diff(lists.starts))
    kept = some[of_edge]
    row = np.concatenate([of_edge[kept], np.repeat(rows, near.shape[1])])
    column, cost = np.concatenate([lists.columns[kept], near.ravel()]), np.concatenate([lists.costs[kept], apart.ravel()])
    order = np.lexsort((column, row))
    row, column, cost = row[order], column[order], cost[order]
    new = np.append(True, (np.diff(row) > 0) | (np.diff(column) > 0))
    row, column, cost = row[new], column[new], cost[new]
    sizes = np.diff(lists.starts)
    sizes[rows] = np.bincount(row, minlength=len(some))[rows]
    starts = np.append(0, np.cumsum(sizes))
    columns, costs = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
    longer = np.repeat(some, sizes)
    columns[longer], columns[~longer] = column, lists.columns[~kept]
    costs[longer], costs[~longer] = cost, lists.costs[~kept]
    bounds = lists.low.copy()
    bounds[rows] = low
    return Lists(starts, columns, costs, bounds)


def _links(queries: Integers, searched: Integers, n_classes: int) -> Assigned:
    pairs = np.unique(np.column_stack([queries, searched]), axis=0)
    return np.searchsorted(pairs[:, 0], np.arange(n_classes + 1)), np.ascontiguousarray(pairs[:, 1])
