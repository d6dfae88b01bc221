"""What each attribute adds to the evidence that a pair is a match, for the patterns that tell most: patterns, not persons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.probabilistic.fellegi_sunter import Model
from tasks.attack.probabilistic.patterns import Patterns

FEWEST_PAIRS = 10  # of a pattern that is shown, as of a bar of a histogram


@dataclass(frozen=True, slots=True)
class EvidenceStep:
    """One attribute: how alike it is in the pattern (0: not at all), and log2 m/u of that level, in bits."""

    attribute: str
    level: int
    bits: float


@dataclass(frozen=True, slots=True)
class Waterfall:
    """From the odds of a pair before a look to those after, in bits: before + steps + together = after.

    before: log2 of the prior odds of a match. together: what the attributes say jointly beyond their sum, 0 without
    interactions.
    match: the probability of a match. pairs: how many show the pattern. number: of the pattern.
    """

    before: float
    steps: tuple[EvidenceStep, ...]
    together: float
    after: float
    match: float
    pairs: int
    number: int


def riskiest(patterns: Patterns, model: Model, *, most: int = 5, fewest_pairs: int = FEWEST_PAIRS) -> tuple[Waterfall, ...]:
    """The patterns with the highest probability of a match, the highest first; equal ones by number of pairs.

    fewest_pairs: patterns that fewer pairs show are left out, so that none is about one pair.
    """
    order = np.lexsort((patterns.numbers, -patterns.counts, -model.log_ratio))
    shown = order[patterns.counts[order] >= fewest_pairs][:most]
    return tuple(_waterfall(patterns, model, int(at)) for at in shown)


def _waterfall(patterns: Patterns, model: Model, at: int) -> Waterfall:
    before = float(np.log2(model.prevalence / (1 - model.prevalence)))
    steps = tuple(_step(patterns, model, j, int(level)) for j, level in enumerate(patterns.levels[:, at]))
    bits = float(model.log_ratio[at] / np.log(2))
    together = bits - sum(step.bits for step in steps)
    return Waterfall(
        before, steps, together, before + bits, float(model.match[at]), int(patterns.counts[at]), int(patterns.numbers[at])
    )


def _step(patterns: Patterns, model: Model, j: int, level: int) -> EvidenceStep:
    m, u = float(model.m[j][level]), float(model.u[j][level])
    return EvidenceStep(patterns.names[j], level, float(np.log2(m / u)) if m > 0 and u > 0 else float(np.sign(m - u) * np.inf))
