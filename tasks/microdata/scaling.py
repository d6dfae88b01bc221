"""Bringing attributes to one scale: what makes each count the same when records are compared or grouped."""

from __future__ import annotations

import numpy as np

from tasks.microdata.errors import InputError
from tasks.microdata.table import Floats

LARGEST_VALUE = 1e45  # in size: squares of such numbers, and of their differences in standard deviations, stay finite
LEAST_DEVIATION = 1e-45  # one over the square of it stays finite
COMPARABLE = (
    f"whole numbers below 2^53, and numbers of at most {LARGEST_VALUE:.0e} in size "
    f"with a standard deviation of at least {LEAST_DEVIATION:.0e}"
)


def is_comparable(values: Floats) -> bool:
    """Can the numbers be compared and grouped in double precision, scaled by their standard deviation? NaN is missing.

    A constant can if it is not too large; an infinite number cannot.
    """
    present = values[~np.isnan(values)]
    if not len(present) or np.abs(present).max() > LARGEST_VALUE:
        return not len(present)
    return bool(present.min() == present.max() or np.std(present) >= LEAST_DEVIATION)


def refuse_too_large(values: Floats, name: str, location: str) -> None:
    """InputError for a number above `LARGEST_VALUE` in size, or an infinite one; NaN is missing."""
    least, most = np.fmin.reduce(values, initial=0.0), np.fmax.reduce(values, initial=0.0)  # they pass over NaN
    if max(-least, most) > LARGEST_VALUE:
        what = f"`{name}` holds a number too large to be compared with others in double precision, or an infinite one"
        raise InputError("infinite-value", location, what, COMPARABLE, "change the unit, or correct the source")


def compute_variance(values: Floats) -> float:
    """The variance (n - 1) of the present values; exactly 0 for a constant. The same in any order of the rows."""
    present = _sort_present(values)
    if len(present) < 2 or present[0] == present[-1]:
        return 0.0
    present -= present.sum() / len(present)
    return float(np.square(present, out=present).sum() / (len(present) - 1))


def standardise_values(values: Floats) -> Floats:
    """Shape (n,): less the mean, over the standard deviation (n - 1) of the present values; 0 for a constant, NaN stays.

    The order of the rows changes no digit of it, as it does with scikit-learn's `StandardScaler` and SciPy's `zscore`.
    """
    variance = compute_variance(values)
    if variance == 0:
        return np.where(np.isnan(values), np.nan, 0.0)
    scaled = values - np.mean(_sort_present(values))
    scaled /= np.sqrt(variance)
    return scaled


def _sort_present(values: Floats) -> Floats:
    present: Floats = values[~np.isnan(values)]
    present += 0.0  # 0.0 in the place of -0.0, of which sorting may put either first
    present.sort()
    return present


def compute_share_of_unequal_pairs(codes: Floats) -> float:
    """Of all pairs of present values the share whose codes differ, 0..1; 0 where there is no pair. NaN is missing."""
    counts = np.unique(codes[~np.isnan(codes)], return_counts=True)[1].astype(np.float64)
    n = counts.sum()
    return 0.0 if n < 2 else 1 - float((counts * (counts - 1)).sum() / (n * (n - 1)))
