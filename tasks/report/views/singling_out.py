"""Whom the released rows single out: each figure beside its chance, and the three risks of the Article 29 Working Party."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.attack.singling_out.outcomes import SinglingOutResult
from tasks.microdata.estimate import Estimate, join_attributes
from tasks.microdata.numbers import format_share
from tasks.report.content import Content
from tasks.report.predicate import NOT_ASSESSED, WorkingPartyCriterion
from tasks.report.views.rows import TextRow, figure_text
from tasks.report.wording.meanings import MEANINGS
from tasks.report.wording.sentence import Sentence, say
from tasks.report.working_party import judge_working_party
from tasks.score.measures.singling_out import PREDICATES_ISOLATING, SINGLED_OUT, SINGLED_OUT_BY_ANY, SINGLING_OUT

HEADS = ("Singled out", "By chance", "Excess, with two one-sided 95\u202f% bounds")
RISK_HEADS = ("Decision", "Measure", "Figure")
DASH = "\u2013"


def describe_singling_out(content: Content) -> tuple[Sentence, ...]:
    """How people are singled out, and how many; empty where nobody asked."""
    if not content.singling_out:
        return ()
    return tuple(_describe(content))


def _describe(content: Content) -> Iterator[Sentence]:
    is_rehearsed = len(content.singling_out) > 1
    result = content.singling_out[-1]
    yield say("singling_out.asks", result=result, is_rehearsed=is_rehearsed)
    worst = content.worst(SINGLING_OUT.name)
    if worst is not None:
        yield say("singling_out.excess", excess=worst, attributes=_split(content, worst), is_rehearsed=is_rehearsed)
    by_any = content.worst(SINGLED_OUT_BY_ANY.name)
    if by_any is not None:
        yield say("singling_out.any", figure=by_any)


def list_isolation_rows(content: Content) -> tuple[TextRow, ...]:
    """One row per number of attributes, with the set that singles out most; all published attributes; all predicates."""
    excess = {one.attribute: one for one in content.estimates if one.measure == SINGLING_OUT.name}
    shares = [one for one in content.estimates if one.measure == SINGLED_OUT.name]
    rows = [
        TextRow(
            head=_head(content, one),
            cells=(figure_text(one), _format_chance(one), figure_text(excess.get(one.attribute))),
        )
        for one in shares
    ]
    return (*rows, *_list_predicate_rows(content))


def list_risk_rows(content: Content) -> tuple[TextRow, ...]:
    """The three risks, as the certificate judges them."""
    criteria = judge_working_party(content)
    named = (
        ("Singling out", criteria.singling_out),
        ("Linkability", criteria.linkability),
        ("Inference", criteria.inference),
    )
    return tuple(TextRow(head=head, cells=_list_cells(one)) for head, one in named)


def describe_singling_out_settings(result: SinglingOutResult) -> Sentence:
    """How the figures are counted, for the certificate."""
    return say("singling_out.settings", result=result)


def _list_cells(one: WorkingPartyCriterion) -> tuple[str, ...]:
    decision = one.decision if one.reason is None else f"{one.decision}: {one.reason}"
    measure = DASH if one.measure == NOT_ASSESSED else MEANINGS[one.measure].title
    value = DASH if isinstance(one.value, str) else f"{one.value:.4g}"
    return decision, measure, value


def _list_predicate_rows(content: Content) -> Iterator[TextRow]:
    for one in content.figures(PREDICATES_ISOLATING.name):
        yield TextRow(head=MEANINGS[one.measure].title, cells=(figure_text(one), _format_chance(one), DASH))


def _format_chance(one: Estimate) -> str:
    return DASH if one.chance is None else format_share(one.chance)


def _head(content: Content, one: Estimate) -> str:
    published = content.schema.release_columns
    if one.attribute == join_attributes(published):
        return say("singling_out.every", n=len(published))
    return ", ".join(_split(content, one))


def _split(content: Content, one: Estimate) -> tuple[str, ...]:
    """The attributes of a set; in the order of the table."""
    text = f",{one.attribute},"
    return tuple(name for name in content.schema.names if f",{join_attributes((name,))}," in text)
