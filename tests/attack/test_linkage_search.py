"""Distances of the family between files: per-attribute distances, exact search, and one-to-one assignment."""

from __future__ import annotations

import datetime
from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr

from tasks.attack.linkage.assignment import list_assigned_classes, solve_assignment
from tasks.attack.linkage.distance_linkage import DistanceLinkage, compute_permutation_chance, link_by_distance
from tasks.attack.methods import attack
from tasks.attack.neighbours.distances import (
    choquet,
    create_mean_of_present,
    create_weighted_mean,
    euclidean,
    owa,
    polynomial_kernel,
    quadratic,
)
from tasks.attack.neighbours.nearest import Search, compute_kernel_coordinates
from tasks.attack.neighbours.record_comparison import ComparedColumns, create_comparison
from tasks.attack.neighbours.tree import find_embedding
from tasks.attack.threat import Intruder
from tasks.mask.methods import mask
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError, NotApplicable
from tasks.microdata.ground_truth import RecordPairs
from tasks.microdata.schema import Scale

SEEDS = st.integers(0, 2**32 - 1)
SPEC = TypeAdapter(DistanceLinkage)
KERNEL = polynomial_kernel(2, 3)


def spec_of(**fields):
    return SPEC.validate_python({"method": "distance_linkage", **fields}, strict=False)


def apart(files, form):
    """All distances between the original's records and the released rows, in the order of the files."""
    matrix = Search(files.own, files.shown, files.columns, form).matrix(np.arange(len(files.own)))
    return matrix[files.own_of_record][:, files.shown_of_row]


def files(pair, compared, scale_by="release", **more):
    (original, schema), (masked, _) = pair
    return create_comparison(original, masked, schema, schema.names, scale_by, spec_of(compare=compared).compare, **more)


def test_absolute_and_rank_distances(table):
    # the release: 0, 2, 4: absolute differences of pairs 2, 2, 4, mean 8/3: 2 per mean; ranks 1/6, 3/6, 5/6: variance 1/9
    pair = table({"a": [1.0, 9, None]}), table({"a": [0.0, 2, 4]})
    absolute = apart(files(pair, {"a": {"by": "absolute"}}), euclidean(1))
    np.testing.assert_allclose(absolute, np.array([[1, 1, 3], [9, 7, 5], [8 / 3] * 3]) * 2 / (8 / 3))
    # 1 lies between the first and the second: rank 2/6; 9 beyond all: 6/6
    ranks = apart(files(pair, {"a": {"by": "rank"}}), euclidean(1))
    np.testing.assert_allclose(ranks, [[1 / 4, 1 / 4, 9 / 4], [25 / 4, 9 / 4, 1 / 4], [2, 2, 2]])


@pytest.mark.parametrize("by", ["squared", "absolute", "rank"])
@pytest.mark.parametrize("scale_by", ["release", "original", "own"])
def test_every_comparison_adds_two_on_average(table, by, scale_by):
    rng = np.random.default_rng(4)
    data = table({"a": rng.normal(1e3, 5, 40).round()}, scales={"a": Scale.ORDINAL})
    matrix = apart(files((data, data), {"a": {"by": by}}, scale_by), euclidean(1))
    assert matrix.sum() / (40 * 39) == pytest.approx(2)


def test_hierarchies(table):
    tree = [{"Oslo": "Norway", "Bergen": "Norway", "Lund": "Sweden", "Malmo": "Sweden"}]
    pair = (
        table({"a": ["Oslo", "Lund", None]}, scales={"a": Scale.NOMINAL}),
        table({"a": ["Oslo", "Bergen", "Sweden", "Sweden"]}, scales={"a": Scale.NOMINAL}),
    )
    # of the release's six pairs five differ at the bottom and four above: a level weighs 2 / (5/6 + 4/6)
    level = 2 / (5 / 6 + 4 / 6)
    matrix = apart(files(pair, {"a": {"by": "hierarchy", "hierarchy": tree}}), euclidean(1))
    np.testing.assert_allclose(matrix, [[0, level, 2 * level, 2 * level], [2 * level, 2 * level, level, level], [2, 2, 2, 2]])
    with pytest.raises(InputError, match="nowhere in the hierarchy"):
        files(pair, {"a": {"by": "hierarchy", "hierarchy": [{"Oslo": "Norway"}]}})


def test_parts_of_dates(table):
    day = datetime.date
    pair = (
        table({"a": [day(2001, 2, 3)]}, scales={"a": Scale.DATE}),
        table({"a": [day(2001, 2, 3), day(2002, 2, 3), day(2002, 3, 4)]}, scales={"a": Scale.DATE}),
    )
    # of three pairs two differ in the year, two in the month, two in the day: a part weighs 1
    np.testing.assert_allclose(apart(files(pair, {"a": {"by": "date_parts"}}), euclidean(1)), [[0, 1, 3]])


def test_gower(table):
    scales = {"b": Scale.NOMINAL}
    pair = table({"a": [2.0, None], "b": ["x", None]}, scales=scales), table({"a": [0.0, 8], "b": ["x", "y"]}, scales=scales)
    original, schema = pair[0]
    prepared = create_comparison(original, pair[1][0], schema, schema.names, "release", shares=True)
    np.testing.assert_allclose(apart(prepared, create_mean_of_present(2)), [[(0.25 + 0) / 2, (0.75 + 1) / 2], [1, 1]])


def test_the_kernel(table):
    # K(x, y) = (1 + x y)^2 at 0, 1 and 2: K(0,1) = 1, K(0,0) = 1, K(1,1) = 4, K(1,2) = 9, K(2,2) = 25
    columns = ComparedColumns(np.array([0]), np.ones(1), np.array([0]), 1, False)
    search = Search(np.array([[0.0]]), np.array([[-1.0], [0], [1]]), columns, polynomial_kernel(2, 1))
    assert search.matrix(np.array([0])).tolist() == [[3, 0, 3]]
    linear = Search(np.array([[0.3]]), np.array([[-1.0], [0], [1]]), columns, polynomial_kernel(1, 1))
    np.testing.assert_allclose(linear.matrix(np.array([0])), [[1.69, 0.09, 0.49]])
    points, places = compute_kernel_coordinates(Search(np.array([[np.nan]]), np.array([[-1.0], [1]]), columns, KERNEL))
    assert (points.tolist(), places.tolist()) == ([[0, np.sqrt(2)]], [[-1, 0], [1, 0]])


FORMS = {
    "euclidean": euclidean(3),
    "weighted": create_weighted_mean(np.array([2.0, 0.3, 1])),
    "definite": quadratic(np.array([[2.0, 0, 1], [0, 1, 0], [1, 0, 1]])),
    "indefinite": quadratic(np.array([[1.0, 0, 2], [0, 1, 0], [2, 0, 1]])),
    "through a category": quadratic(np.array([[2.0, 0.5, 0], [0.5, 2, 0], [0, 0, 1]])),
    "owa": owa(np.array([2.0, 0.5, 0.5]), 3),
    "choquet": choquet(np.array([0, 0.2, 0.3, 0.5, 0.4, 0.6, 0.7, 1]), 3),
    "kernel": KERNEL,
}


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from(sorted(FORMS)), st.booleans(), st.booleans(), st.integers(0, 1))
def test_search_against_the_full_matrix(seed, name, ties, gaps, absolute):
    rng = np.random.default_rng(seed)
    queries, searched = rng.normal(size=(30, 3)), rng.normal(size=(250, 3))
    if ties:
        queries, searched = queries.round(), searched.round()
    queries[:, 1], searched[:, 1] = queries[:, 1].round(), searched[:, 1].round()
    if gaps:
        queries[rng.random(30) < 0.3, 0] = np.nan
    columns = ComparedColumns(np.array([0, 1, 2 * absolute]), np.array([0.7, 1.5, 1.0]), np.arange(3), 3, False)
    search = Search(queries, searched, columns, FORMS[name])
    found, matrix = search.nearest(), search.matrix(np.arange(30))
    for i, row in enumerate(matrix):
        near = np.isclose(row, row.min(), rtol=1e-9, atol=0)
        assert found.found[found.starts[i] : found.starts[i + 1]].tolist() == np.flatnonzero(near).tolist()
        assert found.runner_up[i] == pytest.approx(row[~near].min(initial=np.inf))
    near, far, low = search.few_nearest(5)
    np.testing.assert_allclose(low, np.sort(matrix)[:, 4], atol=1e-9)
    np.testing.assert_allclose(np.sort(far), np.sort(matrix)[:, :5], atol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(matrix, near, axis=1), far, atol=1e-9)
    price, some = -rng.random(250), np.array([3, 11, 29])
    near, far, low = search.few_nearest(7, some, price)
    np.testing.assert_allclose(np.sort(far - price[near]), np.sort(matrix[some] - price)[:, :7], atol=1e-9)
    np.testing.assert_allclose(low, np.sort(matrix[some] - price)[:, 6], atol=1e-9)
    assert np.isinf(search.few_nearest(250)[2]).all()


@pytest.mark.parametrize("name", FORMS)
def test_which_searches_have_a_tree(name):
    rng = np.random.default_rng(1)
    columns = ComparedColumns(np.array([0, 1, 0]), np.array([0.7, 1.5, 1.0]), np.arange(3), 3, False)
    queries, searched = rng.integers(0, 4, (20, 3)).astype(float), rng.integers(0, 4, (30, 3)).astype(float)
    places = find_embedding(queries, searched, columns, FORMS[name])
    assert (places is not None) == (name in ("euclidean", "weighted", "definite"))
    if places is not None:
        matrix = Search(queries, searched, columns, FORMS[name]).matrix(np.arange(20))
        np.testing.assert_allclose(((places[0][:, np.newaxis] - places[1]) ** 2).sum(axis=2), matrix, atol=1e-12)


def total(distances, links):
    """The sum of the distances of an assignment without equal records."""
    starts, classes = links
    return distances[np.repeat(np.arange(len(distances)), np.diff(starts)), classes].sum()


def line(values, found):
    column = ComparedColumns(np.array([0]), np.ones(1), np.array([0]), 1, False)
    return Search(np.array(values)[:, np.newaxis], np.array(found)[:, np.newaxis], column, euclidean(1))


def test_a_worked_assignment():
    # alone both 0 and 1 go to 0.9; together 0 must give way to 1
    search = line([0.0, 1.0], [0.9, 5.0])
    assert search.nearest().found.tolist() == [0, 0]
    starts, given = list_assigned_classes(search, np.arange(2), np.arange(2))
    assert (starts.tolist(), given.tolist()) == ([0, 1, 2], [0, 1])
    # equal rows are one class; three records, two rows: the furthest record is left without
    starts, given = list_assigned_classes(line([0.0, 1.0, 9.0], [0.9]), np.arange(3), np.array([0, 0]))
    assert (starts.tolist(), given.tolist()) == ([0, 1, 2, 2], [0, 0])
    # equal records share what was given to either
    starts, given = list_assigned_classes(line([0.0], [0.9, 5.0]), np.array([0, 0]), np.arange(2))
    assert (starts.tolist(), given.tolist()) == ([0, 2], [0, 1])


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(2, 6))
def test_the_assignment_against_all_permutations(seed, n):
    rng = np.random.default_rng(seed)
    search = line(rng.normal(size=n), rng.normal(size=n))
    costs = search.matrix(np.arange(n))
    best = min(costs[np.arange(n), list(order)].sum() for order in permutations(range(n)))
    assert total(costs, list_assigned_classes(search, np.arange(n), np.arange(n))) == pytest.approx(best)


def people_in_space(rng, q, c, noise=0.5, d=3):
    """A search between c records and noisy copies of them, q of which look for their own; all distances."""
    x = rng.normal(size=(max(q, c), d))
    y = x + noise * rng.normal(size=x.shape)
    columns = ComparedColumns(np.zeros(d, dtype=np.int64), np.ones(d), np.arange(d), d, False)
    search = Search(x[:q], y[:c], columns, euclidean(d))
    return search, search.matrix(np.arange(q))


@pytest.mark.parametrize(("q", "c"), [(400, 400), (300, 350), (350, 300), (30, 300)])
def test_lists_that_grow_give_the_least_assignment_of_all(q, c):
    # 16 of 300 to 400 records are listed at first
    search, costs = people_in_space(np.random.default_rng(3), q, c)
    whole, listed = (solve_assignment(search, np.arange(q), np.arange(c), full=full) for full in (1000, 0))
    for found in (whole, listed):
        assert len(found.classes) == len(set(found.classes.tolist())) == min(q, c)
        assert (np.diff(found.starts) <= 1).all()
        assert found.total == pytest.approx(total(costs, (found.starts, found.classes)))
        assert found.bound == pytest.approx(found.total, rel=1e-9)
        assert found.bound <= found.total * (1 + 1e-12)
    assert listed.total == pytest.approx(whole.total, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.sampled_from(sorted(FORMS)), st.integers(2, 40), st.integers(2, 40))
@example(0, "through a category", 3, 2)  # a number crossed with a category, and more records than rows: 8.38
def test_equal_records_and_every_distance_against_scipy(seed, name, q, c):
    rng = np.random.default_rng(seed)
    records, rows = (rng.integers(0, 3, (n, 3)).astype(float) for n in (q, c))
    (queries, of_query), (searched, of_searched) = (np.unique(of, axis=0, return_inverse=True) for of in (records, rows))
    columns = ComparedColumns(np.array([0, 1, 0]), np.array([0.7, 1.5, 1.0]), np.arange(3), 3, False)
    search = Search(queries, searched, columns, FORMS[name])
    costs = search.matrix(np.arange(len(queries)))[of_query][:, of_searched]
    least = costs[linear_sum_assignment(costs)].sum()
    found = solve_assignment(search, of_query, of_searched, full=0)
    assert found.total == pytest.approx(least, abs=1e-7)
    assert found.bound == pytest.approx(least, abs=1e-7)


@pytest.mark.parametrize(("q", "c"), [(14, 14), (10, 15), (15, 10), (60, 60), (50, 60)])
@pytest.mark.parametrize("full", [0, 1000])
def test_how_much_dearer_without_a_link(q, c, full):
    # exact where all is listed (16 records) and nothing is left over; else a lower bound that tells much the same
    search, costs = people_in_space(np.random.default_rng(8), q, c, noise=0.3)
    found = solve_assignment(search, np.arange(q), np.arange(c), full=full)
    given = np.flatnonzero(np.diff(found.starts))
    dearer, true = (found.runner_up - found.least)[given], np.empty(len(given))
    for at, record in enumerate(given):
        without = costs.copy()
        without[record, found.classes[found.starts[record]]] = 1e6
        true[at] = without[linear_sum_assignment(without)].sum() - found.total
    assert (dearer <= true + 1e-9).all()
    assert np.allclose(dearer, true) if q == c <= 16 else spearmanr(dearer, true).statistic > 0.8
    assert found.least[given] == pytest.approx(found.total / len(given))


def test_a_worked_margin():
    # 0 -> 0.1 and 1 -> 1.2 add up to 0.05; the other way round 1.44 + 0.81
    found = solve_assignment(line([0.0, 1.0], [0.1, 1.2]), np.arange(2), np.arange(2))
    assert found.runner_up - found.least == pytest.approx([2.2, 2.2])
    assert found.least == pytest.approx([0.025, 0.025])
    # who has a twin, or is given one of two equal rows, is nobody's sure link
    found = solve_assignment(line([0.0, 1.0], [0.1, 1.2]), np.array([0, 0, 1]), np.array([0, 1, 1]))
    assert found.least.tolist() == found.runner_up.tolist() == [0, 0]


def test_the_surest_links_of_an_assignment_are_right_more_often():
    search, _ = people_in_space(np.random.default_rng(4), 1500, 1500, noise=0.2)
    found = solve_assignment(search, np.arange(1500), np.arange(1500), full=0)
    right = found.classes == np.arange(1500)
    surest = np.argsort(found.runner_up)[::-1][:75]
    assert right.mean() < 0.3
    assert right[surest].mean() > 0.9


XY = {"of": ["x", "y"], "value": 0.2}


def test_census_rank_swapping(census):
    # all 13 columns, windows of 10 %: about 0.74 one to one against 0.60 by the nearest
    data, schema = census
    swap = RankSwapping(method="rank_swapping", window_percent=10.0)
    masked = mask(data, schema, (swap,), seed=bytes(32), path=()).data
    shuffle, n = np.random.default_rng(1).permutation(data.n), data.n
    rates = {}
    for matching in ("nearest", "one_to_one"):
        links = link_by_distance(data, masked.take(shuffle), schema, spec_of(matching=matching), schema.names)
        rates[matching] = float(links.guesses(np.arange(n)).credit(np.argsort(shuffle)).mean())
    assert rates["nearest"] == pytest.approx(0.60, abs=0.025)
    assert rates["one_to_one"] == pytest.approx(0.75, abs=0.025)


DISTANCES = {
    "mahalanobis": {"distance": {"kind": "mahalanobis"}},
    "of the original": {"distance": {"kind": "mahalanobis"}, "scale_by": "original"},
    "kernel": {"distance": {"kind": "kernel", "degree": 3}},
    "weighted_mean": {"distance": {"kind": "weighted_mean", "weights": {"x": 3.0}}},
    "owa": {"distance": {"kind": "owa", "weights": [1.0, 2.0]}},
    "choquet": {"distance": {"kind": "choquet", "measure": [{"of": ["x"], "value": 0.7}, {"of": ["y"], "value": 0.6}]}},
    "pairs": {"distance": {"kind": "choquet_2_additive", "singles": {"x": 0.4, "y": 0.4}, "pairs": [XY]}},
    "bilinear": {"distance": {"kind": "bilinear", "attributes": ["y", "x"], "matrix": [[1.0, -2.0], [-2.0, 1.0]]}},
    "gower": {"distance": {"kind": "gower"}},
    "ranks": {"compare": {"x": {"by": "rank"}, "y": {"by": "absolute"}}, "scale_by": "own"},
    "one to one": {"matching": "one_to_one"},
}  # fmt: skip


@pytest.fixture(scope="module")
def people(table):
    rng = np.random.default_rng(2)
    group = [None if g == 3 else "abc"[g] for g in rng.integers(0, 4, 60)]
    columns = {"x": rng.integers(0, 12, 60), "y": rng.integers(0, 5, 60), "z": rng.permutation(60), "group": group}
    return table(columns, scales={"group": Scale.NOMINAL, "y": Scale.ORDINAL})


@pytest.mark.parametrize("direction", ["to_release", "to_original"])
@pytest.mark.parametrize("name", DISTANCES)
def test_every_distance_forgets_the_order_and_chance_is_one_over_n(people, credits, name, direction):
    data, schema = people
    spec, knows, n = spec_of(direction=direction, **DISTANCES[name]), ("x", "y", "group"), data.n
    rng = np.random.default_rng(5)
    masked = data.replace_column("x", data.column("x").take(rng.permutation(n)))
    straight = credits(link_by_distance(data, masked, schema, spec, knows))
    assert straight.mean() == pytest.approx(1 / n, rel=1e-12)
    order, other = rng.permutation(n), rng.permutation(n)
    permuted = credits(link_by_distance(data.take(other), masked.take(order), schema, spec, knows))
    expected = straight[np.ix_(order, other)] if direction == "to_original" else straight[np.ix_(other, order)]
    np.testing.assert_array_equal(permuted, expected)


@pytest.mark.parametrize("name", [name for name in DISTANCES if name != "bilinear"])
def test_everybody_is_found_by_a_unique_key(people, credits, name):
    data, schema = people
    matrix = credits(link_by_distance(data, data, schema, spec_of(**DISTANCES[name]), ("x", "y", "z", "group")))
    np.testing.assert_array_equal(matrix, np.eye(data.n))


def test_an_attribute_that_is_unknown_is_left_out_of_the_distance(people, credits):
    data, schema = people
    masked = data.take(np.random.default_rng(6).permutation(data.n))
    only_x = credits(link_by_distance(data, masked, schema, spec_of(), ("x",)))
    for name in ("choquet", "pairs", "bilinear", "weighted_mean", "mahalanobis", "owa"):
        found = credits(link_by_distance(data, masked, schema, spec_of(**DISTANCES[name]), ("x",)))
        np.testing.assert_array_equal(found, only_x)


def test_the_covariance_of_the_differences(table, credits):
    # noise on a only: b alone tells who is who, which the differences show and the data do not
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=(2, 200))
    original, schema = table({"a": a, "b": b})
    masked, _ = table({"a": a + rng.normal(size=200), "b": b + 0.01 * rng.normal(size=200)})
    pairs, rates = RecordPairs(np.arange(200), np.arange(200)), {}
    for covariance in ("data", "differences"):
        spec = spec_of(distance={"kind": "mahalanobis", "covariance": covariance})
        rates[covariance] = credits(link_by_distance(original, masked, schema, spec, ("a", "b"), pairs)).trace() / 200
    assert rates["differences"] > 0.4 > 0.2 > rates["data"]
    assert 0 < compute_permutation_chance(original, masked, schema, spec, ("a", "b"), pairs) < 0.02
    with pytest.raises(NotApplicable, match="who is who"):
        link_by_distance(original, masked, schema, spec, ("a", "b"))
    targets, alignment = np.arange(200), Alignment.complete_in(np.arange(200))
    found = attack(original, masked, schema, (), spec, Intruder("declared", ("a", "b")), alignment=alignment, targets=targets)
    assert (found.chance_kind, found.status) == ("permutation", "ok")
    assert "mahalanobis of the differences" in found.infers


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"distance": {"kind": "weighted_mean", "weights": {"q": 1.0}}}, "unknown-attribute"),
        ({"compare": {"group": {"by": "rank"}}}, "no-order"),
        ({"compare": {"x": {"by": "date_parts"}}}, "not-a-date"),
    ],
)
def test_what_does_not_fit_the_table_is_refused(people, fields, code):
    data, schema = people
    with pytest.raises(InputError) as refused:
        link_by_distance(data, data, schema, spec_of(**fields), ("x", "group"))
    assert refused.value.code == code


def test_a_covariance_needs_an_order(people):
    data, schema = people
    with pytest.raises(NotApplicable, match="no attribute with an order"):
        link_by_distance(data, data, schema, spec_of(distance={"kind": "mahalanobis"}), ("group",))
