"""What cells tell of confidential values: the examples of the sources, laws, slow twins, and pandas (1 s)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.cells.distribution_distance import compute_largest_distance
from tasks.attack.cells.group_sums import find_left_over_members
from tasks.attack.cells.homogeneous_rest import find_exposed_members

# Torra (2020), attacks on k-anonymity: ABD, COL in Barcelona; GHE, CIO, HYU in Tarragona. Cancer 0, AIDS 1, heart attack 2
TOWN, ILLNESS, PEOPLE = np.array([0, 0, 1, 1, 1]), np.array([0.0, 0.0, 1.0, 1.0, 2.0]), np.arange(5)


def exposed(coalition, cell=TOWN, values=ILLNESS, width=0.0):
    values = np.asarray(values, dtype=float)
    return find_exposed_members(np.asarray(cell), np.arange(len(values)), values, len(values), width, coalition).tolist()


def test_the_table_of_five():
    assert exposed(0) == [True, True, False, False, False], "homogeneity: both in Barcelona have cancer"
    assert exposed(1) == [True, True, True, True, False], "HYU knows that the other two have AIDS"
    assert exposed(2) == [True] * 5, "GHE and CIO together know what HYU has"


def test_who_stands_alone_is_known_to_everybody():
    assert exposed(0, cell=[0, 1], values=[3, 3]) == [True, True]
    assert exposed(0, cell=[0, 0], values=[3, 4]) == [False, False]
    assert exposed(1, cell=[0, 0], values=[3, 4]) == [True, True], "each of two knows the other"


def test_numbers_follow_within_a_width():
    values = [10, 12, 13, 20]
    assert exposed(0, [0] * 4, values, 3.0) == [False] * 4
    assert exposed(1, [0] * 4, values, 3.0) == [True, True, True, False], "20 takes itself away, and 11.5 is near all others"
    assert exposed(1, [0] * 4, values, 2.9) == [False] * 4
    assert exposed(2, [0] * 4, values, 2.9) == [True, True, True, False], "10 and 12, or 12 and 13"


def test_a_missing_value_hides_whose_values_the_others_are():
    cell, values = [0, 0, 0], [1, 1, np.nan]
    assert exposed(0, cell, values) == [False] * 3
    assert exposed(1, cell, values) == [True, True, False], "who has no value knows that the others have 1"
    assert exposed(2, cell, values) == [True, True, False], "what nobody knows follows from nothing"


def test_rows_of_one_person_are_one_member():
    cell, unit, values = np.zeros(4, dtype=int), np.array([0, 0, 1, 2]), np.array([5.0, 5.0, 6.0, 6.0])
    assert find_exposed_members(cell, unit, values, 3, 0.0, 1).tolist() == [False, True, True]
    assert find_exposed_members(cell, unit, values, 3, 0.0, 2).tolist() == [True, True, True]
    values[1] = 7.0  # two values of one person, and nobody knows in which row they are looked for
    assert find_exposed_members(cell, unit, values, 3, 0.0, 2).tolist() == [False, True, True]


def find_slowly(cell, unit, values, n_units, width, coalition):
    """Every coalition of other members is tried."""
    found = np.zeros(n_units, dtype=bool)
    for one in np.unique(cell):
        members = np.unique(unit[cell == one])
        for person in members:
            others = [other for other in members if other != person]
            for away in combinations(others, min(coalition, len(others))):
                left = values[(cell == one) & ~np.isin(unit, away)]
                found[person] |= not np.isnan(left).any() and left.max() - left.min() <= width
    return found


rows = st.tuples(st.integers(0, 2), st.integers(0, 7), st.sampled_from([0.0, 1.0, 2.0, 2.0, 5.0, np.nan]))


@settings(max_examples=40, deadline=None)
@given(st.lists(rows, min_size=1, max_size=12), st.integers(0, 3), st.sampled_from([0.0, 1.0, 3.0]))
def test_it_finds_what_every_coalition_finds(table, coalition, width):
    cell, unit, values = (np.array(column) for column in zip(*table, strict=True))
    values = values.astype(float)
    found = find_exposed_members(cell, unit, values, 8, width, coalition)
    assert found.tolist() == find_slowly(cell, unit, values, 8, width, coalition).tolist()
    larger = find_exposed_members(cell, unit, values, 8, width, coalition + 1)
    assert not (found & ~larger).any(), "a larger coalition knows less"
    order = np.random.default_rng(0).permutation(len(cell))
    assert find_exposed_members(cell[order], unit[order], values[order], 8, width, coalition).tolist() == found.tolist()


def test_homogeneous_cells_and_skewness_are_those_of_pandas():
    rng = np.random.default_rng(7)
    cell, codes = rng.integers(0, 60, 300), rng.integers(0, 3, 300)
    table = pd.DataFrame({"cell": cell, "code": codes})
    alone = table.groupby("cell")["code"].transform("nunique") == 1
    assert exposed(0, cell, codes) == alone.tolist() and 0 < alone.sum() < 300
    within = pd.crosstab(table["cell"], table["code"], normalize="index")
    distance = (within - table["code"].value_counts(normalize=True).sort_index()).abs().sum(axis=1).max() / 2
    assert compute_largest_distance(cell, codes) == pytest.approx(distance, abs=1e-12)


def test_the_skewness_of_the_table_of_five():
    # of five 2/5 have cancer, and all in Barcelona do: |1 - 0.4| + |0 - 0.4| + |0 - 0.2| = 1.2
    assert compute_largest_distance(TOWN, ILLNESS.astype(int)) == pytest.approx(0.6)
    assert compute_largest_distance(np.zeros(5, dtype=int), ILLNESS.astype(int)) == pytest.approx(0.0)


def test_who_knows_all_other_incomes_of_a_group_knows_the_last():
    """Torra (2024): Dona Obdulia knows the total income of all other members of the cell."""
    group, people = np.array([0, 0, 1, 1, 1]), np.arange(5)
    left = [find_left_over_members(group, people, 5, 0.0, 0.0, c).tolist() for c in range(3)]
    assert left == [[False] * 5, [True, True, False, False, False], [True] * 5]


@pytest.mark.parametrize(("reach", "known"), [(1.4, False), (1.5, True)])
def test_a_rounded_mean_tells_a_sum_no_closer_than_that(reach, known):
    # a mean that is off by 0.5 makes the sum of three off by 1.5
    assert find_left_over_members(np.zeros(3, dtype=int), np.arange(3), 3, 0.5, reach, 2).tolist() == [known] * 3


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=10), st.integers(0, 3))
def test_what_is_left_over_is_what_the_rank_says(table, coalition):
    """A row follows if its unit vector lies in the space of the group's equation and of what the coalition knows."""
    group, unit = (np.array(column) for column in zip(*table, strict=True))
    equations = (group[None, :] == np.unique(group)[:, None]).astype(float)
    found = np.zeros(6, dtype=bool)
    for person in np.unique(unit):
        others = [one for one in np.unique(unit) if one != person]
        for away in combinations(others, min(coalition, len(others))):
            known = np.vstack([equations, np.eye(len(unit))[np.isin(unit, away)]])
            rank = np.linalg.matrix_rank(known)
            for row in np.flatnonzero(unit == person):
                found[person] |= np.linalg.matrix_rank(np.vstack([known, np.eye(len(unit))[row]])) == rank
    assert find_left_over_members(group, unit, 6, 0.0, 0.0, coalition).tolist() == found.tolist()
