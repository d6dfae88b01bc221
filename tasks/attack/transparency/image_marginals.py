"""How probable each row is as each record's, given that no two records have one row: belief propagation over permutations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.linkage.pair_marginals import MOST_PAIRS_JOINTLY, WeighedPairs
from tasks.attack.linkage.pair_marginals import compute_pair_marginals as jointly
from tasks.attack.neighbours.distances import compute_record_distance
from tasks.attack.neighbours.record_comparison import Comparison
from tasks.attack.neighbours.ties import TIE, ensure_capacity
from tasks.attack.transparency.estimated_evidence import has_many_kinds
from tasks.attack.transparency.intersection import Conditions
from tasks.attack.transparency.scores import MISSING, UNBOUNDED, ImageScores, find_likely_images, score_images
from tasks.microdata.compiled import njit
from tasks.microdata.errors import NotFollowed
from tasks.microdata.table import Floats, Integers

MANY = 100_000  # distinct records, of which some are looked at before all
# On average a record may have so many pairs in the whole table. There are too many where three of five records have 32 times as
# many in a part of MANY records and rows alone, though one record in 32 would be enough; or where the records that are then
# looked at in the whole table have four times as many on average.
_FIRST_LOOK, _FIRST_TIMES = 5, 32
_SECOND_LOOK, _SECOND_TIMES = 1_000, 4
TOO_MANY_PAIRS = f"more than {MOST_PAIRS_JOINTLY:,} pairs of records and rows are possible: too many to weigh together"
_LOST = 30.0  # a row e^-30 times as probable as a record's likeliest is left out
_EQUAL = 1 - 1e-6

_RECORDS = dict.fromkeys(("own", "shown"), "a missing value, which `compute_record_distance` asks for")


@dataclass(frozen=True, slots=True)
class Marginals:
    """The probabilities of pairs of distinct records and rows.

    pairs: those that are possible. chance: shape (e,), of the record's having one row of the kind.
    record_class, row_class: shapes (n,), of all records and rows. largest: shape (r,). Where only a part of the table was
        looked at, the records (rows) outside are of one kind more, without a pair, and `largest` ends with a 0 for it.
    """

    pairs: WeighedPairs
    chance: Floats
    record_class: Integers
    row_class: Integers
    largest: Floats

    def compute_probabilities(self, records: Integers, rows: Integers) -> Floats:
        """Shape (k,): the probability that the row is the record's own, for k pairs."""
        return self.pairs.look_up_values(self.chance, self.record_class[records], self.row_class[rows])

    def compute_guess_probabilities(self, records: Integers) -> Floats:
        """Shape (k,): the largest probability of any row."""
        return self.largest[self.record_class[records]]

    def likeliest(self, both: Comparison) -> tuple[Integers, Integers]:
        """Starts and classes of the rows of the largest probability of each distinct record, and of these of the nearest."""
        return _likeliest(
            self.pairs.starts, self.pairs.rows, self.chance, self.largest, both.own, both.shown, both.nominal, both.weight
        )


def compute_marginals(both: Comparison, whole: ImageScores) -> Marginals:
    """The probability of each pair, where the intruder holds the whole original of a complete release.

    Meaning: each released row is one record's. Where rows that would suit a record suit others better, that speaks for the
    rest of its rows. Unlike the likeliest assignment, which is one of many that are hardly less likely, this sums over all
    of them, and so links more wherever somebody is in doubt.
    Formula in words: of all ways to give the records to the rows one to one each is as probable as the product of its
    P(row | record); r is the share of those in which the record has the row, by belief propagation (`linkage.pair_marginals`).
    Equal records, and equal rows, count as often as they occur. Without a law all possible images have the same P.

    whole: as `score_images` makes it.

    Returns the probabilities. They can be too sure of themselves, as messages go around in loops: of two records they settle on
    the likelier way, of many they hardly differ (rank jitter of Census: claims up to two points above the links). Which row is
    the likeliest they hardly ever miss: the chosen rows of small files have at least 99 % of the best exact share.
    Raises NotFollowed where more than 12,000,000 pairs are left.
    Cost: that of the attack, and of up to 100 rounds over the pairs. Source: as of `linkage.pair_marginals`.
    Example: records that can be rows {1}, {1, 2}: the second is row 2 for certain.
    """
    starts, positions, weight = _pairs(whole, MOST_PAIRS_JOINTLY)
    if len(starts) == 0:
        raise NotFollowed(TOO_MANY_PAIRS)
    rows, n = whole.rows[positions], len(both.own_of_record)
    order = np.lexsort((rows, np.repeat(np.arange(len(starts) - 1), np.diff(starts))))
    pairs = WeighedPairs(starts, rows[order], weight[order])
    chance = jointly(pairs, np.bincount(both.own_of_record), np.bincount(both.shown_of_row), n)
    largest = np.maximum.reduceat(np.append(chance, 0.0), starts[:-1]) * (np.diff(starts) > 0)
    return Marginals(pairs, chance, both.own_of_record, both.shown_of_row, largest)


def refuse_too_many_pairs(conditions: Conditions) -> None:
    """Raises NotFollowed where `compute_marginals` clearly would, which is seen on some of the records.

    Of a large table what speaks for a row is estimated. To estimate it for all rows takes long, and would be in vain. A part
    tells soon where there are far too many: of a record's pairs it holds as large a share as of the rows.
    Where the number of pairs is near the limit, `compute_marginals` counts them.
    """
    laws, records = conditions.likelihoods, conditions.likelihoods.records
    widths = (laws.own_coordinates, laws.own_at, conditions.positions)
    if len(records) <= MANY or not has_many_kinds(*(columns.shape[1] for columns in widths)):
        return  # the sums are exact, and would be computed twice
    most = MOST_PAIRS_JOINTLY / len(records)  # of a record, on average
    part = conditions.select(_choose_evenly(len(records), MANY), _choose_evenly(len(conditions.sizes), MANY))
    if (
        np.median(_count_pairs_of_some(part, _FIRST_LOOK)) > _FIRST_TIMES * most
        or _count_pairs_of_some(conditions, _SECOND_LOOK).mean() > _SECOND_TIMES * most
    ):
        raise NotFollowed(TOO_MANY_PAIRS)


def _choose_evenly(n: int, most: int) -> Integers:
    """At most so many of the numbers 0..n - 1, at equal distances, ascending."""
    chosen = min(n, most)
    return np.arange(chosen) * n // chosen


def _count_pairs_of_some(conditions: Conditions, n: int) -> Integers:
    """Shape (n,): how many pairs of a distinct record are not hopeless, of n records all over the table."""
    some = _choose_evenly(len(conditions.likelihoods.records), n)
    searching = np.zeros(len(conditions.likelihoods.records), dtype=bool)
    searching[some] = True
    return _count_pairs(score_images(conditions, searching=searching), some)


@njit(missing=MISSING, infinite=UNBOUNDED)
def _count_pairs(whole: ImageScores, records: Integers) -> Integers:
    possible, scores = np.empty(len(whole.sizes), dtype=np.int64), np.zeros(len(whole.sizes))
    found = np.zeros(len(records), dtype=np.int64)
    for k, i in enumerate(records):
        n = find_likely_images(i, whole, _LOST, possible, scores)
        if n > 0:
            found[k] = (scores[:n] > scores[:n].max() - _LOST).sum()
    return found


@njit(missing=MISSING, infinite=UNBOUNDED)
def _pairs(whole: ImageScores, most: int) -> tuple[Integers, Integers, Floats]:
    """The possible images of each record that are not hopeless, and what speaks for each, at most 1; empty for too many."""
    r = len(whole.conditions.own_at)
    starts, used = np.zeros(r + 1, dtype=np.int64), 0
    positions, weight = np.empty(16, dtype=np.int64), np.empty(16)
    possible, scores = np.empty(len(whole.sizes), dtype=np.int64), np.zeros(len(whole.sizes))
    for i in range(r):
        n = find_likely_images(i, whole, _LOST, possible, scores)
        top = scores[:n].max() if n > 0 else 0.0
        for e in range(n):
            if scores[e] > top - _LOST:
                positions, weight = ensure_capacity(positions, used), ensure_capacity(weight, used)
                positions[used], weight[used] = possible[e], np.exp(scores[e] - top)
                used += 1
        if used > most:
            return starts[:0], positions[:0], weight[:0]
        starts[i + 1] = used
    return starts, positions[:used].copy(), weight[:used].copy()


@njit(missing=_RECORDS)
def _likeliest(
    starts: Integers,
    rows: Integers,
    chance: Floats,
    largest: Floats,
    own: Floats,
    shown: Floats,
    nominal: np.ndarray,
    weight: Floats,
) -> tuple[Integers, Integers]:
    begins, used = np.zeros(len(starts), dtype=np.int64), 0
    found, distances = np.empty(len(own) + 16, dtype=np.int64), np.empty(len(own) + 16)
    for i in range(len(own)):
        first, least = used, np.inf
        for e in range(starts[i], starts[i + 1]):
            if chance[e] < largest[i] * _EQUAL:
                continue
            distance = compute_record_distance(own[i], shown[rows[e]], nominal, weight, least * TIE)
            if distance <= least * TIE:
                found, distances = ensure_capacity(found, used), ensure_capacity(distances, used)
                found[used], distances[used] = rows[e], distance
                used, least = used + 1, min(least, distance)
        kept = first
        for e in range(first, used):
            if distances[e] <= least * TIE:
                found[kept] = found[e]
                kept += 1
        used = kept
        begins[i + 1] = used
    return begins, found[:used].copy()
