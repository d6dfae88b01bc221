"""Pairs of masking methods and chains of three: the attacks find what simple ones do, and no candidate set is false."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from tasks.attack.consistency.consistency import link_by_consistency
from tasks.attack.outcomes.bounded import OnlyBounded
from tasks.attack.plan import MARGINALS, default_attacks
from tasks.attack.simulated.simulated_law import link_by_simulated_law
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.methods import mask
from tasks.microdata.errors import NotFollowed

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "pipelines.py"
# one place of ten, so that the slow tier sees each method first and second in turn; the whole is `benchmarks/pipelines.py`
EVERY, FIRST = 10, 3


def load():
    spec = importlib.util.spec_from_file_location("pipelines", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["pipelines"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


pipelines = load()
PAIRS = list(pipelines.pairs_of(("a",)))[FIRST::EVERY]


@pytest.fixture(scope="module")
def scene(table):
    """200 made records whose three columns are correlated, whole numbers, skew, with ties."""
    rng = np.random.default_rng(5)
    common = rng.normal(size=200)
    return table({name: np.exp(9 + 0.5 * common + 0.5 * rng.normal(size=200)).astype(int) // 20 * 20 for name in "abc"})


def check(scene, chain, seed="0"):
    original, schema = scene
    steps = pipelines.steps_for(schema.names)
    outcome = pipelines.attack_pipeline(original, schema, schema.names, tuple(steps[name] for name in chain), seed)
    assert outcome.lost == 0
    assert outcome.is_enough, f"{outcome.by} against {outcome.simple}"
    assert outcome.is_followed


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=" then ".join)
def test_a_pair_is_followed_and_its_sets_hold_the_truth(scene, pair):
    check(scene, pair)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_chain_of_three_is_followed_and_its_sets_hold_the_truth(scene, seed):
    check(scene, np.random.default_rng(seed).choice(list(pipelines.steps_for(("a",))), 3), str(seed))


@pytest.mark.long
@pytest.mark.parametrize("chain", [("swap", "little noise", "rounding"), ("noise", "MDAV", "jitter")], ids=" then ".join)
def test_20000_records_are_followed(table, chain):
    rng = np.random.default_rng(1)
    common, names = rng.normal(size=(20_000, 1)), tuple("abcdef")
    values = np.exp(9 + 0.5 * common + 0.5 * rng.normal(size=(20_000, 6))).astype(int)
    original, schema = table({name: values[:, j] for j, name in enumerate(names)})
    steps = pipelines.steps_for(names)
    done = mask(original, schema, tuple(steps[name] for name in chain), seed=bytes(32), path=())
    everybody, followed = np.arange(original.n), []
    for spec in default_attacks(done.mechanisms):
        try:
            links, _ = attack_by(spec, original, done.data, schema, done.mechanisms)
        except (NotFollowed, OnlyBounded):  # too many pairs to weigh together, or to follow exchanges
            assert spec.method in ("consistency", "simulated_law") or spec == MARGINALS
            continue
        assert not links.rules_out(everybody, everybody).any()
        followed.append(spec.attack_id)
    assert "transparency" in followed


def attack_by(spec, original, masked, schema, mechanisms):
    if spec.method == "simulated_law":
        return link_by_simulated_law(original, masked, schema, mechanisms, schema.names), None
    if spec.method == "consistency":
        return link_by_consistency(original, masked, schema, mechanisms, schema.names)
    return link_by_mechanism(original, masked, schema, mechanisms, schema.names, matching=spec.matching)


class TestTheSimpleAttacks:
    @pytest.mark.slow
    def test_exchanges_are_found_from_ranks_alone(self, scene):
        original, schema = scene
        outcome = pipelines.attack_pipeline(original, schema, schema.names, (pipelines.steps_for(schema.names)["swap"],))
        assert outcome.simple["nearest"] < 0.2
        assert outcome.by["consistency"] > 0.9 * outcome.simple["exchanges"]

    def test_a_refused_pair_is_no_outcome(self, scene):
        original, schema = scene
        steps = pipelines.steps_for(schema.names)
        outcome = pipelines.attack_pipeline(original, schema, schema.names, (steps["reverse mapping"], steps["swap"]))
        assert (outcome.refused, str(outcome)) == ("nothing-masked-before", "refused")
