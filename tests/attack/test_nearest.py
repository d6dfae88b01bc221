"""Who is nearest: the distance of mixed scales, and the two ways to search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.neighbours.distances import compute_record_distance, euclidean
from tasks.attack.neighbours.nearest import Search
from tasks.attack.neighbours.record_comparison import ComparedColumns, create_comparison
from tasks.attack.neighbours.tree import find_embedding
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale

NOMINAL = Scale.NOMINAL


def distances(both):
    return np.array([[compute_record_distance(x, y, both.nominal, both.weight, np.inf) for y in both.shown] for x in both.own])


def test_worked_distances(table):
    # release: a = 0, 2, 4 has variance 4; of its three pairs in b two differ, m = 2/3
    original, schema = table({"a": [1.0, 4, None], "b": ["x", "z", "y"]}, scales={"b": NOMINAL})
    masked, _ = table({"a": [0.0, 2, 4], "b": ["x", "x", "y"]})
    both = create_comparison(original, masked, schema, ("a", "b"), "release")
    matrix = distances(both)[both.own_of_record][:, both.shown_of_row]
    np.testing.assert_allclose(matrix, [[0.25, 0.25, 9 / 4 + 3], [7, 4, 3], [5, 5, 2]])


def test_missing_against_missing_is_no_difference(table):
    original, schema = table({"a": [None, 1.0]})
    masked, _ = table({"a": [None, 3.0]})
    both = create_comparison(original, masked, schema, ("a",), "release")
    assert sorted(distances(both).ravel().tolist()) == [0, 0, 2, 2]  # a single present value has no spread: it counts 0


@pytest.mark.parametrize("scale_by", ["release", "original"])
def test_every_attribute_weighs_two_on_average(table, scale_by):
    rng = np.random.default_rng(3)
    columns = {"a": rng.normal(1e6, 1, 30), "b": rng.integers(0, 4, 30), "c": rng.choice(["u", "v", "w"], 30)}
    data, schema = table(columns, scales={"b": Scale.ORDINAL, "c": NOMINAL})
    for name in columns:
        both = create_comparison(data, data, schema, (name,), scale_by)
        matrix = distances(both)[both.own_of_record][:, both.shown_of_row]
        pairs = [matrix[i, j] for i, j in itertools.permutations(range(30), 2)]
        assert np.mean(pairs) == pytest.approx(2)


def test_own_scale_forgets_where_each_file_lies(table):
    original, schema = table({"a": [1.0, 2, 3]})
    masked, _ = table({"a": [100.0, 200, 300]})
    both = create_comparison(original, masked, schema, ("a",), "own")
    np.testing.assert_allclose(distances(both)[both.own_of_record][:, both.shown_of_row].diagonal(), 0, atol=1e-12)


def test_a_constant_release_tells_nothing(table):
    original, schema = table({"a": [1.0, 2, 3], "b": ["x", "y", "x"]}, scales={"b": NOMINAL})
    masked, _ = table({"a": [2.0, 2, 2], "b": ["z", "z", "z"]})
    assert not distances(create_comparison(original, masked, schema, ("a", "b"), "release")).any()


@pytest.mark.parametrize(("values", "code"), [([1.0, np.inf], "infinite-value"), (["u", "v"], "no-order")])
def test_what_cannot_be_compared_is_refused(table, values, code):
    data, schema = table({"a": values})
    with pytest.raises(InputError) as refused:
        create_comparison(data, data, schema, ("a",), "release")
    assert refused.value.code == code


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 40), st.floats(0, 0.3))
def test_pairs_against_the_full_matrix(seed, q, c, gaps):
    rng = np.random.default_rng(seed)
    queries, searched = (rng.integers(0, 4, (m, 3)).astype(float) for m in (q, c))
    for x in (queries, searched):
        x[rng.random(x.shape) < gaps] = np.nan
    nominal, weight = np.array([False, True, False]), np.array([0.5, 2.5, 0.0])
    search = Search(queries, searched, ComparedColumns.create_plain(nominal, weight), euclidean(3))
    starts, found, least, runner_up = search.find_nearest_by_pairs()
    for i in range(q):
        row = [_distance(queries[i], y, nominal, weight) for y in searched]
        assert least[i] == pytest.approx(min(row))
        further = [distance for distance in row if not np.isclose(distance, min(row), rtol=1e-9, atol=0)]
        assert runner_up[i] == pytest.approx(min(further, default=np.inf))
        assert (
            found[starts[i] : starts[i + 1]].tolist() == np.flatnonzero(np.isclose(row, min(row), rtol=1e-9, atol=0)).tolist()
        )


def _distance(x, y, nominal, weight):
    total = 0.0
    for a, b, is_nominal, w in zip(x, y, nominal, weight, strict=True):
        if np.isnan(a) or np.isnan(b):
            total += 2.0 * (np.isnan(a) != np.isnan(b))
        else:
            total += w * ((a != b) if is_nominal else (a - b) ** 2)
    return total


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 300), st.sampled_from([0, 1e6]), st.booleans())
def test_tree_and_pairs_agree(seed, q, c, offset, ties):
    rng = np.random.default_rng(seed)
    queries, searched = (rng.normal(size=(m, 3)) * [1, 1, 3] + [offset, 0, 0] for m in (q, c))
    if ties:
        queries, searched = queries.round(), searched.round()
    queries[:, 2], searched[:, 2] = queries[:, 2].round().clip(-5, 5), searched[:, 2].round().clip(-5, 5)
    columns = ComparedColumns.create_plain(np.array([False, False, True]), np.array([0.7, 3.0, 2.2]))
    search = Search(queries, searched, columns, euclidean(3))
    places = find_embedding(queries, searched, columns, euclidean(3))
    tree, pairs = search.find_nearest_by_tree(places), search.find_nearest_by_pairs()
    for by_tree, by_pairs in zip(tree[:3], pairs[:3], strict=True):
        assert by_tree.tolist() == by_pairs.tolist()
    assert tree.runner_up.tolist() == pytest.approx(pairs.runner_up.tolist())
