"""Figures of cells: the table of five, masked attributes, persons with several rows, and what is published (1 s)."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.schema import Attribute, Role, Scale
from tasks.score.cell_figures import CellMembersExposed, cell_members_exposed
from tasks.score.figure_rounding import round_for_publication

# Torra (2020), slides on attacks on k-anonymity
FIVE = {
    "City": ["Barcelona", "Barcelona", "Tarragona", "Tarragona", "Tarragona"],
    "age": [30, 30, 60, 60, 60],
    "illness": ["Cancer", "Cancer", "AIDS", "AIDS", "Heart attack"],
}
DESCRIBED = [
    Attribute("City", Role.QUASI_IDENTIFIER, Scale.NOMINAL, "declared"),
    Attribute("illness", Role.CONFIDENTIAL, Scale.NOMINAL, "declared"),
]
INCOME = Attribute("income", Role.CONFIDENTIAL, Scale.NUMERIC, "declared")


def figures(tables, **parameters):
    return {one.id: one for one in cell_members_exposed(tables, CellMembersExposed(**parameters))}


def group(*names, k=2):
    return Microaggregation(method="microaggregation", attributes=names, k=k)


def test_the_table_of_five(pair_of):
    found = figures(pair_of(FIVE, FIVE, DESCRIBED, steps=[group("age")]))
    shares = {name: one.value for name, one in found.items()}
    assert shares == pytest.approx(
        {"cell_members_exposed|illness|coalition=1": 0.8, "cell_homogeneity|illness": 0.4, "t_closeness|illness": 0.6}
    )
    assert all((one.low, one.high, one.basis, one.status) == (one.value, one.value, "exact", "ok") for one in found.values())
    larger = figures(pair_of(FIVE, FIVE, DESCRIBED, steps=[group("age")]), coalition=2)
    assert larger["cell_members_exposed|illness|coalition=2"].value == 1


def test_a_number_follows_within_its_width(pair_of):
    columns = {"age": [30, 30, 60, 60], "income": [100.0, 102.0, 100.0, 200.0]}  # sd 49.67: 2.1 % are 1.04, 2 % are 0.99
    tables = pair_of(columns, columns, [INCOME], steps=[group("age")])
    assert {name: one.value for name, one in figures(tables).items()} == {
        "cell_members_exposed|income|coalition=1|p_percent=5": 1.0,
        "cell_homogeneity|income|p_percent=5": 0.5,
    }
    assert figures(tables, p_percent=2.1)["cell_homogeneity|income|p_percent=2.1"].value == 0.5  # 101 is near both
    assert figures(tables, p_percent=2.0)["cell_homogeneity|income|p_percent=2"].value == 0.0


def test_of_means_of_groups_the_last_member_follows(pair_of):
    original = {"age": [30, 30, 60, 60, 60], "income": [10.0, 20.0, 50.0, 60.0, 100.0]}
    masked = {"age": original["age"], "income": [15.0, 15.0, 70.0, 70.0, 70.0]}
    tables = pair_of(original, masked, [INCOME], steps=[group("income")])
    known = [figures(tables, coalition=c, p_percent=50)[f"cell_members_exposed|income|coalition={c}|p_percent=50"].value
             for c in (1, 2)]  # fmt: skip
    assert known == [0.4, 1.0]
    assert figures(tables, p_percent=50)["cell_homogeneity|income|p_percent=50"].value == 0, "a mean is nobody's value"
    assert "t_closeness|income" not in figures(tables)
    left = {**original, "income": [10.0, 40.0, 50.0, 60.0, 100.0]}  # frozen: 15 was the mean before somebody left
    found = figures(pair_of(left, masked, [INCOME], steps=[group("income")]), coalition=2, p_percent=50)
    assert found["cell_members_exposed|income|coalition=2|p_percent=50"].value == 0.6


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (RankSwapping(method="rank_swapping", attributes=("age",), window_percent=40.0), "in which cell"),
        (RankSwapping(method="rank_swapping", attributes=("income",), window_percent=40.0), "neither the original"),
        (Microaggregation(method="microaggregation", attributes=("income",), k=2, aggregate="median"), "neither the original"),
    ],
)
def test_it_says_where_nothing_is_known_of_cells(pair_of, step, said):
    columns = {"age": [30, 30, 60, 60], "income": [100.0, 102.0, 100.0, 200.0]}
    for one in figures(pair_of(columns, columns, [INCOME], steps=[step])).values():
        assert (one.value, one.status) == (None, "not_applicable") and said in one.reason


def test_persons_are_counted_who_have_a_value(pair_of):
    person = Attribute("who", Role.PERSON, Scale.CODE, "declared")
    columns = {"who": ["a", "a", "b", "c", "d"], "age": [30] * 4 + [60], "illness": ["x", "x", "x", "y", None]}
    found = figures(pair_of(columns, columns, [person, DESCRIBED[1]], steps=[group("age")]))
    one = found["cell_members_exposed|illness|coalition=1"]
    assert (one.value, one.n_targets, one.counts) == (2 / 3, 3, "persons")  # c takes away y; d has no value


def test_the_public_edition_shows_classes_of_ten_people(pair_of):
    columns = {"age": np.repeat(np.arange(50), 2), "illness": ["x"] * 8 + ["x", "y"] * 46}
    found = cell_members_exposed(pair_of(columns, columns, [DESCRIBED[1]], steps=[group("age")]), CellMembersExposed())
    exact = next(one for one in found if one.measure == "cell_homogeneity")
    shown = next(one for one in round_for_publication(found) if one.measure == "cell_homogeneity")
    assert exact.value == 0.08 and shown.value == 0.1, "fewer than twenty, perhaps nobody, are shown as ten"
