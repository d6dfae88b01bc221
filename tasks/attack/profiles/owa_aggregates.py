"""Ordered weighted averages (OWA) of a record: what can be said of its values when the files have no common attribute."""

from __future__ import annotations

import numpy as np

from tasks.microdata.table import Floats

_DIGITS = 12  # equal aggregates of different values differ in the last bits


def compute_quantifier_weights(d: int, power: float) -> Floats:
    """The weights of an OWA operator of d values by the quantifier Q(x) = x^power, largest value first, shape (d,).

    Formula in words: w_i = Q(i/d) - Q((i-1)/d). Power 1 is the mean; below 1 the large values weigh more, above 1 the small.
    Source: Yager (1988, 1996). Example: d = 2, power 2: (1/4, 3/4).
    """
    weights: Floats = np.diff(np.linspace(0.0, 1.0, d + 1) ** power)
    return weights


def compute_owa_aggregates(scores: Floats, powers: tuple[float, ...]) -> Floats:
    """OWA aggregates of each record: minimum, median, maximum, then one for each power; shape (n, 3 + len(powers)).

    Meaning: a record described by attributes of its own, in any order, becomes one in attributes that every file has; files of
    different numbers of attributes become comparable.

    scores: shape (n, d), values of different attributes on one scale; NaN is missing. A record is aggregated over what it has,
    the weights being those of so many values; a record that has nothing has NaN.

    Returns values within the range of each record's scores, equal for records of equal scores in any order.
    Cost: O(n d log d). Source: Torra (2004), OWA operators in data modeling and reidentification.
    Example: (0.2, 0.6), powers (1,): (0.2, 0.4, 0.6, 0.4).
    """
    ordered = -np.sort(-scores, axis=1)  # NaN last
    present = (~np.isnan(ordered)).sum(axis=1)
    found = np.full((len(scores), 3 + len(powers)), np.nan)
    for d in np.unique(present[present > 0]):
        rows = np.flatnonzero(present == d)
        some = ordered[rows, :d]
        found[rows, 0], found[rows, 1], found[rows, 2] = some[:, -1], np.median(some, axis=1), some[:, 0]
        for j, power in enumerate(powers, start=3):
            found[rows, j] = (some * compute_quantifier_weights(int(d), power)).sum(axis=1)
    rounded: Floats = np.round(found, _DIGITS)
    return rounded
