"""The intersection of the sets of possible images, and the nearest rows inside it, without ever writing the sets out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tasks.attack.neighbours.distances import compute_record_distance
from tasks.attack.neighbours.record_comparison import Comparison
from tasks.attack.neighbours.ties import TIE, ensure_capacity
from tasks.attack.transparency.likelihood import TIE as TIE_OF_LOGARITHMS
from tasks.attack.transparency.likelihood import LikelihoodTables, add_evidence, rule_out, weigh
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

_POSITIONS = ("conditions.low", "conditions.high", "conditions.positions")
_MISSING = dict.fromkeys(_POSITIONS, "a missing value, which `_range` and `_add_rows_in_intervals` ask for")
_UNBOUNDED = {
    **dict.fromkeys(_POSITIONS[:2], "an interval without an end: `_range` and `_add_rows_in_intervals` only compare with it"),
    "conditions.log_probability": "-inf is what cannot be shown: `rule_out` only compares, and drops such rows",
}
_EVIDENCE = {"evidence": "-inf is a row that is nobody's, and so among nobody's images"}
_RECORDS = dict.fromkeys(("both.own", "both.shown"), "a missing value, which `compute_record_distance` asks for")


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


class _Compared(NamedTuple):
    """What the distances need of the distinct records and rows, as in `Comparison`."""

    own: Floats
    shown: Floats
    nominal: Booleans
    weight: Floats


def intersect_conditions(
    both: Comparison, conditions: Conditions, *, searching: Booleans, few: int = 0
) -> tuple[Integers, Integers, Integers, tuple[Integers, Integers]]:
    """For each searching distinct record the rows that meet all conditions: the best of them, and the size of the whole set.

    searching: shape (r,); the sets of the other records are left empty, and what is found for these depends on none of them.

    The best are first those that are the record's image with the largest probability (`likelihood`; without randomised
    attributes all are equally likely), and of these the nearest.
    Rows are looked up by the first list of codes and, among equal codes, by the first interval. Returns starts (r + 1,), the
    distinct rows nearest within the set (ties within a relative 1e-9), and the number of released rows in the set, shape (r,);
    where it is 0 there is no nearest row either. Last, starts and distinct rows of the whole sets that hold at most `few`
    released rows; the others stand empty in it.
    """
    arranged, rows = arrange_conditions(conditions)
    evidence = sum_evidence(conditions.likelihoods, arranged)
    compared = _Compared(both.own, both.shown[rows], both.nominal, both.weight)
    sizes, by_likelihood = conditions.sizes[rows], conditions.likelihoods.any
    starts, found, whole, few_starts, members = _intersect(compared, searching, arranged, evidence, by_likelihood, sizes, few)
    return starts, rows[found], whole, (few_starts, rows[members])


def is_ruled_out(conditions: Conditions, records: Integers, rows: Integers) -> Booleans:
    """Shape (q,): is the distinct row rows[e] outside the set of possible images of the distinct record records[e]?"""
    return _is_ruled_out(records, rows, _arrange(conditions, slice(None), np.empty(0, dtype=np.int64)))


def arrange_conditions(conditions: Conditions) -> tuple[ArrangedConditions, Integers]:
    """Order the rows by the first list's code, then the first interval's position; the second part says which row is where."""
    codes = conditions.shown[0]
    within = conditions.positions[:, 0] if conditions.positions.shape[1] else np.zeros(len(codes))
    most = max(int(codes.max(initial=0)), int(conditions.allowed[0].max(initial=0)))
    starts = np.searchsorted(np.sort(codes), np.arange(most + 2))
    rows = np.lexsort((within, codes))
    return _arrange(conditions, rows, starts), rows


def sum_evidence(likelihoods: LikelihoodTables, conditions: ArrangedConditions) -> Floats:
    """Shape (c,): log q of each row, 0 without laws (`evidence_by_row`)."""
    return evidence_by_row(conditions, likelihoods.records) if likelihoods.any else np.zeros(len(conditions.shown_at))


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


@njit(missing=_MISSING | _RECORDS, infinite=_UNBOUNDED | _EVIDENCE)
def _intersect(
    both: _Compared,
    searching: Booleans,
    conditions: ArrangedConditions,
    evidence: Floats,
    by_likelihood: bool,
    sizes: Integers,
    few: int,
) -> tuple[Integers, Integers, Integers, Integers, Integers]:
    n, n_rows = len(both.own), len(both.shown)
    starts = np.zeros(n + 1, dtype=np.int64)
    few_starts, members = np.zeros(n + 1, dtype=np.int64), np.empty(16, dtype=np.int64)
    found = np.empty(n + 16, dtype=np.int64)
    distances = np.empty(n + 16)
    whole = np.zeros(n, dtype=np.int64)
    possible, scores = np.empty(n_rows, dtype=np.int64), np.zeros(n_rows)
    used = 0
    for i in range(n):
        starts[i + 1], few_starts[i + 1] = used, few_starts[i]
        if not searching[i]:
            continue
        # Laws leave only the likeliest rows as candidates; without laws all images are alike, and `scores` stays 0.
        first, least = used, np.inf
        likeliest = -np.inf
        if by_likelihood:
            n_images = write_likely_images(i, conditions, possible, scores)
            likeliest = weigh(scores, evidence, possible[:n_images]) - TIE_OF_LOGARITHMS
        else:
            n_images = write_images(i, conditions, possible)
        # One pass with a shrinking bound writes a few rows too many, and spares a second look at the distances.
        for e in range(n_images):
            row = possible[e]
            whole[i] += sizes[row]
            if scores[e] < likeliest:
                continue
            distance = compute_record_distance(both.own[i], both.shown[row], both.nominal, both.weight, least * TIE)
            if distance <= least * TIE:
                found, distances = ensure_capacity(found, used), ensure_capacity(distances, used)
                found[used], distances[used] = row, distance
                used += 1
                least = min(least, distance)
        # The rows that were written before the bound shrank are taken out again.
        used = _keep_nearest(found, distances, first, used, least)
        starts[i + 1] = used
        # Whole sets are written out only where they are small: all of them could be as many as there are pairs.
        for row in possible[: n_images if whole[i] <= few else 0]:
            members = ensure_capacity(members, few_starts[i + 1])
            members[few_starts[i + 1]] = row
            few_starts[i + 1] += 1
    return starts, found[:used].copy(), whole, few_starts, members[: few_starts[-1]].copy()


@njit(missing=_MISSING, infinite=_UNBOUNDED)
def _is_ruled_out(records: Integers, rows: Integers, conditions: ArrangedConditions) -> Booleans:
    outside = np.zeros(len(records), dtype=np.bool_)
    possible, scores = np.empty(1, dtype=np.int64), np.empty(1)
    for e in range(len(records)):
        i, row, n_possible = records[e], rows[e], 0
        if _is_listed(conditions.allowed, conditions.begins[0, i], conditions.ends[0, i], conditions.shown[0, row]):
            n_possible = _add_rows_in_intervals(i, row, row + 1, conditions, possible, 0)
        n_possible = _keep_listed(i, conditions, possible, n_possible)
        outside[e] = _keep_likely(i, conditions, possible, n_possible, scores) == 0
    return outside


@njit(missing=_MISSING, infinite=_UNBOUNDED)
def evidence_by_row(conditions: ArrangedConditions, records: Floats) -> Floats:
    """Shape (c,): the logarithm of q of each row, the sum of its probabilities over all records; -inf: it is nobody's."""
    n_rows = len(conditions.shown_at)
    possible, scores = np.empty(n_rows, dtype=np.int64), np.empty(n_rows)
    total, largest = np.zeros(n_rows), np.full(n_rows, -np.inf)
    for i in range(len(conditions.own_at)):
        n_images = write_likely_images(i, conditions, possible, scores)
        add_evidence(possible[:n_images], scores[:n_images], records[i], largest, total)
    evidence: Floats = np.log(total) + largest
    return evidence


@njit(missing=_MISSING, infinite=_UNBOUNDED)
def write_likely_images(i: int, conditions: ArrangedConditions, possible: Integers, scores: Floats) -> int:
    """`write_images` without the rows that the laws exclude, and the log-probability of the others in `scores`."""
    return _keep_likely(i, conditions, possible, write_images(i, conditions, possible), scores)


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
def _keep_likely(i: int, conditions: ArrangedConditions, possible: Integers, n_possible: int, scores: Floats) -> int:
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
    low, high, positions = conditions.low[i], conditions.high[i], conditions.positions
    for row in range(first, last):
        meets = True
        for j in range(len(low)):
            position = positions[row, j]
            inside = np.isnan(position) if np.isnan(low[j]) else low[j] <= position <= high[j]
            if not inside:
                meets = False
                break
        if meets:
            possible[n_possible] = row
            n_possible += 1
    return n_possible


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


@njit
def _keep_nearest(found: Integers, distances: Floats, first: int, used: int, least: float) -> int:
    kept = first
    for e in range(first, used):
        if distances[e] <= least * TIE:
            found[kept] = found[e]
            kept += 1
    return kept
