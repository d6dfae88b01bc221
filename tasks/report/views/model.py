"""A released model: what it is, what it is good for, and what its report does not say."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import count, format_share, format_with_unit
from tasks.microdata.words import join_with_and
from tasks.report.content import Content
from tasks.report.views.membership import worst_of_membership
from tasks.report.views.missing_limits import is_limited
from tasks.report.views.rows import Bar, FigureRow, TextRow, bounds_text, unit_of
from tasks.report.wording.meanings import meaning
from tasks.score.measures.membership import MEMBERSHIP_ADVANTAGE, MEMBERSHIP_AUC, MEMBERSHIP_TRUE_POSITIVE_RATE
from tasks.score.measures.model import MODEL_ACCURACY
from tasks.train.card import Input, ModelCard

_WORDS = {
    "DecisionTreeClassifier": "a decision tree",
    "RandomForestClassifier": "a random forest",
    "HistGradientBoostingClassifier": "a model of gradient boosting",
    "LogisticRegression": "a logistic regression",
    "GaussianNB": "a naive Bayes model",
    "MLPClassifier": "a neural network",
}
_MOST_NAMES = 12
_KINDS = {
    "number": "number",
    "order": "text of a declared order",
    "category": "category",
    "as_read": "as pandas reads the table",
}
_TRAINED_ON = {
    "masked": "what the masking made of the source",
    "original": "the source as it is",
    "elsewhere": "the source, as the release file declares, and not here",
}

_OF_MEMBERSHIP = (MEMBERSHIP_AUC.name, MEMBERSHIP_ADVANTAGE.name, MEMBERSHIP_TRUE_POSITIVE_RATE.name)


def algorithm_in_words(card: ModelCard) -> str:
    return _WORDS.get(card.algorithm, f"a model of scikit-learn ({card.algorithm})")


def model_in_words(content: Content) -> tuple[str, ...]:
    """What is released; empty where it is a table."""
    card = content.model
    if card is None:
        return ()
    return (
        f"What is released is {algorithm_in_words(card)} that predicts {card.target} from "
        f"{count(len(card.inputs))} attribute{'s' if len(card.inputs) != 1 else ''}, and no table. It was trained on "
        f"{_TRAINED_ON[card.trained_on]} ({count(card.rows)} rows).",
    )


def describe_model_results(content: Content) -> tuple[str, ...]:
    """What the attacks found of who taught it, and how often it is right."""
    return (*filter(None, (worst_of_membership(content),)), *_accuracy_in_words(content))


def not_limited_of_model(content: Content) -> Iterator[str]:
    """A sentence where no line of the policy limits what the attack tells that tells most."""
    worst = content.worst(MEMBERSHIP_ADVANTAGE.name) or content.worst(MEMBERSHIP_AUC.name)
    if worst is not None and not any(is_limited(content, one) for one in _deciding(content)):
        yield worst_of_membership(content)


def limits_of_model(content: Content) -> tuple[str, ...]:
    """What this report does not say of a model."""
    card = content.model
    if card is None:
        return ()
    held = (
        "thresholds, categories that ten records or more hold, and the names of its classes"
        if card.trained_on != "elsewhere"
        else "fitted parameters"
    )
    return (
        "The attacks ask who taught the model. Whether it tells an attribute of somebody (which is what it is made for), or "
        "whether records can be made from it again, is not assessed.",
        working_party_of_model(content),
        f"The file of the model holds numbers and texts of the table that it was trained on: {held}. They are in the file as "
        "they are, however it is asked.",
        "The intruder is taken to know the record and its true class, to ask for the probability of each class as often as "
        "they like, and to know the learner with its parameters; their imitations learn from records of the same source.",
    )


def working_party_of_model(content: Content) -> str:
    """What the figures of membership mean for the three risks of WP29, none of which an attack on a model measures."""
    how = " (rehearsed: whether it taught a model that was made in the same way)" if content.is_membership_rehearsal else ""
    return (
        "Singling out, linkability and inference (WP29, Opinion 05/2014) are not assessed of a model: the figures of "
        "membership say how well somebody who has a person's whole record tells, by the attacks run, whether it taught the "
        f"model{how}, and no more; a low one is no evidence that nobody can be singled out or linked, or that no attribute can "
        "be inferred."
    )


def model_facts(content: Content) -> tuple[tuple[str, str], ...]:
    """The model as terms and descriptions."""
    card = content.model
    if card is None:
        return ()
    chosen = "; ".join(f"{name} {_plain(value)}" for name, value in card.parameters.items())
    facts = [
        ("Algorithm", f"{algorithm_in_words(card)} (scikit-learn, {card.algorithm})"),
        ("Predicts", f"{card.target}, one of {count(len(card.classes))} classes"),
        ("Trained on", f"{_TRAINED_ON[card.trained_on]}: {count(card.rows)} rows"),
        ("Parameters", chosen or "as the file says"),
    ]
    if content.is_certified:
        facts.insert(2, ("Classes", join_with_and(card.classes)))
    return tuple(facts)


def model_in_short(content: Content) -> tuple[tuple[str, str], ...]:
    """What the sentences beside the verdict leave out: what the model reads, which classes it names, what was chosen of it."""
    card = content.model
    if card is None:
        return ()
    facts = [(term, text) for term, text in model_facts(content) if term in ("Classes", "Parameters")]
    names = [one.name for one in card.inputs]
    reads = join_with_and(names) if len(names) <= _MOST_NAMES else f"{count(len(names))} columns, listed below"
    return (("Reads", reads), *facts)


def model_inputs(content: Content) -> tuple[TextRow, ...]:
    """The columns that the model reads, in their order."""
    card = content.model
    return () if card is None else tuple(TextRow(head=one.name, cells=(_read_as(one), one.type)) for one in card.inputs)


def _read_as(one: Input) -> str:
    if one.kind == "number" and one.type.startswith(("date", "timestamp", "time")):
        return "days since 1970-01-01" if not one.type.startswith("time64") else "seconds of the day"
    return _KINDS[one.kind]


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


def _accuracy_in_words(content: Content) -> Iterator[str]:
    for one in content.figures(MODEL_ACCURACY.name):
        rehearsed = (
            " (rehearsed: a model made in the same way from half of the source)" if content.is_membership_rehearsal else ""
        )
        yield (
            f"It is right about {format_share(one.value or 0.0)} of the {one.counts} that did not teach "
            f"it{rehearsed}; always the "
            f"most frequent class would be right about {format_share(one.chance or 0.0)}."
        )


def _row(one: Estimate) -> FigureRow:
    words = meaning(one.measure, one.counts)
    if one.value is None:
        return FigureRow(title=words.title, sentence=f"{words.sentence} Not measured: {one.reason}.", value="\u2013", chance="")
    return FigureRow(
        title=words.title,
        sentence=words.sentence,
        value=format_with_unit(one.value, unit_of(one)),
        note=bounds_text(one),
        chance="" if one.chance is None else format_share(one.chance),
        bar=Bar(100 * one.value, chance=None if one.chance is None else 100 * one.chance),
    )


def _plain(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)
