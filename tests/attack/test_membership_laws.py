"""Membership attacks on models that know nothing of the targets, and on models that know them by heart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from membership_models import TREE, constant, halves, noisy, results
from scipy.stats import mannwhitneyu, norm

from tasks.attack.membership.methods import DEFAULT_MODEL_ATTACKS
from tasks.score.membership.membership_estimates import choose_threshold, flags
from tasks.score.membership.roc_curve import compute_auc
from tasks.train.learners import RandomForest
from tasks.train.training import learn_with

pytestmark = pytest.mark.slow
LEVEL = 1e-4
SEEDS = 20
MEMORISING = RandomForest(method="random_forest", bootstrap=False)
REGULARISED = RandomForest(method="random_forest", max_depth=4, min_samples_leaf=20)


def unseen(rng):
    """A model of other people of the same population; shadows as ever."""
    frame, data = halves(160, rng), noisy(160, rng)
    return results(data, frame, rng, predict=learn_with(TREE)(noisy(80, rng), 1)), frame


def knows_nothing(rng):
    frame, data = halves(160, rng), noisy(160, rng)
    return results(data, frame, rng, learn=constant), frame


def deviations(scores, threshold, member):
    """By how many standard deviations the area, and the members among the flagged, are off under permuted membership."""
    m, n = int(member.sum()), int((~member).sum())
    _, ties = np.unique(scores, return_counts=True)
    variance = (m + n + 1 - (ties**3 - ties).sum() / ((m + n) * (m + n - 1))) / (12 * m * n)
    found = flags(scores, member, threshold)
    flagged = found.true + found.false
    expected = flagged * m / (m + n)
    spread = expected * n * (m + n - flagged) / ((m + n) * (m + n - 1))  # of the hypergeometric law
    area = (compute_auc(scores, member) - 0.5) / math.sqrt(variance) if variance > 1e-12 else 0.0
    return area, (found.true - expected) / math.sqrt(spread) if spread > 0 else 0.0


def keeps_the_law(found):
    """Neither a single draw nor all together are beyond what 1e-4 of permutations are."""
    found = np.asarray(found)
    most = norm.isf(LEVEL / 2)
    return bool(np.abs(found.sum(axis=0) / math.sqrt(len(found)) < most).all() and (np.abs(found) < most + 1).all())


@pytest.mark.parametrize("scene", [unseen, pytest.param(knows_nothing, marks=pytest.mark.long)])
def test_the_permutation_law_is_kept(scene):
    by_attack = {}
    for seed in range(SEEDS):
        found, frame = scene(np.random.default_rng(seed))
        for name, result in found.items():
            judged = np.ones(len(frame.is_member), dtype=bool) if result.threshold is not None else ~frame.calibrates
            scores, member = result.scores[judged], frame.is_member[judged]
            by_attack.setdefault(name, []).append(deviations(scores, choose_threshold(result, frame), member))
            assert mannwhitneyu(scores[member], scores[~member]).pvalue >= LEVEL or len(np.unique(scores)) == 1
    assert len(by_attack) == len(DEFAULT_MODEL_ATTACKS)
    assert {name: keeps_the_law(found) for name, found in by_attack.items()} == dict.fromkeys(by_attack, True)


def test_the_permutation_law_has_power():
    """Scores whose area is 30 % off, 0.65 for 0.5, break it."""
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        member = rng.permutation(80) < 40
        scores = rng.normal(size=80) + member * math.sqrt(2) * norm.isf(0.35)
        found.append(deviations(scores, 0.0, member))
    assert not keeps_the_law(found)


@pytest.fixture(scope="module")
def forests():
    """The areas of all attacks on two forests that learned from records of which 15 % have another's label."""
    areas = {}
    for name, learner in (("memorising", MEMORISING), ("regularised", REGULARISED)):
        rng = np.random.default_rng(11)
        frame, data = halves(1200, rng), noisy(1200, rng, d=6)
        found = results(data, frame, rng, learn=learn_with(learner), specs=DEFAULT_MODEL_ATTACKS)
        areas[name] = {attack: compute_auc(result.scores, frame.is_member) for attack, result in found.items()}
    return areas


@pytest.mark.parametrize(
    "attack",
    [*(pytest.param(one, marks=pytest.mark.long) for one in ("shadow_models", "likelihood_ratio")), "likelihood_ratio_offline"],
)
def test_a_forest_that_knows_its_records_by_heart_gives_them_away(forests, attack):
    assert forests["memorising"][attack] >= 0.95
    assert forests["regularised"][attack] <= forests["memorising"][attack] - 0.15
