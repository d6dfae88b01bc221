"""The verdict: the figures of a release against the lines of its policy."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from tasks.attack.base import NEEDS_ORIGINALS
from tasks.microdata.estimate import CONFIDENCE, Estimate, name_bound
from tasks.score.attack_coverage import Unfollowed
from tasks.score.catalogue import MEASURES
from tasks.score.known_release import Known
from tasks.score.membership.membership_figures import REHEARSED
from tasks.score.policy import (
    DECLARED,
    FILE,
    ROUNDING_ERROR,
    Direction,
    PolicyLine,
    check_policy,
    find_rate,
    is_by,
    is_within,
)
from tasks.score.scored_targets import ONE_SHARE, UNKNOWN_IN_SAMPLE

Decision = Literal["pass", "fail", "undecided"]
DecidingBound = Literal["low", "high", "value"]
VERDICTS: dict[Decision, Literal["certified", "refused", "undecided"]] = {
    "pass": "certified",
    "fail": "refused",
    "undecided": "undecided",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """What became of one line of the policy.

    line: its place in the policy. attack, intruder, attribute, subgroup, estimate: those of the figure that decided (`estimate`
    is its id), or those the line asks for where no figure did. deciding_bound, deciding_value: which end of the interval was
    compared with the limit; `value` where the figure has no interval or the interval is a point. caution: what the figure that
    decided is not about, as it says itself. false_positive_rate: at which the line is decided, of a measure that has rates.
    lower_bound: is the deciding value a lower bound, of an attack that was not followed? bound_confidence: of the one-sided
    bound that decided, where that is another than 95 %.
    """

    line: int
    measure: str
    attack: str | None
    intruder: str | None
    attribute: str | None
    p_percent: float | None
    direction: Direction
    limit: float
    deciding_bound: DecidingBound | None
    deciding_value: float | None
    decision: Decision
    reason: str
    estimate: str | None
    subgroup: str | None = None
    caution: str | None = None
    false_positive_rate: float | None = None
    lower_bound: bool = False
    bound_confidence: Annotated[float | None, Field(exclude_if=lambda given: given is None)] = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """`certified` if every criterion passes, `refused` if one fails, else `undecided`, which is not certified."""

    verdict: Literal["certified", "refused", "undecided"]
    criteria: tuple[Criterion, ...]


@dataclass(frozen=True, slots=True)
class _Finding:
    """One figure against one line. `excess`: by how much the deciding end is beyond the limit; negative: within."""

    estimate: Estimate
    decision: Decision
    reason: str
    bound: DecidingBound | None = None
    compared: float | None = None
    excess: float = -math.inf


IDENTITY = frozenset(one.name for one in MEASURES.values() if one.answers == "identity")


def decide(policy: tuple[PolicyLine, ...], estimates: tuple[Estimate, ...], unfollowed: Unfollowed = frozenset()) -> Verdict:
    """Hold the figures of a release against its policy.

    Each line is decided by the worst figure it covers, of several the first in the order of `estimates`, which is the plan's.
    A figure passes if its one-sided 95 % bound is within the limit (equal is within), fails if the other bound is outside, and
    is undecided in between, or if it was rehearsed and is about membership. Figures without an interval (losses) decide by
    their value.
    A line without `attack` covers all attacks: those that are not applicable do not count, one that failed, or of which a
    sample of targets does not give the figure, leaves the line undecided unless another fails it. A line that names an attack
    is undecided where that attack does not apply, and answers for the others too, unless `accept_other_attacks` says why not:
    another attack beyond the limit fails it, one that might be beyond it, or failed, leaves it undecided. An epsilon that is
    infinite fails. Of who holds an external file, an attack that is not applicable does not count in a line that names no
    intruder: it is about who can carry the attack out.
    The release passes if every line does: an intersection-union test, which needs no correction for the number of lines.

    Returns the verdict and one criterion per line, in the order of the policy.
    Raises InputError for an empty policy and for one that `check_policy` refuses without knowing the release. What a line asks
    for and no figure answers leaves it undecided.
    unfollowed: the attacks of `find_unfollowed`, each of which leaves the lines on its intruder's identity undecided. Every
    attack on membership (inference) that was not followed leaves the lines on that undecided. Where an attack that was not
    followed has a bound (`low`, or `high` of a figure that is to be large), a bound beyond the limit fails the
    line, whether omitted or not.
    Of targets that were taken in planned looks the bounds are surer (`TargetLook.error`), and the same rule holds.
    Source: docs/SCIENCE.md section 3. Example: the 95 % bound is exactly the limit: the line passes.
    """
    check_policy(policy, Known())
    apply = _drop_idle_holders(estimates)
    criteria = tuple(_judge_line(i, line, estimates if line.intruder else apply, unfollowed) for i, line in enumerate(policy))
    return Verdict(VERDICTS[_find_worst([criterion.decision for criterion in criteria])], criteria)


def _drop_idle_holders(estimates: tuple[Estimate, ...]) -> tuple[Estimate, ...]:
    """The figures but for those of holders of external files by attacks that nobody can carry out with a file.

    What was not computed for another reason, such as its size, stays: nothing is known of it.
    """
    return tuple(one for one in estimates if not _cannot_be_tried_with_a_file(one))


def _cannot_be_tried_with_a_file(one: Estimate) -> bool:
    holds = (one.intruder or "").startswith(f"{FILE}:")
    return holds and one.status == "not_applicable" and one.reason == NEEDS_ORIGINALS


def _find_worst(decisions: list[Decision]) -> Decision:
    severity: tuple[Decision, ...] = ("fail", "undecided")
    return next((decision for decision in severity if decision in decisions), "pass")


def _judge_line(position: int, line: PolicyLine, estimates: tuple[Estimate, ...], unfollowed: Unfollowed) -> Criterion:
    covered = [estimate for estimate in estimates if is_about(estimate, line)]
    found = _find_deciding(line, covered, unfollowed)
    if found is None:
        return _create_unanswered_criterion(position, line, covered)
    figure = found.estimate
    return Criterion(
        line=position,
        measure=line.measure,
        attack=figure.attack,
        intruder=figure.intruder,
        attribute=figure.attribute,
        p_percent=line.p_percent,
        direction=line.direction,
        limit=line.limit,
        deciding_bound=found.bound,
        deciding_value=found.compared,
        decision=found.decision,
        reason=found.reason,
        estimate=figure.id,
        subgroup=figure.subgroup,
        caution=figure.reason if figure.reason in (REHEARSED, ONE_SHARE) else None,
        false_positive_rate=find_rate(line),
        lower_bound=figure.is_lower_bound and found.compared is not None,
        bound_confidence=_find_other_confidence(found),
    )


def is_about(estimate: Estimate, line: PolicyLine) -> bool:
    """Is the figure one of those that a line covers? The attack that a line may name is another question."""
    if estimate.measure != line.measure or not _same_subject(estimate, line):
        return False
    asked = (("p_percent", line.p_percent), ("false_positive_rate", find_rate(line)))
    given = dict(estimate.parameters)
    if any(number is not None and given.get(name) != number for name, number in asked):
        return False
    return estimate.intruder is None or is_by(estimate.intruder, line.intruder)


def _same_subject(estimate: Estimate, line: PolicyLine) -> bool:
    if line.subgroup is not None and estimate.subgroup != line.subgroup:
        return False
    if line.attribute is not None:
        return estimate.attribute == line.attribute
    return estimate.attribute is None or MEASURES[line.measure].about == "attribute"


def _find_deciding(line: PolicyLine, covered: list[Estimate], unfollowed: Unfollowed) -> _Finding | None:
    """The finding that decides the line: the worst decision, and of several the furthest beyond the limit; None: no figure."""
    found = [_create_finding(line, estimate) for estimate in covered]
    applicable = [one for one in found if _counts(one, unfollowed)]
    if line.attack is None:
        return _find_furthest(applicable)
    named = [one for one in found if one.estimate.attack == line.attack]
    if line.accept_other_attacks is not None:
        return _find_furthest(named)
    others = [
        _cite_other_attack(one, line) for one in applicable if one.estimate.attack != line.attack and one.decision != "pass"
    ]
    if not named:
        return _find_furthest([one for one in others if one.decision == "fail"])
    return _find_furthest(named + others)


def _counts(found: _Finding, unfollowed: Unfollowed) -> bool:
    """Has the figure a say in a line that names no attack?"""
    figure = found.estimate
    if figure.attack is None or figure.status in ("ok", "failed"):
        return True
    if figure.status == "not_applicable":
        return figure.reason in UNKNOWN_IN_SAMPLE
    if MEASURES[figure.measure].of_membership or MEASURES[figure.measure].compares_people:
        return True
    return found.decision == "fail" or (figure.measure in IDENTITY and (figure.attack, figure.intruder) in unfollowed)


def _find_furthest(found: list[_Finding]) -> _Finding | None:
    """Of the worst decision the furthest beyond the limit; of several (but for the last bits) the first in the plan's order."""
    worst = _find_worst([one.decision for one in found])
    severe = [one for one in found if one.decision == worst]
    furthest = max((one.excess for one in severe), default=0.0)
    return next((one for one in severe if one.excess >= furthest - ROUNDING_ERROR * max(1.0, abs(furthest))), None)


def _cite_other_attack(found: _Finding, line: PolicyLine) -> _Finding:
    reason = f"the line names the attack {line.attack} without accept_other_attacks, and for another attack {found.reason}"
    return replace(found, reason=reason)


def _create_finding(line: PolicyLine, estimate: Estimate) -> _Finding:
    found = _decide_figure(line, estimate)
    return replace(found, decision="undecided", reason=REHEARSED) if _is_rehearsed(estimate) else found


def _decide_figure(line: PolicyLine, estimate: Estimate) -> _Finding:
    if estimate.status == "not_followed":
        return _decide_unfollowed(line, estimate)
    if estimate.status != "ok":
        if estimate.status == "not_applicable" and MEASURES[estimate.measure].infinite_without_value:
            return _Finding(estimate, "fail", estimate.reason or "the figure is infinite", excess=sys.float_info.max)
        words = estimate.status.replace("_", " ")
        return _Finding(estimate, "undecided", f"the figure is {words}: {estimate.reason or 'no reason was given'}")
    low, high = _find_interval(estimate)
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return _Finding(estimate, "undecided", "the figure is not a number, or has no interval")
    best, worst = (low, high) if line.direction == "at_most" else (high, low)
    if is_outside_limit(best, line.limit, line.direction):
        return _decide_by_end(estimate, line, "fail", best, low == high)
    unsure = is_outside_limit(worst, line.limit, line.direction)
    return _decide_by_end(estimate, line, "undecided" if unsure else "pass", worst, low == high)


def _is_rehearsed(estimate: Estimate) -> bool:
    """Is the figure one on membership that was rehearsed? It is about the mask, and decides nothing about this file."""
    return estimate.reason == REHEARSED and MEASURES[estimate.measure].of_membership


def _decide_unfollowed(line: PolicyLine, estimate: Estimate) -> _Finding:
    """An attack that sdcert could not compute; its bound, where there is one, can break the limit but never keep it."""
    what = "all releases together" if estimate.attack is None else f"the attack {estimate.attack}"
    why = f"sdcert could not follow {what}: {estimate.reason or 'no reason was given'}"
    at_most = line.direction == "at_most"
    bound = estimate.low if at_most else estimate.high
    if bound is not None and is_outside_limit(bound, line.limit, line.direction):
        side: DecidingBound = "low" if at_most else "high"
        excess = bound - line.limit if at_most else line.limit - bound
        reason = f"{'a lower' if at_most else 'an upper'} bound is beyond the limit; {why}"
        return _Finding(estimate, "fail", reason, side, bound, excess)
    return _Finding(estimate, "undecided", why)


def is_outside_limit(number: float, limit: float, direction: Direction) -> bool:
    """Is a figure outside its limit? See `is_within`; what is not a number is on neither side."""
    return not math.isnan(number) and not is_within(number, limit, direction)


def _find_interval(estimate: Estimate) -> tuple[float | None, float | None]:
    if estimate.low is None and estimate.high is None and estimate.basis == "exact":
        return estimate.value, estimate.value
    return estimate.low, estimate.high


def _decide_by_end(estimate: Estimate, line: PolicyLine, decision: Decision, compared: float, point: bool) -> _Finding:
    at_most = line.direction == "at_most"
    upper = at_most != (decision == "fail")
    bound: DecidingBound = "value" if point else "high" if upper else "low"
    which = "value" if point else name_bound(estimate.bound_confidence)
    ends = {
        "pass": f"the {which} is within the limit",
        "fail": f"the {which} is beyond the limit",
        "undecided": f"the {which} is beyond the limit, and the other bound within",
    }
    excess = compared - line.limit if at_most else line.limit - compared
    return _Finding(estimate, decision, ends[decision], bound, compared, excess)


def _find_other_confidence(found: _Finding) -> float | None:
    """How sure the bound is that decided; None for 95 %, and where no bound did."""
    of_a_bound = found.bound in ("low", "high") and found.estimate.confidence != CONFIDENCE
    return found.estimate.bound_confidence if of_a_bound else None


def _create_unanswered_criterion(position: int, line: PolicyLine, covered: list[Estimate]) -> Criterion:
    why = "no attack that this line covers is applicable" if covered else "no figure answers this line"
    reasons = {estimate.reason for estimate in covered}
    if len(reasons) == 1 and None not in reasons:
        why = f"no attack that this line covers gives the figure: {reasons.pop()}"
    return Criterion(
        line=position,
        measure=line.measure,
        attack=line.attack,
        intruder=line.intruder or (DECLARED if MEASURES[line.measure].by_attack else None),
        attribute=line.attribute,
        p_percent=line.p_percent,
        direction=line.direction,
        limit=line.limit,
        deciding_bound=None,
        deciding_value=None,
        decision="undecided",
        reason=why,
        estimate=None,
        subgroup=line.subgroup,
        false_positive_rate=find_rate(line),
    )
