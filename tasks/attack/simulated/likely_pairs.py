"""The likely pairs of records and rows, weighed together: no row is two records', and exchanges have two sides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tasks.attack.linkage.pair_marginals import WeighedPairs, compute_pair_marginals
from tasks.attack.simulated.exchanges import NOT_LISTED, find_partners, weigh_exchanges
from tasks.microdata.table import Booleans, Floats, Integers

ROUNDS = 12  # in which exchanges are followed
SETTLED = 1e-3  # no probability moves by more in a round
EQUAL = 1e-6  # probabilities that differ by less, relatively, are a tie
MANY_PAIRS = 1_000_000  # of more, those that are hardly possible are left out from round to round
FAINT = 1e-4  # a probability that counts like `NOT_LISTED`
_LARGEST = 60.0  # logarithm of a weight


@dataclass(frozen=True, slots=True)
class LikelyPairs:
    """The likely pairs of kinds of records and of rows.

    starts, rows, scores: of kind i the rows rows[starts[i]:starts[i + 1]], ascending, and log P(row | record). counts, sizes:
    how many records and rows there are of each kind. n_common: how many of the rows are the records'.
    """

    starts: Integers
    rows: Integers
    scores: Floats
    counts: Integers
    sizes: Integers
    n_common: int

    @property
    def owner(self) -> Integers:
        return np.repeat(np.arange(len(self.counts)), np.diff(self.starts))

    def find_largest(self, values: Floats) -> Floats:
        """Shape (e,): the largest value of the pairs of the same record."""
        largest: Floats = np.maximum.reduceat(np.append(values, values.min(initial=0.0)), self.starts[:-1])[self.owner]
        return largest

    def compute_evidence(self) -> Floats:
        """Shape (e,): the logarithm of how much likelier the row is of this record than of any."""
        top = np.full(len(self.sizes), -np.inf)
        np.maximum.at(top, self.rows, self.scores)
        of_all = np.bincount(self.rows, self.counts[self.owner] * np.exp(self.scores - top[self.rows]), len(top))
        shares = np.maximum(of_all[self.rows] / max(int(self.counts.sum()), 1), 1e-300)
        evidence: Floats = self.scores - top[self.rows] - np.log(shares)
        return evidence

    def compute_chances(self, evidence: Floats) -> Floats:
        """Shape (e,): how probable each pair is, given all records and rows."""
        if self.n_common == self.counts.sum() == self.sizes.sum():  # only ratios between the rows of a record count
            evidence = evidence - self.find_largest(evidence)
        weight = np.exp(np.clip(evidence, -_LARGEST, _LARGEST))
        weight = np.where(self.counts[self.owner] > 0, weight, 1e-200)  # who is not released takes part in nothing
        return compute_pair_marginals(WeighedPairs(self.starts, self.rows, weight), self.counts, self.sizes, self.n_common)

    def follow_exchanges(self, own: Floats, shown: Floats, rounds: int = ROUNDS) -> Floats:
        """As `compute_chances`, where values were exchanged in pairs: each round goes by what the last one found.

        own, shown: shapes (d, r), (d, c), the values of the kinds of records and rows. Where some records are not released, or
        some rows are strangers', the other side of an exchange may be missing: then nothing speaks for the pair there.
        """
        complete = self.n_common == self.counts.sum() == self.sizes.sum() and bool((self.counts > 0).all())
        partners = find_partners(own, shown, self.counts, self.sizes, by_value=not complete)
        pairs, evidence, left = self, self.compute_evidence(), np.arange(len(self.rows))
        known, chance = np.clip(evidence, NOT_LISTED, -NOT_LISTED), np.zeros(len(evidence))
        for _ in range(rounds):
            before = chance
            chance = pairs.compute_chances(evidence + weigh_exchanges(pairs.starts, pairs.rows, known, partners))
            if np.abs(chance - before).max(initial=0.0) < SETTLED:
                break
            if len(chance) > MANY_PAIRS:
                kept = (chance > FAINT) | (chance >= pairs.find_largest(chance) / 100)
                pairs, evidence, left, chance = pairs.select_pairs(kept), evidence[kept], left[kept], chance[kept]
            known = np.log(np.maximum(chance, FAINT) / FAINT) + NOT_LISTED
        found = np.zeros(len(self.rows))
        found[left] = chance
        return found

    def select_pairs(self, kept: Booleans) -> LikelyPairs:
        """Some of the pairs. kept: shape (e,)."""
        starts = np.append(0, np.cumsum(np.bincount(self.owner[kept], minlength=len(self.counts))))
        return replace(self, starts=starts, rows=self.rows[kept], scores=self.scores[kept])

    def count_hits(self, chance: Floats, row: Integers) -> int:
        """How many records have their own row as the likeliest. row: shape (r,), of each kind of records; -1: none."""
        return int(((chance >= self.find_largest(chance) * (1 - EQUAL)) & (self.rows == row[self.owner])).sum())
