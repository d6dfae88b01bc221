"""A copy of the source with new identifiers is no control; people who resemble those of the source by chance are one."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from tasks.mask.control import harmonise_control
from tasks.mask.copy_detection import ERROR, measure_copy_evidence
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Scale

LEAST = -math.log(ERROR)
SEEDS = range(6)
# How many values three attributes have, and how many people there are: from 9 kinds of people to none who is like another.
TABLES = {
    "9 kinds": ((3, 3, 1), 400),
    "24 kinds": ((2, 3, 4), 200),
    "300 kinds": ((5, 6, 10), 1000),
    "many alike": ((10, 20, 40), 2000),
    "few alike": ((50, 100, 200), 600),
    "nobody alike": ((10**6, 10, 2), 60),
}
ROLES = {"id": Role.IDENTIFIER}


def drawn(rng, sizes, n):
    """Attributes that are unevenly spread, and tell of each other."""
    first = (sizes[0] * rng.random(n) ** 2).astype(int)
    second = (first + (sizes[1] * rng.random(n) ** 1.5).astype(int)) % sizes[1]
    return {"town": [f"t{i}" for i in first], "work": [f"w{i}" for i in second], "pay": rng.integers(0, sizes[2], n)}


def people(table, columns, first=0):
    n = len(columns["pay"])
    return table({"id": np.arange(first, first + n), **columns}, roles=ROLES, scales={"town": Scale.NOMINAL})


def taken(columns, rows):
    return {name: np.asarray(values)[rows] for name, values in columns.items()}


def joined(*parts):
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


# ---- the test


def slow_twin(mine, theirs):
    """The formula, value by value and alternative by alternative."""
    n, both = len(mine) + len(theirs), [*mine, *theirs]
    share, total, count = len(mine) / n, 0.0, 0
    for in_both, mostly in ((1, 1), (4, 1), (64, 1), (1, 64), (4, 64), (64, 64)):
        for evenness in (0, 1, 8, 64, 4096):
            product = 1.0
            for value in set(both):
                k, c = both.count(value), list(mine).count(value)

                def g(j, k=k, in_both=in_both, mostly=mostly, evenness=evenness):
                    if min(share, 1 - share) * k < 2:
                        return (in_both if 0 < j < k else 1) / (mostly if j > k / 2 else 1)
                    return math.exp(-evenness * (j - share * k) ** 2 / (2 * share * (1 - share) * k))

                law = [math.comb(k, j) * share**j * (1 - share) ** (k - j) for j in range(k + 1)]
                product *= g(c) / sum(p * g(j) for j, p in enumerate(law))
            total, count = total + product, count + 1
    sizes = math.comb(n, len(mine)) * share ** len(mine) * (1 - share) ** len(theirs)
    return math.log(total / count * sizes)


values = st.lists(st.integers(0, 4), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(values, values)
def test_the_evidence_is_what_its_formula_says(mine, theirs):
    found = measure_copy_evidence(np.array(mine), np.array(theirs))
    assert found == pytest.approx(slow_twin(mine, theirs), abs=1e-9)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=10), st.data())
def test_if_all_may_change_places_the_mean_of_the_evidence_is_at_most_one(units, data):
    """Over every choice of who is in which table: what the bound on errors rests on."""
    held, m = np.array(units), data.draw(st.integers(1, len(units) - 1))
    told = []
    for chosen in combinations(range(len(units)), m):
        mine = np.isin(np.arange(len(units)), chosen)
        told.append(math.exp(measure_copy_evidence(held[mine], held[~mine])))
    assert np.mean(told) <= 1 + 1e-9


def test_the_order_of_rows_and_the_codes_tell_nothing():
    rng = np.random.default_rng(1)
    mine, theirs, other = rng.integers(0, 30, 80), rng.integers(0, 30, 90), rng.permutation(30)
    found = measure_copy_evidence(mine, theirs)
    assert measure_copy_evidence(rng.permutation(other[mine]), rng.permutation(other[theirs])) == pytest.approx(found)


def test_evidence_at_its_ends():
    assert measure_copy_evidence(np.arange(20), np.arange(20)) == pytest.approx(10.5, abs=0.05)
    assert measure_copy_evidence(np.repeat(np.arange(10), 2), np.repeat(np.arange(10, 20), 2)) < 0
    assert measure_copy_evidence(np.arange(0), np.arange(5)) == 0
    assert measure_copy_evidence(np.zeros(500, int), np.zeros(500, int)) <= 0  # all alike: nothing is known


# ---- tables


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", TABLES)
def test_a_copy_with_new_identifiers_is_refused_and_another_sample_is_not(table, kind, seed):
    rng, (sizes, n) = np.random.default_rng(seed), TABLES[kind]
    columns = drawn(rng, sizes, n)
    source, schema = people(table, columns)
    copy, _ = people(table, taken(columns, rng.permutation(n)), first=n)
    for key in (None, "id"):
        with pytest.raises(InputError, match="it is a copy, or holds one") as refused:
            harmonise_control(source, copy, schema, key)
    assert refused.value.code == "in-both" and refused.value.value == n
    assert refused.value.what.startswith(f"{n:,} of {n:,} records of the control's table say what records of the source say")
    for size in (n, n // 2, 3 * n):
        harmonise_control(source, people(table, drawn(rng, sizes, size), first=n)[0], schema)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", TABLES)
def test_parts_of_one_table_are_no_copies_of_each_other(table, kind, seed):
    rng, (sizes, n) = np.random.default_rng(100 + seed), TABLES[kind]
    columns, order = drawn(rng, sizes, n), rng.permutation(n)
    for size in (n // 2, max(20, n // 5)):
        source, schema = people(table, taken(columns, order[size:]))
        harmonise_control(source, people(table, taken(columns, order[:size]), first=n)[0], schema)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("kind", "copied"), [("300 kinds", 250), ("many alike", 300), ("few alike", 30), ("nobody alike", 20)])
def test_a_control_that_is_a_part_of_the_source_is_refused(table, kind, copied, seed):
    rng, (sizes, n) = np.random.default_rng(200 + seed), TABLES[kind]
    columns = drawn(rng, sizes, n)
    source, schema = people(table, columns)
    some = taken(columns, rng.permutation(n)[:copied])
    with pytest.raises(InputError, match="it is a copy"):
        harmonise_control(source, people(table, some, first=n)[0], schema)


@pytest.mark.parametrize("seed", SEEDS)
def test_some_of_the_source_among_others_are_noticed_where_few_are_alike(table, seed):
    rng, (sizes, n) = np.random.default_rng(300 + seed), TABLES["few alike"]
    columns = drawn(rng, sizes, n)
    source, schema = people(table, columns)
    mixed = joined(taken(columns, rng.permutation(n)[:90]), drawn(rng, sizes, n - 90))
    with pytest.raises(InputError, match="it is a copy"):
        harmonise_control(source, people(table, mixed, first=n)[0], schema)


def test_other_people_than_those_of_the_source_are_no_copies(table):
    """Of another population, whose values the source may have or not."""
    rng = np.random.default_rng(4)
    columns = drawn(rng, (10, 20, 40), 1000)
    source, schema = people(table, columns)
    shifted = {**drawn(rng, (10, 20, 40), 1000), "pay": rng.integers(30, 70, 1000)}
    harmonise_control(source, people(table, shifted, first=1000)[0], schema)
    apart = {**drawn(rng, (10, 20, 40), 1000), "pay": rng.integers(100, 140, 1000)}
    harmonise_control(source, people(table, apart, first=1000)[0], schema)


@pytest.mark.parametrize("role", [Role.PERSON, Role.GROUP])
def test_persons_and_households_are_compared_with_all_their_rows(table, role):
    """Each of 60 has three rows of few values: rows repeat, and persons do not."""
    rng = np.random.default_rng(5)
    roles, scales = {"of": role}, {"pay": Scale.NUMERIC}

    def some(first):
        return {
            "of": np.repeat(np.arange(first, first + 60), 3),
            "pay": rng.integers(0, 30, 180),
            "year": np.tile([1, 2, 3], 60),
        }

    columns = some(0)
    source, schema = table(columns, roles=roles, scales=scales)
    order = rng.permutation(180)
    copy = {name: values[order] for name, values in columns.items()} | {"of": columns["of"][order] + 1000}
    counts = "persons" if role is Role.PERSON else "groups"
    with pytest.raises(InputError, match=f"60 of 60 {counts} of the control's table say what {counts} of the source say"):
        harmonise_control(source, table(copy)[0], schema)
    harmonise_control(source, table(some(1000))[0], schema)


def test_spaces_case_and_missing_values_hide_no_copy(table):
    rng = np.random.default_rng(6)
    pay = np.where(rng.random(200) < 0.2, None, rng.integers(0, 10**6, 200))
    towns = [f"t{i % 9}" for i in range(200)]
    source, schema = table({"pay": list(pay), "town": towns}, scales={"town": Scale.NOMINAL})
    other, _ = table({"pay": list(pay), "town": [f" {town.upper()}" for town in towns]})
    with pytest.raises(InputError, match="200 of 200 records"):
        harmonise_control(source, other, schema)


@pytest.mark.parametrize("first", [0, 200])
def test_numbers_of_rows_that_are_withheld_hide_no_copy(table, first):
    pay = np.random.default_rng(7).integers(0, 10**6, 200)
    roles = {"no": Role.WITHHELD}
    source, schema = table({"no": np.arange(200), "pay": pay}, roles=roles)
    with pytest.raises(InputError, match="200 of 200 records"):
        harmonise_control(source, table({"no": np.arange(first, first + 200), "pay": pay})[0], schema)


def test_a_table_of_identifiers_alone_has_nothing_to_compare(table):
    source, schema = table({"id": np.arange(30)}, roles=ROLES)
    harmonise_control(source, table({"id": np.arange(30, 60)})[0], schema)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_control_may_be_stratified_on_all_attributes_but_one(seed):
    """On every attribute it is spread as evenly as a copy is: refused, as the message says."""
    rng = np.random.default_rng(200 + seed)
    columns = drawn(rng, (3, 4, 4), 1000)
    both, every = (
        np.unique(np.column_stack([columns[name] for name in names]), axis=0, return_inverse=True)[1]
        for names in (["town", "work"], ["town", "work", "pay"])
    )
    for strata, is_copy in ((both, False), (every, True)):
        common = np.flatnonzero(np.bincount(strata)[strata] > 1)
        theirs, mine = train_test_split(common, test_size=0.2, stratify=strata[common], random_state=seed)
        assert (measure_copy_evidence(every[mine], every[theirs]) >= LEAST) is is_copy
