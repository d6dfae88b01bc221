"""The checks of probabilistic linkage fail where its probabilities are wrong, and hold where they are not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.sweep.calibration import probabilistic_linkage_checks, worlds
from tasks.sweep.calibration.calibration_findings import LEVEL, Effort
from tasks.sweep.calibration.probabilistic_linkage_checks import (
    claims_of_the_model_hold,
    independent_codes,
    posterior_finds_nothing,
    posterior_is_recounted,
    posterior_matrix,
    reads_nothing_off,
)

TIED = ProbabilisticLinkage(method="probabilistic_linkage")
ORACLE = ProbabilisticLinkage(method="probabilistic_linkage", estimate="supervised")
FEW = Effort(seeds=20, samples=10)


def rng():
    return np.random.default_rng(1)


def changed(monkeypatch, change):
    """The attack with its outcomes, or what it tells, changed."""
    real = probabilistic_linkage_checks.run_attack
    monkeypatch.setattr(probabilistic_linkage_checks, "run_attack", lambda world, spec: change(real(world, spec)))


def with_posterior(result, factor):
    posterior = np.minimum(factor * result.outcomes.floats("posterior"), 1.0)
    return replace(result, outcomes=result.outcomes.replace_column("posterior", pa.array(posterior)))


def nothing():
    make = partial(worlds.make_unrelated_world, 20, ())
    return posterior_finds_nothing("posterior", "", TIED, make, FEW, rng())[0]


def test_a_posterior_that_peeks_is_caught(monkeypatch):
    assert nothing().holds
    changed(monkeypatch, lambda result: with_posterior(result, 2.0))
    assert "other than chance" in nothing().reason


def test_a_misstated_chance_is_caught(monkeypatch):
    changed(monkeypatch, lambda result: replace(result, probable=replace(result.probable, dealt_out=0.025)))
    found = nothing()
    assert not found.holds
    assert "in 20 tables" in found.reason


def test_a_chance_that_is_not_that_of_who_reads_m_off_is_caught(monkeypatch):
    make = partial(worlds.make_unrelated_world, 20, ())
    changed(monkeypatch, lambda result: replace(result, probable=replace(result.probable, chance=1 / 20)))
    rate, posterior = reads_nothing_off("supervised", "", ORACLE, make, Effort(seeds=100, samples=0), rng())
    assert (rate.holds, posterior.holds) == (False, True)
    assert rate.found > rate.expected


def test_a_posterior_that_is_not_the_formula_is_caught(monkeypatch):
    assert posterior_is_recounted("tied", TIED, (), FEW, rng())[0].holds
    changed(monkeypatch, lambda result: with_posterior(result, 0.99))
    (found,) = posterior_is_recounted("tied", TIED, (), FEW, rng())
    assert not found.holds
    assert found.found == 0


def test_bold_claims_are_caught(monkeypatch):
    assert all(one.holds for one in claims_of_the_model_hold("supervised", "", ORACLE, FEW, rng()))

    def boasts(result):
        facts = result.probable
        return replace(result, probable=replace(facts, claimed=1.3 * facts.claimed, squares=1.3 * facts.squares))

    changed(monkeypatch, boasts)
    assert all(one.p < LEVEL for one in claims_of_the_model_hold("supervised", "", ORACLE, FEW, rng()))


def test_the_matrix_is_one_of_probabilities():
    matrix = posterior_matrix(independent_codes(rng()), ORACLE)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(len(matrix)))
