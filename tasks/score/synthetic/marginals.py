"""Information loss of a fully synthetic release in single attributes: how far their distributions are from the source's."""

from __future__ import annotations

import math

import numpy as np

from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import CATEGORICAL, Attribute
from tasks.microdata.table import Floats
from tasks.score.aligned import Beside
from tasks.score.catalogue import MEASURES


def marginal_difference(tables: Beside) -> tuple[Estimate, ...]:
    """Distance between the distributions of an attribute in the source and in the release, which need no row in common.

    Meaning: by how much a share that an analyst reads off the release can be wrong: of any category or set of categories, or of
    the values up to any bound.
    Formula in words: for what has an order (numbers, dates, times, ordinal attributes) the largest absolute difference of the
    cumulative shares (Kolmogorov and Smirnov); for categories half the sum of the absolute differences of their shares (total
    variation). Missing values are below all others, or a category of their own.

    Returns the mean over the published attributes first, then one per attribute; in [0, 1]. Two samples of one population
    differ too, by about one over the square root of the smaller one's size.
    Cost: O((n + m) log (n + m)) per attribute.
    Source: SDMetrics has the complements of both (KSComplement, TVComplement); there missing values are left out.

    Example: an attribute without a value in common with the source, all of its values higher: 1.
    """
    attributes = [one for one in tables.schema.attributes if one.published]
    parts = [(one.name, _distance(tables, one)) for one in attributes]
    mean = math.fsum(distance for _, distance in parts) / len(parts)
    return (_estimate(mean, None), *(_estimate(distance, name) for name, distance in parts))


def _distance(tables: Beside, attribute: Attribute) -> float:
    if attribute.scale in CATEGORICAL or (tables.original.is_text(attribute.name) and attribute.order is None):
        before, after = (codes + 1 for codes in tables.codes(attribute.name))
        size = int(max(before.max(), after.max())) + 1
        return float(np.abs(_shares(before, size) - _shares(after, size)).sum()) / 2
    before, after = (np.sort(np.where(np.isnan(values), -np.inf, values)) for values in tables.positions(attribute))
    values = np.union1d(before, after)
    below = (np.searchsorted(one, values, side="right") / len(one) for one in (before, after))
    return float(np.abs(np.subtract(*below)).max())


def _shares(codes: np.ndarray[tuple[int], np.dtype[np.int64]], size: int) -> Floats:
    shares: Floats = np.bincount(codes, minlength=size) / len(codes)
    return shares


def _estimate(value: float, attribute: str | None) -> Estimate:
    return Estimate(measure="marginal_difference", attribute=attribute, value=value, unit=MEASURES["marginal_difference"].unit)
