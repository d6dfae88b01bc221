"""Insiders who know several columns: which sets are tried, and that the worst of them is found where all are tried."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.attack.insiders import (
    SEPARATOR,
    SETS_PER_COLUMN,
    compute_rate,
    extend_worst_set,
    largest_complete_size,
    list_columns,
    list_complete_sets,
    list_greedy_sizes,
    list_set_sizes,
    name_insider,
)
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import attack
from tasks.attack.threat import IntruderSpec, adds_insiders, find_larger_insiders, intruders
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import create_adapter

BOTH = (DistanceLinkage(method="distance_linkage"), Transparency(method="transparency"))


def knowing(know: int, **fields) -> IntruderSpec:
    return IntruderSpec.model_validate_json(f'{{"insiders": {{"know": {know}}}}}').model_copy(update=fields)


def schema_of(columns) -> Schema:
    age = Attribute("age", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared")
    return Schema((age, *(Attribute(name, Role.CONFIDENTIAL, Scale.NOMINAL, "declared") for name in columns)))


def rates_found(columns: dict[str, list[int]], know: int, attacks=BOTH[:1]) -> dict[tuple[str, ...], float]:
    """The rate of every insider that a release would run, by the columns they know; every age is released as the mean."""
    n = len(next(iter(columns.values())))
    categories = {name: np.array([f"c{code}" for code in codes]) for name, codes in columns.items()}
    original, schema = Microdata.from_columns({"age": np.arange(n) + 20.0, **categories}), schema_of(columns)
    done = mask(
        original, schema, (Microaggregation(method="microaggregation", attributes=("age",), k=n),), seed=b"s" * 32, path=()
    )
    spec, rates = knowing(know), dict[str, float]()
    due = [one for one in intruders(spec, schema) if one.name != "declared"]
    while due:
        for who in due:
            made = [
                attack(*(original, done.data, schema, done.mechanisms, one, who), targets=np.arange(n),
                       alignment=Alignment.complete_in(np.arange(n)))
                for one in attacks
            ]  # fmt: skip
            assert {one.status for one in made} == {"ok"}
            rates[who.name] = max(compute_rate(one.outcomes) for one in made)
        due = list(find_larger_insiders(spec, schema, rates))
    return {list_columns(name, schema.names): rate for name, rate in rates.items()}


def oracle(columns: dict[str, list[int]], names: tuple[str, ...]) -> float:
    """Who knows unchanged columns of a record is left with the rows alike: F rows for each record, so distinct ones / n."""
    rows = list(zip(*(columns[name] for name in names), strict=True))
    return len(set(rows)) / len(rows)


def random_columns(seed: int, n: int, n_columns: int) -> dict[str, list[int]]:
    rng = np.random.default_rng(seed)
    return {f"v{j}": rng.integers(0, rng.integers(2, 5), n).tolist() for j in range(n_columns)}


# By hand, different combinations among 8 records: 3 of a, 2 of b, 2 of c; of a and b 4 (00 10 11 21), of a and c 5
# (00 01 10 11 20), of b and c 4 (00 01 10 11), of all three 6 (000 001 100 101 111 210).
BY_HAND = {
    "a": [0, 0, 0, 1, 1, 1, 2, 2],
    "b": [0, 0, 0, 0, 0, 1, 1, 1],
    "c": [0, 0, 1, 0, 1, 1, 0, 0],
}


def test_a_curve_by_hand():
    found = rates_found(BY_HAND, 3)
    assert found == {
        ("a",): 3 / 8, ("b",): 2 / 8, ("c",): 2 / 8,
        ("a", "b"): 4 / 8, ("a", "c"): 5 / 8, ("b", "c"): 4 / 8,
        ("a", "b", "c"): 6 / 8,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n_columns", "know"), [(6, 2), (4, 3), (3, 3), (6, 4)])
def test_the_worst_set_is_that_of_brute_force_and_greedy_ones_follow_it(seed, n_columns, know):
    columns = random_columns(seed, 24, n_columns)
    found = rates_found(columns, know, BOTH)
    assert all(rate == pytest.approx(oracle(columns, names)) for names, rate in found.items())
    complete = largest_complete_size(know, n_columns)
    expected = {names for size in range(1, complete + 1) for names in combinations(columns, size)}
    for size in range(complete, know):  # computed from the oracle alone
        worst = max(
            (names for names in expected if len(names) == size), key=lambda names: (oracle(columns, names), first(names))
        )
        expected |= {tuple(sorted({*worst, name})) for name in columns if name not in worst}
    assert {len(names) for names in found} == set(range(1, know + 1))
    for size in range(1, complete + 1):
        brute = max(oracle(columns, names) for names in combinations(columns, size))
        assert max(rate for names, rate in found.items() if len(names) == size) == pytest.approx(brute)
    assert set(found) == expected


def first(names: tuple[str, ...]) -> tuple[int, ...]:
    """Larger for what comes earlier among sets of one size."""
    return tuple(-int(name[1:]) for name in names)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 20), n_columns=st.integers(2, 4))
def test_who_knows_more_unchanged_columns_finds_no_less(seed, n, n_columns):
    found = rates_found(random_columns(seed, n, n_columns), n_columns)
    worst = [max(rate for names, rate in found.items() if len(names) == size) for size in range(1, n_columns + 1)]
    assert worst == sorted(worst)
    for names, rate in found.items():
        assert all(rate >= found[less] for less in combinations(names, len(names) - 1) if less in found)


def test_one_column_is_the_default_and_changes_nothing():
    schema = schema_of("xy")
    assert knowing(1) == IntruderSpec()
    assert intruders(knowing(1), schema) == intruders(IntruderSpec(), schema)
    written = b'{"knows":null,"targets":1.0,"records":1.0,"participation_known":true,"holds":{},"curve":true,"files":[]}'
    for spec in (IntruderSpec(), knowing(1)):
        assert create_adapter(IntruderSpec).dump_json(spec, by_alias=True) == written, "the addresses of old releases stay"
        assert "insiders" not in spec.public()
        assert find_larger_insiders(spec, schema, {"insider:x": 0.5, "insider:y": 0.2}) == ()
    assert knowing(2).public()["insiders"] == {"know": 2}
    assert create_adapter(IntruderSpec).validate_json(create_adapter(IntruderSpec).dump_json(knowing(2))) == knowing(2)


def test_the_insiders_of_pairs_come_after_the_single_ones_and_before_the_curve():
    schema = schema_of("xyz")
    released = Microdata.from_columns({"age": [1.0, 1.0], "x": ["a", "b"], "y": ["a", "a"], "z": ["a", "a"]})
    spec = knowing(2, knows=("age", "x"))
    found = {one.name: one.knows for one in intruders(spec, schema, released)}
    assert list(found) == ["declared", "insider:y", "insider:z", "insider:x + y", "insider:x + z", "insider:y + z", "knowing:1"]
    assert found["insider:y + z"] == ("age", "y", "z")


def test_sets_are_complete_while_they_are_few():
    for n in range(1, 41):
        for know in range(1, n + 1):
            complete, sets = largest_complete_size(know, n), list(list_complete_sets(know, tuple(map(str, range(n)))))
            assert 1 <= complete <= know
            assert len(sets) + n <= SETS_PER_COLUMN * n
            assert max(map(len, sets), default=1) == complete
            assert len(list_set_sizes(know, n)) <= (SETS_PER_COLUMN + know - 1) * n
    assert [largest_complete_size(n, n) for n in (2, 4, 5, 7, 8)] == [2, 4, 2, 2, 1]
    assert list_greedy_sizes(4, 6) == (3,) * 4 + (4,) * 3


@pytest.mark.parametrize("n", range(1, 9))
def test_the_sizes_of_all_sets_are_known_before_anybody_attacks(n):
    columns = tuple("abcdefgh"[:n])
    for know in range(1, n + 1):
        tried = {**dict.fromkeys(((one,) for one in columns), 0.1), **dict.fromkeys(list_complete_sets(know, columns), 0.2)}
        while added := extend_worst_set(know, columns, tried):
            tried |= dict.fromkeys(added, 0.3)
        assert sorted(map(len, tried)) == sorted(list_set_sizes(know, n))


def test_the_worst_set_is_extended_by_each_other_column():
    rates = {("a",): 0.2, ("b",): 0.5, ("c",): 0.5}
    assert extend_worst_set(3, ("a", "b", "c"), rates) == (("a", "b"), ("b", "c"))
    assert extend_worst_set(3, ("a", "b", "c"), {**rates, ("a", "b"): 0.6, ("b", "c"): 0.7}) == (("a", "b", "c"),)
    assert extend_worst_set(2, ("a", "b", "c"), {**rates, ("a", "b"): 0.6}) == ()
    assert extend_worst_set(3, ("a", "b", "c"), {}) == ()


def test_an_intruder_without_a_figure_is_a_rate_of_nothing():
    assert compute_rate(None) == 0
    assert compute_rate(Microdata.from_columns({"target": [0, 1]})) == 0
    assert compute_rate(Microdata.from_columns({"credit": [0.5, 0.25]})) == 0.375


def test_an_insider_is_read_from_the_name():
    names = ("age", "a + b", "a", "b")
    assert list_columns(name_insider(("a", "b")), ("a", "b")) == ("a", "b")
    assert list_columns("insider:a + b", names) == ("a + b",), "a column of this name"
    assert list_columns("declared", names) == list_columns("knowing:2", names) == list_columns("file:a", names) == ()


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "true", '"2"', "null"])
def test_values_that_are_no_number_of_columns_are_refused(given):
    with pytest.raises(ValidationError):
        IntruderSpec.model_validate_json(f'{{"insiders": {{"know": {given}}}}}')


def test_more_knowledge_than_there_is_is_refused():
    with pytest.raises(InputError, match="3 published columns besides the quasi-identifiers, and there are 2: x, y") as refused:
        intruders(knowing(3), schema_of("xy"))
    assert (refused.value.code, refused.value.where) == ("insiders-know-too-many", "intruder.insiders.know")
    assert "1 to 2" in str(refused.value)
    with pytest.raises(InputError, match="and there are none"):
        intruders(knowing(2), schema_of(""))


def test_columns_whose_names_could_be_taken_for_two_are_refused():
    columns = ("x", "y", f"x{SEPARATOR}y")
    assert len(intruders(IntruderSpec(), schema_of(columns))) == 4
    with pytest.raises(InputError) as refused:
        intruders(knowing(2), schema_of(columns))
    assert refused.value.code == "ambiguous-insider"


def test_insiders_are_added_where_not_all_sets_are_tried():
    assert not adds_insiders(knowing(2), schema_of("uvwxyz"))
    assert adds_insiders(knowing(3), schema_of("uvwxyz"))
    assert not adds_insiders(IntruderSpec(), schema_of("uvwxyz"))
