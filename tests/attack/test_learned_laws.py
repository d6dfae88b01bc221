"""What linkage by a learned distance must do on any table: forget orders and units, and lose nothing by knowing more."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.attack.learned import learn as learning
from tasks.attack.learned.learned_linkage import KINDS, LearnedLinkage, link_by_learning
from tasks.attack.learned.multistart_search import search_parameters
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.ground_truth import RecordPairs
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata

N = 30
SEED = bytes(range(32))
SLOWLY = pytest.param("bilinear", marks=pytest.mark.long)
STEPS = {
    "groups": (Microaggregation(method="microaggregation", attributes=("x", "y"), k=4),),
    "swap": (RankSwapping(method="rank_swapping", attributes=("x", "y"), window_percent=60.0),),
}


@pytest.fixture(autouse=True)
def short_search(monkeypatch):
    """Laws hold however long is searched: one permutation of the twenty, few moves."""
    monkeypatch.setattr(learning.chance, "__kwdefaults__", {**learning.chance.__kwdefaults__, "permutations": 1})
    monkeypatch.setattr(search_parameters, "__kwdefaults__", {**search_parameters.__kwdefaults__, "moves": 100, "rounds": 2})


@pytest.fixture(scope="module")
def people(table):
    """Twelve different ages, so that there are equal records and ties, a permutation, and an attribute with gaps."""
    rng = np.random.default_rng(2)
    group = [None if g == 3 else "abc"[g] for g in rng.integers(0, 4, N)]
    columns = {"x": rng.integers(0, 12, N), "y": rng.integers(0, 5, N), "z": rng.permutation(N), "group": group}
    return table(columns, scales={"group": Scale.NOMINAL, "y": Scale.ORDINAL})


@pytest.fixture(scope="module")
def noisy(table):
    rng = np.random.default_rng(3)
    own = rng.normal(size=(20, 3))
    released = own + rng.normal(size=own.shape) * [1.0, 0.7, 0.3]
    data, schema = table(dict(zip("xyz", own.T, strict=True)))
    return data, Microdata.from_columns(dict(zip("xyz", released.T, strict=True))), schema


def run(data, masked, schema, *, knows=("x", "y", "group"), pairs=None, **parameters):
    everybody = np.arange(masked.n)
    spec = LearnedLinkage(method="learned_linkage", **parameters)
    return link_by_learning(data, masked, schema, spec, knows, pairs or RecordPairs(everybody, everybody))


def proven(noisy, knows, learn):
    """What is linked at least, and at most, by the best distance of a family; no two of the values are equal."""
    facts = run(*noisy, knows=knows, learn=learn, solver="certified").learned
    assert not facts.stopped
    return facts.sure, facts.bound + 1e-12


@pytest.mark.parametrize("direction", ["to_release", "to_original"])
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("family", KINDS)
def test_the_order_of_the_released_rows_is_forgotten(people, credits, family, steps, direction):
    data, schema = people
    masked = mask(data, schema, STEPS[steps], seed=SEED, path=()).data
    straight = run(data, masked, schema, learn=family, direction=direction)
    order = np.random.default_rng(4).permutation(N)
    turned = run(data, masked.take(order), schema, learn=family, direction=direction, pairs=RecordPairs(order, np.arange(N)))
    assert turned.learned == straight.learned
    expected = credits(straight)
    expected = expected[order] if direction == "to_original" else expected[:, order]
    np.testing.assert_array_equal(credits(turned), expected)


@pytest.mark.slow
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("family", KINDS)
def test_the_order_of_the_intruders_records_is_forgotten(people, credits, family, steps):
    data, schema = people
    masked = mask(data, schema, STEPS[steps], seed=SEED, path=()).data
    straight = run(data, masked, schema, learn=family)
    order = np.random.default_rng(4).permutation(N)
    turned = run(data.take(order), masked, schema, learn=family, pairs=RecordPairs(np.arange(N), order))
    assert turned.learned == straight.learned
    np.testing.assert_array_equal(credits(turned), credits(straight)[order])


@pytest.mark.parametrize("family", KINDS)
def test_in_which_units_an_attribute_is_does_not_matter(people, credits, family):
    """Other units of both files; powers of two, which rounding leaves as they are."""
    data, schema = people
    masked = mask(data, schema, STEPS["groups"], seed=SEED, path=()).data

    def in_other_units(of):
        return Microdata.from_columns({name: of.floats("x") * 1024 if name == "x" else of.column(name) for name in of.names})

    straight, other = run(data, masked, schema, learn=family), run(*map(in_other_units, (data, masked)), schema, learn=family)
    assert other.learned == straight.learned
    np.testing.assert_array_equal(credits(other), credits(straight))


@pytest.mark.parametrize("family", KINDS)
def test_everybody_is_found_by_a_unique_key_that_was_not_masked(people, credits, family):
    data, schema = people
    masked = mask(data, schema, STEPS["groups"], seed=SEED, path=()).data
    links = run(data, masked, schema, knows=("z",), learn=family)
    np.testing.assert_array_equal(credits(links), np.eye(N))
    assert (links.learned.rate, links.learned.sure) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["weighted_mean", "choquet_2_additive", "choquet", SLOWLY])
def test_an_attribute_more_never_links_fewer(noisy, family):
    """What is proven: a weight of 0 leaves an attribute out. An ordered weighted average cannot leave one out."""
    one, two, three = (proven(noisy, knows, family) for knows in (("x",), ("x", "y"), ("x", "y", "z")))
    assert one[0] <= two[1]
    assert two[0] <= three[1]
    assert one[1] < three[0]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["weighted_mean", "owa", "choquet_2_additive", "choquet", SLOWLY])
def test_how_the_attributes_are_ordered_changes_nothing_that_is_proven(noisy, family):
    straight, turned = (proven(noisy, knows, family) for knows in (("x", "y", "z"), ("z", "y", "x")))
    assert max(straight[0], turned[0]) <= min(straight[1], turned[1])


def test_a_larger_family_links_no_fewer(noisy):
    families = ("weighted_mean", "choquet_2_additive", "choquet", "bilinear")
    means, pairs, measures, forms = (proven(noisy, ("x", "y", "z"), family) for family in families)
    assert means[0] <= pairs[1]
    assert pairs[0] <= measures[1]
    assert means[0] <= forms[1]
