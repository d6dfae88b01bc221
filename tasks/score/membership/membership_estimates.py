"""What the membership attacks found: figures with intervals, beside what a guess that does not look would have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tasks.attack.membership.frame import Frame
from tasks.attack.membership.methods import MembershipResult
from tasks.attack.membership.threshold import best_threshold
from tasks.microdata.estimate import Estimate
from tasks.microdata.interval import Interval
from tasks.microdata.table import Booleans, Floats
from tasks.score.measure import Measure
from tasks.score.measures.membership import (
    FALSE_POSITIVE_RATES,
    INSIDER_MEMBERSHIP_AUC,
    MEMBERSHIP_ADVANTAGE,
    MEMBERSHIP_ATTRIBUTE_RISK,
    MEMBERSHIP_AUC,
    MEMBERSHIP_F1,
    MEMBERSHIP_PRECISION,
    MEMBERSHIP_RECALL,
    MEMBERSHIP_TRUE_POSITIVE_RATE,
    SUBGROUP_MEMBERSHIP_ADVANTAGE,
    SUBGROUP_MEMBERSHIP_AUC,
    SUBGROUP_SHARE_OF_MOST_EXPOSED,
)
from tasks.score.membership.exposure import estimate_share_of_most_exposed, too_few
from tasks.score.membership.intervals import auc_interval, difference_interval, left_end_interval, share_interval
from tasks.score.membership.roc_curve import compute_auc, compute_roc_curve, true_positive_rate
from tasks.score.policy import INSIDER
from tasks.score.subgroups import FEWEST, Subgroup

EXPECTED_FALSE = 10  # non-members that have to be above a score on average, or the share above it is not estimable
FLAGGING = (
    MEMBERSHIP_ADVANTAGE,
    MEMBERSHIP_PRECISION,
    MEMBERSHIP_RECALL,
    MEMBERSHIP_F1,
    MEMBERSHIP_ATTRIBUTE_RISK,
)
BY_SUBGROUP = (
    SUBGROUP_MEMBERSHIP_AUC,
    SUBGROUP_MEMBERSHIP_ADVANTAGE,
    SUBGROUP_SHARE_OF_MOST_EXPOSED,
)
NOTHING_FLAGGED = "the attack flags nobody"
TOO_FEW = "not estimable: fewer than {needed:,} non-members"


@dataclass(frozen=True, slots=True)
class Flags:
    """Whom an attack flags, of targets by whom its threshold was not chosen."""

    true: int
    members: int
    false: int
    others: int

    @property
    def prevalence(self) -> float:
        return self.members / (self.members + self.others)

    @property
    def share(self) -> float:
        """Of all who are judged, how many are flagged."""
        return (self.true + self.false) / (self.members + self.others)


def flags(scores: Floats, member: Booleans, threshold: float) -> Flags:
    """Count those with score >= threshold."""
    flagged = scores >= threshold
    return Flags(int((flagged & member).sum()), int(member.sum()), int((flagged & ~member).sum()), int((~member).sum()))


def others_needed(rate: float) -> int:
    """The fewest non-members with whom the share of members at a false positive rate is estimable. Example: 1 %: 1,000."""
    return round(EXPECTED_FALSE / rate)


def membership_estimates(result: MembershipResult, frame: Frame, subgroups: tuple[Subgroup, ...] = ()) -> tuple[Estimate, ...]:
    """The figures of one membership attack.

    Those of the `estimate_...` functions of this file, whose docstrings say what each means; by subgroup also its share of the
    tenth of the members whom the attack is surest of: see `exposure`.

    result: scores of the frame's targets. subgroups: of all units of the table.

    Returns estimates of two samples (`control_group`), each bound one-sided 95 %: see `intervals`; precision is a share of
    the flagged, F1 = 2 J / (1 + J) with J the share of members flagged among those who are one or the other.
    Chance: AUC 1/2; advantage 0; precision the prevalence; recall and miaAR the share flagged; F1 that of flagging everybody,
    2 pi / (1 + pi); the rate f at f; the share of the most exposed that among all members asked about. Not estimable, with the
    reason: a rate at f from fewer than 10 / f non-members, precision where nobody is flagged, a share of the most exposed of
    fewer than 10 members or in a tenth of fewer than 10; all of them where the attack did not run. Of an attack that could not
    be followed whole, what a part of it finds bounds each figure from below.
    `n_targets`: the targets counted; `n_in_release`: the members among them. Cost: O(t log t) for each subgroup.
    Source: docs/SCIENCE.md section 5; Torra (2024), miaAR; Carlini et al. (2022) on low false positive rates.
    Example: members 3, 2 and others 1, 0 at a threshold of 2: all of them 1.
    """
    if result.scores is None:
        return tuple(_create_blank_estimates(result, frame, subgroups))
    if result.status == "not_followed":
        by_a_part = membership_estimates(replace(result, status="ok"), frame, subgroups)
        return tuple(_bound_from_below(one, result) for one in by_a_part)
    whole = _Judged.create_for_part(result, frame, np.ones(len(result.scores), dtype=bool))
    parts = (one for subgroup in subgroups for one in estimate_subgroup(result, frame, subgroup))
    return (*estimate_membership_rates(whole), *parts, *estimate_insider_aucs(result, frame))


def _bound_from_below(found: Estimate, result: MembershipResult) -> Estimate:
    """The figure of an attack of which only a part could be followed: the whole finds at least as much."""
    highest = None if found.value is None else 1.0
    return replace(found, status="not_followed", reason=result.reason, high=highest)


def choose_threshold(result: MembershipResult, frame: Frame) -> float:
    """The attack's threshold, or the best one on the calibration half of the targets."""
    if result.scores is None:
        raise ValueError("the attack did not run")
    if result.threshold is not None:
        return result.threshold
    return best_threshold(result.scores[frame.calibrates], frame.is_member[frame.calibrates])


@dataclass(frozen=True, slots=True)
class _Judged:
    """The targets of a part of the frame: scores and membership of all, and the flags of those who chose no threshold."""

    result: MembershipResult
    frame: Frame
    scores: Floats
    member: Booleans
    flags: Flags

    @classmethod
    def create_for_part(cls, result: MembershipResult, frame: Frame, part: Booleans) -> _Judged:
        scores, member = np.asarray(result.scores), frame.is_member
        judged = part if result.threshold is not None else part & ~frame.calibrates
        found = flags(scores[judged], member[judged], choose_threshold(result, frame))
        return cls(result, frame, scores[part], member[part], found)

    def estimate(
        self, measure: Measure, value: float | None, interval: Interval | None, chance: float, reason: str = ""
    ) -> Estimate:
        """A figure of all targets of the part; of those that are flagged or not, if it is about that."""
        by_flags = measure in FLAGGING
        members = self.flags.members if by_flags else int(self.member.sum())
        others = self.flags.others if by_flags else int((~self.member).sum())
        return Estimate(
            measure=measure.name,
            attack=self.result.attack,
            value=value,
            low=None if interval is None or value is None else min(interval.low, value),
            high=None if interval is None or value is None else max(interval.high, value),
            unit=measure.unit,
            basis="control_group",
            status="ok" if value is not None else "not_applicable",
            reason=reason or None,
            chance=chance,
            chance_kind="uniform_guess",
            credit_rule="indicator" if by_flags else "shared",
            n_targets=members + others,
            n_in_release=members,
            counts=self.frame.units.counts,
        )


def estimate_membership_rates(of: _Judged) -> Iterator[Estimate]:
    """All figures of the targets.

    `membership_precision`: of the flagged, the share of members. `membership_recall`: of the members, the share flagged.
    `membership_f1`: 2 x precision x recall / (precision + recall). `membership_attribute_risk`: miaAR as it is written, the
    members flagged over all members, which is recall and says nothing alone: flag everybody, and it is 1.
    """
    counts = of.flags
    yield estimate_auc(of)
    yield estimate_advantage(of)
    flagged, either = counts.true + counts.false, counts.members + counts.false
    precision = counts.true / flagged if flagged else None
    within = share_interval(counts.true, flagged) if flagged else None
    yield of.estimate(MEMBERSHIP_PRECISION, precision, within, counts.prevalence, "" if flagged else NOTHING_FLAGGED)
    for measure in (MEMBERSHIP_RECALL, MEMBERSHIP_ATTRIBUTE_RISK):
        recall = counts.true / counts.members
        yield of.estimate(measure, recall, share_interval(counts.true, counts.members), counts.share)
    jaccard = share_interval(counts.true, either)
    yield of.estimate(
        MEMBERSHIP_F1,
        _f1(counts.true / either),
        Interval(_f1(jaccard.low), _f1(jaccard.high)),
        _f1(counts.prevalence),
    )
    for rate in FALSE_POSITIVE_RATES:
        yield estimate_rate_at_false_positives(of, rate)


def estimate_auc(of: _Judged) -> Estimate:
    """`membership_auc`: the probability that a member scores above a non-member, a tie counting 1/2; over all targets."""
    return of.estimate(MEMBERSHIP_AUC, compute_auc(of.scores, of.member), auc_interval(of.scores, of.member), 0.5)


def estimate_advantage(of: _Judged) -> Estimate:
    """`membership_advantage`: the share of members flagged less that of non-members, at the attack's threshold.

    The threshold is its own, one that shadow models showed it, or the best on the calibration half of the targets, who are then
    not counted here. Never the best on the targets that are counted: the largest difference over all thresholds is above 0
    where nothing is told.
    """
    counts = of.flags
    value = (counts.true * counts.others - counts.false * counts.members) / (counts.members * counts.others)
    within = difference_interval(counts.true, counts.members, counts.false, counts.others)
    return of.estimate(MEMBERSHIP_ADVANTAGE, value, within, 0.0)


def _f1(jaccard: float) -> float:
    """F1 of a Jaccard share; of everybody flagged that share is the prevalence."""
    return 2 * jaccard / (1 + jaccard)


def estimate_rate_at_false_positives(of: _Judged, rate: float) -> Estimate:
    """`membership_true_positive_rate` at a share of the non-members flagged (0.1 and 1 %).

    Of all targets, the share of members above the score that such a share of non-members exceeds.
    """
    found, others = compute_roc_curve(of.scores, of.member), int((~of.member).sum())
    needed = others_needed(rate)
    if others < needed:
        estimate = of.estimate(MEMBERSHIP_TRUE_POSITIVE_RATE, None, None, rate, TOO_FEW.format(needed=needed))
    else:
        value, within = true_positive_rate(found, rate * others), left_end_interval(found, rate)
        estimate = of.estimate(MEMBERSHIP_TRUE_POSITIVE_RATE, value, within, rate)
    return replace(estimate, parameters=(("false_positive_rate", rate),))


def estimate_subgroup(result: MembershipResult, frame: Frame, subgroup: Subgroup) -> Iterator[Estimate]:
    """`subgroup_membership_auc` and `subgroup_membership_advantage`: members of the subgroup against non-members of it."""
    part = subgroup.members[frame.target]
    judged = part if result.threshold is not None else part & ~frame.calibrates
    for measure, asked, figure in (
        (SUBGROUP_MEMBERSHIP_AUC, part, estimate_auc),
        (SUBGROUP_MEMBERSHIP_ADVANTAGE, judged, estimate_advantage),
    ):
        if min((asked & frame.is_member).sum(), (asked & ~frame.is_member).sum()) >= FEWEST:
            found = figure(_Judged.create_for_part(result, frame, part))
            yield replace(
                found,
                measure=measure.name,
                attribute=subgroup.attribute,
                subgroup=subgroup.name,
            )
    yield _most_exposed(result, frame, subgroup)


def estimate_insider_aucs(result: MembershipResult, frame: Frame) -> Iterator[Estimate]:
    """`insider_membership_auc`: the area of each insider, by the column that they know besides; over all targets."""
    everybody = np.ones(int(frame.target.sum()), dtype=bool)
    for name, scores in result.of_insiders:
        of_insider = _Judged.create_for_part(replace(result, scores=scores), frame, everybody)
        found = replace(estimate_auc(of_insider), measure=INSIDER_MEMBERSHIP_AUC.name)
        yield replace(found, attribute=name.removeprefix(f"{INSIDER}:"))


def _most_exposed(result: MembershipResult, frame: Frame, subgroup: Subgroup) -> Estimate:
    members = frame.is_member
    scores, inside = np.asarray(result.scores)[members], subgroup.members[frame.target][members]
    found = replace(
        _blank(result, frame, SUBGROUP_SHARE_OF_MOST_EXPOSED, ()),
        basis="sampled_targets",
        status="not_applicable",
        reason=too_few(inside) or None,
        attribute=subgroup.attribute,
        subgroup=subgroup.name,
    )
    if found.reason is not None:
        return found
    value, within = estimate_share_of_most_exposed(scores, inside)
    return replace(
        found,
        status="ok",
        value=value,
        low=min(within.low, value),
        high=max(within.high, value),
        chance=float(inside.mean()),
        chance_kind="uniform_guess",
        credit_rule="shared",
        n_targets=len(inside),
        n_in_release=len(inside),
    )


def _create_blank_estimates(result: MembershipResult, frame: Frame, subgroups: tuple[Subgroup, ...]) -> Iterator[Estimate]:
    rates = (("false_positive_rate", rate) for rate in FALSE_POSITIVE_RATES)
    whole = [(MEMBERSHIP_AUC, ()), *((measure, ()) for measure in FLAGGING)]
    for measure, parameters in (*whole, *((MEMBERSHIP_TRUE_POSITIVE_RATE, (rate,)) for rate in rates)):
        yield _blank(result, frame, measure, parameters)
    for subgroup in subgroups:
        for measure in BY_SUBGROUP:
            yield replace(_blank(result, frame, measure, ()), attribute=subgroup.attribute, subgroup=subgroup.name)


def _blank(result: MembershipResult, frame: Frame, measure: Measure, parameters: tuple[tuple[str, float], ...]) -> Estimate:
    return Estimate(
        measure=measure.name,
        attack=result.attack,
        parameters=parameters,
        value=None,
        unit=measure.unit,
        basis="control_group",
        status="not_applicable" if result.status == "ok" else result.status,
        reason=result.reason,
        counts=frame.units.counts,
    )
