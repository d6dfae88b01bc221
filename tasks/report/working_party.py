"""The three risks of the Article 29 Working Party's Opinion 05/2014, each judged by the figures that are about it."""

from __future__ import annotations

from tasks.attack.singling_out.outcomes import ATTACK
from tasks.report.attack_model import find_worst_risk
from tasks.report.content import Content
from tasks.report.kinds import find_report
from tasks.report.predicate import NOT_ASSESSED, Decision, WorkingPartyCriteria, WorkingPartyCriterion
from tasks.report.wording.sentence import say
from tasks.score.catalogue import MEASURES
from tasks.score.kinds import find_unlimited_kinds
from tasks.score.measures.disclosure import (
    RANK_INTERVAL_DISCLOSURE,
    SAME_VALUE_DISCLOSURE,
    SD_INTERVAL_DISCLOSURE,
    VALUES_RECONSTRUCTED,
)
from tasks.score.measures.inference import (
    DECIDING,
    INFERENCE_ASSERTED,
    INFERENCE_EXCESS,
    SUBGROUP_INFERENCE_ASSERTED,
    SUBGROUP_INFERENCE_EXCESS,
)
from tasks.score.measures.linkage import (
    KNOWN_LINKS,
    KNOWN_REIDENTIFICATION,
    LINKED_VALUE_DISCLOSED,
    MAX_RECORD_RISK,
    MEAN_CANDIDATE_SET_SIZE,
    RECORDS_EXPOSED,
    REIDENTIFICATION,
    TRUTH_AMONG_NEAREST,
)
from tasks.score.measures.singling_out import SINGLING_OUT
from tasks.score.verdict import Criterion

_SINGLING_OUT = (SINGLING_OUT.name,)
_LINKABILITY = (
    REIDENTIFICATION.name,
    TRUTH_AMONG_NEAREST.name,
    MEAN_CANDIDATE_SET_SIZE.name,
    RECORDS_EXPOSED.name,
    MAX_RECORD_RISK.name,
    KNOWN_LINKS.name,
    KNOWN_REIDENTIFICATION.name,
)
_INFERENCE = (
    INFERENCE_EXCESS.name,
    INFERENCE_ASSERTED.name,
    SUBGROUP_INFERENCE_EXCESS.name,
    SUBGROUP_INFERENCE_ASSERTED.name,
    LINKED_VALUE_DISCLOSED.name,
    RANK_INTERVAL_DISCLOSURE.name,
    SD_INTERVAL_DISCLOSURE.name,
    SAME_VALUE_DISCLOSURE.name,
    VALUES_RECONSTRUCTED.name,
)


def judge_working_party(content: Content) -> WorkingPartyCriteria:
    """Judge the three risks.

    Singling out: by a line on `singling_out` alone. Linkability: by the lines on how people are linked, by attacks on this
    release and on this and earlier ones together, where one counts. Inference: any line about it can fail it; it passes
    only where the policy answers the kind (`score.kinds`).
    """
    describe = find_report(content).describe_criteria
    return WorkingPartyCriteria(
        singling_out=_judge_singling_out(content),
        linkability=_judge_risk(content, _LINKABILITY, content.attack_ids, REIDENTIFICATION.name),
        inference=_judge_inference(content),
        note=None if describe is None else describe(content),
    )


def _judge_singling_out(content: Content) -> WorkingPartyCriterion:
    ran = (ATTACK,) if any(one.status == "ok" for one in content.singling_out) else ()
    found = _judge_risk(content, _SINGLING_OUT, ran, SINGLING_OUT.name)
    if found.decision != NOT_ASSESSED or not content.kind.is_table:
        return found
    return found.model_copy(update={"reason": say("working_party.not_measured", measure=SINGLING_OUT.name)})


def _judge_inference(content: Content) -> WorkingPartyCriterion:
    ran = content.attack_ids + tuple(one.attack for one in content.inference if one.status == "ok")
    found = _judge_risk(content, _INFERENCE, tuple(dict.fromkeys(ran)), LINKED_VALUE_DISCLOSED.name)
    if found.decision in ("fail", "undecided"):
        return found
    if found.decision == "pass" and "inference" not in find_unlimited_kinds(content.policy, content.subject):
        return found
    given = content.not_limited.inference
    why = say("working_party.inference_not_limited", measures=DECIDING) if given is None else given
    return found.model_copy(update={"decision": NOT_ASSESSED, "reason": why})


def _judge_risk(content: Content, measures: tuple[str, ...], ran: tuple[str, ...], without_line: str) -> WorkingPartyCriterion:
    """The worst policy line on one of the measures, of equal ones that of the first measure and the worst figure.

    Where there is none, the worst figure of `without_line`, undecided upon. Of rows that belong to nobody the measures that
    can be measured there.
    """
    attacks = ran or NOT_ASSESSED
    if content.of_nobody:
        measures = tuple(one for one in measures if MEASURES[one].of_nobody)
    if not measures:
        return WorkingPartyCriterion(attacks=NOT_ASSESSED, measure=NOT_ASSESSED, value=NOT_ASSESSED, decision=NOT_ASSESSED)
    lines = [one for name in measures for one in content.verdict.criteria if one.measure == name]
    if not lines:
        found = find_worst_risk(content, without_line) if without_line in measures else None
        if found is None or found.value is None:
            return WorkingPartyCriterion(attacks=attacks, measure=NOT_ASSESSED, value=NOT_ASSESSED, decision=NOT_ASSESSED)
        return WorkingPartyCriterion(
            attacks=attacks, measure=without_line, value=found.value, decision=NOT_ASSESSED, lower_bound=found.is_lower_bound
        )
    severity: tuple[Decision, ...] = ("fail", "undecided", "pass")
    worst = min(lines, key=lambda one: (severity.index(one.decision), measures.index(one.measure), _rank_mildness(one)))
    value = NOT_ASSESSED if worst.deciding_value is None else worst.deciding_value
    bound = NOT_ASSESSED if worst.deciding_value is None else worst.lower_bound
    return WorkingPartyCriterion(
        attacks=attacks, measure=worst.measure, value=value, decision=worst.decision, lower_bound=bound
    )


def _rank_mildness(criterion: Criterion) -> float:
    value = criterion.deciding_value or 0.0
    return -value if criterion.direction == "at_most" else value
