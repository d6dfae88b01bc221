"""Bringing attributes to one scale: what makes each count the same when records are compared or grouped."""

from __future__ import annotations

import numpy as np

from tasks.microdata.table import Floats


def variance_of(values: Floats) -> float:
    """The variance (n - 1) of the present values; exactly 0 for a constant. The same in any order of the rows."""
    present = np.sort(values[~np.isnan(values)])
    return float(np.var(present, ddof=1)) if len(present) > 1 and present[0] < present[-1] else 0.0


def standardised(values: Floats) -> Floats:
    """Shape (n,): less the mean, over the standard deviation (n - 1) of the present values; 0 for a constant, NaN stays."""
    variance = variance_of(values)
    if variance == 0:
        return np.where(np.isnan(values), np.nan, 0.0)
    scaled: Floats = (values - np.mean(np.sort(values[~np.isnan(values)]))) / np.sqrt(variance)
    return scaled


def share_of_pairs_that_differ(codes: Floats) -> float:
    """Of all pairs of present values the share whose codes differ, 0..1; 0 where there is no pair. NaN is missing."""
    counts = np.unique(codes[~np.isnan(codes)], return_counts=True)[1].astype(np.float64)
    n = counts.sum()
    return 0.0 if n < 2 else 1 - float((counts * (counts - 1)).sum() / (n * (n - 1)))
