"""The view of a released model: what it is, what it is good for, and what its report does not say."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import format_share, format_with_unit
from tasks.microdata.words import join_with_and
from tasks.report.content import Content
from tasks.report.views.inference import describe_worst_inference
from tasks.report.views.membership import worst_of_membership
from tasks.report.views.missing_limits import is_limited
from tasks.report.views.rows import Bar, FigureRow, TextRow, bounds_text
from tasks.report.wording.figure_formats import unit_of
from tasks.report.wording.meanings import meaning
from tasks.report.wording.sentence import Sentence, say
from tasks.score.measures.membership import MEMBERSHIP_ADVANTAGE, MEMBERSHIP_AUC, MEMBERSHIP_TRUE_POSITIVE_RATE
from tasks.score.measures.model import MODEL_ACCURACY
from tasks.train.card import Input

_MOST_NAMES = 12
_OF_MEMBERSHIP = (MEMBERSHIP_AUC.name, MEMBERSHIP_ADVANTAGE.name, MEMBERSHIP_TRUE_POSITIVE_RATE.name)


def model_in_words(content: Content) -> tuple[Sentence, ...]:
    """What is released; empty where it is a table."""
    return () if content.model is None else (say("model.released", card=content.model),)


def describe_model_results(content: Content) -> tuple[str, ...]:
    """What the attacks found of who taught it, how often it is right, and what its answers tell of confidential values."""
    told = describe_worst_inference(content)
    return (*filter(None, (worst_of_membership(content),)), *_accuracy_in_words(content), *told)


def not_limited_of_model(content: Content) -> Iterator[str]:
    """A sentence where no line of the policy limits what the attack tells that tells most."""
    worst = content.worst(MEMBERSHIP_ADVANTAGE.name) or content.worst(MEMBERSHIP_AUC.name)
    if worst is not None and not any(is_limited(content, one) for one in _deciding(content)):
        yield worst_of_membership(content)


def limits_of_model(content: Content) -> tuple[Sentence, ...]:
    """What this report does not say of a model."""
    card = content.model
    if card is None:
        return ()
    return (
        say("model.not_asked"),
        working_party_of_model(content),
        say("model.held_values", trained_on=card.trained_on),
        say("model.intruder"),
    )


def working_party_of_model(content: Content) -> Sentence:
    """What the figures mean for the three risks of WP29, of which attacks on a model measure inference alone."""
    return say("model.working_party", is_rehearsed=content.is_membership_rehearsal)


def model_facts(content: Content) -> tuple[tuple[str, str], ...]:
    """The model as terms and descriptions."""
    card = content.model
    if card is None:
        return ()
    return (
        ("Algorithm", say("model.algorithm_and_class", card=card)),
        ("Predicts", say("model.predicts", card=card)),
        *([("Classes", join_with_and(card.classes))] if content.is_certified else []),
        ("Trained on", say("model.trained_on", card=card)),
        ("Parameters", say("model.parameters", chosen=card.parameters)),
    )


def model_in_short(content: Content) -> tuple[tuple[str, str], ...]:
    """What the sentences beside the verdict leave out: what the model reads, which classes it names, what was chosen of it."""
    card = content.model
    if card is None:
        return ()
    facts = [(term, text) for term, text in model_facts(content) if term in ("Classes", "Parameters")]
    names = [one.name for one in card.inputs]
    reads = join_with_and(names) if len(names) <= _MOST_NAMES else say("model.columns", n=len(names))
    return (("Reads", reads), *facts)


def model_inputs(content: Content) -> tuple[TextRow, ...]:
    """The columns that the model reads, in their order."""
    card = content.model
    return () if card is None else tuple(_input_row(one) for one in card.inputs)


def _input_row(one: Input) -> TextRow:
    return TextRow(head=one.name, cells=(say("model.read_as", kind=one.kind, type=one.type), one.type))


def format_load_call(content: Content) -> str:
    """How a reader of the certificate loads the file."""
    card = content.model
    return "" if card is None else f'skops.io.load("model.skops", trusted={list(card.trusted)})'


def accuracy_rows(content: Content) -> tuple[FigureRow, ...]:
    """What the model is good for."""
    return tuple(_row(one) for one in content.estimates if one.measure == MODEL_ACCURACY.name)


def _deciding(content: Content) -> Iterator[Estimate]:
    for one in content.estimates:
        if one.measure in _OF_MEMBERSHIP and one.subgroup is None:
            yield one


def _accuracy_in_words(content: Content) -> Iterator[Sentence]:
    for one in content.figures(MODEL_ACCURACY.name):
        yield say("model.accuracy", right=one, is_rehearsed=content.is_membership_rehearsal)


def _row(one: Estimate) -> FigureRow:
    words = meaning(one.measure, one.counts)
    if one.value is None:
        sentence = say("model.not_measured", sentence=words.sentence, reason=one.reason)
        return FigureRow(title=words.title, sentence=sentence, value="\u2013", chance="")
    return FigureRow(
        title=words.title,
        sentence=words.sentence,
        value=format_with_unit(one.value, unit_of(one)),
        note=bounds_text(one),
        chance="" if one.chance is None else format_share(one.chance),
        bar=Bar(100 * one.value, chance=None if one.chance is None else 100 * one.chance),
    )
