"""Pairs of masking methods and chains of three: the attacks find what simple ones do, and no candidate set is false."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

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
UNFOLLOWED = {"MDAV"}  # after another step: only the distance is left to the transparency attack


@pytest.fixture(scope="module")
def scene(table):
    """200 made records whose three columns are correlated, whole numbers, skew, with ties."""
    rng = np.random.default_rng(5)
    common = rng.normal(size=200)
    return table({name: np.exp(9 + 0.5 * common + 0.5 * rng.normal(size=200)).astype(int) // 20 * 20 for name in "abc"})


def check(scene, chain, seed="0"):
    original, schema = scene
    steps = pipelines.steps_for(schema.names)
    outcome = pipelines.attack_pipeline(original, schema, tuple(steps[name] for name in chain), seed)
    assert outcome.lost == 0
    assert outcome.is_enough, f"{outcome.by} against {outcome.simple}"
    assert outcome.is_followed or UNFOLLOWED.intersection(chain[1:])


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=" then ".join)
def test_a_pair_is_followed_and_its_sets_hold_the_truth(scene, pair):
    check(scene, pair)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_sets_of_chains_of_three_hold_the_truth(scene, seed):
    original, schema = scene
    steps = pipelines.steps_for(schema.names)
    chain = np.random.default_rng(seed).choice(list(steps), 3)
    assert pipelines.attack_pipeline(original, schema, tuple(steps[name] for name in chain), str(seed)).lost == 0


class TestTheSimpleAttacks:
    def test_exchanges_are_found_from_ranks_alone(self, scene):
        original, schema = scene
        outcome = pipelines.attack_pipeline(original, schema, (pipelines.steps_for(schema.names)["swap"],))
        assert outcome.simple["nearest"] < 0.2
        assert outcome.by["consistency"] > 0.9 * outcome.simple["exchanges"]

    def test_a_refused_pair_is_no_outcome(self, scene):
        original, schema = scene
        steps = pipelines.steps_for(schema.names)
        outcome = pipelines.attack_pipeline(original, schema, (steps["reverse mapping"], steps["swap"]))
        assert (outcome.refused, str(outcome)) == ("nothing-masked-before", "refused")
