"""Profiles of records: what a file without the other's attributes can be compared by."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tasks.attack.profiles.orientation import orientation
from tasks.attack.profiles.owa_aggregates import compute_owa_aggregates
from tasks.microdata.scaling import standardise_values
from tasks.microdata.table import Floats

Scores = Literal["ranks", "standardised"]


def profiles(values: Floats, powers: tuple[float, ...], *, scores: Scores = "ranks", oriented: bool = True) -> Floats:
    """The profile of each record of one file: where its OWA aggregates stand among those of the file, shape (n, c).

    Meaning: who is large in most of what one file says of them is presumably large in what another says. The place of a record
    in its file, by minimum, median, maximum and means of its attributes, needs no attribute that both files have.
    Formula in words: each attribute is put on the file's own scale (mid-ranks as shares, or standard deviations from the mean)
    and turned along the common factor (`orientation`). The aggregates of each record (`compute_owa_aggregates`) become
    mid-ranks among the records, as shares. Ranks twice, because the maximum of 3 attributes and that of 7 have different laws
    in one population.

    values: shape (n, d), d >= 1, attributes that have an order; NaN is missing. oriented: else as they are recorded.

    Returns shares in (0, 1), one column for each of minimum, median, maximum and `powers`; 1/2 for a record without values.
    The same for records in another order, and for attributes in another order, or turned, if they are oriented and the sum of
    their loadings keeps its sign. Raises NotApplicable as `orientation`. Cost: O(n d log n + d^3).
    Source: Torra (2004).
    """
    shares = np.column_stack([compute_shares(column) for column in values.T])
    signs = orientation(shares) if oriented else np.ones(values.shape[1])
    on_one_scale = shares - 0.5 if scores == "ranks" else np.column_stack([standardise_values(column) for column in values.T])
    columns = compute_owa_aggregates(on_one_scale * signs, powers).T
    return np.nan_to_num(np.column_stack([compute_shares(column) for column in columns]), nan=0.5)


def compute_shares(values: Floats) -> Floats:
    """Mid-ranks as shares of the present values, in (0, 1), shape (n,); NaN stays. Example: (5, 7, 5): (1/3, 5/6, 1/3)."""
    from scipy.stats import rankdata

    present = ~np.isnan(values)
    shares = np.full(len(values), np.nan)
    shares[present] = (rankdata(values[present]) - 0.5) / max(int(present.sum()), 1)
    return shares
