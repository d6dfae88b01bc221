"""The intersection of the sets of possible images, without ever writing the sets out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tasks.attack.transparency.likelihood import LikelihoodTables, rule_out
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

_FEW = 10  # times fewer pairs than records or rows
_POSITIONS = ("conditions.low", "conditions.high", "conditions.positions")
MISSING_POSITIONS = dict.fromkeys(_POSITIONS, "a missing value, which `_range` and `_is_in_intervals` ask for")
UNBOUNDED_CONDITIONS = {
    **dict.fromkeys(_POSITIONS[:2], "an interval without an end: `_range` and `_is_in_intervals` only compare with it"),
    "conditions.log_probability": "-inf is what cannot be shown: `rule_out` only compares, and drops such rows",
}


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a released row must show to be the possible image of a record; r distinct records, c distinct released rows.

    Of f lists of codes, list j allows record i the codes allowed[j][begins[j, i]:ends[j, i]]; the row shows shown[j, row].
    Of q intervals, record i needs low[i] <= positions[row] <= high[i], shapes (r, q) and (c, q); NaN: only a missing value.
    Rows that the laws of randomised attributes exclude are no images either; of the others they say how probable each is.
    sizes: shape (c,), the number of released rows of each kind.
    """

    begins: Integers
    ends: Integers
    allowed: tuple[Integers, ...]
    shown: Integers
    low: Floats
    high: Floats
    positions: Floats
    likelihoods: LikelihoodTables
    sizes: Integers

    def select(self, records: Integers, rows: Integers) -> Conditions:
        """The same for some of the distinct records and rows."""
        return self.select_records(records).select_rows(rows)

    def select_records(self, records: Integers) -> Conditions:
        """The same for some of the distinct records."""
        return replace(
            self,
            begins=self.begins.take(records, axis=1),
            ends=self.ends.take(records, axis=1),
            low=self.low[records],
            high=self.high[records],
            likelihoods=self.likelihoods.select_records(records),
        )

    def select_rows(self, rows: Integers) -> Conditions:
        """The same for some of the distinct rows."""
        return replace(
            self,
            shown=self.shown.take(rows, axis=1),
            positions=self.positions[rows],
            likelihoods=self.likelihoods.select_rows(rows),
            sizes=self.sizes[rows],
        )


class ArrangedConditions(NamedTuple):
    """`Conditions` as compiled functions take them, the distinct rows in the order in which they are looked up.

    allowed: the lists one after the other. group_starts: where the rows of each code of the first list start; empty where rows
    are not looked up. The rest as in `Conditions` and its `LikelihoodTables`.
    """

    begins: Integers
    ends: Integers
    allowed: Integers
    shown: Integers
    low: Floats
    high: Floats
    positions: Floats
    log_probability: Floats
    own_at: Integers
    shown_at: Integers
    own_coordinates: Floats
    shown_coordinates: Floats
    group_starts: Integers


def is_ruled_out(conditions: Conditions, records: Integers, rows: Integers) -> Booleans:
    """Shape (q,): is the distinct row rows[e] outside the set of possible images of the distinct record records[e]?"""
    if len(records) < min(conditions.begins.shape[1], conditions.shown.shape[1]) // _FEW:  # few are not worth a copy of all
        of_records, records = np.unique(records, return_inverse=True)
        of_rows, rows = np.unique(rows, return_inverse=True)
        conditions = conditions.select(of_records, of_rows)
    return _is_ruled_out(records, rows, _arrange(conditions, slice(None), np.empty(0, dtype=np.int64)))


def arrange_conditions(conditions: Conditions) -> tuple[ArrangedConditions, Integers]:
    """Order the rows by the first list's code, then the first interval's position; the second part says which row is where."""
    codes = conditions.shown[0]
    most = max(int(codes.max(initial=0)), int(conditions.allowed[0].max(initial=0)))
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=most + 1))])
    by_position = conditions.positions.shape[1] > 0
    rows = np.lexsort((conditions.positions[:, 0], codes)) if by_position else np.argsort(codes, kind="stable")
    return _arrange(conditions, rows, starts), rows


def _arrange(conditions: Conditions, rows: Integers | slice, group_starts: Integers) -> ArrangedConditions:
    offsets = np.cumsum([0, *(len(codes) for codes in conditions.allowed)])[:-1, np.newaxis]
    likelihoods = conditions.likelihoods
    return ArrangedConditions(
        conditions.begins + offsets,
        conditions.ends + offsets,
        np.concatenate(conditions.allowed),
        np.ascontiguousarray(conditions.shown[:, rows]),
        conditions.low,
        conditions.high,
        conditions.positions[rows],
        likelihoods.log_probability,
        likelihoods.own_at,
        np.ascontiguousarray(likelihoods.shown_at[rows]),
        likelihoods.own_coordinates,
        np.ascontiguousarray(likelihoods.shown_coordinates[rows]),
        group_starts,
    )


@njit(missing=MISSING_POSITIONS, infinite=UNBOUNDED_CONDITIONS)
def _is_ruled_out(records: Integers, rows: Integers, conditions: ArrangedConditions) -> Booleans:
    outside = np.zeros(len(records), dtype=np.bool_)
    possible, scores = np.empty(1, dtype=np.int64), np.empty(1)
    for e in range(len(records)):
        i, possible[0] = records[e], rows[e]
        n_possible = 1 if meets_conditions(i, rows[e], conditions, 0) else 0
        outside[e] = keep_likely(i, conditions, possible, n_possible, scores) == 0
    return outside


@njit(missing=MISSING_POSITIONS, infinite=UNBOUNDED_CONDITIONS)
def write_likely_images(i: int, conditions: ArrangedConditions, possible: Integers, scores: Floats) -> int:
    """`write_images` without the rows that the laws exclude, and the log-probability of the others in `scores`."""
    return keep_likely(i, conditions, possible, write_images(i, conditions, possible), scores)


@njit
def write_images(i: int, conditions: ArrangedConditions, possible: Integers) -> int:
    """Write the rows that meet all conditions of record i but the laws into `possible`; returns how many they are."""
    n_possible = 0
    for option in conditions.allowed[conditions.begins[0, i] : conditions.ends[0, i]]:
        first, last = conditions.group_starts[option], conditions.group_starts[option + 1]
        first, last = _range(conditions.positions, first, last, conditions.low[i], conditions.high[i])
        n_possible = _add_rows_in_intervals(i, first, last, conditions, possible, n_possible)
    return _keep_listed(i, conditions, possible, n_possible)


@njit
def keep_likely(i: int, conditions: ArrangedConditions, possible: Integers, n_possible: int, scores: Floats) -> int:
    """Keep of the possible rows those that the laws do not exclude, their log-probabilities in `scores`; how many they are."""
    own_at, own_point = conditions.own_at[i], conditions.own_coordinates[i]
    shown_at, shown_coordinates = conditions.shown_at, conditions.shown_coordinates
    return rule_out(conditions.log_probability, own_at, shown_at, own_point, shown_coordinates, possible, n_possible, scores)


@njit
def _range(positions: Floats, first: int, last: int, low: Floats, high: Floats) -> tuple[int, int]:
    """The part of a group whose first position lies within the record's first interval; missing positions stand last."""
    if positions.shape[1] == 0 or np.isnan(low[0]):
        return first, last
    return _first_above(positions, first, last, low[0], False), _first_above(positions, first, last, high[0], True)


@njit
def _first_above(positions: Floats, first: int, last: int, bound: float, strictly: bool) -> int:
    while first < last:
        middle = (first + last) // 2
        position = positions[middle, 0]
        if position < bound or (strictly and position == bound):
            first = middle + 1
        else:
            last = middle
    return first


@njit
def _add_rows_in_intervals(
    i: int, first: int, last: int, conditions: ArrangedConditions, possible: Integers, n_possible: int
) -> int:
    """Add the rows of a range that meet all intervals to the possible ones; returns how many these are then."""
    for row in range(first, last):
        if _is_in_intervals(i, row, conditions):
            possible[n_possible] = row
            n_possible += 1
    return n_possible


@njit
def _is_in_intervals(i: int, row: int, conditions: ArrangedConditions) -> bool:
    low, high, positions = conditions.low[i], conditions.high[i], conditions.positions[row]
    for j in range(len(low)):
        inside = np.isnan(positions[j]) if np.isnan(low[j]) else low[j] <= positions[j] <= high[j]
        if not inside:
            return False
    return True


@njit
def meets_conditions(i: int, row: int, conditions: ArrangedConditions, first_list: int) -> bool:
    """Does a row meet all conditions of record i but the laws, and but the lists before `first_list`?"""
    for j in range(first_list, len(conditions.shown)):
        if not _is_listed(conditions.allowed, conditions.begins[j, i], conditions.ends[j, i], conditions.shown[j, row]):
            return False
    return _is_in_intervals(i, row, conditions)


@njit
def _keep_listed(i: int, conditions: ArrangedConditions, possible: Integers, n_possible: int) -> int:
    """Keep of the possible rows those that show an allowed code in every list but the first; returns how many they are."""
    shown, allowed = conditions.shown, conditions.allowed
    for j in range(1, len(shown)):
        kept = 0
        for row in possible[:n_possible]:
            if _is_listed(allowed, conditions.begins[j, i], conditions.ends[j, i], shown[j, row]):
                possible[kept] = row
                kept += 1
        n_possible = kept
    return n_possible


@njit
def _is_listed(codes: Integers, first: int, last: int, code: int) -> bool:
    for e in range(first, last):  # noqa: SIM110  # any() of a generator is not compiled
        if codes[e] == code:
            return True
    return False
