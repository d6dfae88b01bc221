"""Chains of a calibration: a simple attack that finds more, and a claim too bold, are told; the simple attacks by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata
from tasks.sweep.calibration import chain_checks
from tasks.sweep.calibration.chain_checks import ChainOutcome, compute_weakness_p_value
from tasks.sweep.calibration.simple_attacks import attack_simply
from tasks.sweep.calibration.worlds import create_schema

SCHEMA = create_schema({"x": Scale.NUMERIC, "y": Scale.NUMERIC})


def outcome(best, simple, claims=None):
    draws = np.arange(150) / 150
    return ChainOutcome("noise, rounding", (draws < best).astype(float), (draws < simple).astype(float), claims or {})


@pytest.mark.parametrize(("best", "holds"), [(0.5, True), (0.49, True), (0.3, False)])
def test_an_attack_that_finds_less_than_a_simple_one_is_told(best, holds):
    found = chain_checks._compare("chains", [outcome(0.9, 0.5), outcome(best, 0.5)])
    assert (found.holds, found.reason is None) == (holds, holds)
    assert found.expected == pytest.approx(0.5, abs=0.01)


def test_weaker_everywhere_by_as_much_leaves_nothing_to_chance():
    assert compute_weakness_p_value(np.full(20, -0.5)) == 0.0
    assert compute_weakness_p_value(np.zeros(20)) == 1.0


@pytest.mark.parametrize(("claimed", "holds"), [(0.3, True), (0.5, True), (0.7, False)])
def test_a_claim_above_what_is_hit_is_told(claimed, holds):
    noise = np.random.default_rng(1).normal(0, 0.02, 30)
    chains = [outcome(0.5, 0.4, {"probabilities": (0.5 + one, claimed)}) for one in noise]
    (found,) = chain_checks._check_claims("chains", chains)
    assert found.holds == holds


def test_the_simple_attacks_by_hand():
    """Records 0 and 1 exchanged their x; y is as it was, and its order is that of the rows."""
    original = Microdata.from_columns({"x": np.array([1.0, 2.0, 30.0, 40.0]), "y": np.array([5.0, 6.0, 7.0, 8.0])})
    released = Microdata.from_columns({"x": np.array([2.0, 1.0, 30.0, 40.0]), "y": np.array([5.0, 6.0, 7.0, 8.0])})
    found = attack_simply(original, released, SCHEMA, ("x", "y"), np.arange(4), 0.25)
    assert found["nearest"].tolist() == [1, 1, 1, 1]
    assert found["equal values"].tolist() == [0.5, 0.5, 1, 1]  # the row of the other has their x, their own has their y
    assert found["one to one"].tolist()[2:] == [1, 1]
