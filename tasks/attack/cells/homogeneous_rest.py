"""Whose confidential value follows from their cell, once a coalition of its members has subtracted itself."""

from __future__ import annotations

import numpy as np

from tasks.microdata.table import Booleans, Floats, Integers

SLACK = 1e-9  # of a width: values that are exactly so far apart are near enough


def find_exposed_members(
    cell: Integers, unit: Integers, values: Floats, n_units: int, width: float, coalition: int
) -> Booleans:
    """Whose value a coalition of other members of their cell knows, the worst coalition for each person.

    Meaning: a cell shows the values of its members, and not whose is whose. Members who know their own values take these away;
    if all values that are left lie together, each of the others has them. A coalition of nobody is an outsider, who sees that
    the whole cell is homogeneous.

    Formula in words: a person is exposed if some window of the given width holds all that their rows in a cell show, and all
    that the rows of the other members show but for so many members at most. Of the least windows one begins at one of the
    `coalition + 1` smallest values, because no more members stand outside.

    Parameters
    ----------
    cell, unit, values: shape (n,): of each row the cell, the person 0..n_units-1 and the value; a category is its code. NaN:
    the row shows no value, so that its person has to be in the coalition if anything is to follow of the others.
    width: how far apart values may lie that count as one; 0 for categories. coalition: 0 or more members.

    Returns shape (n_units,): is the value of any of the person's rows known? Exact.
    Cost: O(n log n + coalition n).
    Source: homogeneity and external knowledge attack, Torra (2020); external and internal attack, Torra (2024).

    Example: a cell of AIDS, AIDS and heart attack: nobody is exposed to an outsider, both who have AIDS to the third.
    """
    if not len(cell):
        return np.zeros(n_units, dtype=bool)
    pairs, row_member = np.unique(cell * np.int64(n_units) + unit, return_inverse=True)
    owner, codes = pairs // n_units, pairs % n_units
    place = np.unique(owner, return_inverse=True)[1]
    low, high = np.full(len(pairs), np.inf), np.full(len(pairs), -np.inf)
    np.minimum.at(low, row_member, np.where(np.isnan(values), -np.inf, values))
    np.maximum.at(high, row_member, np.where(np.isnan(values), np.inf, values))
    size = np.bincount(place)
    by_low, starts = np.lexsort((low, place)), np.cumsum(size) - size
    reach = width * (1 + SLACK)
    exposed = np.zeros(len(pairs), dtype=bool)
    for rank in range(min(coalition, int(size.max()) - 1) + 1):
        begin = low[by_low[starts + np.minimum(rank, size - 1)]][place]
        inside = (low >= begin) & (high <= begin + reach)
        left = np.bincount(place, weights=inside)[place]
        exposed |= inside & (left >= size[place] - coalition)
    found = np.zeros(n_units, dtype=bool)
    found[codes[exposed]] = True
    return found
