"""One-to-one linkage from the other file, and where many assignments have the same sum: columns' order chooses none."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tasks.attack.linkage.distance_linkage import link_by_distance
from tasks.attack.methods import Attack, attack
from tasks.attack.neighbours.distances import choquet, euclidean, owa, polynomial_kernel, quadratic
from tasks.attack.neighbours.nearest import Search
from tasks.attack.neighbours.record_comparison import ComparedColumns
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import Alignment
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

NAMES = ("b", "c", "a")
ATTACK = TypeAdapter(Attack)


def tables(seed, n=24):
    """Values on a coarse grid: nearly every sum of distances is shared by many assignments."""
    rng = np.random.default_rng(seed)
    original = {name: rng.integers(0, 4, n).astype(float) for name in NAMES}
    return original, {name: np.clip(column + rng.integers(-1, 2, n), 0, 3) for name, column in original.items()}


def credit_of(spec, names, original, masked):
    schema = Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in names))
    tables = (Microdata.from_columns({name: of[name] for name in names}) for of in (original, masked))
    n = len(original["a"])
    own, shown = tables
    wanted, everybody = ATTACK.validate_python(spec, strict=False), np.arange(n)
    whole = Alignment.complete_in(everybody)
    found = attack(own, shown, schema, (), wanted, Intruder("declared", names), alignment=whole, targets=everybody)
    return np.array(found.outcomes.column("credit").to_pylist())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "spec",
    [
        {"method": "distance_linkage", "matching": "one_to_one"},
        {"method": "distance_linkage", "matching": "one_to_one", "direction": "to_original"},
    ],
)
def test_equal_sums_do_not_depend_on_the_order_of_the_columns(spec, seed):
    original, masked = tables(seed)
    found = [credit_of(spec, names, original, masked) for names in permutations(NAMES)]
    assert found[0].sum() > 0
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_distance_across_a_category_is_the_same_from_both_files(credits, seed):
    rng = np.random.default_rng(seed)
    schema = Schema(
        (
            Attribute("x", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
            Attribute("g", Role.QUASI_IDENTIFIER, Scale.NOMINAL, "declared"),
        )
    )
    own, shown = (Microdata.from_columns({"x": rng.normal(size=9), "g": rng.choice(["u", "v"], 9)}) for _ in range(2))
    crossed = {"kind": "bilinear", "attributes": ["x", "g"], "matrix": [[2.0, 0.5], [0.5, 2.0]]}
    base = {"method": "distance_linkage", "matching": "one_to_one", "distance": crossed, "scale_by": "release"}
    there, back = (
        link_by_distance(own, shown, schema, ATTACK.validate_python({**base, "direction": way}, strict=False), ("x", "g"))
        for way in ("to_release", "to_original")
    )
    rows, records = (credits(links) for links in (there, back))
    np.testing.assert_array_equal(rows, records.T)


SEEDS, SIZES = st.integers(0, 2**32 - 1), st.integers(1, 12)
FORMS = {
    "euclidean": euclidean(3),
    "through a category": quadratic(np.array([[2.0, 0.5, 0], [0.5, 2, 0], [0, 0, 1]])),
    "owa": owa(np.array([2.0, 0.5, 0.5]), 3),
    "choquet": choquet(np.array([0, 0.2, 0.3, 0.5, 0.4, 0.6, 0.7, 1]), 3),
    "kernel": polynomial_kernel(2, 3),
}


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(FORMS)),
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from([0, 2]),
    st.booleans(),
)
def test_a_turned_search_has_the_same_distances(seed, name, q, c, kind, gaps):
    rng = np.random.default_rng(seed)
    queries, searched = rng.integers(0, 4, (q, 3)).astype(float), rng.integers(0, 4, (c, 3)).astype(float)
    if gaps:
        queries[rng.random((q, 3)) < 0.2] = np.nan
    columns = ComparedColumns(np.array([0, 1, kind]), np.array([0.7, 1.5, 1.0]), np.arange(3), 3, False)
    search = Search(queries, searched, columns, FORMS[name])
    matrix, turned = search.matrix(np.arange(q)), search.swap_sides()
    np.testing.assert_allclose(turned.matrix(np.arange(c)), matrix.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(turned.swap_sides().matrix(np.arange(q)), matrix)
    record, row = (axis.ravel() for axis in np.indices((q, c)))
    np.testing.assert_allclose(turned.apart(row, record), matrix.ravel(), rtol=1e-12, atol=1e-12)
    near, far, _ = turned.few_nearest(2)
    np.testing.assert_allclose(far, np.take_along_axis(matrix.T, near, axis=1), rtol=1e-12, atol=1e-12)
