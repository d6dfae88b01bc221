"""A model that is released in place of a table."""

from __future__ import annotations

from tasks.microdata.numbers import count
from tasks.report.content import Content
from tasks.report.kinds.base import Chapter, KindReport
from tasks.report.views.known_limits import describe_editions, describe_randomness, describe_rows, describe_scope
from tasks.report.views.model import (
    describe_model_results,
    limits_of_model,
    model_in_short,
    model_in_words,
    not_limited_of_model,
    working_party_of_model,
)
from tasks.report.wording.sentence import Sentence, say
from tasks.score.release_kinds import MODEL


def summarize(content: Content) -> tuple[str, ...]:
    return (*model_in_words(content), *describe_model_results(content))


def describe_unlimited(content: Content) -> tuple[str, ...]:
    return tuple(not_limited_of_model(content))


def describe_fitness(content: Content) -> tuple[str, ...]:
    return (*describe_model_results(content)[1:], say("residual.uses_of_model_not_assessed"))


def list_limits(content: Content) -> tuple[str, ...]:
    return (
        *describe_scope("this model"),
        *limits_of_model(content),
        describe_rows(content, "residual.rows_of_a_model"),
        _describe_randomness(content),
        describe_editions(content),
    )


def count_training_rows(content: Content) -> tuple[str, str]:
    return "Rows that taught the model", count(content.rows_out)


def _describe_randomness(content: Content) -> Sentence:
    if content.model is not None and content.model.trained_on == "elsewhere":
        return say("residual.trained_elsewhere")
    return describe_randomness(content)


MODEL_REPORT = KindReport(
    kind=MODEL,
    summarize=summarize,
    describe_briefly=model_in_short,
    describe_unlimited=describe_unlimited,
    describe_risks=summarize,
    describe_fitness=describe_fitness,
    list_limits=list_limits,
    count_rows=count_training_rows,
    first_chapters=(Chapter("model", "The model"),),
    describe_criteria=working_party_of_model,
)
