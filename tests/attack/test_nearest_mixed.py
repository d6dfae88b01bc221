"""Who is nearest among records with categories and gaps: by trees as by all pairs, to the last digit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.neighbours import mismatches
from tasks.attack.neighbours.distances import create_weighted_mean, euclidean
from tasks.attack.neighbours.nearest import Search
from tasks.attack.neighbours.record_comparison import ComparedColumns, create_comparison
from tasks.microdata.schema import Scale

SEEDS = st.integers(0, 2**32 - 1)


def make_search(rng, most):
    """A search among random records with numbers, categories and gaps; queries are noisy copies, or strangers."""
    q, c = (int(np.exp(rng.uniform(0, np.log(most)))) for _ in range(2))
    numbers, categories = int(rng.integers(0, 5)), int(rng.integers(0, 4))
    columns = max(numbers + categories, 1)
    nominal = rng.permutation(np.arange(columns) < categories)
    searched = rng.normal(size=(c, columns)) * rng.choice([0.01, 1, 100])
    for j in range(columns):
        if nominal[j]:
            searched[:, j] = rng.integers(0, rng.choice([1, 2, 5, 40, max(c // 3, 2)]), c)
        elif rng.random() < 0.5:
            searched[:, j] = searched[:, j].round(int(rng.integers(0, 2)))  # ties
    queries = searched[rng.integers(0, c, q)]
    changed = rng.random(queries.shape) < rng.choice([0.1, 0.5])
    queries = np.where(changed, searched[rng.integers(0, c, queries.shape), np.arange(columns)], queries)
    queries += ~nominal * rng.choice([0, 0, 1, 5]) * rng.normal(size=queries.shape)
    for of in (queries, searched):
        of[rng.random(of.shape) < rng.choice([0, 0, 1 / c, 0.03, 0.3], size=columns)] = np.nan
    weight = rng.choice([0.0, 0.7, 1.0, 2.13, 30.0], columns, p=[0.1, 0.3, 0.2, 0.3, 0.1])
    form = euclidean(columns)
    if rng.random() < 0.4:
        form = create_weighted_mean(rng.choice([0.0, 0.3, 1.0, 1.7], columns))
    return Search(queries, searched, ComparedColumns.create_plain(nominal, weight), form)


def assert_same(found, expected):
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, other)


def make_files(rng, n, table):
    """A random table with gaps, and a release of most of its rows: some numbers with noise, some cells exchanged."""
    columns, scales = {}, {}
    for j in range(int(rng.integers(1, 5))):
        columns[f"number{j}"] = rng.normal(0, rng.choice([1, 1e4]), n).round(int(rng.integers(0, 4)))
    for j in range(int(rng.integers(0, 4))):
        columns[f"category{j}"] = np.array(
            [f"c{code}" for code in rng.integers(0, rng.choice([2, 6, 60, n // 4]), n)], dtype=object
        )
        scales[f"category{j}"] = Scale.NOMINAL
    masked, shown = {}, rng.permutation(n)[: int(n * rng.choice([1.0, 0.8]))]
    for name, values in columns.items():
        other = np.where(rng.random(n) < rng.choice([0, 0.05, 0.3]), rng.permutation(values), values)
        if name not in scales and rng.random() < 0.5:
            other = (other + 0.1 * values.std() * rng.normal(size=n)).round(2)
        gaps = rng.random((2, n)) < rng.choice([0, 1.5 / n, 0.02, 0.2], p=[0.3, 0.2, 0.3, 0.2])
        columns[name], masked[name] = (
            [None if gap else value for value, gap in zip(of, lost, strict=True)]
            for of, lost in zip(
                (values.tolist(), other[shown].tolist()), (gaps[0], gaps[rng.integers(0, 2)][shown]), strict=True
            )
        )
    original, schema = table(columns, scales=scales)
    return original, table(masked, scales=scales)[0], schema


def find_by_trees_alone(search):
    """However few records there are, nobody looks at all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mismatches, "is_scan_faster", lambda *_: False)
        return search.find_nearest_by_mismatches()


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_trees_and_all_pairs_agree_to_the_last_digit(seed):
    search = make_search(np.random.default_rng(seed), 300)
    expected = search.find_nearest_by_pairs()
    assert_same(find_by_trees_alone(search), expected)
    assert_same(search.find_nearest_by_mismatches(), expected)


@pytest.mark.parametrize(
    ("seed", "least", "most", "tables"),
    [(0, 200, 1_500, 6), *(pytest.param(seed, 1_000, 30_000, 20, marks=pytest.mark.long) for seed in range(1, 11))],
)
def test_links_of_random_mixed_tables_are_those_of_all_pairs(table, seed, least, most, tables):
    rng, mixed = np.random.default_rng(seed), 0
    for _ in range(tables):
        original, masked, schema = make_files(rng, int(np.exp(rng.uniform(np.log(least), np.log(most)))), table)
        both = create_comparison(original, masked, schema, schema.names, "release")
        search = Search(both.own, both.shown, both.columns, euclidean(len(schema.names)))
        mixed += search.is_mixed
        for one in (search, search.swap_sides()):
            expected = one.find_nearest_by_pairs()
            assert_same(find_by_trees_alone(one), expected)
            if one.is_mixed:
                assert_same(one.nearest(), expected)
    assert mixed > tables / 2


def test_a_worked_search():
    # a mismatch adds 2, a gap against a value 2; categories 0 and 1, and one gap
    columns = ComparedColumns.create_plain(np.array([False, True]), np.array([1.0, 2.0]))
    searched = np.array([[0.0, 0], [5.0, 0], [1.0, 1], [np.nan, 0], [9.0, np.nan]])
    queries = np.array([[0.0, 0], [1.0, 0], [3.5, 1], [np.nan, np.nan], [1e3, 0]])
    found = find_by_trees_alone(Search(queries, searched, columns, euclidean(2)))
    assert [part.tolist() for part in np.split(found.found, found.starts[1:-1])] == [[0], [0], [3], [3, 4], [3]]
    assert found.least.tolist() == [0, 1, 4, 2, 2]
    assert found.runner_up.tolist() == [2, 2, 4.25, 4, 991.0**2 + 2]


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_ties_that_drift(seed):
    # squared distances 1 + 3e-10 k: each ties with the next ones, and the first with few of them; a mismatch adds 4e-10
    rng = np.random.default_rng(seed)
    searched = np.column_stack([1 + 1.5e-10 * rng.integers(0, 12, 60), rng.integers(0, 4, 60), rng.integers(0, 2, 60)])
    queries = np.column_stack([np.zeros(8), np.tile(np.arange(4), 2), np.repeat([0, 1], 4)])
    columns = ComparedColumns.create_plain(np.array([False, True, True]), np.array([1.0, 4e-10, 4e-10]))
    search = Search(queries, searched, columns, euclidean(3))
    assert_same(find_by_trees_alone(search), search.find_nearest_by_pairs())


@pytest.mark.parametrize("weight", [2.13, 0.01])
def test_how_many_look_at_all_records(weight):
    # 2,000 records of 40 categories and three numbers with gaps: those whom a mismatch may still bring nearer search another
    # tree, and where a mismatch is cheap all do; nobody is compared with everybody
    rng = np.random.default_rng(5)
    searched = np.column_stack([rng.normal(size=(2_000, 3)), rng.integers(0, 40, 2_000)])
    searched[rng.random(searched.shape) < 0.02] = np.nan
    queries = searched + np.column_stack([0.1 * rng.normal(size=(2_000, 3)), np.zeros(2_000)])
    columns = ComparedColumns.create_plain(np.arange(4) == 3, np.array([1, 1, 1, weight]))
    search, looked = Search(queries, searched, columns, euclidean(4)), []
    terms = mismatches.create_column_terms(columns, euclidean(4))
    mismatches.find_nearest_by_mismatches(
        queries, searched, terms, lambda some: looked.append(some) or search.look_at_all(some)
    )
    assert sum(map(len, looked)) < 500
