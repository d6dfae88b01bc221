"""The likeliest possible images of each record, and of these the nearest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.attack.neighbours.distances import compute_record_distance
from tasks.attack.neighbours.record_comparison import Comparison
from tasks.attack.neighbours.ties import TIE, ensure_capacity
from tasks.attack.transparency.intersection import Conditions, write_images, write_likely_images
from tasks.attack.transparency.likelihood import TIE as TIE_OF_LOGARITHMS
from tasks.attack.transparency.row_evidence import count_images
from tasks.attack.transparency.scores import MISSING, UNBOUNDED, ImageScores, find_likely_images
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

_RECORDS = dict.fromkeys(("both.own", "both.shown"), "a missing value, which `compute_record_distance` asks for")


class _Compared(NamedTuple):
    """What the distances need of the distinct records and rows, as in `Comparison`."""

    own: Floats
    shown: Floats
    nominal: Booleans
    weight: Floats


def intersect_conditions(
    both: Comparison, conditions: Conditions, whole: ImageScores, *, searching: Booleans, few: int = 0
) -> tuple[Integers, Integers, Integers, tuple[Integers, Integers]]:
    """For each searching distinct record the rows that meet all conditions: the best of them, and the size of the whole set.

    whole: as `score_images` makes it of the conditions.
    searching: shape (r,); the sets of the other records are left empty, and what is found for these depends on none of them,
    but where the law of noise is estimated: there a row that is looked at more closely for one record is so for all.

    The best are first those that are the record's image with the largest probability (`likelihood`; without randomised
    attributes all are equally likely), and of these the nearest.
    Rows are looked up by the first list of codes and, among equal codes, by the first interval, or where noise was added in a
    tree (`image_trees`). Returns starts (r + 1,), the distinct rows nearest within the set (ties within a relative 1e-9), and
    the number of released rows in the set, shape (r,); where it is 0 there is no nearest row either. Last, starts and distinct
    rows of the whole sets that hold at most `few` released rows; the others stand empty in it.
    """
    compared = _Compared(both.own, both.shown, both.nominal, both.weight)
    by_likelihood = conditions.likelihoods.any
    counted = count_images(conditions, searching) if by_likelihood else np.zeros(len(searching), dtype=np.int64)
    starts, found, sizes, few_starts, members = _intersect(compared, searching, whole, by_likelihood, counted, few)
    return starts, whole.rows[found], sizes, (few_starts, whole.rows[members])


@njit(missing=MISSING | _RECORDS, infinite=UNBOUNDED)
def _intersect(
    both: _Compared, searching: Booleans, whole: ImageScores, by_likelihood: bool, counted: Integers, few: int
) -> tuple[Integers, Integers, Integers, Integers, Integers]:
    n, n_rows = len(both.own), len(whole.rows)
    starts = np.zeros(n + 1, dtype=np.int64)
    few_starts, members = np.zeros(n + 1, dtype=np.int64), np.empty(16, dtype=np.int64)
    found = np.empty(n + 16, dtype=np.int64)
    distances = np.empty(n + 16)
    sizes = counted.copy()
    possible, scores = np.empty(n_rows, dtype=np.int64), np.empty(n_rows)
    used = 0
    for i in range(n):
        starts[i + 1], few_starts[i + 1] = used, few_starts[i]
        if not searching[i]:
            continue
        # Laws leave only the likeliest rows as candidates; without laws all images are alike.
        first, least = used, np.inf
        if by_likelihood:
            n_images = find_likely_images(i, whole, TIE_OF_LOGARITHMS, possible, scores)
        else:
            n_images = write_images(i, whole.conditions, possible)
            for row in possible[:n_images]:
                sizes[i] += whole.sizes[row]
        # One pass with a shrinking bound writes a few rows too many, and spares a second look at the distances.
        for row in possible[:n_images]:
            shown = both.shown[whole.rows[row]]
            distance = compute_record_distance(both.own[i], shown, both.nominal, both.weight, least * TIE)
            if distance <= least * TIE:
                found, distances = ensure_capacity(found, used), ensure_capacity(distances, used)
                found[used], distances[used] = row, distance
                used += 1
                least = min(least, distance)
        # The rows that were written before the bound shrank are taken out again.
        used = _keep_nearest(found, distances, first, used, least)
        found[first:used].sort()
        starts[i + 1] = used
        # Whole sets are written out only where they are small: all of them could be as many as there are pairs.
        if 0 < sizes[i] <= few:
            if by_likelihood:
                n_images = write_likely_images(i, whole.conditions, possible, scores)
            for row in possible[:n_images]:
                members = ensure_capacity(members, few_starts[i + 1])
                members[few_starts[i + 1]] = row
                few_starts[i + 1] += 1
    return starts, found[:used].copy(), sizes, few_starts, members[: few_starts[-1]].copy()


@njit
def _keep_nearest(found: Integers, distances: Floats, first: int, used: int, least: float) -> int:
    kept = first
    for e in range(first, used):
        if distances[e] <= least * TIE:
            found[kept] = found[e]
            kept += 1
    return kept
