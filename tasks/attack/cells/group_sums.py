"""Whose value follows from the mean of their group, once a coalition of its members has subtracted itself."""

from __future__ import annotations

import numpy as np

from tasks.microdata.table import Booleans, Integers


def find_left_over_members(
    group: Integers, unit: Integers, n_units: int, rounding: float, reach: float, coalition: int
) -> Booleans:
    """Whose value is all that is left of a group's sum, the worst coalition for each person.

    Meaning: size times the published mean of a group is the sum of its members' values. Members who know their own take these
    away. If one row is left, its value is known; of two or more rows only their sum is, and no value follows.
    Formula in words: a person with one row in a group is exposed if the group has at most `coalition` other members, and if the
    sum tells the value closely enough: a mean that is rounded by r leaves size times r on either side.

    Parameters
    ----------
    group, unit: shape (c,): of each row with a value, the group and the person 0..n_units-1. Each row is in one group.
    rounding: how far the exact mean may be from the published one. reach: how far a value may be from what follows.
    coalition: 0 or more members.

    Returns shape (n_units,): does the value of any of the person's rows follow? Exact: the equations of groups that share no
    row leave nothing else (a row stands in one equation, whose other terms are known or not).
    Cost: O(c log c). Source: internal attack, Torra (2024): who knows all other incomes of a cell knows the last one.

    Example: groups of two and of three: one member of the first finds the other, none of the second finds anybody.
    """
    if not len(group):
        return np.zeros(n_units, dtype=bool)
    place = np.unique(group, return_inverse=True)[1].astype(np.int64)
    pairs, row_member, rows = np.unique(place * np.int64(n_units) + unit, return_inverse=True, return_counts=True)
    members, size = np.bincount(pairs // n_units), np.bincount(place)
    follows = (members[place] - 1 <= coalition) & (rows[row_member] == 1) & (size[place] * rounding <= reach)
    found = np.zeros(n_units, dtype=bool)
    found[unit[follows]] = True
    return found
