"""Whom predicates of released rows single out: by hand, as a slow twin counts, and by chance where nothing is told (4 s)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.attack.inference.experiment import create_experiment
from tasks.attack.singling_out.chance import compute_isolation_chance, estimate_isolation_chances
from tasks.attack.singling_out.isolation import single_out
from tasks.attack.singling_out.predicates import MOST_LOOKUPS, choose_largest_set, count_sets, create_predicates
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.singling_out import singling_out_figures

ALL = 2**62


def schema(*names, nominal=(), person=None, confidential=()):
    roles = {person: Role.PERSON, **dict.fromkeys(confidential, Role.CONFIDENTIAL)}
    return Schema(tuple(
        Attribute(
            name,
            roles.get(name, Role.QUASI_IDENTIFIER),
            Scale.NOMINAL if name in (*nominal, person) else Scale.NUMERIC,
            "declared",
        )
        for name in names
    ))  # fmt: skip


def singled_out(source, released, others=None, attributes=None):
    tables = [None if one is None else Microdata.from_columns(one) for one in (source, others, released)]
    attributes = attributes or schema(*source)
    asked = create_experiment(*tables, None, attributes, ALL, np.random.default_rng(0))
    return single_out(asked, attributes, ())


def by_set(result):
    return {one.attributes: (one.predicates, one.isolating, one.isolated) for one in result.sets}


def test_six_people_by_hand():
    """Released ages 20, 30, 50: below 25, 25 to below 40, 40 and more. Towns a, a, b.

    Ages 21 and 24 are below 25, 25 and 39 (half way counts above) are in the middle, 40 and 70 in the last: no age isolates.
    Town a has five people, b one: b isolates. Below 25 in a: two. The middle in a: 25 and 39. The last in b: 70 alone.
    """
    source = {"age": [21.0, 24.0, 25.0, 39.0, 40.0, 70.0], "town": list("aaaaab")}
    found = singled_out(
        source, {"age": [20.0, 30.0, 50.0], "town": list("aab")}, attributes=schema("age", "town", nominal=("town",))
    )
    assert by_set(found) == {("age",): (3, 0, 0), ("age", "town"): (3, 1, 1), ("town",): (2, 1, 1)}
    assert (found.people, found.others, found.singled_out, found.largest) == (6, 0, 1, 3)
    assert (found.every.attributes, found.every.isolated) == (("age", "town"), 1)
    assert all(one.expected is None for one in found.sets)


def test_others_tell_the_chance_by_hand():
    """With as many others as people a predicate isolates by chance what exactly one of the others satisfies."""
    found = singled_out({"x": [1.0, 2.0, 3.0]}, {"x": [1.0, 2.0, 3.0]}, {"x": [1.0, 1.0, 2.0]})
    (one,) = found.sets
    assert (one.predicates, one.isolating, one.expected) == (3, 3, 1.0)


def test_missing_values_and_unknown_categories():
    """That a value is missing is a value of its own; of a category that is not released nobody speaks."""
    source = {"g": ["a", None, "b", "c"], "x": [1.0, None, None, 9.0]}
    found = singled_out(source, {"g": ["a", None], "x": [1.0, 9.0]}, attributes=schema("g", "x", nominal=("g",)))
    assert by_set(found) == {("g",): (2, 2, 2), ("g", "x"): (2, 1, 1), ("x",): (2, 2, 2)}


def test_rows_of_one_person_count_once():
    """Three records of p and one of q: the first value isolates p, who has it twice; the second is shared."""
    source = {"who": list("pppq"), "x": [1.0, 1.0, 2.0, 2.0]}
    found = singled_out(source, {"who": list("pq"), "x": [1.0, 2.0]}, attributes=schema("who", "x", person="who"))
    assert by_set(found) == {("x",): (2, 1, 1)}
    assert found.people == 2


def test_numbers_that_differ_in_their_last_bit_are_nearest_to_themselves():
    values = np.array([1.0, np.nextafter(1.0, 2), np.nextafter(np.nextafter(1.0, 2), 2), 1e308, 1.7e308, -1.7e308])
    table = Microdata.from_columns({"x": values})
    found = create_predicates(schema("x")["x"], table, [table])
    assert found.count == 6
    assert found.of_rows.tolist() == found.of_tables[0].tolist()


def find_slowly(source, released, names, nominal):
    """For each set of attributes: predicates, those that isolate, and people isolated, one predicate after the other."""

    def fits(name, value, asked):
        if name in nominal or value is None or asked is None:
            return value == asked
        shown = sorted({one for one in released[name] if one is not None})
        place = shown.index(value)
        low = -np.inf if place == 0 else (shown[place - 1] + value) / 2
        high = np.inf if place == len(shown) - 1 else (value + shown[place + 1]) / 2
        return low <= asked < high

    rows, people = len(released[names[0]]), len(source[names[0]])
    found = {}
    for chosen in (one for size in (1, 2, 3) for one in combinations(names, size)):
        predicates = {tuple(released[name][row] for name in chosen) for row in range(rows)}
        fitting = [
            [i for i in range(people) if all(fits(n, v, source[n][i]) for n, v in zip(chosen, one, strict=True))]
            for one in predicates
        ]
        alone = [one for one in fitting if len(one) == 1]
        found[chosen] = (len(predicates), len(alone), len({one[0] for one in alone}))
    return found


NUMBERS, WORDS = st.one_of(st.none(), st.integers(0, 6).map(float)), st.one_of(st.none(), st.sampled_from("abc"))
TABLES = st.tuples(st.integers(1, 6), st.integers(1, 9)).flatmap(
    lambda sizes: st.tuples(*(
        st.fixed_dictionaries({
            name: st.lists(values, min_size=n, max_size=n)
            for name, values in (("x", NUMBERS), ("y", NUMBERS), ("g", WORDS), ("h", WORDS))
        })
        for n in sizes
    ))
)  # fmt: skip


@given(TABLES)
def test_the_counts_are_those_of_a_slow_twin(tables):
    released, source = tables
    typed = [
        {name: np.array(column, dtype=float) if name in "xy" else column for name, column in one.items()} for one in tables
    ]
    attributes = schema("x", "y", "g", "h", nominal=("g", "h"))
    if any(all(value is None for value in one[name]) for one in tables for name in "gh"):
        return  # a column of nothing has no type
    found = by_set(singled_out(typed[1], typed[0], attributes=attributes))
    assert found == find_slowly(source, released, ("x", "y", "g", "h"), ("g", "h"))


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_a_source_that_is_released_as_it_is_is_singled_out_where_it_is_unique(n, seed):
    values = np.random.default_rng(seed).integers(0, 8, (n, 2)).astype(float)
    source = {"x": values[:, 0], "y": values[:, 1]}
    found = singled_out(source, source)
    _, times = np.unique(values, axis=0, return_counts=True)
    assert by_set(found)["x", "y"] == (len(times), (times == 1).sum(), (times == 1).sum())
    assert found.singled_out == (times == 1).sum()  # who is alone by one attribute is alone by both


def test_the_chance_of_a_weight():
    assert compute_isolation_chance(1 / 1000, 1000) == pytest.approx(0.3681, abs=1e-4)
    assert compute_isolation_chance(1e-5, 1000) == pytest.approx(0.0099, abs=1e-4)
    satisfied = np.array([0, 1, 2, 3])
    assert estimate_isolation_chances(satisfied, 3, 3).tolist() == pytest.approx([0, 1, 0, 0])
    # of 4 others 2 satisfy it; of 2 drawn from 4 exactly one does with 2 x 2 / 6
    assert estimate_isolation_chances(np.array([2]), 4, 2).tolist() == pytest.approx([2 / 3])


def test_few_others_give_the_mean_chance_of_many_predicates():
    """2,000 predicates whose weights have a long tail, 1,000 people, 500 others, 5 draws: 0.18 within 10 %, and not 1/e."""
    rng = np.random.default_rng(1)
    shares = rng.gamma(0.5, 1, (5, 2000))
    weights = shares / shares.sum(axis=1, keepdims=True)
    found = np.mean([estimate_isolation_chances(rng.multinomial(500, one), 500, 1000).mean() for one in weights])
    assert found == pytest.approx(np.mean(compute_isolation_chance(weights, 1000)), rel=0.1)
    assert found == pytest.approx(0.18, abs=0.02)


@pytest.mark.parametrize("share", [0.25, 1.0], ids=["few others", "as many others"])
def test_rows_of_other_people_single_out_as_chance_does(share):
    """A release of people who are not asked about, 8 tables: the excess of all predicates is 0, at 4 standard errors.

    The law that fails it: without the rescaling, a quarter of the others would isolate another share than all of them.
    """
    excess = []
    for seed in range(8):
        rng = np.random.default_rng(seed)

        def draw(n, rng=rng):
            x = rng.lognormal(size=n)
            return {"x": x, "y": np.round(x * rng.lognormal(0, 0.5, n), 1), "g": rng.integers(0, 9, n).astype(float)}

        found = singled_out(draw(400), draw(200), draw(round(400 * share)))
        predicates = sum(one.predicates for one in found.sets)
        excess.append((sum(one.isolating for one in found.sets) - sum(one.expected for one in found.sets)) / predicates)
    assert abs(np.mean(excess)) < 4 * np.std(excess, ddof=1) / np.sqrt(8)
    assert abs(np.mean(excess)) < 0.02


def test_masking_lets_few_be_singled_out():
    """The order is that of anonymeter: as it is .99, microaggregated .05, with noise .00 (docs/BENCHMARKS.md)."""
    rng = np.random.default_rng(3)
    data = rng.multivariate_normal(np.zeros(3), 0.5 + 0.5 * np.eye(3), 500)
    source = dict(zip("xyz", data[:400].T, strict=True))
    others = dict(zip("xyz", data[400:].T, strict=True))
    step = Microaggregation(method="microaggregation", attributes=("x", "y", "z"), k=5)
    grouped = mask(Microdata.from_columns(source), schema("x", "y", "z"), (step,), seed=bytes(32), path=()).data
    noisy = dict(zip("xyz", (data[:400] + rng.normal(0, 0.5, (400, 3))).T, strict=True))
    worst = [
        max(one.value for one in singling_out_figures([singled_out(source, shown, others)], "records")
            if one.measure == "singling_out")
        for shown in (source, {name: grouped.floats(name) for name in "xyz"}, noisy)
    ]  # fmt: skip
    assert worst[0] > 0.9
    assert worst[1] < 0.15
    assert worst[2] < 0.15


def test_no_quasi_identifier_is_not_applicable():
    with pytest.raises(NotApplicable):
        singled_out({"x": [1.0]}, {"x": [1.0]}, attributes=schema("x", confidential=("x",)))


def test_sets_become_smaller_where_they_would_be_too_many():
    assert [count_sets(4, largest) for largest in (1, 2, 3)] == [4, 10, 14]
    assert choose_largest_set(4, 1000) == 3
    assert choose_largest_set(2, MOST_LOOKUPS // 3) == 3
    assert choose_largest_set(50, 100_000) == 2
    assert choose_largest_set(50, 1_000_000) == 1
