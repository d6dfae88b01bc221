"""How far the values of a cell are from those of the whole table (skewness)."""

from __future__ import annotations

import numpy as np

from tasks.microdata.table import Integers


def compute_largest_distance(cell: Integers, codes: Integers) -> float:
    """The t of t-closeness with equal distances between categories: the largest distance of a cell from the whole table.

    Meaning: an outsider who finds somebody's cell believes something else of them than of anybody; nothing need follow.
    Formula in words: over the cells the maximum of half the sum, over the categories, of the absolute difference between the
    share of the category in the cell and in the table. A missing value (code -1) is a category of its own.

    cell, codes: shape (n,), n >= 1. Returns a number in [0, 1). Cost: O(n log n).
    Source: Li, Li and Venkatasubramanian (2007). Example: the five rows of Torra (2020): 0.6.
    """
    joint = np.unique(np.column_stack([cell, codes]), axis=0, return_counts=True)
    cells, place = np.unique(joint[0][:, 0], return_inverse=True)
    kinds, counts = np.unique(codes, return_counts=True)
    overall = counts / len(codes)
    size = np.bincount(place, weights=joint[1])
    of_table = overall[np.searchsorted(kinds, joint[0][:, 1])]
    above = np.maximum(joint[1] / size[place] - of_table, 0.0)  # both halves of the sum are equal
    return float(np.bincount(place, weights=above, minlength=len(cells)).max())
