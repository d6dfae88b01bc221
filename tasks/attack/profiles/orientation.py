"""Which way attributes point: a record's values can be aggregated only if large means the same in all of them."""

from __future__ import annotations

import numpy as np

from tasks.microdata.errors import NotApplicable
from tasks.microdata.table import Floats

_DIGITS = 9  # below, correlations differ by the order in which they were summed up
_NOTHING = 1e-6


def orientation(shares: Floats) -> Floats:
    """The signs by which the attributes of one file point along their common factor, shape (d,) of 1 and -1.

    Meaning: size of an enterprise, wealth of a person: where one factor moves most attributes, its sign can be told from the
    file alone for all attributes together, but for one: which end of the factor is up. Two files have to agree on that.
    Formula in words: the sign of each loading on the first principal component of the rank correlations. The component points
    the way most attributes do (its loadings add up to more than 0): of amounts most grow with the factor, as they are recorded.
    If they add up to 0, the way in which the factor is skewed to the right. An attribute without a loading stays as it is, and
    so do all where there is no first component (the two largest eigenvalues are equal).

    shares: shape (n, d), mid-ranks as shares; NaN is missing, and stands in the middle.

    Raises NotApplicable where the loadings add up to 0 and the factor is not skewed: nothing tells which end is up.
    Cost: O(n d^2 + d^3). Done otherwise than in Torra (2004), where all attributes point one way as they are recorded.
    Example: three attributes of correlations 0.9, of which the third is turned: (1, 1, -1).
    """
    centred = np.nan_to_num(shares - 0.5)
    spread = np.sqrt((centred**2).mean(axis=0))
    scaled = centred / np.where(spread > _NOTHING, spread, 1.0)
    correlations = np.round(scaled.T @ scaled / len(shares), _DIGITS)
    values, vectors = np.linalg.eigh(correlations)
    if len(values) > 1 and values[-1] - values[-2] < _NOTHING:
        return np.ones(len(values))
    loadings = vectors[:, -1] * _upwards(vectors[:, -1], scaled)
    return np.where(loadings < -_NOTHING, -1.0, 1.0)


def _upwards(loadings: Floats, scaled: Floats) -> float:
    """1 or -1, by which the factor points up."""
    from scipy.stats import skew

    total = float(loadings.sum())
    if abs(total) > _NOTHING:
        return 1.0 if total > 0 else -1.0
    skewness = float(skew(scaled @ loadings))
    if abs(skewness) > _NOTHING:
        return 1.0 if skewness > 0 else -1.0
    raise NotApplicable("nothing tells which end of the attributes' common factor is up")
