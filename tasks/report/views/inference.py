"""What a model infers of confidential values: the release beside the original, beside a blind guess, beside other people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.attack.inference.outcomes import InferenceResult
from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import format_share
from tasks.report.content import Content
from tasks.report.views.rows import TextRow, figure_text
from tasks.report.wording.sentence import Sentence, say
from tasks.score.inference import INPUTS
from tasks.score.measure import Measure
from tasks.score.measures.inference import (
    INFERENCE_ASSERTED,
    INFERENCE_CONTROL,
    INFERENCE_EXCESS,
    INFERENCE_EXCESS_FROM_FEW,
    INFERENCE_FROM_FEW,
    INFERENCE_FROM_ORIGINAL,
    INFERENCE_SUCCESS,
    INFERENCE_WITHOUT_TARGET,
    MODEL_AGREEMENT,
    MODEL_AGREEMENT_CONTROL,
    SUBGROUP_INFERENCE_ASSERTED,
    SUBGROUP_INFERENCE_EXCESS,
)
from tasks.score.policy import DECLARED

SUCCESS_HEADS = ("Release", "Original", "Original of others", "Blind guess", "Other people, by the release")
MODEL_HEADS = ("People who taught it", "Blind guess", "Other people")
DECIDING_HEADS = ("Excess", "Excess, worst part", "Asserted", "Asserted, worst part")
AGREEMENT_HEADS = ("People in the release", "Other people")
DASH = "\u2013"


@dataclass(frozen=True, slots=True)
class _Inferred:
    """One attribute, inferred by one attack of one intruder."""

    attack: str
    intruder: str
    attribute: str

    def is_of(self, one: Estimate) -> bool:
        return (one.attack, one.intruder, one.attribute) == (self.attack, self.intruder, self.attribute)


def describe_inference(content: Content) -> tuple[Sentence, ...]:
    """Who inferred what, and with what success; empty where nobody did."""
    if not content.inference:
        return ()
    view = "inference.asks" if content.kind.is_table else "inference.asks_a_model"
    asks = say(view, result=content.inference[0], is_rehearsed=_is_rehearsed(content))
    return (asks, *describe_worst_inference(content))


def describe_worst_inference(content: Content) -> Iterator[Sentence]:
    """The attribute of which the release tells most beyond what is known of everybody, and that of which most is asserted."""
    excess, asserted = (content.worst(one.name) for one in (INFERENCE_EXCESS, INFERENCE_ASSERTED))
    if excess is not None:
        yield say("inference.excess", excess=excess, is_rehearsed=_is_rehearsed(content), of_model=not content.kind.is_table)
    if asserted is not None:
        yield say("inference.asserted", asserted=asserted)


def list_success_rows(content: Content) -> tuple[TextRow, ...]:
    """One row per attack, intruder and confidential attribute: how often the value is inferred, by whom."""
    measures = (INFERENCE_SUCCESS, INFERENCE_FROM_ORIGINAL, INFERENCE_WITHOUT_TARGET)
    rows = []
    for who in _list_inferred(content):
        success, *others = (_find(content, one.name, who) for one in measures)
        blind = DASH if success is None or success.chance is None else format_share(success.chance)
        control = _find(content, INFERENCE_CONTROL.name, who)
        cells = (figure_text(success), *map(figure_text, others), blind, figure_text(control))
        rows.append(TextRow(head=_head(content, who), cells=cells))
    return tuple(rows)


def list_model_rows(content: Content) -> tuple[TextRow, ...]:
    """One row per confidential attribute: how often the answers of a released model tell the value, and of whom."""
    rows = []
    for who in _list_inferred(content):
        success, control = (_find(content, one.name, who) for one in (INFERENCE_SUCCESS, INFERENCE_CONTROL))
        blind = DASH if success is None or success.chance is None else format_share(success.chance)
        rows.append(TextRow(head=_head(content, who), cells=(figure_text(success), blind, figure_text(control))))
    return tuple(rows)


def list_deciding_rows(content: Content) -> tuple[TextRow, ...]:
    """One row per attack, intruder and attribute: what a policy limits, with bounds, and the worst part of the people."""
    rows = []
    for who in _list_inferred(content):
        cells = []
        for whole, part in (
            (INFERENCE_EXCESS, SUBGROUP_INFERENCE_EXCESS),
            (INFERENCE_ASSERTED, SUBGROUP_INFERENCE_ASSERTED),
        ):
            parts = [one for one in content.figures(part.name) if who.is_of(one)]
            worst = content.largest(parts)
            told = DASH if worst is None else f"{figure_text(worst)}; {worst.subgroup}"
            cells += [figure_text(_find(content, whole.name, who)), told]
        rows.append(TextRow(head=_head(content, who), cells=tuple(cells)))
    return tuple(rows)


def list_few_heads(content: Content) -> tuple[str, ...]:
    """From how many attributes values are inferred, up to the most."""
    most = max((len(secret.inputs) for one in content.inference for secret in one.secrets), default=0)
    return tuple(f"{count}" for count in range(1, most + 1))


def list_few_rows(content: Content) -> tuple[TextRow, ...]:
    """Two rows per attack, intruder and confidential attribute: the share inferred from 1, 2, ... attributes, and the excess.

    Each cell names the attribute that comes to those before it.
    """
    rungs, rows = list_few_heads(content), []
    for who in _list_inferred(content):
        for measure in (INFERENCE_FROM_FEW, INFERENCE_EXCESS_FROM_FEW):
            figures = [_find(content, measure.name, who, float(rung)) for rung in rungs]
            if any(figures):
                names = (*_list_inputs(content, who, measure), *rungs)
                cells = (
                    DASH if one is None else f"{figure_text(one)}; {name}" for one, name in zip(figures, names, strict=False)
                )
                what = "" if measure is INFERENCE_FROM_FEW else ": excess"
                rows.append(TextRow(head=f"{_head(content, who)}{what}", cells=tuple(cells)))
    return tuple(rows)


def list_agreement_rows(content: Content) -> tuple[TextRow, ...]:
    """One row per attack, intruder and attribute: do models that the release and the original taught say the same?"""
    rows = []
    for who in _list_inferred(content):
        figures = [_find(content, one.name, who) for one in (MODEL_AGREEMENT, MODEL_AGREEMENT_CONTROL)]
        if any(one is not None for one in figures):
            rows.append(TextRow(head=_head(content, who), cells=tuple(map(figure_text, figures))))
    return tuple(rows)


def describe_inference_settings(result: InferenceResult) -> Sentence:
    """How the figures of an attack are counted, for the certificate."""
    return say("inference.settings" if result.learners else "inference.settings_of_a_model", result=result)


def _is_rehearsed(content: Content) -> bool:
    return content.control is None and content.outside is None


def _list_inferred(content: Content) -> tuple[_Inferred, ...]:
    named = (_Inferred(one.attack, one.intruder, secret.name) for one in content.inference for secret in one.secrets)
    return tuple(dict.fromkeys(named))


def _head(content: Content, who: _Inferred) -> str:
    several = len({one.attack for one in content.inference}) > 1
    by = [who.attack] * several + [who.intruder] * (who.intruder != DECLARED)
    return f"{who.attribute} ({', '.join(by)})" if by else who.attribute


def _list_inputs(content: Content, who: _Inferred, measure: Measure) -> tuple[str, ...]:
    """The known attributes in the order in which they were chosen; of an excess without a control those of the rehearsal."""
    rehearsed = measure is INFERENCE_EXCESS_FROM_FEW and _is_rehearsed(content)
    found = (
        secret.inputs
        for one in content.inference
        for secret in one.secrets
        if _Inferred(one.attack, one.intruder, secret.name) == who and (one.evaluates != "this file") == rehearsed
    )
    return next(found, ())


def _find(content: Content, measure: str, who: _Inferred, inputs: float | None = None) -> Estimate | None:
    found = (
        one
        for one in content.estimates
        if one.measure == measure and who.is_of(one) and dict(one.parameters).get(INPUTS) == inputs
    )
    return next(found, None)
