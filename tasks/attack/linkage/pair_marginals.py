"""How probable each pair is where every record has one row and every row one record: of all assignments, not of each record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

MOST_PAIRS_JOINTLY = 12_000_000  # 40 bytes and some 10 ns for each, ROUNDS times
ROUNDS = 100
SETTLED = 1e-5  # no probability moves by more in a round
_BALANCED = 10  # rounds that make what records and rows weigh alike, so that messages stay near 1
_MOST = 1e17  # of a message, or its inverse: what a sum of a million terms does not notice
_LEAST = 1e-14  # of what is left of a sum without one of its terms: rounding
_NOTHING = 1e-300


@dataclass(frozen=True, slots=True)
class WeighedPairs:
    """The pairs of r kinds of records and c kinds of rows that are possible.

    starts: shape (r + 1,), rows: shape (e,): kind i of records and kinds rows[starts[i]:starts[i + 1]] of rows, ascending.
    weight: shape (e,): what speaks for each pair, above 0, where 1 speaks for a record or a row being left over; up to a factor
        of each record (row) where none of them is.
    """

    starts: Integers
    rows: Integers
    weight: Floats

    @property
    def records(self) -> Integers:
        """Shape (e,): the kind of the record of each pair."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def look_up_values(self, values: Floats, records: Integers, rows: Integers) -> Floats:
        """Shape (k,): of values, shape (e,), those of k pairs of kinds; 0 of a pair that is not among these."""
        n_kinds = int(max(self.rows.max(initial=0), rows.max(initial=0))) + 1
        keys, wanted = self.records * n_kinds + self.rows, records * n_kinds + rows
        position = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        found: Floats = np.where(keys[position] == wanted, values[position], 0.0) if len(keys) else np.zeros(len(wanted))
        return found


def compute_pair_marginals(pairs: WeighedPairs, own_counts: Integers, shown_counts: Integers, n_common: int) -> Floats:
    """Shape (e,): how probable it is that one row of the pair's kind is the row of one record of its kind.

    Meaning: n_common of the records are matched with as many rows, each with one. Of all such matchings, which are equally
    likely before a look, one has a probability proportional to the product of its pairs' weights. Records that are left over
    have no row, and rows that are left over are strangers', which weighs 1.
    Formula in words: who is left over is matched too, with one of m - n_common strangers or n - n_common absences, of weight 1.
    Then sum-product messages (belief propagation): a record tells a pair 1 over the sum of what its other rows are worth,
    weight times what the row says; so does a row. A pair's odds are its weight times what both tell it. `ROUNDS` of them at
    most; the probabilities of a record are made to add up to 1.

    own_counts, shown_counts: shapes (r,), (c,): how many records and rows there are of each kind; 0 of records that are
    known not to be released. n_common: at least 1.
    Returns probabilities that, times the counts, add up over the rows to that of the record having a row (all: 1).
    Exact where the possible pairs make no circles, and where all weigh the same; else the Bethe approximation of the permanent:
    where only two or three records are in question the likelier assignment is made too sure; in files of tens and hundreds
    claims come true on average (tests). Cost: O(e) time a round, 40 bytes for each pair.
    Source: Huang and Jebara (2009); Vontobel (2013), "The Bethe permanent of a nonnegative matrix".
    Example: all weights alike: 1/m, for n_common = n.
    """
    strangers, absences = int(shown_counts.sum() - n_common), int(own_counts.sum() - n_common)
    whole = _add_leftovers(pairs, len(shown_counts), strangers > 0, absences > 0)
    records = np.append(own_counts, [strangers] * (strangers > 0)).astype(np.float64)
    rows = np.append(shown_counts, [absences] * (absences > 0)).astype(np.float64)
    weight = _balance_weights(whole.starts, whole.rows, whole.weight, records, rows)
    message, total = np.ones_like(weight), _sums(whole.starts, whole.rows, weight, records, len(rows))
    for _ in range(ROUNDS):
        total, moved = _update_messages(whole.starts, whole.rows, weight, records, message, total, rows)
        if moved <= SETTLED:
            break
    product = message * weight
    rest = np.maximum(total[whole.rows] - product, _LEAST * total[whole.rows])
    odds = np.minimum(product / np.maximum(rest, _NOTHING), 1 / _NOTHING)
    chance = odds / (1 + odds)
    chance /= np.maximum(np.bincount(whole.records, chance * rows[whole.rows], len(records)), _NOTHING)[whole.records]
    real = (whole.records < len(own_counts)) & (whole.rows < len(shown_counts))
    found: Floats = chance[real]
    return found


def _add_leftovers(pairs: WeighedPairs, n_kinds: int, strangers: bool, absences: bool) -> WeighedPairs:
    starts, rows, weight = pairs.starts, pairs.rows, pairs.weight
    if absences:
        rows, weight = np.insert(rows, starts[1:], n_kinds), np.insert(weight, starts[1:], 1.0)
        starts = starts + np.arange(len(starts))
    if strangers:
        rows, weight = np.append(rows, np.arange(n_kinds)), np.append(weight, np.ones(n_kinds))
        starts = np.append(starts, len(rows))
    return WeighedPairs(starts, rows, weight)


@njit
def _balance_weights(starts: Integers, rows: Integers, weight: Floats, records: Floats, sizes: Floats) -> Floats:
    """The same weights, up to factors of records and rows, so that their sums are nearly 1."""
    weight = weight.copy()
    for _ in range(_BALANCED):
        total = _sums(starts, rows, weight, records, len(sizes))
        for i in range(len(records)):
            own = 0.0
            for e in range(starts[i], starts[i + 1]):
                weight[e] /= max(total[rows[e]], _NOTHING)
                own += sizes[rows[e]] * weight[e]
            for e in range(starts[i], starts[i + 1]):
                weight[e] /= max(own, _NOTHING)
    return weight


@njit
def _sums(starts: Integers, rows: Integers, weight: Floats, records: Floats, n_rows: int) -> Floats:
    """Shape (c,): of each kind of row the sum of the weights of all its records."""
    total = np.zeros(n_rows)
    for i in range(len(records)):
        for e in range(starts[i], starts[i + 1]):
            total[rows[e]] += records[i] * weight[e]
    return total


@njit
def _update_messages(
    starts: Integers, rows: Integers, weight: Floats, records: Floats, message: Floats, total: Floats, sizes: Floats
) -> tuple[Floats, float]:
    """Renew what the records tell their pairs; returns what each row then hears in all, and the largest change of a share.

    message: shape (e,), overwritten. total: shape (c,): what each row heard of all records' pairs.
    """
    heard, worth, moved = np.zeros(len(total)), np.empty(len(total)), 0.0
    for i in range(len(records)):
        own, begin = 0.0, starts[i]
        for e in range(begin, starts[i + 1]):
            rest = max(total[rows[e]] - weight[e] * message[e], _LEAST * total[rows[e]])
            worth[e - begin] = weight[e] / max(rest, _NOTHING)  # 0 of a row that only records with a count of 0 could be
            own += sizes[rows[e]] * worth[e - begin]
        for e in range(begin, starts[i + 1]):
            new = min(max(1 / max(own - worth[e - begin], _LEAST * own, _NOTHING), 1 / _MOST), _MOST)
            before, after = worth[e - begin] * message[e], worth[e - begin] * new
            moved = max(moved, abs(before / (1 + before) - after / (1 + after)))
            message[e] = new
            heard[rows[e]] += records[i] * weight[e] * new
    return heard, moved
