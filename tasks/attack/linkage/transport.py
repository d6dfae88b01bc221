"""Least-cost assignment with prices: the compiled part of `solve_assignment`.

Units (records) of row classes are given to columns (classes of released rows), each of which has room for as many as there
are equal rows. Every row class r has a list of near columns with their costs, and a bound: columns that are not on the list
cost it at least low[r], less their price, from then on, for prices only fall. What a unit pays for its best column, u, and the
prices v <= 0 are dual: where cost - u - v >= 0 everywhere, = 0 where units are given, and v = 0 where there is room, the
assignment is the least one of all, listed or not.

Sources: Jonker and Volgenant (1987), "A shortest augmenting path algorithm for dense and sparse linear assignment problems",
Computing 38, for the paths; Bertsekas (1988), "The auction algorithm", Annals of Operations Research 14, for the first prices.
Done otherwise: lists that grow where the duals ask for it; room for several units in a column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

_NONE, _TOO_FAR, _NOWHERE = -1, -2, -3

_WHOLE_LIST = {"lists.low": "no column is left out of the list: it is compared with costs, and decides no place"}


class Lists(NamedTuple):
    """Of row class r the columns columns[starts[r]:starts[r + 1]] and their costs; low: the bound on all others."""

    starts: Integers
    columns: Integers
    costs: Floats
    low: Floats


class State(NamedTuple):
    """Who is given what, and the duals.

    of_unit: row class of each unit. pays (u): of each row class; price (v): of each column. room: units a column still takes.
    given: the column of each unit, or -1. first, after, before: the units of a column as a linked list.
    """

    of_unit: Integers
    pays: Floats
    price: Floats
    room: Integers
    given: Integers
    first: Integers
    after: Integers
    before: Integers


class SearchWorkspace(NamedTuple):
    """Where one search after another writes: what is of an earlier one is told by its number in `reached` and `looked_at`."""

    distance: Floats
    by: Integers
    reached: Integers
    looked_at: Integers
    keys: Floats
    items: Integers
    rows: Integers
    heights: Floats
    passed: Integers


class PathSearchResult(NamedTuple):
    """Where a search ended: in a column with room, or _TOO_FAR, or _NOWHERE; at which distance; how much was looked at.

    beyond: from which distance on columns that are not listed may be nearer.
    """

    end: int
    level: float
    beyond: float
    rows: int
    passed: int


def new_state(of_unit: Integers, pays: Floats, room: Integers) -> State:
    """Nothing given, all prices 0."""
    nobody = (
        np.full(len(of_unit), _NONE),
        np.full(len(room), _NONE),
        np.full(len(of_unit), _NONE),
        np.full(len(of_unit), _NONE),
    )
    return State(of_unit, pays, np.zeros(len(room)), room.copy(), *nobody)


def create_workspace(lists: Lists, columns: int) -> SearchWorkspace:
    """Room for searches of a graph."""
    rows, edges = len(lists.low), len(lists.columns) + 1
    whole = [np.empty(size, dtype=np.int64) for size in (columns, edges, rows, columns)]
    unseen = np.full(columns, _NONE), np.full(rows, _NONE)
    return SearchWorkspace(np.zeros(columns), whole[0], *unseen, np.zeros(edges), whole[1], whole[2], np.zeros(rows), whole[3])


@njit(infinite=_WHOLE_LIST)
def give(
    waiting: Integers, lists: Lists, state: State, room: SearchWorkspace, most: int, slack: float, listed_only: bool
) -> Booleans:
    """Give columns to waiting units along shortest paths; returns the row classes whose lists are too short, shape (rows,).

    A path is followed where nothing that is not listed could be nearer (listed_only: whatever is not listed), and it looks at
    no more than `most` row classes. Else the prices fall as far as they may, and the unit goes on waiting.
    """
    short = np.zeros(len(lists.low), dtype=np.bool_)
    for run in range(len(waiting)):
        found = _search(waiting[run], run, _NONE, lists, state, room, most)
        level, end = found.level, found.end
        if found.beyond < level - slack and (end == _NOWHERE or not listed_only):
            reach = max(found.beyond, room.heights[found.rows - 1]) if end == _NOWHERE else level - slack
            for at in range(found.rows):
                row = room.rows[at]
                short[row] |= room.heights[at] + max(lists.low[row] - state.pays[row], 0.0) <= reach
            level, end = found.beyond, _NONE
        _lower(level, found, state, room)
        if end >= 0:
            _follow(waiting[run], end, state, room)
    return short


@njit
def _search(
    source: int, run: int, target: int, lists: Lists, state: State, room: SearchWorkspace, most: int
) -> PathSearchResult:
    """Dijkstra's search over reduced costs from a unit to the nearest column with room, or round to a target it was given."""
    beyond, pushed, rows, passed, base = np.inf, 0, 0, 0, 0.0
    barred = state.of_unit[source] if target >= 0 else _NONE
    unit, column = source, _NONE
    while True:
        while unit >= 0:
            row = state.of_unit[unit]
            if room.looked_at[row] != run:
                room.looked_at[row], room.rows[rows], room.heights[rows] = run, row, base
                rows += 1
                beyond = min(beyond, base + max(lists.low[row] - state.pays[row], 0.0))
                pushed = _look(unit, base, run, target if row == barred else _NONE, lists, state, room, pushed)
            unit = state.after[unit] if column >= 0 else _NONE
        base, column, pushed = _next(room, pushed)
        if column < 0:
            return PathSearchResult(_NOWHERE, np.inf, beyond, rows, passed)
        if column == target or state.room[column] > 0:
            return PathSearchResult(column, base, beyond, rows, passed)
        if rows >= most or (target >= 0 and base >= beyond):
            return PathSearchResult(_TOO_FAR, base, beyond, rows, passed)
        room.passed[passed] = column
        passed += 1
        unit = state.first[column]


@njit
def _look(unit: int, base: float, run: int, barred: int, lists: Lists, state: State, room: SearchWorkspace, pushed: int) -> int:
    """Reach the listed columns of a unit, but for a barred one."""
    row = state.of_unit[unit]
    for at in range(lists.starts[row], lists.starts[row + 1]):
        column = lists.columns[at]
        distance = base + max(lists.costs[at] - state.pays[row] - state.price[column], 0.0)
        nearer = room.reached[column] != run or distance < room.distance[column]
        if nearer and column != barred:
            room.reached[column], room.distance[column], room.by[column] = run, distance, unit
            _push(room.keys, room.items, pushed, distance, column)
            pushed += 1
    return pushed


@njit
def _next(room: SearchWorkspace, pushed: int) -> tuple[float, int, int]:
    while pushed > 0:
        distance, column = room.keys[0], room.items[0]
        pushed -= 1
        _pop(room.keys, room.items, pushed)
        if distance <= room.distance[column]:
            return distance, column, pushed
    return np.inf, _NONE, 0


@njit
def _push(keys: Floats, items: Integers, size: int, key: float, item: int) -> None:
    """Add to a binary heap. Numba's `heapq` breaks ties between columns otherwise, and is slower (1.1 to 1.9 times)."""
    at = size
    while at > 0 and keys[(at - 1) >> 1] > key:
        keys[at], items[at] = keys[(at - 1) >> 1], items[(at - 1) >> 1]
        at = (at - 1) >> 1
    keys[at], items[at] = key, item


@njit
def _pop(keys: Floats, items: Integers, size: int) -> None:
    """Take the first of size + 1 away."""
    key, item, at = keys[size], items[size], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        child += child + 1 < size and keys[child + 1] < keys[child]
        if keys[child] >= key:
            break
        keys[at], items[at] = keys[child], items[child]
        at = child
    keys[at], items[at] = key, item


@njit
def _lower(level: float, found: PathSearchResult, state: State, room: SearchWorkspace) -> None:
    """Let the prices fall on what was looked at within a distance, so that the nearest of it costs nothing."""
    for at in range(found.rows):
        state.pays[room.rows[at]] += max(level - room.heights[at], 0.0)
    for at in range(found.passed):
        column = room.passed[at]
        state.price[column] -= max(level - room.distance[column], 0.0)


@njit
def _follow(source: int, end: int, state: State, room: SearchWorkspace) -> None:
    """Give each unit on the path the column that it reached."""
    state.room[end] -= 1
    column, unit = end, _NONE
    while unit != source:
        unit = room.by[column]
        had = state.given[unit]
        if had >= 0:
            take(unit, state)
        _hand(unit, column, state)
        column = had


@njit
def _hand(unit: int, column: int, state: State) -> None:
    state.given[unit], state.before[unit], state.after[unit] = column, _NONE, state.first[column]
    if state.first[column] >= 0:
        state.before[state.first[column]] = unit
    state.first[column] = unit


@njit
def take(unit: int, state: State) -> None:
    """Take a unit out of the list of its column."""
    if state.before[unit] >= 0:
        state.after[state.before[unit]] = state.after[unit]
    else:
        state.first[state.given[unit]] = state.after[unit]
    if state.after[unit] >= 0:
        state.before[state.after[unit]] = state.before[unit]


@njit
def hand_over(units: Integers, columns: Integers, state: State) -> None:
    """Give units what costs them nothing."""
    for at in range(len(units)):
        _hand(units[at], columns[at], state)
        state.room[columns[at]] -= 1


@njit
def take_back(of_rows: Booleans, state: State) -> None:
    """Take back what was given to units of some row classes."""
    for unit in range(len(state.given)):
        if of_rows[state.of_unit[unit]] and state.given[unit] >= 0:
            take(unit, state)
            state.room[state.given[unit]] += 1
            state.given[unit] = _NONE


@njit(infinite=_WHOLE_LIST)
def auction(
    lists: Lists, of_unit: Integers, copies: Integers, price: Floats, given: Integers, holder: Integers, step: float
) -> Booleans:
    """Units outbid each other by at least `step` until all have a place, or their list is too short: returns whose is.

    copies: shape (columns + 1,): the places of column j are copies[j], ..., copies[j + 1] - 1, each with a price and a holder.
    """
    short = np.zeros(len(lists.low), dtype=np.bool_)
    queue = np.flatnonzero(given < 0)
    waiting, at, size = len(queue), 0, max(len(queue), 1)
    while waiting > 0:
        unit = queue[at]
        at, waiting = (at + 1) % size, waiting - 1
        best, second, position = _best_two(of_unit[unit], lists, copies, price)
        if best > lists.low[of_unit[unit]] or position < 0:
            short[of_unit[unit]] = True
            continue
        price[position] -= second - best + step
        out, holder[position], given[unit] = holder[position], unit, position
        if out >= 0:
            given[out] = _NONE
            queue[(at + waiting) % size] = out
            waiting += 1
    return short


@njit
def _best_two(row: int, lists: Lists, copies: Integers, price: Floats) -> tuple[float, float, int]:
    """The least cost of a place at its price, the next (or the bound on what is not listed), and the place."""
    best, second, position = np.inf, lists.low[row], _NONE
    for at in range(lists.starts[row], lists.starts[row + 1]):
        for copy in range(copies[lists.columns[at]], copies[lists.columns[at] + 1]):
            cost = lists.costs[at] - price[copy]
            if cost < best:
                best, second, position = cost, min(second, best), copy
            elif cost < second:
                second = cost
    return best, second if second < np.inf else best, position


@njit(infinite=_WHOLE_LIST)
def compute_exclusion_costs(units: Integers, lists: Lists, state: State, room: SearchWorkspace, most: int) -> Floats:
    """How much dearer the least assignment is without what each of some units was given; a lower bound where that is far.

    The units are alone in their row class and in their column. Another column for the unit, another for who had that, and so on
    until somebody takes the unit's: so much dearer it is. The way ends before, and it is at least so much, in a column with
    room (what becomes of the unit's is not looked at), where something that is not listed may be nearer, and after `most` row
    classes.
    """
    dearer = np.zeros(len(units))
    for run in range(len(units)):
        found = _search(units[run], run, state.given[units[run]], lists, state, room, most)
        dearer[run] = min(found.level, found.beyond)
    return dearer
