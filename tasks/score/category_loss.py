"""Information loss in categories: those that nobody shows any more, and the relations of categories to other attributes.

Shared rules. Categorical are nominal and ordinal attributes and codes. A missing value is a category of its own. Where the
table has survey weights that are published, shares are weighted: the original's records by the original's weights, the
released rows by the released ones.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import CATEGORICAL, MEASURED, Attribute, Scale
from tasks.microdata.table import Floats, Integers
from tasks.score.measure import Measure
from tasks.score.measures.loss import CATEGORIES_LOST, CATEGORY_ASSOCIATION_DIFFERENCE
from tasks.score.table_pair import RowwiseTablePair

CLASSES = 5  # of a numeric attribute: as many of about equal size in the original
MOST_CATEGORIES = 50  # of one attribute in a relation; the rarer ones count as one
NO_CATEGORIES = "no categorical attribute was masked"
NO_PAIR = "no pair of published attributes with a categorical one was masked, or varies"

Classes = npt.NDArray[np.unsignedinteger[Any]]  # of rows, 0 and up: few, and so held in few bytes
CodedColumn = tuple[Classes, Classes]  # of one attribute: of the original and of the released rows


def categories_lost(tables: RowwiseTablePair) -> tuple[Estimate, ...]:
    """Share of the categories of masked attributes that occur in the original and in no released row.

    Meaning: of what an analyst can no longer say anything, be it ever so rare. Weights do not matter here.
    Formula in words: categories of masked categorical attributes that the release does not show, over all that the original
    shows; missing is none.

    Returns the figure of all masked categorical attributes together first, then one per attribute; share in [0, 1]. Not
    applicable where no categorical attribute was masked.
    Cost: O(n log n) per attribute.

    Example: a column of the categories a, b, c and d of which the release shows a and b: 0.5.
    """
    counts = {
        one.name: _count_lost(*tables.codes(one.name)) for one in tables.select_masked_attributes(*CATEGORICAL, Scale.ORDINAL)
    }
    counts = {name: (lost, shown) for name, (lost, shown) in counts.items() if shown}
    if not counts:
        return (_estimate(CATEGORIES_LOST, None, reason=NO_CATEGORIES),)
    lost, shown = (sum(part) for part in zip(*counts.values(), strict=True))
    parts = (_estimate(CATEGORIES_LOST, one / of, name) for name, (one, of) in counts.items())
    return (_estimate(CATEGORIES_LOST, lost / shown), *parts)


def category_association_difference(tables: RowwiseTablePair) -> Estimate:
    """Mean absolute difference of Cramer's V between attributes of which at least one is categorical.

    Meaning: by how much the strength of a relation in a cross table is off, on average.
    Formula in words: over the pairs in which a step masked at least one attribute the mean of |V' - V|. V is the square root
    of phi^2 over min(r, c) - 1, phi^2 the sum of p_ij^2 / (p_i. * p_.j) less 1, and r and c the original's numbers of
    categories in both tables, so that a category that was lost does not make a relation stronger. A number is cut into five
    classes of about equal size in the original; of more than 50 categories the rarer ones count as one.

    Returns one figure in [0, 1]. Not applicable where there is no such pair.
    Cost: O(n + r c) per pair.
    Source: Cramer, Mathematical Methods of Statistics, 1946, 21.9, as a comparison of cross tables; the mean is ours.

    Example: two columns that say the same, of which one was replaced by its most frequent category: V falls from 1 to 0, and
    the figure is 1.
    """
    categorical = {one.name for one in tables.select_published_attributes(*CATEGORICAL, Scale.ORDINAL)}
    masked = {one.name for one in tables.select_masked_attributes(*Scale)}
    published = tables.select_published_attributes(*CATEGORICAL, Scale.ORDINAL, *MEASURED)
    columns = {one.name: _classes(tables, one) for one in published if one.name in categorical or one.scale in MEASURED}
    varying = [name for name, (before, _) in columns.items() if before.max() > before.min()]
    pairs = [pair for pair in combinations(varying, 2) if categorical & set(pair) and masked & set(pair)]
    if not pairs:
        return _estimate(CATEGORY_ASSOCIATION_DIFFERENCE, None, reason=NO_PAIR)
    weights = tables.weights() if tables.is_weighted else (None, None)
    changes = (abs(np.subtract(*_strengths(columns[one], columns[other], weights))) for one, other in pairs)
    return _estimate(CATEGORY_ASSOCIATION_DIFFERENCE, math.fsum(changes) / len(pairs))


def _count_lost(before: Integers, after: Integers) -> tuple[int, int]:
    """How many categories were lost, of how many."""
    size = int(max(before.max(), after.max())) + 1
    had, has = (np.bincount(codes[codes >= 0], minlength=size) > 0 for codes in (before, after))
    return int(np.count_nonzero(had & ~has)), int(np.count_nonzero(had))


def _classes(tables: RowwiseTablePair, attribute: Attribute) -> CodedColumn:
    if attribute.scale in MEASURED:
        before, after = tables.positions(attribute)
        present = tables.pair_columns(attribute).original.ascending
        shares = np.arange(1, CLASSES) / CLASSES
        limits = np.unique(np.quantile(present, shares, method="lower")) if len(present) else np.zeros(0)
        return _cut(before, limits), _cut(after, limits)
    codes = [values + 1 for values in tables.codes(attribute.name)]
    sizes = np.bincount(codes[0], minlength=int(max(map(np.max, codes))) + 1)
    position = np.arange(len(sizes))
    if np.count_nonzero(sizes) > MOST_CATEGORIES:
        frequent = np.argsort(-sizes, kind="stable")[: MOST_CATEGORIES - 1]
        position = np.full(len(sizes), MOST_CATEGORIES - 1)
        position[frequent] = np.arange(MOST_CATEGORIES - 1)
    short: Classes = position.astype(np.min_scalar_type(int(position.max())))
    return short[codes[0]], short[codes[1]]


def _cut(values: Floats, limits: Floats) -> Classes:
    """The class of each value: at or below the first limit, and so on; the missing have one of their own."""
    found, above = np.zeros(len(values), dtype=np.uint8), np.empty(len(values), dtype=bool)
    for limit in limits:  # fewer than CLASSES
        found += np.greater(values, limit, out=above)
    found[np.isnan(values)] = len(limits) + 1
    return found


def _strengths(one: CodedColumn, other: CodedColumn, weights: tuple[Floats | None, Floats | None]) -> tuple[float, float]:
    """Cramer's V of a pair in the original and in the release."""
    degrees = min(int(np.count_nonzero(np.bincount(codes[0]))) for codes in (one, other)) - 1
    before, after = (_phi_squared(a, b, w) for a, b, w in zip(one, other, weights, strict=True))
    return math.sqrt(min(before / degrees, 1.0)), math.sqrt(min(after / degrees, 1.0))


def _phi_squared(one: Classes, other: Classes, weights: Floats | None) -> float:
    columns = int(other.max()) + 1
    table = np.bincount(
        one.astype(np.int64) * columns + other, weights=weights, minlength=(int(one.max()) + 1) * columns
    ).reshape(-1, columns)
    total = table.sum()
    if not total > 0:
        return 0.0
    shares = table / total
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    there = shares > 0
    return max(float((shares[there] ** 2 / expected[there]).sum()) - 1, 0.0)


def _estimate(measure: Measure, value: float | None, attribute: str | None = None, reason: str | None = None) -> Estimate:
    if value is None:
        return Estimate(measure=measure.name, value=None, unit=measure.unit, status="not_applicable", reason=reason)
    return Estimate(measure=measure.name, attribute=attribute, value=value, unit=measure.unit)
