"""Information loss in the relations between attributes: covariances, correlations, rank correlations.

Shared rules. Every pair is computed in each table over the records where both values are present, as an analyst would. Only
pairs in which a step masked at least one attribute count: the others did not change, and would dilute the mean. Dates and times
are numeric here, dates counted in days and times in seconds; no figure depends on that unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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


@dataclass(frozen=True, slots=True)
class Deviations:
    """Of the values of one attribute, from their mean; of a constant exactly 0. Shape (n,), nothing missing."""

    values: Floats
    variance: float  # n - 1; NaN of fewer than two

    @classmethod
    def create_from_values(cls, values: Floats, space: Floats) -> Deviations:
        """space: shape (n,), takes the deviations; it may be `values`, which are lost then."""
        if len(values):
            np.subtract(values, values[0] if values.min() == values.max() else values.mean(), out=space)
        return cls(space, _covariance(space, space))


@dataclass(frozen=True)
class Workspace:
    """What the pairs of attributes of up to n records are computed in, one after another: new arrays for each take longer."""

    n: int

    @cached_property
    def selected(self) -> Floats:
        return np.empty((2, self.n))

    @cached_property
    def in_order(self) -> Booleans:
        return np.empty(self.n, dtype=bool)

    @cached_property
    def twice_ranks(self) -> npt.NDArray[np.int32]:
        return np.empty(self.n, dtype=np.int32)


_WRITTEN_OVER = {"space": "any number, which is only written over"}

AttributePair = tuple[Attribute, Attribute]
SelectPresent = Callable[[SortedColumn, SortedColumn, Workspace], Sequence[Floats]]


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
    related = [one for one in attributes if any(one in pair for pair in pairs)]
    before, after = _relate(_relate_by_covariance, tables, [*((one, one) for one in related), *pairs])
    spread = dict(zip((one.name for one in related), before, strict=False))
    changes = np.abs(np.subtract(after, before))[len(related) :].tolist()
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
    changes = np.abs(np.subtract(*_relate(_correlate, tables, pairs))).tolist()
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
    related = _relate(_correlate, tables, pairs, lambda column: column.compute_ranks(), _rank_present)
    changes = np.abs(np.subtract(*related)).tolist()
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


def _select_present(a: SortedColumn, b: SortedColumn, workspace: Workspace) -> Sequence[Floats]:
    """The values of both columns where both are present."""
    both = a.present & b.present
    return [_write_chosen(one.values, both, space) for one, space in zip((a, b), workspace.selected, strict=True)]


def _rank_present(a: SortedColumn, b: SortedColumn, workspace: Workspace) -> Sequence[Floats]:
    """Average ranks in both columns among the records where both are present."""
    both = a.present & b.present
    return [
        _rank_chosen(*one.ascending_and_order, both, workspace.in_order, workspace.twice_ranks, space)
        for one, space in zip((a, b), workspace.selected, strict=True)
    ]


def _relate(
    relation: Callable[[Deviations, Deviations], float],
    tables: TablePair,
    pairs: list[AttributePair],
    read: Callable[[SortedColumn], Floats] = lambda column: column.values,
    select: SelectPresent = _select_present,
) -> tuple[list[float], list[float]]:
    """The relation of each pair of attributes in the original, and in the release: first all of one, to hold less at once."""
    attributes = list(dict.fromkeys(attribute for pair in pairs for attribute in pair))
    n = max(tables.original.n, tables.masked.n)
    workspace, spaces = Workspace(n), np.empty((len(attributes), n))

    def relate_in(choose: Callable[[ColumnPair], SortedColumn]) -> list[float]:
        columns = {one.name: choose(tables.pair_columns(one)) for one in attributes}
        complete = {
            name: Deviations.create_from_values(read(column), space[: len(column.values)])
            for (name, column), space in zip(columns.items(), spaces, strict=True)
            if column.present.all()
        }

        def relate_pair(one: str, other: str) -> float:
            if one in complete and other in complete:
                return relation(complete[one], complete[other])
            selected = select(columns[one], columns[other], workspace)
            return relation(*(Deviations.create_from_values(values, values) for values in selected))

        return [relate_pair(one.name, other.name) for one, other in pairs]

    return relate_in(lambda pair: pair.original), relate_in(lambda pair: pair.masked)


def _covariance(a: Floats, b: Floats) -> float:
    """Of deviations, with n - 1; NaN of fewer than two."""
    return float(a @ b) / (len(a) - 1) if len(a) > 1 else float("nan")


def _relate_by_covariance(a: Deviations, b: Deviations) -> float:
    return _covariance(a.values, b.values)


def _correlate(a: Deviations, b: Deviations) -> float:
    """Pearson's correlation; NaN where one is constant."""
    spread = np.sqrt(a.variance * b.variance)
    return float(np.clip(_covariance(a.values, b.values) / spread, -1, 1)) if spread > 0 else float("nan")


@njit(
    missing={"values": "a missing value, which is not among the chosen", **_WRITTEN_OVER},
    infinite={"values": "any number, which is only copied", **_WRITTEN_OVER},
)
def _write_chosen(values: Floats, chosen: Booleans, space: Floats) -> Floats:
    n = 0
    for i in range(len(values)):
        if chosen[i]:
            space[n] = values[i]
            n += 1
    return space[:n]


@njit(missing=_WRITTEN_OVER, infinite={"ascending": "an infinite number, which is only compared with", **_WRITTEN_OVER})
def _rank_chosen(
    ascending: Floats,
    order: npt.NDArray[np.int32],
    chosen: Booleans,
    in_order: Booleans,
    twice_ranks: npt.NDArray[np.int32],
    space: Floats,
) -> Floats:
    """Average ranks of some records among themselves, written into `space` by record.

    ascending, order: of the records that have a value, with all chosen ones. chosen: shape (n,). in_order, twice_ranks: room
    for n of each.
    """
    for place in range(len(order)):  # by itself: so the processor fetches from many far places at once
        in_order[place] = chosen[order[place]]
    begin, below = 0, 0
    while begin < len(ascending):
        end, equal = begin, 0
        while end < len(ascending) and ascending[end] == ascending[begin]:
            equal += in_order[end]
            end += 1
        for at in range(begin, end):
            twice_ranks[order[at]] = 2 * below + equal + 1
        begin, below = end, below + equal
    n = 0
    for i in range(len(chosen)):
        if chosen[i]:
            space[n] = twice_ranks[i] / 2
            n += 1
    return space[:n]


def _summary(measure: Measure, changes: list[float], of: Callable[[list[float]], np.floating]) -> Estimate:
    unit = measure.unit
    if not changes:
        reason = "no pair of published attributes of a fitting scale was masked"
        return Estimate(measure=measure.name, value=None, unit=unit, status="not_applicable", reason=reason)
    if np.isnan(changes).any():
        return Estimate(measure=measure.name, value=None, unit=unit, status="not_applicable", reason=UNDEFINED)
    return Estimate(measure=measure.name, value=float(of(changes)), unit=unit)
