"""One-to-one linkage where many assignments have the same sum: the order of the columns does not choose among them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from pydantic import TypeAdapter

from tasks.attack.linkage.distance_linkage import link_by_distance
from tasks.attack.methods import Attack, attack
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
    tables = (Microdata.of({name: of[name] for name in names}) for of in (original, masked))
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


def test_a_distance_across_a_category_is_the_same_from_both_files(credits):
    rng = np.random.default_rng(3)
    schema = Schema(
        (
            Attribute("x", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
            Attribute("g", Role.QUASI_IDENTIFIER, Scale.NOMINAL, "declared"),
        )
    )
    own, shown = (Microdata.of({"x": rng.normal(size=9), "g": rng.choice(["u", "v"], 9)}) for _ in range(2))
    crossed = {"kind": "bilinear", "attributes": ["x", "g"], "matrix": [[2.0, 0.5], [0.5, 2.0]]}
    base = {"method": "distance_linkage", "matching": "one_to_one", "distance": crossed, "scale_by": "release"}
    there, back = (
        link_by_distance(own, shown, schema, ATTACK.validate_python({**base, "direction": way}, strict=False), ("x", "g"))
        for way in ("to_release", "to_original")
    )
    rows, records = (credits(links) for links in (there, back))
    np.testing.assert_array_equal(rows, records.T)
