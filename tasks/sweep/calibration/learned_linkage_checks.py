"""Calibration check: where nothing can be learned, an attack by a learned distance finds no more than chance.

The permutation law of `null` holds for links that do not depend on who is who; these do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tasks.attack.learned.learned_linkage import LearnedLinkage
from tasks.microdata.errors import AttackFailed
from tasks.sweep.calibration.calibration_findings import LEVEL, CalibrationFinding, Effort
from tasks.sweep.calibration.null_checks import N_RECORDS, MakeWorld
from tasks.sweep.calibration.random_pairings import run_attack

SEEDS_OF_A_TABLE = {"weighted_mean": 2, "owa": 2}  # a table is learned from some twenty times: it is worth many seeds
SEEDS_OF_A_LARGE_FAMILY = 6


@dataclass(frozen=True, slots=True)
class _LearnedFigures:
    """What an attack says of one table. other_half: the credit of the records that taught it nothing; luck: what to expect."""

    rate: float
    chance: float
    other_half: float
    luck: float


def learns_nothing(
    subject: str, setting: str, spec: LearnedLinkage, make: MakeWorld, effort: Effort, rng: np.random.Generator
) -> tuple[CalibrationFinding, ...]:
    """Attack tables in which nobody's row is their own.

    The other half's credit: as rows are anybody's it is at most as scattered as matches of random pairings, of which about a
    Poisson number are right. The rate and its chance: one learner on one kind of truths, so that the mean difference is 0.
    Half as many tables as the effort has seeds; for the larger families, which take several times as long, a sixth.
    """
    tables = max(effort.seeds // SEEDS_OF_A_TABLE.get(spec.learn, SEEDS_OF_A_LARGE_FAMILY), 2)
    figures = [_attack_table(spec, make, one) for one in rng.spawn(tables)]
    return (_judge_other_half(subject, setting, figures), _judge_stated_chance(subject, setting, figures))


def _attack_table(spec: LearnedLinkage, make: MakeWorld, rng: np.random.Generator) -> _LearnedFigures:
    world = make(rng)
    result = run_attack(world, spec)
    if result.learned is None or result.outcomes is None or result.learned.held_out is None:
        raise AttackFailed(result.reason or "nothing was learned")
    others = result.learned.records // 2
    credit = result.learned.held_out.other_half * others
    rate = float(result.outcomes.floats("credit").mean())
    return _LearnedFigures(rate, result.learned.chance, credit, others / world.masked.n)


def _judge_other_half(subject: str, setting: str, figures: list[_LearnedFigures]) -> CalibrationFinding:
    from scipy.stats import poisson

    found, expected = sum(one.other_half for one in figures), sum(one.luck for one in figures)
    above, below = poisson.sf(math.ceil(found - 1e-9) - 1, expected), poisson.cdf(math.floor(found + 1e-9), expected)
    reason = "it finds other than luck gives among records it did not learn from"
    n = len(figures) * (N_RECORDS // 2)
    return _finding(subject, f"{setting}, the other half", len(figures), found / n, expected / n, min(above, below), reason)


def _judge_stated_chance(subject: str, setting: str, figures: list[_LearnedFigures]) -> CalibrationFinding:
    from scipy.stats import ttest_1samp

    apart = np.array([one.rate - one.chance for one in figures])
    p = float(ttest_1samp(apart, 0.0).pvalue) if np.ptp(apart) > 0 else float(abs(apart[0]) < 1e-9)
    found, expected = sum(one.rate for one in figures) / len(figures), sum(one.chance for one in figures) / len(figures)
    reason = "the chance it states is not what it earns where nothing is to be found"
    return _finding(subject, f"{setting}, the stated chance", len(figures), found, expected, p, reason)


def _finding(
    subject: str, setting: str, trials: int, found: float, expected: float, p: float, reason: str
) -> CalibrationFinding:
    holds = bool(p >= LEVEL)
    return CalibrationFinding(
        kind="null", subject=subject, scene=setting, trials=trials, found=found, expected=expected, p=float(p), holds=holds,
        reason=None if holds else reason,
    )  # fmt: skip
