"""How probable released rows are as the image of a record, where attributes were randomised, or noise added, by a known law.

Bayes' rule, before a row is looked at: every possible image is equally likely. Row l then is the record's image with a
probability proportional to P(l | record) / q(l), where P is the product of the laws of the randomised attributes (of noise: its
density) and q(l) the sum of P(l | other) over all records whose image it can be. P alone would take rows that are common for
the record's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tasks.mask.intruder_belief import DiscreteLikelihood
from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

TIE = 1e-9  # logarithms of probabilities within this of the largest are equal
_LOST = 40.0  # a million records, each e^-40 times as probable as the likeliest one, change a sum by less than 1e-11


@dataclass(frozen=True, slots=True)
class LikelihoodTables:
    """The laws of L randomised attributes, for r distinct records and c distinct released rows.

    log_probability: all tables, one after the other; of attribute j the entry at own_at[record, j] + shown_at[row, j] is the
    logarithm of the probability that the record's row shows what the row shows (-inf: it cannot).
    own_at: shape (r, L). shown_at: shape (c, L). records: shape (r,), the number of records of each kind.
    own_coordinates, shown_coordinates: shapes (r, D) and (c, D): with noise, a row at squared distance t has log-density -t /
    2.
    """

    log_probability: Floats
    own_at: Integers
    shown_at: Integers
    records: Floats
    own_coordinates: Floats
    shown_coordinates: Floats

    @property
    def any(self) -> bool:
        """Is the law of any attribute known?"""
        return bool(self.own_at.shape[1] + self.own_coordinates.shape[1])

    def select_records(self, records: Integers) -> LikelihoodTables:
        """The same for some of the distinct records."""
        own = self.own_at[records], self.own_coordinates[records]
        return replace(self, own_at=own[0], own_coordinates=own[1], records=self.records[records])

    def select_rows(self, rows: Integers) -> LikelihoodTables:
        """The same for some of the distinct rows."""
        return replace(self, shown_at=self.shown_at[rows], shown_coordinates=self.shown_coordinates[rows])


def create_likelihoods(
    likelihoods: tuple[DiscreteLikelihood, ...],
    coordinates: tuple[Floats, Floats],
    record: Integers | slice,
    row: Integers | slice,
    records: Integers,
) -> LikelihoodTables:
    """The laws for the records and rows that stand for their kinds. record: shape (r,), row: shape (c,), records: (r,).

    coordinates: of all records and all rows. A slice of record or row: all stand for themselves.
    """
    of_records, of_rows = coordinates[0][record], coordinates[1][row]
    with np.errstate(divide="ignore"):
        tables = [np.log(likelihood.probability) for likelihood in likelihoods]
    begins = np.cumsum([0, *(table.size for table in tables)])
    own = [
        begin + likelihood.own[record] * len(likelihood.probability)
        for begin, likelihood in zip(begins, likelihoods, strict=False)
    ]
    return LikelihoodTables(
        log_probability=np.concatenate([np.empty(0), *(table.ravel() for table in tables)]),
        own_at=_columns(own, len(of_records)),
        shown_at=_columns([likelihood.shown[row] for likelihood in likelihoods], len(of_rows)),
        records=records.astype(np.float64),
        own_coordinates=np.ascontiguousarray(of_records),
        shown_coordinates=np.ascontiguousarray(of_rows),
    )


def _columns(columns: list[Integers], n: int) -> Integers:
    return np.ascontiguousarray(np.column_stack(columns)) if columns else np.empty((n, 0), dtype=np.int64)


@njit(infinite={"log_probability": "-inf is what cannot be shown: it only compares, and drops such rows"})
def rule_out(
    log_probability: Floats,
    own_at: Integers,
    shown_at: Integers,
    own_point: Floats,
    shown_coordinates: Floats,
    possible: Integers,
    n_possible: int,
    scores: Floats,
) -> int:
    """Keep the rows that the record can show, their log-probabilities in `scores`; returns how many they are."""
    kept = 0
    for row in possible[:n_possible]:
        score = 0.0
        for j in range(len(own_at)):
            score += log_probability[own_at[j] + shown_at[row, j]]
        for j in range(len(own_point)):
            score -= (own_point[j] - shown_coordinates[row, j]) ** 2 / 2
        if score > -np.inf:
            possible[kept], scores[kept] = row, score
            kept += 1
    return kept


@njit
def add_evidence(rows: Integers, scores: Floats, records: float, largest: Floats, total: Floats) -> None:
    """Add so many records, each with the log-probability scores[e] of showing row rows[e], to the sums of the rows.

    The sum of row l is total[l] * exp(largest[l]): logarithms of tiny probabilities stay apart.
    """
    for e in range(len(rows)):
        row, score = rows[e], scores[e]
        if score > largest[row]:
            total[row] = total[row] * np.exp(largest[row] - score) + records
            largest[row] = score
        elif score > largest[row] - _LOST:
            total[row] += records * np.exp(score - largest[row])


@njit
def weigh(scores: Floats, evidence: Floats, rows: Integers) -> float:
    """Turn log P(row | record) into log P / q for the given rows; returns the largest, -inf where there is no row."""
    largest = -np.inf
    for e in range(len(rows)):
        scores[e] -= evidence[rows[e]]
        largest = max(largest, scores[e])
    return largest
