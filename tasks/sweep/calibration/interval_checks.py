"""Where only a sample of the targets is scored, the intervals cover what scoring all of them would have said."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tasks.attack.methods import Attack
from tasks.attack.outcomes.outcome import AttackResult
from tasks.microdata.errors import AttackFailed
from tasks.microdata.estimate import CONFIDENCE, Estimate
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.interval import ERROR
from tasks.microdata.table import Integers, Microdata
from tasks.score.linkage import linkage_estimates
from tasks.score.subgroups import Subgroup, find_subgroups
from tasks.sweep.calibration.calibration_findings import LEVEL, SHARE, CalibrationFinding, Effort
from tasks.sweep.calibration.random_pairings import compute_binomial_tail, estimate_share_of_trials, run_attack
from tasks.sweep.calibration.worlds import World

_SAME = 1e-9
_SCORED_ALONE = 5
_FEWEST = 10  # samples; of fewer, intervals that cover too rarely could not be told from right ones


def intervals_cover(
    setting: str, spec: Attack, world: World, effort: Effort, rng: np.random.Generator
) -> tuple[CalibrationFinding, ...]:
    """Score all targets once, then many samples of them, and count how often each one-sided bound misses the figure of all.

    Each bound may miss in 5 % of the samples; that is judged by the binomial law, each bound by itself, because a policy
    decides on one of them. Figures of a part of the targets are counted in the samples that have some of it; where these are
    fewer than ten, nothing is said of the figure.
    """
    scored = _Scored.from_world(world, spec)
    full = {one.id: one for one in scored.figures() if one.value is not None}
    counts = {name: _Count() for name in full}
    for _ in range(effort.samples):
        for estimate in scored.figures(scored.draw_sample(rng)):
            if estimate.id in full:
                counts[estimate.id].add(estimate, full[estimate.id])
    found = (_judge_coverage(setting, figure, counts[name]) for name, figure in full.items() if counts[name].samples >= _FEWEST)
    return (_alone(setting, scored, spec, rng), _exact(setting, tuple(full.values())), *found)


@dataclass(slots=True)
class _Count:
    """What the intervals of one figure did: how often the lower bound was above the truth, the upper one below it."""

    samples: int = 0
    above: int = 0
    below: int = 0
    width: float = 0.0

    def add(self, found: Estimate, full: Estimate) -> None:
        if found.low is None or found.high is None or full.value is None:
            return
        self.samples += 1
        self.above += found.low > full.value + _SAME
        self.below += found.high < full.value - _SAME
        self.width += found.high - found.low


@dataclass(frozen=True, slots=True)
class _Scored:
    """One attack on one world, with the outcomes of all targets."""

    world: World
    result: AttackResult
    outcomes: Microdata
    truth: GroundTruth
    subgroups: tuple[Subgroup, ...]

    @classmethod
    def from_world(cls, world: World, spec: Attack) -> _Scored:
        result = run_attack(world, spec)
        if result.outcomes is None:
            raise AttackFailed(result.reason or "no reason")
        setting = GroundTruth.create_from_tables(world.original, world.masked, world.schema, world.alignment)
        return cls(world, result, result.outcomes, setting, find_subgroups(world.original, world.schema, setting.units))

    def draw_sample(self, rng: np.random.Generator) -> Integers:
        """A simple random sample of the targets, as places in the outcomes, in the order of the draw."""
        return rng.permutation(self.outcomes.n)[: round(SHARE * self.outcomes.n)]

    def figures(self, positions: Integers | None = None) -> tuple[Estimate, ...]:
        """The figures of all targets, or of some."""
        outcomes = self.outcomes if positions is None else self.outcomes.take(positions)
        result = replace(self.result, outcomes=outcomes)
        return linkage_estimates(result, self.truth, self.world.schema, self.subgroups)

    def alone(self, spec: Attack, positions: Integers) -> bool:
        """Does an attack that is asked for these targets alone say of them what it says among all?"""
        expected = self.outcomes.take(positions)
        there = run_attack(self.world, spec, expected.floats("target").astype(np.int64)).outcomes
        return there is not None and there.arrow.equals(expected.arrow)


def _judge_coverage(setting: str, figure: Estimate, count: _Count) -> CalibrationFinding:
    covered = count.samples - count.above - count.below
    low, high = estimate_share_of_trials(covered, count.samples)
    p = min(compute_binomial_tail(misses, count.samples, ERROR) for misses in (count.above, count.below))
    about = ", ".join(part for part in (figure.attribute, figure.subgroup) if part is not None)
    reason = f"its bounds are on the wrong side in {count.above} (low) and {count.below} (high) of {count.samples} samples"
    return CalibrationFinding(
        kind="coverage",
        subject=f"{figure.measure} ({about})" if about else figure.measure,
        scene=setting,
        trials=count.samples,
        found=covered / count.samples,
        expected=CONFIDENCE,
        p=p,
        low=low,
        high=high,
        width=count.width / count.samples,
        holds=p >= LEVEL,
        reason=reason if p < LEVEL else None,
    )


def _alone(setting: str, scored: _Scored, spec: Attack, rng: np.random.Generator) -> CalibrationFinding:
    """Targets that are scored alone fare as they do among all: else a sample of them says nothing of the others."""
    same = sum(scored.alone(spec, scored.draw_sample(rng)) for _ in range(_SCORED_ALONE))
    return CalibrationFinding(
        kind="coverage",
        subject="targets fare alike in a sample",
        scene=setting,
        trials=_SCORED_ALONE,
        found=same / _SCORED_ALONE,
        expected=1.0,
        holds=same == _SCORED_ALONE,
        reason=None if same == _SCORED_ALONE else "a target fares otherwise where others are not scored",
    )


def _exact(setting: str, figures: tuple[Estimate, ...]) -> CalibrationFinding:
    """Where all targets are scored there is no sampling error."""
    exact = sum(one.basis == "exact" and one.low == one.value == one.high for one in figures)
    return CalibrationFinding(
        kind="coverage",
        subject="figures of all targets have no interval",
        scene=setting,
        trials=len(figures),
        found=exact / len(figures),
        expected=1.0,
        holds=exact == len(figures),
        reason=None if exact == len(figures) else "a figure of all targets has an interval",
    )
