"""Can the rows of a fully synthetic table be told from the source's records: by a regression, and by a tree?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.external_release.released import Synthetic
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.policy import PolicyLine
from tasks.score.synthetic.propensity import (
    propensity_ratio,
    refuse_limits_that_cannot_fail,
    tree_propensity_ratio,
)
from tasks.score.table_pair import TablePair

KEY = Role.QUASI_IDENTIFIER


def beside(before, after, schema):
    return TablePair(
        Microdata.from_columns(before), Microdata.from_columns(after), schema, (Synthetic(attributes=schema.names),)
    )


def propensity_figures(tables):
    return (*propensity_ratio(tables), *tree_propensity_ratio(tables))


def population(rng, n):
    x = rng.normal(size=n)
    return {"x": x, "y": x + rng.normal(size=n), "g": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])}


FOLK = Schema(
    tuple(Attribute(n, KEY, s, "declared") for n, s in (("x", Scale.NUMERIC), ("y", Scale.NUMERIC), ("g", Scale.NOMINAL)))
)


def test_the_expectation_of_the_propensity_ratio():
    """1 for rows drawn from the source, 1 + m / n for a new sample; 30 % off would be seen."""
    rng = np.random.default_rng(5)
    n, m, ratios = 300, 200, ([], [])
    for _ in range(40):
        source = population(rng, n)
        rows = rng.integers(0, n, m)
        for after, found in zip(({k: v[rows] for k, v in source.items()}, population(rng, m)), ratios, strict=True):
            found.append(propensity_ratio(beside(source, after, FOLK))[0].value)
    for found, expected in zip(ratios, (1, 1 + m / n), strict=True):
        error = 4 * np.std(found) / np.sqrt(len(found))
        assert error < 0.3 * expected
        assert np.mean(found) == pytest.approx(expected, abs=error)


def test_the_propensity_ratio_sees_a_relation_that_is_gone():
    rng = np.random.default_rng(6)
    source = population(rng, 500)
    apart = {name: rng.permutation(column) for name, column in source.items()}
    assert propensity_ratio(beside(source, apart, FOLK))[0].value > 5
    assert propensity_ratio(beside(source, {k: v[::-1] for k, v in source.items()}, FOLK))[0].value < 0.01
    shifted = {**source, "x": source["x"] + 100}
    assert propensity_ratio(beside(source, shifted, FOLK))[0].value > 50


def wide(rng, n):
    """Twelve columns of six categories each, one after the other nearly the same: 60 columns of the model without products."""
    first = rng.integers(0, 6, n)
    keep = rng.random((n, 12)) < 0.8
    return {f"c{j:02}": np.where(keep[:, j], first, rng.integers(0, 6, n)).astype(str) for j in range(12)}


WIDE = Schema(tuple(Attribute(f"c{j:02}", KEY, Scale.NOMINAL, "declared") for j in range(12)))


def test_relations_are_seen_in_wide_tables_too():
    """60 columns have 1,650 products: as many as there is room for are taken, from every pair of attributes."""
    rng = np.random.default_rng(8)
    source = wide(rng, 1500)
    apart = {name: rng.permutation(column) for name, column in source.items()}
    found, largest, tree, _ = propensity_figures(beside(source, apart, WIDE))
    assert found.value > 10
    assert tree.value > 1.5
    assert found.value < largest.value
    rows = rng.integers(0, 1500, 1500)
    drawn = propensity_figures(beside(source, {name: column[rows] for name, column in source.items()}, WIDE))
    assert 0.7 < drawn[0].value < 1.4
    assert drawn[1].value == pytest.approx(largest.value, rel=0.05)


def test_the_largest_value_is_that_of_tables_told_apart_with_certainty():
    rng = np.random.default_rng(9)
    source = population(rng, 300)
    other = {**population(rng, 200), "x": rng.normal(size=200) + 1e3}
    found, largest, tree, of_tree = propensity_figures(beside(source, other, FOLK))
    assert found.value == pytest.approx(largest.value, rel=1e-3)
    assert tree.value == pytest.approx(of_tree.value)
    # by hand: c = 200 / 500; all told apart: c (1 - c); by luck: (c (1 - c))^2 k / m
    (same, most, *_) = propensity_figures(beside({"a": [0.0, 1] * 50}, {"a": [1.0, 0] * 50}, ONE))
    assert same.value == pytest.approx(0, abs=1e-9)
    assert most.value == pytest.approx(0.25 / (0.25**2 * 1 / 100))  # of the ranks and their squares one column is left


ONE = Schema((Attribute("a", KEY, Scale.NUMERIC, "declared"),))


def test_the_tree_sees_what_no_product_shows_and_notices_copies():
    rng = np.random.default_rng(10)
    x, y, z = (rng.integers(0, 2, 2000) for _ in range(3))
    source = {"x": x * 1.0, "y": y * 1.0, "g": np.where((x + y + z) % 2 == 0, "a", "b"), "z": z * 1.0}
    schema = Schema((*FOLK.attributes, Attribute("z", KEY, Scale.NUMERIC, "declared")))
    apart = {**source, "g": rng.permutation(source["g"])}
    assert propensity_ratio(beside(source, apart, schema))[0].value < 3  # no two of the four hang together
    assert tree_propensity_ratio(beside(source, apart, schema))[0].value > 5
    folk = population(rng, 1000)
    assert tree_propensity_ratio(beside(folk, folk, FOLK))[0].value < 0.5
    rows = rng.integers(0, 1000, 1000)
    assert tree_propensity_ratio(beside(folk, {k: v[rows] for k, v in folk.items()}, FOLK))[0].value < 0.8


@pytest.mark.slow
def test_the_expectation_of_the_ratio_by_a_tree():
    """1 for a new sample; copies of records are well below."""
    rng = np.random.default_rng(11)
    found = [tree_propensity_ratio(beside(population(rng, 300), population(rng, 200), FOLK))[0].value for _ in range(30)]
    error = 4 * np.std(found) / np.sqrt(len(found))
    assert error < 0.3
    assert np.mean(found) == pytest.approx(1, abs=error)


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(3)), st.integers(0, 2**32 - 1))
def test_the_order_of_the_columns_changes_no_propensity(order, seed):
    rng = np.random.default_rng(seed)
    source, rows = population(rng, 90), population(rng, 70)
    names = [list(source)[place] for place in order]
    schema = Schema(tuple(FOLK[name] for name in names))
    moved = propensity_figures(beside({k: source[k] for k in names}, {k: rows[k] for k in names}, schema))
    for one, other in zip(propensity_figures(beside(source, rows, FOLK)), moved, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-9)


def test_a_limit_that_no_table_could_break_is_refused():
    rng = np.random.default_rng(12)
    figures = propensity_figures(beside(population(rng, 40), population(rng, 40), FOLK))
    largest = figures[1].value
    within, beyond = (PolicyLine(measure="propensity_ratio", at_most=largest * by) for by in (0.99, 1.0))
    refuse_limits_that_cannot_fail((within,), figures)
    with pytest.raises(InputError, match="every table would pass") as refused:
        refuse_limits_that_cannot_fail((within, beyond), figures)
    assert refused.value.where == "policy[1].at_most"


def test_a_model_needs_rows():
    few = {name: column[:6] for name, column in population(np.random.default_rng(7), 9).items()}
    found = propensity_ratio(beside(few, few, FOLK))[0]
    assert (found.status, found.value) == ("not_applicable", None)
    same = {"x": [1.0] * 4, "y": [1.0] * 4, "g": ["a"] * 4}
    assert propensity_ratio(beside(same, same, FOLK))[0].status == "not_applicable"
