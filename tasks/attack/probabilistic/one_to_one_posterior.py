"""r(b) of all records together, where each released row is one record's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.linkage.pair_marginals import MOST_PAIRS_JOINTLY, WeighedPairs, compute_pair_marginals
from tasks.attack.outcomes.links import Links
from tasks.attack.probabilistic.levels import PatternComparison
from tasks.attack.probabilistic.match_posterior import PAIRS_OF_A_BLOCK, logs_by_pattern
from tasks.attack.probabilistic.patterns import Patterns, compute_block_patterns, create_rules
from tasks.microdata.table import Floats, Integers

_LOST = 60.0  # a row e^-60 times as probable as a record's likeliest is left out
_MOST = 300.0  # of log m/u: its exponential is still a number


@dataclass(frozen=True, slots=True)
class OneToOnePosterior:
    """r(b) of every record over the released rows, held by the pairs of distinct records and rows that are not hopeless.

    both: the files. links: of the assignment. pairs, shares: r(b) of one record of a pair's kind at one row of its kind.
    largest: shape (r,): the mean of r(b) over the rows that a record is assigned, 0 where that is none: what its guess claims.
    squares: shape (r,): the sum of r(b)^2. present: shape (r,): the sum of r(b).
    """

    both: PatternComparison
    links: Links
    pairs: WeighedPairs
    shares: Floats
    largest: Floats
    squares: Floats
    present: Floats

    def compute_probabilities(self, records: Integers, rows: Integers) -> Floats:
        """Shape (k,): r(row) of the record, for k pairs."""
        return self.pairs.look_up_values(self.shares, self.both.own_of_record[records], self.both.shown_of_row[rows])

    def compute_guess_probabilities(self, records: Integers) -> Floats:
        """Shape (k,): how probable the intruder takes the guess to be that they make of each record."""
        return self.largest[self.both.own_of_record[records]]

    def compute_row_probabilities(self, record: int) -> Floats:
        """Shape (m,): r(b) of one record over all released rows."""
        rows = np.arange(len(self.both.shown_of_row))
        return self.compute_probabilities(np.full(len(rows), record), rows)


def compute_one_to_one_posterior(
    both: PatternComparison, patterns: Patterns, log_ratio: Floats, links: Links, *, n_common: int, participation_known: bool
) -> OneToOnePosterior | None:
    """r(b) of all records, given that n_common of them have a row, and no row is two records'.

    Meaning: an intruder who has many records does not count with a row for one of them that is surely another's.
    Formula in words: of all ways to match n_common records with rows one to one, each is as probable as the product of its m/u
    says; r(b) is the probability of those in which b is the record's (`compute_pair_marginals`). Of whom they know that the row
    is there it is divided by the probability, in the same ways, that the record has one.

    log_ratio: shape (p,): log m/u of each of the patterns. links: those of the assignment.
    Returns r(b), None for more than 12 million pairs; by chance its mean at the truth is that of `PatternPosterior`. On data
    drawn from the model claims come true, those of the assigned rows too. Cost: as `compute_pair_marginals`, and a pass over
    all pairs.
    """
    pairs = _pairs(both, patterns, log_ratio)
    if pairs is None:
        return None
    records, counts = pairs.records, both.row_counts[pairs.rows].astype(np.float64)
    shares = compute_pair_marginals(pairs, both.record_counts, both.row_counts, n_common)

    def sums(values: Floats) -> Floats:
        return np.bincount(records, counts * values, both.own.shape[1]).astype(np.float64)

    if participation_known:
        shares /= np.maximum(sums(shares), 1e-300)[records]
    largest = _average_over_guess(links, pairs, shares, both.row_counts)
    return OneToOnePosterior(both, links, pairs, shares, largest, sums(shares**2), sums(shares))


def _pairs(both: PatternComparison, patterns: Patterns, log_ratio: Floats) -> WeighedPairs | None:
    rules, log_of, sizes, rows, weights = create_rules(both), logs_by_pattern(patterns.numbers, log_ratio), [0], [], []
    at_a_time = max(PAIRS_OF_A_BLOCK // both.shown.shape[1], 1)
    for begin in range(0, both.own.shape[1], at_a_time):
        logs = log_of(compute_block_patterns(rules, begin, min(begin + at_a_time, both.own.shape[1])))
        best = logs.max(axis=1, keepdims=True)
        kept = np.asarray((logs > best - _LOST) & np.isfinite(logs))
        sizes.extend(kept.sum(axis=1).tolist())
        rows.append(np.nonzero(kept)[1].astype(np.int64))
        weights.append(np.exp(np.minimum(logs[kept], _MOST)))
        if sum(map(len, rows)) > MOST_PAIRS_JOINTLY:
            return None
    return WeighedPairs(np.cumsum(sizes), np.concatenate(rows), np.concatenate(weights))


def _average_over_guess(links: Links, pairs: WeighedPairs, shares: Floats, counts: Integers) -> Floats:
    n_kinds = len(links.starts) - 1
    kinds = np.repeat(np.arange(n_kinds), np.diff(links.starts))
    rows = np.bincount(kinds, counts[links.classes], n_kinds)
    found = np.bincount(kinds, counts[links.classes] * pairs.look_up_values(shares, kinds, links.classes), n_kinds)
    return np.asarray(found / np.maximum(rows, 1), dtype=np.float64)
