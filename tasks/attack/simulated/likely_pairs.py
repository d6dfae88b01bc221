"""The likely pairs of records and rows, weighed together: no row is two records', and exchanges have two sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.linkage.pair_marginals import WeighedPairs, compute_pair_marginals
from tasks.attack.simulated.exchanges import NOT_LISTED, find_partners, weigh_exchanges
from tasks.microdata.table import Floats, Integers

ROUNDS = 12  # in which exchanges are followed
SETTLED = 1e-3  # no probability moves by more in a round
EQUAL = 1e-6  # probabilities that differ by less, relatively, are a tie
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

        own, shown: shapes (d, r), (d, c), the values of the kinds of records and rows.
        """
        partners, evidence = find_partners(own, shown, self.counts, self.sizes), self.compute_evidence()
        known, chance = np.clip(evidence, NOT_LISTED, -NOT_LISTED), np.zeros(len(evidence))
        for _ in range(rounds):
            before = chance
            chance = self.compute_chances(evidence + weigh_exchanges(self.starts, self.rows, known, partners))
            if np.abs(chance - before).max(initial=0.0) < SETTLED:
                break
            known = np.log(np.maximum(chance, 1e-4) / 1e-4) + NOT_LISTED
        return chance

    def count_hits(self, chance: Floats) -> int:
        """How many records have their own row as the likeliest, where kind i of the records became kind i of the rows."""
        return int(((chance >= self.find_largest(chance) * (1 - EQUAL)) & (self.rows == self.owner)).sum())
