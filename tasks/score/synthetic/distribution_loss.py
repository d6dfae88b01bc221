"""Information loss in single attributes: how far their distributions in the release are from the source's."""

from __future__ import annotations

import math

import numpy as np

from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import CATEGORICAL, Attribute, Scale
from tasks.microdata.table import Floats, Integers
from tasks.score.measure import Measure
from tasks.score.measures.loss import LARGEST_MARGINAL_DIFFERENCE, MARGINAL_DIFFERENCE
from tasks.score.table_pair import RowwiseTablePair, TablePair


def marginal_difference(tables: TablePair) -> tuple[Estimate, ...]:
    """Distance between the distributions of an attribute in the source and in the release, which need no row in common.

    Meaning: by how much a share that an analyst reads off the release can be wrong: of any category or set of categories, or of
    the values up to any bound.
    Formula in words: for what has an order (numbers, dates, times, ordinal attributes) the largest absolute difference of the
    cumulative shares (Kolmogorov and Smirnov); for categories half the sum of the absolute differences of their shares (total
    variation). Missing values are below all others, or a category of their own. Where the rows of the release belong to
    records and the table has survey weights, shares are weighted, the source's by the source's weights.

    Returns the mean over the attributes first, then the largest of them (`largest_marginal_difference`), then one per
    attribute; in [0, 1]. The attributes are those that a step masked, and of a release whose rows belong to nobody all that are
    published. Two samples of one population differ too, by about one over the square root of the smaller one's size. Not
    applicable without a mask.
    Cost: O((n + m) log (n + m)) per attribute.
    Source: SDMetrics has the complements of both (KSComplement, TVComplement); there missing values are left out.

    Example: an attribute without a value in common with the source, all of its values higher: 1.
    """
    of_records = isinstance(tables, RowwiseTablePair)
    attributes = tables.select_masked_attributes(*Scale) if of_records else tables.select_published_attributes(*Scale)
    if not attributes:
        return (_estimate(None, None), _estimate(None, None, LARGEST_MARGINAL_DIFFERENCE))
    weights = tables.weights() if of_records and tables.is_weighted else None
    parts = [(one.name, _distance(tables, one, weights)) for one in attributes]
    distances = [distance for _, distance in parts]
    mean = math.fsum(distances) / len(parts)
    each = (_estimate(distance, name) for name, distance in parts)
    return (_estimate(mean, None), _estimate(max(distances), None, LARGEST_MARGINAL_DIFFERENCE), *each)


def _distance(tables: TablePair, attribute: Attribute, weights: tuple[Floats, Floats] | None) -> float:
    if attribute.scale in CATEGORICAL or (tables.original.is_text(attribute.name) and attribute.order is None):
        codes = [one + 1 for one in tables.codes(attribute.name)]
        size = int(max(map(np.max, codes))) + 1
        before, after = (_shares(one, weight, size) for one, weight in zip(codes, weights or (None, None), strict=True))
        return float(np.abs(before - after).sum()) / 2
    pair = tables.pair_columns(attribute)
    if weights is None and not any(np.isneginf(one.values).any() for one in (pair.original, pair.masked)):
        return pair.compute_largest_distance()
    weights = weights or (np.ones(tables.original.n), np.ones(tables.masked.n))
    both = [np.where(np.isnan(values), -np.inf, values) for values in tables.positions(attribute)]
    values = np.union1d(*both)
    below = (_below(one, weight, values) for one, weight in zip(both, weights, strict=True))
    return float(np.abs(np.subtract(*below)).max())


def _below(values: Floats, weights: Floats, bounds: Floats) -> Floats:
    """The share of the weights of values up to each bound."""
    order = np.argsort(values, kind="stable")
    total = np.concatenate([[0.0], np.cumsum(weights[order])])
    found: Floats = total[np.searchsorted(values[order], bounds, side="right")] / total[-1]
    return found


def _shares(codes: Integers, weights: Floats | None, size: int) -> Floats:
    shares: Floats = np.bincount(codes, weights, minlength=size) / (len(codes) if weights is None else weights.sum())
    return shares


def _estimate(value: float | None, attribute: str | None, measure: Measure = MARGINAL_DIFFERENCE) -> Estimate:
    if value is None:
        reason = "no published attribute was masked"
        return Estimate(measure=measure.name, value=None, unit=measure.unit, status="not_applicable", reason=reason)
    return Estimate(measure=measure.name, attribute=attribute, value=value, unit=measure.unit)
