"""anonymeter's risks, from what was counted by its protocol: beside our figures, and for comparison alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tasks.attack.inference.outcomes import InferenceResult, ProtocolCounts, ProtocolTest
from tasks.microdata.estimate import Estimate
from tasks.microdata.units import Counts
from tasks.score.measure import Measure
from tasks.score.measures.inference import ANONYMETER_INFERENCE, ANONYMETER_LINKABILITY, ANONYMETER_SINGLING_OUT
from tasks.score.membership.membership_figures import REHEARSED

MISSES = (
    "by the protocol of anonymeter, for comparison alone: it asks neither whether a nearest row is the person's nor what a "
    "learner infers. Of Census with noise of 0.3 standard deviations its linkability is 0.00 to 0.06, and linkage finds more "
    "than half"
)
MEASURES: dict[ProtocolTest, tuple[Measure, tuple[tuple[str, float], ...]]] = {
    "singling out by one attribute": (ANONYMETER_SINGLING_OUT, (("attributes", 1.0),)),
    "singling out by three attributes": (ANONYMETER_SINGLING_OUT, (("attributes", 3.0),)),
    "linkability": (ANONYMETER_LINKABILITY, ()),
    "inference": (ANONYMETER_INFERENCE, ()),
}


@dataclass(frozen=True, slots=True)
class _Rate:
    """The middle of Wilson's interval, and half its width."""

    value: float
    error: float


def estimate_protocol(result: InferenceResult, counts: Counts) -> Iterator[Estimate]:
    """anonymeter's risk for each of its tests.

    Formula in words: with a the rate of attacks that succeed on members and c that on others, both in the middle of their 95 %
    Wilson intervals, (a - c) / (1 - c), at least 0; its bounds are that far away by which the errors of both rates move it
    together (the root of the sum of squares), cut off at 0 and 1. Nothing where all attacks on others succeed.

    Decides nothing: a measure of it can stand in no policy. Source: Giomi et al. (2023), anonymeter 1.1, `stats.confidence`.
    Example: 60 of 100 and 20 of 100: 0.49.
    """
    reason = MISSES if result.evaluates == "this file" else f"{REHEARSED}; {MISSES}"
    for one in result.protocol:
        risk = compute_residual_risk(one)
        if risk is None:
            continue
        measure, parameters = MEASURES[one.test]
        yield Estimate(
            measure=measure.name,
            attack=result.attack,
            intruder=result.intruder,
            attribute=one.attribute,
            parameters=parameters,
            value=_cut_off(risk.value),
            low=_cut_off(risk.value - risk.error),
            high=_cut_off(risk.value + risk.error),
            reason=reason,
            unit=measure.unit,
            basis="control_group",
            credit_rule="indicator",
            n_targets=one.people,
            n_in_release=one.people,
            counts=counts,
        )


def compute_residual_risk(of: ProtocolCounts) -> _Rate | None:
    """(a - c) / (1 - c) and its error; None where nothing was tried, or all attacks on others succeed."""
    if not of.members or not of.others or of.successes_of_others == of.others:
        return None
    attack, control = _compute_rate(of.successes, of.members), _compute_rate(of.successes_of_others, of.others)
    left = 1 - control.value
    error = math.hypot(attack.error / left, control.error * (1 - attack.value) / left**2)
    return _Rate((attack.value - control.value) / left, error)


def _compute_rate(successes: int, n: int) -> _Rate:
    from scipy.stats import binomtest

    within = binomtest(successes, n).proportion_ci(method="wilson")
    return _Rate((within.low + within.high) / 2, (within.high - within.low) / 2)


def _cut_off(value: float) -> float:
    return min(max(value, 0.0), 1.0)
