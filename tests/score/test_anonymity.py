"""k-anonymity: the example tables of the sources, and a slow twin."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.external_release.released import Undeclared
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.codes import row_codes
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale
from tasks.microdata.table import Microdata
from tasks.score.anonymity import KAnonymitySubset, k_anonymity, k_anonymity_subset


def nominal(*names: str, role: Role = Role.QUASI_IDENTIFIER) -> list[Attribute]:
    return [Attribute(name=name, role=role, scale=Scale.NOMINAL, decided_by="declared") for name in names]


# Torra (2020), slides on k-anonymity
FIVE = {
    "City": ["Barcelona", "Barcelona", "Tarragona", "Tarragona", "Tarragona"],
    "age": [30, 30, 60, 60, 60],
    "illness": ["Cancer", "Cancer", "AIDS", "AIDS", "Heart attack"],
}
# Torra (2026), lengths of stay
HOSPITAL = {
    "year_of_birth": [2017, 2015, 2011, 2017, 2016, 2016, 2015, 2015, 2015, 2015],
    "year_of_admission": [2019, 2020, 2020, 2019, 2020, 2020, 2019, 2019, 2018, 2018],
    "town": ["Umeå", "Umeå", "Luleå", "Luleå", "Dorotea", "Holmöns", "Täfteå", "Täfteå", "Täfteå", "Täfteå"],
}
# Torra (2026), (2, 2)-anonymity
TRIPLES = dict(zip("xyz", zip(*["abe", "abf", "cde", "cdf", "cbe", "cbf", "ade", "adf"], strict=True), strict=True))


def test_the_table_of_five_has_k_2(pair_of):
    described = [*nominal("City"), *nominal("illness", role=Role.CONFIDENTIAL)]
    found = k_anonymity(pair_of(FIVE, FIVE, described))
    assert (found.value, found.low, found.high, found.unit, found.chance, found.reason) == (2, 2, 2, "records", None, None)
    both = pair_of(FIVE, FIVE, nominal("City", "illness"))
    assert k_anonymity(both).value == 1  # with illness known too, HYU stands alone


def test_the_hospital_table_has_six_uniques(pair_of):
    classes = row_codes(Microdata.from_columns(HOSPITAL), tuple(HOSPITAL))
    assert Counter(np.bincount(classes).tolist()) == {1: 6, 2: 2}
    assert k_anonymity(pair_of(HOSPITAL, HOSPITAL, nominal("town"))).value == 1


@pytest.mark.parametrize(("known", "k"), [(1, 4), (2, 2), (3, 1)])
def test_eight_triples_are_4_2_1_anonymous_for_1_2_3_known_attributes(pair_of, known, k):
    columns = {name: list(column) for name, column in TRIPLES.items()}
    tables = pair_of(columns, columns, nominal(*"xyz"))
    subsets = [k_anonymity_subset(tables, KAnonymitySubset(attributes=names)) for names in combinations("xyz", known)]
    assert {one.value for one in subsets} == {k}
    assert subsets[0].attribute == ",".join("xyz"[:known])


@pytest.mark.parametrize(
    "lists", [(("a", "b"), ("a,b",)), (("a,", "b"), ("a", ",b")), (("a\\", "b"), ("a\\,b",)), (("a\\,b",), ("a,b",))]
)
def test_no_two_lists_of_attributes_share_an_id(pair_of, lists):
    columns = {name: [1, 2, 1] for names in lists for name in names}
    tables = pair_of(columns, columns, nominal(*columns))
    ids = [k_anonymity_subset(tables, KAnonymitySubset(attributes=names)).id for names in lists]
    assert len(set(ids)) == 2


def test_missing_is_a_category_of_its_own(pair_of):
    columns = {"age": [30, None, None, 30]}
    assert k_anonymity(pair_of(columns, columns)).value == 2
    columns = {"age": [30, None, 30, 30]}
    assert k_anonymity(pair_of(columns, columns)).value == 1


def test_without_quasi_identifiers_all_records_look_alike(pair_of):
    described = nominal("City", "age", "illness", role=Role.CONFIDENTIAL)
    found = k_anonymity(pair_of(FIVE, FIVE, described))
    assert found.value == 5
    assert "no quasi-identifier" in found.reason


@pytest.mark.parametrize(("names", "said"), [(("age",), True), (("illness",), False)])
def test_it_says_where_k_bounds_nothing(pair_of, names, said):
    described = [*nominal("City"), *nominal("illness", role=Role.CONFIDENTIAL)]
    tables = pair_of(FIVE, FIVE, described, steps=[RankSwapping(method="rank_swapping", attributes=names, window_percent=40.0)])
    assert ("bounds nothing" in (k_anonymity(tables).reason or "")) == said


def test_it_says_that_an_undeclared_method_may_have_moved_values(pair_of):
    tables = pair_of(FIVE, FIVE, nominal("City"), steps=[Undeclared(attributes=("City",))])
    assert "nobody declared" in k_anonymity(tables).reason
    assert "k bounds nothing" in k_anonymity(tables).reason


def test_a_subset_is_of_quasi_identifiers(pair_of):
    with pytest.raises(InputError, match="did you mean `City`"):
        k_anonymity_subset(pair_of(FIVE, FIVE, nominal("City", "illness")), KAnonymitySubset(attributes=("city",)))


cells = st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 2), st.sampled_from([0.5, 1.5, None]))


@settings(deadline=None)
@given(st.lists(cells, min_size=1, max_size=30))
def test_classes_are_those_of_counted_tuples(rows):
    table = Microdata.from_columns({name: list(column) for name, column in zip("abc", zip(*rows, strict=True), strict=True)})
    classes = row_codes(table, ("a", "b", "c"))
    assert len(set(zip(rows, classes.tolist(), strict=True))) == len(set(rows)) == len(set(classes.tolist()))
    assert sorted(np.bincount(classes).tolist()) == sorted(Counter(rows).values())
