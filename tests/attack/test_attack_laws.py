"""What every attack must do: find everybody where nothing is hidden, nobody where nothing is shown, and forget the order."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.probabilistic.estimation import link_by_probability
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.attack.profiles.profile_linkage import ProfileLinkage, link_by_profile
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata

N = 60
SEED = bytes(range(32))
LEVEL = 1e-4


def micro(*attributes, k=4, blocks=None):
    return Microaggregation(method="microaggregation", attributes=attributes, k=k, blocks=blocks)


def swap(*attributes, window_percent=60.0):
    return RankSwapping(method="rank_swapping", attributes=attributes, window_percent=window_percent)


def by_distance(**parameters):
    spec = DistanceLinkage(method="distance_linkage", **parameters)
    return lambda original, masked, schema, steps, knows: link_by_distance(original, masked, schema, spec, knows)


def by_schema(**parameters):
    spec = ProfileLinkage(method="profile_linkage", **parameters)
    return lambda original, masked, schema, steps, knows: link_by_profile(original, masked, schema, spec, knows)[0]


def by_probability(**parameters):
    spec = ProbabilisticLinkage(method="probabilistic_linkage", **parameters)
    return lambda original, masked, schema, steps, knows: link_by_probability(original, masked, schema, spec, knows).links


def by_mechanism(original, masked, schema, steps, knows):
    return link_by_mechanism(original, masked, schema, steps, knows)[0]


ATTACKS = {
    "release": by_distance(),
    "original": by_distance(scale_by="original"),
    "own": by_distance(scale_by="own"),
    "to original": by_distance(direction="to_original"),
    "transparency": by_mechanism,
    "names unknown": by_schema(match="names_unknown"),
    "no shared attribute": by_schema(),
    "no shared attribute, one to one": by_schema(matching="one_to_one"),
    "probabilities": by_probability(),
    "probabilities, one to one": by_probability(matching="one_to_one"),
    "probabilities, two attributes together": by_probability(interactions=(("x", "y"),)),
}
STEPS = {
    "joint": (micro("x", "y"),),
    "blocks": (micro("x", "y", blocks=(("x",), ("y",))),),
    "swap": (swap("x", "y"),),
    "mixed": (micro("x"), swap("y")),
}
CASES = [(a, s) for a in ATTACKS for s in STEPS]


@pytest.fixture(scope="module")
def people(table):
    """Twelve different ages, so that there are equal records and many ties, and an attribute with gaps."""
    rng = np.random.default_rng(2)
    group = [None if g == 3 else "abc"[g] for g in rng.integers(0, 4, N)]
    columns = {"x": rng.integers(0, 12, N), "y": rng.integers(0, 5, N), "z": rng.permutation(N), "group": group}
    return table(columns, scales={"group": Scale.NOMINAL, "y": Scale.ORDINAL})


def run(attack, original, masked, schema, steps, knows=("x", "y", "group")):
    return ATTACKS[attack](original, masked, schema, steps, knows)


@pytest.mark.parametrize(("attack", "steps"), CASES)
def test_guessing_is_worth_one_over_n(people, credits, attack, steps):
    data, schema = people
    done = mask(data, schema, STEPS[steps], seed=SEED, path=())
    matrix = credits(run(attack, data, done.data, schema, done.mechanisms))
    # over all permutations of who is who the mean credit is the mean of the whole matrix
    assert matrix.mean() == pytest.approx(1 / N, rel=1e-12)


@pytest.mark.parametrize(("attack", "steps"), CASES)
def test_the_order_of_the_released_rows_is_forgotten(people, credits, attack, steps):
    data, schema = people
    done = mask(data, schema, STEPS[steps], seed=SEED, path=())
    straight = credits(run(attack, data, done.data, schema, done.mechanisms))
    order = np.random.default_rng(4).permutation(N)
    permuted = credits(run(attack, data, done.data.take(order), schema, done.mechanisms))
    expected = straight[order] if attack == "to original" else straight[:, order]
    np.testing.assert_array_equal(permuted, expected)


@pytest.mark.parametrize(("attack", "steps"), CASES)
def test_the_order_of_the_intruders_records_is_forgotten(people, credits, attack, steps):
    data, schema = people
    done = mask(data, schema, STEPS[steps], seed=SEED, path=())
    straight = credits(run(attack, data, done.data, schema, done.mechanisms))
    order = np.random.default_rng(4).permutation(N)
    permuted = credits(run(attack, data.take(order), done.data, schema, done.mechanisms))
    expected = straight[:, order] if attack == "to original" else straight[order]
    np.testing.assert_array_equal(permuted, expected)


@pytest.mark.parametrize("attack", [name for name in ATTACKS if "no shared" not in name])
def test_everybody_is_found_by_a_unique_key_that_was_not_masked(people, credits, attack):
    data, schema = people
    done = mask(data, schema, STEPS["joint"], seed=SEED, path=())
    matrix = credits(run(attack, data, done.data, schema, done.mechanisms, knows=("z",)))
    np.testing.assert_array_equal(matrix, np.eye(N))


def independent(steps, data, schema):
    """A release whose values are right and whose rows belong to nobody: every column in an order of its own."""
    rng = np.random.default_rng(9)
    done = mask(data, schema, steps, seed=SEED, path=())
    columns = {name: done.data.column(name).take(rng.permutation(N)) for name in done.data.names}
    return Microdata.from_columns(columns), done.mechanisms


@pytest.mark.parametrize(
    ("attack", "steps"),
    [
        *((a, s) for a in ATTACKS for s in ("joint", "swap") if a != "transparency"),
        ("transparency", "swap"),
        ("transparency", "x"),
    ],
)
def test_nobody_is_found_in_an_independent_table(people, credits, attack, steps):
    data, schema = people
    known = {"swap": ("x", "y"), "joint": ("x", "y"), "x": ("x",)}[steps]
    masked, mechanisms = independent(STEPS.get(steps, (micro("x"),)), data, schema)
    matrix = credits(run(attack, data, masked, schema, mechanisms, knows=known))
    assert p_value(matrix) > LEVEL


def test_the_permutation_law_has_power(people, credits):
    # five found for certain among sixty, one by chance, is noticed: the law above can fail
    data, schema = people
    masked, mechanisms = independent(STEPS["swap"], data, schema)
    matrix = credits(run("transparency", data, masked, schema, mechanisms, knows=("x", "y")))
    matrix[:10] = np.eye(N)[:10]
    assert p_value(matrix) < LEVEL


def p_value(matrix, draws=20_000):
    """How often a random assignment of records to rows earns at least what the true one does."""
    rng = np.random.default_rng(20261121)
    random = np.array([matrix[np.arange(N), rng.permutation(N)].sum() for _ in range(draws)])
    return (1 + int((random >= matrix.trace() - 1e-12).sum())) / (draws + 1)
