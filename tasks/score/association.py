"""Information loss in the relations between attributes: covariances, correlations, rank correlations.

Shared rules. Every pair is computed in each table over the records where both values are present, as an analyst would. Only
pairs in which a step masked at least one attribute count: the others did not change, and would dilute the mean. Dates and times
are numeric here, dates counted in days and times in seconds; no figure depends on that unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement

import numpy as np
import numpy.typing as npt

from tasks.microdata.compiled import njit
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import MEASURED, Attribute, Scale
from tasks.microdata.table import Booleans, Floats
from tasks.score.measure import Measure
from tasks.score.measures.loss import (
    CORRELATION_DIFFERENCE,
    COVARIANCE_DIFFERENCE,
    LARGEST_CORRELATION_DIFFERENCE,
    RANK_CORRELATION_DIFFERENCE,
)
from tasks.score.sorted_columns import ColumnPair, SortedColumn
from tasks.score.table_pair import TablePair

UNDEFINED = "an attribute is constant, or has too few values, in the original or in the release"


@dataclass(frozen=True)
class NumericColumn:
    """The values of one attribute, NaN where missing; what every pair with it needs is computed once."""

    values: Floats

    @cached_property
    def is_complete(self) -> bool:
        return not bool(np.isnan(self.values).any())

    @cached_property
    def deviations(self) -> Floats:
        """From the mean; of a constant exactly 0. Of a complete column that is not empty."""
        values = self.values
        deviations: Floats = values - (values[0] if values.min() == values.max() else values.mean())
        return deviations

    @cached_property
    def variance(self) -> float:
        return _covariance(self, self)

    @cached_property
    def twice_ranks(self) -> npt.NDArray[np.int32]:
        """Of average ranks: twice each, a whole number; 0 where missing."""
        return np.nan_to_num(2 * self.values).astype(np.int32)

    def select(self, rows: Booleans) -> NumericColumn:
        return self if rows.all() else NumericColumn(self.values[rows])


AttributePair = tuple[Attribute, Attribute]


def covariance_difference(tables: TablePair) -> Estimate:
    """Mean absolute difference of variances and covariances, in units of the original's standard deviations.

    Meaning: by how much a principal component or a regression sees another spread.
    Formula in words: the mean over the pairs (j <= k) of |cov'(j, k) - cov(j, k)| / (sd(j) * sd(k)), variances included,
    covariances with n - 1.

    Returns one figure over the published numeric attributes; 0 and up. Not applicable where no numeric attribute was masked or
    one of them is constant in the original.
    Cost: O(n) per pair.
    Source: one of the five comparisons of Domingo-Ferrer and Torra 2001; there relative to the covariance, which may be 0.

    Example: one masked attribute whose values were all replaced by the mean: its variance is lost, the figure is 1.
    """
    attributes = _varying(tables, *MEASURED)
    pairs = _select_masked_pairs(tables, combinations_with_replacement(attributes, 2))
    before, after = _relate(_covariance, tables, [*((one, one) for one in attributes), *pairs])
    spread = dict(zip((one.name for one in attributes), before, strict=False))
    changes = np.abs(np.subtract(after, before))[len(attributes) :].tolist()
    products = [spread[one.name] * spread[other.name] for one, other in pairs]
    relative = [
        change / float(np.sqrt(product)) if product > 0 else float("nan")
        for change, product in zip(changes, products, strict=True)
    ]
    return _summary(COVARIANCE_DIFFERENCE, relative, np.mean)


def correlation_differences(tables: TablePair) -> tuple[Estimate, Estimate]:
    """Mean and largest absolute difference of Pearson's correlations of published numeric attributes.

    Meaning: the mean says what the table lost, the largest what the analysis lost that suffers most.
    Formula in words: over the pairs (j < k) the mean and the maximum of |r'(j, k) - r(j, k)|.

    Returns `correlation_difference` and `largest_correlation_difference`, each in [0, 2]. Not applicable where there is no such
    pair, or a correlation is undefined because an attribute is constant in one of the tables.
    Cost: O(n) per pair.
    Source: Domingo-Ferrer and Torra 2001; the maximum is ours.

    Example: each attribute permuted by itself: the release's correlations are near 0, and the figure is near the mean |r|.
    """
    pairs = _select_masked_pairs(tables, combinations(_varying(tables, *MEASURED), 2))
    changes = np.abs(np.subtract(*_relate(_correlation, tables, pairs))).tolist()
    return (
        _summary(CORRELATION_DIFFERENCE, changes, np.mean),
        _summary(LARGEST_CORRELATION_DIFFERENCE, changes, np.max),
    )


def rank_correlation_difference(tables: TablePair) -> Estimate:
    """Mean absolute difference of Spearman's rank correlations of published numeric and ordinal attributes.

    Formula in words: as `correlation_difference`, on average ranks. It is the measure of association for ordinal codes.

    Returns one figure in [0, 2]; not applicable as there. Cost: O(n log n) per attribute, O(n) per pair.
    Source: the rank version of Domingo-Ferrer and Torra 2001's comparison.

    Example: a masked attribute that kept its order, ties included, changed nothing: 0.
    """
    pairs = _select_masked_pairs(tables, combinations(_varying(tables, *MEASURED, Scale.ORDINAL), 2))
    changes = np.abs(np.subtract(*_relate(_rank_correlation, tables, pairs, lambda column: column.compute_ranks()))).tolist()
    return _summary(RANK_CORRELATION_DIFFERENCE, changes, np.mean)


def _varying(tables: TablePair, *scales: Scale) -> list[Attribute]:
    """The published attributes of the given scales but for constants that stayed constant: they have no relation to lose."""
    return [
        one
        for one in tables.select_published_attributes(*scales)
        if not all(column.is_constant for column in (tables.pair_columns(one).original, tables.pair_columns(one).masked))
    ]


def _select_masked_pairs(tables: TablePair, pairs: Iterator[AttributePair]) -> list[AttributePair]:
    masked = {attribute.name for attribute in tables.select_masked_attributes(*Scale)}
    return [pair for pair in pairs if masked & {one.name for one in pair}]


def _relate(
    relation: Callable[[NumericColumn, NumericColumn], float],
    tables: TablePair,
    pairs: list[AttributePair],
    read: Callable[[SortedColumn], Floats] = lambda column: column.values,
) -> tuple[list[float], list[float]]:
    """The relation of each pair of attributes in the original, and in the release: first all of one, to hold less at once."""
    attributes = list(dict.fromkeys(attribute for pair in pairs for attribute in pair))

    def relate_in(choose: Callable[[ColumnPair], SortedColumn]) -> list[float]:
        columns = {one.name: NumericColumn(read(choose(tables.pair_columns(one)))) for one in attributes}
        return [relation(columns[one.name], columns[other.name]) for one, other in pairs]

    return relate_in(lambda pair: pair.original), relate_in(lambda pair: pair.masked)


def _select_present(a: NumericColumn, b: NumericColumn) -> tuple[NumericColumn, NumericColumn]:
    """Both columns over the records where both are present."""
    if a.is_complete and b.is_complete:
        return a, b
    both = ~(np.isnan(a.values) | np.isnan(b.values))
    return a.select(both), b.select(both)


def _covariance(a: NumericColumn, b: NumericColumn) -> float:
    """Covariance (n - 1) over the records where both are present; NaN where fewer than two are."""
    a, b = _select_present(a, b)
    if len(a.values) < 2:
        return float("nan")
    return float(a.deviations @ b.deviations) / (len(a.values) - 1)


def _correlation(a: NumericColumn, b: NumericColumn) -> float:
    """Pearson's correlation over the records where both are present; NaN where one is constant there."""
    a, b = _select_present(a, b)
    spread = np.sqrt(a.variance * b.variance)
    return float(np.clip(_covariance(a, b) / spread, -1, 1)) if spread > 0 else float("nan")


def _rank_correlation(a: NumericColumn, b: NumericColumn) -> float:
    """Pearson's correlation of average ranks; `a` and `b` are the ranks of whole columns, NaN where missing."""
    if a.is_complete and b.is_complete:
        return _correlation(a, b)
    both = (a.twice_ranks > 0) & (b.twice_ranks > 0)
    return _correlation(*(NumericColumn(_rank_again(one.twice_ranks, both)) for one in (a, b)))


@njit
def _rank_again(twice_ranks: npt.NDArray[np.int32], chosen: Booleans) -> Floats:
    """Average ranks of some records among themselves. twice_ranks: whole numbers, of ranks among all."""
    counts, n = np.zeros(2 * len(twice_ranks) + 1, dtype=np.int32), 0
    for i in range(len(twice_ranks)):
        if chosen[i]:
            counts[twice_ranks[i]] += 1
            n += 1
    below = 0
    for place in range(len(counts)):
        here = counts[place]
        counts[place] = 2 * below + here + 1  # twice the average rank of those at this place
        below += here
    ranks, n = np.empty(n), 0
    for i in range(len(twice_ranks)):
        if chosen[i]:
            ranks[n] = counts[twice_ranks[i]] / 2
            n += 1
    return ranks


def _summary(measure: Measure, changes: list[float], of: Callable[[list[float]], np.floating]) -> Estimate:
    unit = measure.unit
    if not changes:
        reason = "no pair of published attributes of a fitting scale was masked"
        return Estimate(measure=measure.name, value=None, unit=unit, status="not_applicable", reason=reason)
    if np.isnan(changes).any():
        return Estimate(measure=measure.name, value=None, unit=unit, status="not_applicable", reason=UNDEFINED)
    return Estimate(measure=measure.name, value=float(of(changes)), unit=unit)
