"""The best partition of one attribute's values into groups of k and a few more.

Applied to each attribute alone it is individual ranking, in its optimal form: it never loses more than the classical one, which
cuts the ranking every k values.

Source: Hansen and Mukherjee (2003), "A polynomial algorithm for optimal univariate microaggregation", IEEE TKDE 15(4). Done
otherwise than there: see `cut_along`, which also keeps the optimum under large offsets.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tasks.mask.partitions.cut import cut_along
from tasks.microdata.table import Floats, Integers


def partition(values: Floats, k: int, *, cost: Literal["squared", "absolute"] = "squared") -> Integers:
    """Group values so that no other partition into groups of at least k loses less.

    Meaning: the smallest change that microaggregation of this attribute alone can make.
    Formula in words: some best partition consists of runs of the ascending values; `cut_along` finds the best runs.

    Parameters
    ----------
    values: shape (n,), n >= k, finite. k: smallest group, >= 1.
    cost: "squared" for deviations from the group's mean, "absolute" for those from its median (ordinal codes).

    Returns the group 0..g-1 of each value, ascending with the values, shape (n,); all groups have k..2k-1 values. Of cuts with
    the same loss, as computed, the one with the shortest last group is taken, then the shortest last but one, and so on.
    Which values are grouped depends on their multiset only; equal values are given out in the order of the file.

    Raises ValueError if k > n or a value is not finite. Cost: O(n (k + log n)), memory O(n).
    Example: for (5, 0, 6, 1) and k = 2 the groups are {0, 1} and {5, 6}; n < 2k gives one group.
    """
    order = np.argsort(values, kind="stable")
    groups = np.empty(len(values), dtype=np.int64)
    groups[order] = cut_along(values[order][:, None], k, absolute=cost == "absolute")
    return groups
