"""The lines of the policy in words: what each demands, what was found, and why it is kept, broken or not decided."""

from __future__ import annotations

from typing import assert_never

from tasks.microdata.estimate import BOUND_CONFIDENCE, Estimate, name_bound
from tasks.microdata.numbers import format_against_limit
from tasks.microdata.units import Counts
from tasks.report.content import Content
from tasks.report.wording.figure_formats import nearly_none, unit_of
from tasks.report.wording.intruders import WORST_CASE, somebody, uses_all_true_links
from tasks.report.wording.meanings import meaning
from tasks.report.wording.sentence import Sentence, say
from tasks.score.catalogue import MEASURES
from tasks.score.figure_rounding import STATISTICS
from tasks.score.membership.membership_figures import REHEARSED
from tasks.score.policy import PolicyLine, find_rate
from tasks.score.scored_targets import ONE_SHARE
from tasks.score.verdict import Criterion, Decision

DECISIONS: dict[Decision, str] = {"pass": "kept", "fail": "broken", "undecided": "not decided"}


def describe_requirement(line: PolicyLine, counts: Counts = "records") -> Sentence:
    """What a policy line demands of which figure."""
    measure = MEASURES[line.measure]
    asked_of = "attack" if line.attack else "worst membership attack" if measure.of_membership else "worst attack"
    return say("policy.requirement", line=line, title=meaning(line.measure, counts).title,
               unit=name_limit_unit(line.measure, counts), rate=find_rate(line),
               asked_of=asked_of if measure.by_attack else "table")  # fmt: skip


def describe_demand(line: PolicyLine, counts: Counts) -> Sentence:
    """The limit of a line: `at most 15 %`."""
    return say("policy.demand", line=line, unit=name_limit_unit(line.measure, counts))


def name_limit_unit(measure: str, counts: Counts) -> str:
    unit = MEASURES[measure].unit
    return counts if unit == "records" else unit


def format_deciding_figure(criterion: Criterion, counts: Counts = "records") -> str:
    """The figure that decided a line, beside its limit."""
    unit = name_limit_unit(criterion.measure, counts)
    if criterion.deciding_value is None:
        return "no figure"
    if criterion.deciding_value == 0 < criterion.limit and criterion.measure in STATISTICS:
        return nearly_none(unit)
    found = format_against_limit(criterion.deciding_value, criterion.limit, unit)
    return f"at least {found}" if criterion.lower_bound else found


def describe_figure_source(content: Content, criterion: Criterion) -> Sentence:
    """Whose figure decided: `by somebody who knows age (transparency attack)`, `of popul`; empty for a whole-table measure."""
    asked = criterion.intruder is not None and criterion.estimate is not None
    who = somebody(content, criterion.intruder or "", criterion.attack) if asked else ""
    return say("policy.source", attribute=criterion.attribute, who=who, attack=criterion.attack)


def describe_bound_source(content: Content, criterion: Criterion) -> Sentence:
    """Whose figure decided; and of a bound, of which figure."""
    figure, whose = content.figure(criterion.estimate), describe_figure_source(content, criterion)
    if criterion.deciding_bound not in ("low", "high") or figure is None or figure.value is None:
        return whose
    if figure.is_lower_bound and figure.low == figure.value:  # nothing was sampled: the bound is the figure itself
        return whose
    return say("policy.source_of_bound", value=figure.value, unit=unit_of(figure), source=whose,
               bound=name_bound(figure.bound_confidence))  # fmt: skip


def describe_deciding_bound(criterion: Criterion, estimate: Estimate | None) -> str:
    """The one-sided bound that was held against the limit, and its sample; empty where the figure itself was."""
    if criterion.deciding_bound in (None, "value"):
        return ""
    counts = "records" if estimate is None else estimate.counts
    return say("policy.bound", found=format_deciding_figure(criterion, counts), lower_bound=criterion.lower_bound,
               targets=(estimate and estimate.n_targets) or 0, counts=counts)  # fmt: skip


def explain_decision(line: PolicyLine, criterion: Criterion, counts: Counts = "records") -> Sentence:
    """Why a line is kept, broken or not decided, and what the figure is not about."""
    return say("policy.reason", line=line, criterion=criterion, found=format_deciding_figure(criterion, counts),
               bound=name_bound(criterion.bound_confidence or BOUND_CONFIDENCE),
               limit=describe_demand(line, counts), counts=counts, more_targets=criterion.caution != ONE_SHARE,
               is_rehearsed=criterion.caution == REHEARSED and MEASURES[criterion.measure].of_membership,
               other_attack=line.attack is not None and criterion.attack not in (None, line.attack))  # fmt: skip


def describe_caution(
    content: Content, criterion: Criterion, *, cannot_fail: bool = False, is_explained: bool = False
) -> Sentence:
    """What the reader of a deciding figure must know: `k bounds nothing`, what is not in it, that it is nobody's.

    is_explained: does `explain_decision` stand beside it, which says the criterion's caution already?
    """
    estimate = content.figure(criterion.estimate)
    found = estimate if estimate is not None and estimate.status == "ok" else None
    reason = None if found is None or (is_explained and found.reason == criterion.caution) else found.reason
    worst_case = found is not None and uses_all_true_links(content, found.attack)
    return say("policy.note", cannot_fail=cannot_fail, worst_case=WORST_CASE if worst_case else "", reason=reason)


def state_verdict(content: Content) -> Sentence:
    """The verdict as one plain sentence."""
    decisions = [criterion.decision for criterion in content.verdict.criteria]
    lines = len(decisions)
    match content.verdict.verdict:
        case "certified" if content.not_for_publication:
            return say("policy.rehearsed", lines=lines)
        case "certified":
            return say("policy.certified", word=content.word, lines=lines)
        case "refused":
            return say("policy.refused", broken=decisions.count("fail"), lines=lines)
        case "undecided":
            return say("policy.undecided", open=decisions.count("undecided"), lines=lines)
        case _:
            assert_never(content.verdict.verdict)
