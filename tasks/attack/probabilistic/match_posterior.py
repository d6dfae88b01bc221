"""Where a record's own row is in the release: a probability for every released row, by Bayes' rule over the patterns.

Before a look at the patterns each row is as likely as any other. Row b then is the record's own with a probability proportional
to m(pattern) / u(pattern). Rows that the intruder cannot tell apart have the same pattern, so that they share alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from tasks.attack.linkage.assignment import MOST_OF_A_FULL_MATRIX
from tasks.attack.outcomes.links import Links
from tasks.attack.probabilistic.levels import PatternComparison
from tasks.attack.probabilistic.pattern_assignment import assign_by_patterns
from tasks.attack.probabilistic.patterns import (
    MOST_COUNTED_AT_ONCE,
    Patterns,
    compute_block_patterns,
    compute_patterns,
    create_rules,
)
from tasks.attack.transparency.likelihood import TIE
from tasks.microdata.errors import AttackFailed, NotFollowed
from tasks.microdata.table import Booleans, Floats, Integers

PAIRS_OF_A_BLOCK = 1 << 19
MOST_PAIRS_TOGETHER = 100_000_000  # of distinct records and rows that are assigned one to one
MOST_TIED = 50_000_000  # rows and records that tie for each other, all written out
_MOST_ABSENT = 700.0  # the exponential of more is infinite


@dataclass(frozen=True, slots=True)
class PatternPosterior:
    """r(b) of every record over the released rows, held by the distinct records and the patterns.

    both: the files. numbers, log_ratio: shape (p,): the patterns, and log m/u of each.
    log_total: shape (r,): of each distinct record the logarithm of the sum of m/u over the released rows, and of what speaks
        for its own row not being there; infinite where every row is impossible.
    largest: shape (r,): the largest r(b). squares: shape (r,): the sum of r(b)^2. present: shape (r,): the sum of r(b), 1 where
        it is known that the own row is there.
    starts, classes: the distinct rows of the largest r(b), of distinct record i classes[starts[i]:starts[i + 1]].
    """

    both: PatternComparison
    numbers: Integers
    log_ratio: Floats
    log_total: Floats
    largest: Floats
    squares: Floats
    present: Floats
    starts: Integers
    classes: Integers

    @property
    def links(self) -> Links:
        """The likeliest rows of each record, ties shared."""
        return Links(self.both.shown_of_row, self.both.own_of_record, self.starts, self.classes)

    def compute_probabilities(self, records: Integers, rows: Integers) -> Floats:
        """Shape (k,): r(row) of the record, for k pairs."""
        there = np.searchsorted(self.numbers, compute_patterns(self.both, records, rows))
        total = self.log_total[self.both.own_of_record[records]]
        known = np.isfinite(total)
        return np.where(known, np.exp(self.log_ratio[there] - np.where(known, total, 0.0)), 0.0)

    def compute_guess_probabilities(self, records: Integers) -> Floats:
        """Shape (k,): the largest r(b) of each record: how probable the intruder takes their guess to be."""
        return self.largest[self.both.own_of_record[records]]

    def compute_row_probabilities(self, record: int) -> Floats:
        """Shape (m,): r(b) of one record over all released rows."""
        rows = np.arange(len(self.both.shown_of_row))
        return self.compute_probabilities(np.full(len(rows), record), rows)


def compute_pattern_posterior(
    both: PatternComparison, patterns: Patterns, log_ratio: Floats, *, presence: float = 1.0
) -> PatternPosterior:
    """r(b) of all records.

    Formula in words: m/u of the row, over the sum of m/u over all rows; with the chance s < 1 that the own row is in a release
    of m rows at all, that sum plus m (1 - s) / s. A record to which every row is impossible has no guess, and its r(b) are 0.

    log_ratio: shape (p,): log m/u of each of the patterns, -inf where a match is impossible. presence: s, above 0.
    Cost: O(r c) time for r and c distinct records and rows, about 20 ns for each; memory of half a million of them.
    """
    assert len(log_ratio) == len(patterns.numbers)  # noqa: S101  both come from the same patterns
    with np.errstate(divide="ignore"):
        absent = float(np.log(len(both.shown_of_row) * (1 - presence) / presence))
    sums, sizes, classes, tied = [], [], [], 0
    for some, likeliest in _iterate_blocks(both, logs_by_pattern(patterns.numbers, log_ratio), absent):
        sums.append(some)
        sizes.append(likeliest.sum(axis=1))
        classes.append(np.nonzero(likeliest)[1])
        tied += len(classes[-1])
        if tied > MOST_TIED:
            raise NotFollowed(
                f"more than {MOST_TIED:,} pairs of records are equally likely: what is known tells too little apart"
            )
    starts = np.append(0, np.cumsum(np.concatenate(sizes)))
    total, largest, squares, present = np.hstack(sums)
    every = np.concatenate(classes).astype(np.int64)
    return PatternPosterior(both, patterns.numbers, log_ratio, total, largest, squares, present, starts, every)


def one_to_one(both: PatternComparison, patterns: Patterns, log_ratio: Floats) -> Links:
    """The links of the likeliest assignment of records to released rows, no row for two of them.

    Meaning: an intruder who has many records links them together. Formula in words: the assignment with the largest sum of
    log m/u (scipy's linear_sum_assignment); a pair that cannot be a match is chosen only where nothing else is left, and is no
    link. In files of different sizes the records that are left over are given to nobody. Equal records share what was given to
    any of them; the solver sees the distinct records in ascending order, so that the order of neither file counts.
    More than 3,000 records or rows are assigned by lists that grow where prices ask for it (`solve_assignment`), as exactly.

    Raises NotFollowed for more than 3,000 records or rows of which some pair cannot be a match, or with more than 100 million
    pairs of distinct ones. Cost: O(n^3) time and O(n^2) memory up to 3,000; above some passes over the pairs, linear memory.
    """
    queries, searched = (np.repeat(np.arange(len(one)), one) for one in (both.record_counts, both.row_counts))
    log_of = logs_by_pattern(patterns.numbers, log_ratio)
    if max(len(queries), len(searched)) > MOST_OF_A_FULL_MATRIX:
        _check_can_be_assigned(both, log_ratio)
        most = float(log_ratio.max())
        return assign_by_patterns(both, lambda numbers: most - log_of(numbers))
    logs = log_of(compute_block_patterns(create_rules(both), 0, both.own.shape[1]))
    possible = np.isfinite(logs)
    never = -2 * (len(queries) + 1) * (1 + np.abs(logs[possible]).max(initial=0.0))
    records, rows = scipy.optimize.linear_sum_assignment(np.where(possible, logs, never)[queries][:, searched], maximize=True)
    links = np.unique(np.column_stack([queries[records], searched[rows]]), axis=0)
    links = links[possible[links[:, 0], links[:, 1]]]
    starts = np.searchsorted(links[:, 0], np.arange(logs.shape[0] + 1))
    return Links(both.shown_of_row, both.own_of_record, starts, np.ascontiguousarray(links[:, 1]))


def _check_can_be_assigned(both: PatternComparison, log_ratio: Floats) -> None:
    pairs = both.own.shape[1] * both.shown.shape[1]
    if not np.isfinite(log_ratio).all():
        raise NotFollowed(f"one to one, more than {MOST_OF_A_FULL_MATRIX:,} records of which some pairs cannot be matches")
    if pairs > MOST_PAIRS_TOGETHER:
        raise NotFollowed(f"{pairs:,} pairs of records that differ are too many to assign ({MOST_PAIRS_TOGETHER:,} at most)")


def check_compatible(shares: Floats, known: Integers, *, present: bool = True) -> None:
    """Refuse what no intruder could hold for a probability of the rows, given what they cannot know.

    Meaning: a re-identification method returns a probability that the uncertainty allows (D11.2, section 2.4): it follows from
    a belief about sets of rows that they can tell from each other, spread evenly inside each of them.

    shares: shape (m,): r(b) of one record. known: shape (m,): equal numbers for rows that show the same in what they know.
    present: do they know that the record is in the release?
    Raises AttackFailed for a share outside 0..1, shares that do not add up to 1 (or add up to more where they do not know that
    the record is there), and rows that look alike with different shares.
    """
    total = float(shares.sum())
    if not (shares >= 0).all() or total > 1 + 1e-9 or (present and total < 1 - 1e-9):
        raise AttackFailed("what is called a probability of the released rows is none")
    first = np.unique(known, return_index=True)[1]
    if not np.allclose(shares, shares[first][np.unique(known, return_inverse=True)[1]], rtol=1e-9, atol=0):
        raise AttackFailed("rows that the intruder cannot tell apart have different probabilities")


def _iterate_blocks(
    both: PatternComparison, log_of: Callable[[Integers], Floats], absent: float
) -> Iterator[tuple[Floats, Booleans]]:
    """Of the distinct records, block by block: log total, largest, squares, present, shape (4, i), and who is likeliest."""
    rules, counts = create_rules(both), both.row_counts
    at_a_time = max(PAIRS_OF_A_BLOCK // len(counts), 1)
    for begin in range(0, both.own.shape[1], at_a_time):
        logs = log_of(compute_block_patterns(rules, begin, min(begin + at_a_time, both.own.shape[1])))
        best = logs.max(axis=1)
        possible = best > -np.inf
        first = np.where(possible, best, 0.0)
        shares = np.exp(logs - first[:, None])
        total, squares = (shares * counts).sum(axis=1), (shares**2 * counts).sum(axis=1)
        every = np.where(possible, total + np.exp(np.minimum(absent - first, _MOST_ABSENT)), np.inf)
        yield np.stack([first + np.log(every), 1 / every, squares / every**2, total / every]), _likeliest(logs, best)


def _likeliest(logs: Floats, best: Floats) -> Booleans:
    return np.asarray((logs >= best[:, None] - TIE) & (best > -np.inf)[:, None])


def logs_by_pattern(numbers: Integers, log_ratio: Floats) -> Callable[[Integers], Floats]:
    """A function: numbers of patterns -> their log m/u; by a table where there are few numbers."""
    if int(numbers[-1]) >= MOST_COUNTED_AT_ONCE:
        return lambda patterns: log_ratio[np.searchsorted(numbers, patterns)]
    table = np.full(int(numbers[-1]) + 1, -np.inf)
    table[numbers] = log_ratio
    return lambda patterns: table[patterns]
