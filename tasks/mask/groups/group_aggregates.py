"""What is published in place of the values of a group: their mean, median or most frequent category."""

from __future__ import annotations

from typing import Literal, assert_never

import numpy as np

from tasks.microdata.table import Floats, Integers
from tasks.microdata.value_order import order_values

Aggregate = Literal["mean", "median", "median category", "plurality"]


def aggregate_groups(values: Floats, groups: Integers, aggregate: Aggregate) -> Floats:
    """Shape (n,): the aggregate of each record's group.

    Parameters
    ----------
    values: shape (n,), without NaN; positions, or codes of categories. groups: shape (n,), 0..g-1, none empty.
    aggregate: `mean`; `median`, of an even number the mean of the middle two; `median category`, of an even number the lower
        of the middle two; `plurality`, the category that is most frequent in the group, of equally frequent ones that which is
        more frequent in all groups together, and of those the lowest.

    The result depends on the multiset of the values of each group, to the last bit. Cost: O(n log n), 0.2 s for 1,000,000.
    Source: Torra (2004), "Microaggregation for categorical variables: a median based approach", for the median category;
    Domingo-Ferrer and Torra (2005) for the plurality rule. Example: plurality of (2, 1, 1, 2), where 1 is the more frequent
    elsewhere: 1.
    """
    sizes = np.bincount(groups)
    begins = np.cumsum(sizes) - sizes
    by_value = _sort_within_groups(values[order_values(groups)], sizes, begins)
    match aggregate:
        case "mean":
            of_group = np.add.reduceat(by_value, begins) / sizes
        case "median":
            of_group = (by_value[begins + (sizes - 1) // 2] + by_value[begins + sizes // 2]) / 2
        case "median category":
            of_group = by_value[begins + (sizes - 1) // 2]
        case "plurality":
            of_group = _most_frequent(values, groups)
        case _:
            assert_never(aggregate)
    shown: Floats = of_group[groups]
    return shown


def _sort_within_groups(by_group: Floats, sizes: Integers, begins: Integers) -> Floats:
    """The values of each group in ascending order; groups of one size are sorted at once, of which there are few sizes."""
    for size in np.flatnonzero(np.bincount(sizes)).tolist():
        places = begins[sizes == size, np.newaxis] + np.arange(size)
        by_group[places] = np.sort(by_group[places], axis=1)
    return by_group


def _most_frequent(values: Floats, groups: Integers) -> Floats:
    categories, codes, in_all = np.unique(values, return_inverse=True, return_counts=True)
    cells, counts = np.unique(groups * len(categories) + codes, return_counts=True)
    group, code = np.divmod(cells, len(categories))
    best_first = np.lexsort((code, -in_all[code], -counts, group))
    first = np.unique(group[best_first], return_index=True)[1]
    most: Floats = categories[code[best_first][first]]
    return most
