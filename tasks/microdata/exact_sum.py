"""Sums that do not depend on the order of their terms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tasks.microdata.table import Floats

_FEW = 1000  # different values


def sum_exactly(values: Floats) -> float:
    """The sum of the values, rounded once: what `math.fsum` gives.

    Of few different values each is multiplied by how often it occurs, in fractions: 6 ms for 1,000,000, where `math.fsum` takes
    60. Example: the credits 1/t of ties.
    """
    if len(values) <= _FEW or not np.isfinite(values).all():
        return math.fsum(values)
    ascending = np.sort(values)
    first = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    if len(first) > _FEW:
        return math.fsum(values)
    counts = np.diff(np.append(first, len(values))).tolist()
    terms = (Fraction(value) * count for value, count in zip(ascending[first].tolist(), counts, strict=True))
    return float(sum(terms, Fraction(0)))
