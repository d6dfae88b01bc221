"""Sentences on what no report can say, and on what every report rests."""

from __future__ import annotations

from tasks.report.content import Content
from tasks.report.views.rows import PUBLIC_CLASSES_NOTE
from tasks.report.wording.sentence import Sentence, say


def describe_scope(released: str) -> tuple[Sentence, Sentence]:
    """How far the figures reach. released: `this table`."""
    return say("residual.not_in_law_but", about=released), say("residual.worst_of_these")


def describe_rows(content: Content, every_row: str) -> Sentence:
    """What the figures count. every_row: the id of the sentence where no column joins the rows of a person."""
    if content.persons is None:
        return say(every_row)
    return say("residual.persons", rows=content.rows_in, persons=content.persons, counted=content.counts == "persons")


def describe_randomness(content: Content) -> Sentence:
    """Where the random choices come from."""
    if content.masked_elsewhere:
        return say("residual.masked_elsewhere", of_nobody=not content.kind.has_owners, tool=content.tool)
    return say("residual.secret_seed", of_model=not content.kind.is_table)


def describe_editions(content: Content) -> Sentence:
    """How exact the figures of this edition are."""
    if content.edition == "internal":
        return say("residual.full_precision")
    return say("residual.rounded", classes=PUBLIC_CLASSES_NOTE)
