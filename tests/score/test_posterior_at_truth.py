"""`posterior_at_truth`: worked, sampled, by chance, and None where the attack did not run; other attacks have none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tasks.attack.probabilistic.linkage_summary import ProbableFacts
from tasks.microdata.interval import compute_bounded_mean_interval
from tasks.score.linkage import linkage_estimates

TABLE = {"age": [1.0, 2.0, 3.0, 4.0]}
OUTCOMES = {
    "target": [0, 1, 2, 3],
    "credit": [1.0, 0.5, 0.0, 0.0],
    "among_nearest": [True, True, False, False],
    "candidates": [1, 2, 1, 1],
    "sound_candidates": [None] * 4,
    "posterior": [0.7, 0.4, 0.1, 0.0],
    "claimed": [0.7, 0.4, 0.5, 0.6],
}
FACTS = ProbableFacts(
    estimate="tied", kept=0.6, n_pairs=16, n_matches=4.0, steps=3, present=1.0, claimed=0.55, squares=0.4, dealt_out=0.25
)  # fmt: skip


@pytest.fixture
def figure(pair_of, scene_of, result_of):
    """The estimate from outcomes and what the attack says of itself; None where there is none."""

    def found(outcomes=OUTCOMES, facts=FACTS, **changes):
        method = changes.pop("method", "probabilistic_linkage")
        made = result_of(outcomes, attack=method, **changes)
        result = replace(made, method=method, probable=facts)
        figures = linkage_estimates(result, *scene_of(pair_of(TABLE, TABLE)))
        return next((one for one in figures if one.measure == "posterior_at_truth"), None)

    return found


def test_worked_mean(figure):
    one = figure()
    assert (one.value, one.low, one.high, one.basis) == (pytest.approx(0.3), one.value, one.value, "exact")
    assert (one.chance, one.chance_kind, one.unit) == (0.25, "uniform_guess", "share")


def test_who_does_not_know_that_they_are_there_expects_less_by_chance(figure):
    assert figure(facts=replace(FACTS, present=0.8, dealt_out=0.2)).chance == 0.2


def test_where_m_is_read_off_chance_is_that_of_permuted_truths(figure):
    one = figure(facts=replace(FACTS, estimate="supervised", chance=0.4, chance_at_truth=0.31))
    assert (one.chance, one.chance_kind) == (0.31, "permutation")


def test_a_sample_has_an_interval(figure):
    some = {name: column[:2] for name, column in OUTCOMES.items()}
    one = figure(some)
    interval = compute_bounded_mean_interval(np.array([0.7, 0.4]), 4)
    assert (one.value, one.low, one.high) == (pytest.approx(0.55), interval.low, interval.high)
    assert one.basis == "sampled_targets"


def test_an_attack_that_did_not_run_has_none_and_others_have_no_such_figure(figure):
    silent = figure(None, status="not_applicable", reason="too many pairs")
    assert (silent.value, silent.status, silent.reason) == (None, "not_applicable", "too many pairs")
    assert figure(None, status="failed", reason="no", method="distance_linkage", facts=None) is None
    plain = {name: column for name, column in OUTCOMES.items() if name not in ("posterior", "claimed")}
    assert figure(plain, method="distance_linkage", facts=None) is None
