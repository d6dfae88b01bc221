"""The intersection of the sets of possible images, and the nearest rows inside it, without ever writing the sets out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.comparison import PlainComparison, compute_record_distance
from tasks.attack.nearest import TIE, ensure_capacity
from tasks.attack.transparency.likelihood import TIE as TIE_OF_LOGARITHMS
from tasks.attack.transparency.likelihood import Laws, add_evidence, rule_out, weigh
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

_MISSING = dict.fromkeys(("low", "high", "positions"), "a missing value, which `_range` and `_add_rows_in_intervals` ask for")
_UNBOUNDED = {
    **dict.fromkeys(("low", "high"), "an interval without an end: `_range` and `_add_rows_in_intervals` only compare with it"),
    "log_probability": "-inf is what cannot be shown: `rule_out` only compares, and drops such rows",
}
_RECORDS = dict.fromkeys(("own", "shown_values"), "a missing value, which `compute_record_distance` asks for")


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
    laws: Laws
    sizes: Integers


def intersect_conditions(
    both: PlainComparison, conditions: Conditions, *, searching: Booleans, few: int = 0
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
    group_starts, rows = groups_of(conditions)
    starts, found, whole, few_starts, members = _intersect(
        both.own,
        both.shown[rows],
        both.nominal,
        both.weight,
        searching,
        *concatenate_lists(conditions),
        np.ascontiguousarray(conditions.shown[:, rows]),
        conditions.low,
        conditions.high,
        conditions.positions[rows],
        conditions.laws.log_probability,
        conditions.laws.own_at,
        np.ascontiguousarray(conditions.laws.shown_at[rows]),
        conditions.laws.own_places,
        np.ascontiguousarray(conditions.laws.shown_places[rows]),
        conditions.laws.any,
        conditions.laws.records,
        conditions.sizes[rows],
        group_starts,
        few,
    )
    return starts, rows[found], whole, (few_starts, rows[members])


def is_ruled_out(conditions: Conditions, records: Integers, rows: Integers) -> Booleans:
    """Shape (q,): is the distinct row rows[e] outside the set of possible images of the distinct record records[e]?"""
    return _is_ruled_out(
        records,
        rows,
        *concatenate_lists(conditions),
        conditions.shown,
        conditions.low,
        conditions.high,
        conditions.positions,
        conditions.laws.log_probability,
        conditions.laws.own_at,
        conditions.laws.shown_at,
        conditions.laws.own_places,
        conditions.laws.shown_places,
    )


def concatenate_lists(conditions: Conditions) -> tuple[Integers, Integers, Integers]:
    """Where the codes allowed by each list begin and end for each record, in one array of all of them."""
    offsets = np.cumsum([0, *(len(codes) for codes in conditions.allowed)])[:-1, np.newaxis]
    return conditions.begins + offsets, conditions.ends + offsets, np.concatenate(conditions.allowed)


def groups_of(conditions: Conditions) -> tuple[Integers, Integers]:
    """Rows ordered by the first list's code, then the first interval's position; where each code's rows start."""
    codes = conditions.shown[0]
    within = conditions.positions[:, 0] if conditions.positions.shape[1] else np.zeros(len(codes))
    most = max(int(codes.max(initial=0)), int(conditions.allowed[0].max(initial=0)))
    starts = np.searchsorted(np.sort(codes), np.arange(most + 2))
    return starts, np.lexsort((within, codes))


@njit(missing=_MISSING | _RECORDS, infinite=_UNBOUNDED)
def _intersect(
    own: Floats,
    shown_values: Floats,
    nominal: Booleans,
    weight: Floats,
    searching: Booleans,
    begins: Integers,
    ends: Integers,
    allowed: Integers,
    shown: Integers,
    low: Floats,
    high: Floats,
    positions: Floats,
    log_probability: Floats,
    own_at: Integers,
    shown_at: Integers,
    own_places: Floats,
    shown_places: Floats,
    by_law: bool,
    records: Floats,
    sizes: Integers,
    group_starts: Integers,
    few: int,
) -> tuple[Integers, Integers, Integers, Integers, Integers]:
    starts = np.zeros(len(own) + 1, dtype=np.int64)
    few_starts, members = np.zeros(len(own) + 1, dtype=np.int64), np.empty(16, dtype=np.int64)
    found = np.empty(len(own) + 16, dtype=np.int64)
    distances = np.empty(len(own) + 16)
    whole = np.zeros(len(own), dtype=np.int64)
    possible, scores = np.empty(len(shown_values), dtype=np.int64), np.zeros(len(shown_values))
    evidence = np.zeros(len(shown_values))
    if by_law:
        evidence = evidence_by_row(
            begins,
            ends,
            allowed,
            shown,
            low,
            high,
            positions,
            log_probability,
            own_at,
            shown_at,
            own_places,
            shown_places,
            records,
            group_starts,
        )
    used = 0
    for i in range(len(own)):
        starts[i + 1], few_starts[i + 1] = used, few_starts[i]
        if not searching[i]:
            continue
        first, least = used, np.inf
        n_images = write_images(begins[:, i], ends[:, i], allowed, shown, low[i], high[i], positions, group_starts, possible)
        likeliest = -np.inf
        if by_law:
            n_images = rule_out(log_probability, own_at[i], shown_at, own_places[i], shown_places, possible, n_images, scores)
            likeliest = weigh(scores, evidence, possible[:n_images]) - TIE_OF_LOGARITHMS
        for e in range(n_images):
            row = possible[e]
            whole[i] += sizes[row]
            if scores[e] < likeliest:
                continue
            distance = compute_record_distance(own[i], shown_values[row], nominal, weight, least * TIE)
            if distance <= least * TIE:
                found, distances = ensure_capacity(found, used), ensure_capacity(distances, used)
                found[used], distances[used] = row, distance
                used += 1
                least = min(least, distance)
        used = _keep_nearest(found, distances, first, used, least)
        starts[i + 1] = used
        for row in possible[: n_images if whole[i] <= few else 0]:
            members = ensure_capacity(members, few_starts[i + 1])
            members[few_starts[i + 1]] = row
            few_starts[i + 1] += 1
    return starts, found[:used].copy(), whole, few_starts, members[: few_starts[-1]].copy()


@njit(missing=_MISSING, infinite=_UNBOUNDED)
def _is_ruled_out(
    records: Integers,
    rows: Integers,
    begins: Integers,
    ends: Integers,
    allowed: Integers,
    shown: Integers,
    low: Floats,
    high: Floats,
    positions: Floats,
    log_probability: Floats,
    own_at: Integers,
    shown_at: Integers,
    own_places: Floats,
    shown_places: Floats,
) -> Booleans:
    outside = np.zeros(len(records), dtype=np.bool_)
    possible, scores = np.empty(1, dtype=np.int64), np.empty(1)
    for e in range(len(records)):
        i, row, n_possible = records[e], rows[e], 0
        if _is_listed(allowed, begins[0, i], ends[0, i], shown[0, row]):
            n_possible = _add_rows_in_intervals(positions, row, row + 1, low[i], high[i], possible, 0)
        n_possible = _showing(shown, possible, n_possible, begins[:, i], ends[:, i], allowed)
        n_possible = rule_out(log_probability, own_at[i], shown_at, own_places[i], shown_places, possible, n_possible, scores)
        outside[e] = n_possible == 0
    return outside


@njit(missing=_MISSING, infinite=_UNBOUNDED)
def evidence_by_row(
    begins: Integers,
    ends: Integers,
    allowed: Integers,
    shown: Integers,
    low: Floats,
    high: Floats,
    positions: Floats,
    log_probability: Floats,
    own_at: Integers,
    shown_at: Integers,
    own_places: Floats,
    shown_places: Floats,
    records: Floats,
    group_starts: Integers,
) -> Floats:
    """Shape (c,): the logarithm of q of each row, the sum of its probabilities over all records; -inf: it is nobody's."""
    n_rows = len(shown_at)
    possible, scores = np.empty(n_rows, dtype=np.int64), np.empty(n_rows)
    total, largest = np.zeros(n_rows), np.full(n_rows, -np.inf)
    for i in range(len(own_at)):
        n_images = write_images(begins[:, i], ends[:, i], allowed, shown, low[i], high[i], positions, group_starts, possible)
        n_images = rule_out(log_probability, own_at[i], shown_at, own_places[i], shown_places, possible, n_images, scores)
        add_evidence(possible[:n_images], scores[:n_images], records[i], largest, total)
    evidence: Floats = np.log(total) + largest
    return evidence


@njit
def write_images(
    begins: Integers,
    ends: Integers,
    allowed: Integers,
    shown: Integers,
    low: Floats,
    high: Floats,
    positions: Floats,
    group_starts: Integers,
    possible: Integers,
) -> int:
    """Write the rows that meet all conditions of one record into `possible`; returns how many they are."""
    n_possible = 0
    for option in allowed[begins[0] : ends[0]]:
        first, last = _range(positions, group_starts[option], group_starts[option + 1], low, high)
        n_possible = _add_rows_in_intervals(positions, first, last, low, high, possible, n_possible)
    return _showing(shown, possible, n_possible, begins, ends, allowed)


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
    positions: Floats, first: int, last: int, low: Floats, high: Floats, possible: Integers, n_possible: int
) -> int:
    """Add the rows of a range that meet all intervals to the possible ones; returns how many these are then."""
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
def _showing(shown: Integers, possible: Integers, n_possible: int, begins: Integers, ends: Integers, allowed: Integers) -> int:
    """Keep of the possible rows those that show an allowed code in every list but the first; returns how many they are."""
    for j in range(1, len(shown)):
        kept = 0
        for row in possible[:n_possible]:
            if _is_listed(allowed, begins[j], ends[j], shown[j, row]):
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
