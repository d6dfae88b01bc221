"""Releases whose rows belong to nobody: what that means, what was measured all the same, and what has no answer."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import format_with_unit
from tasks.report.content import Content, extra_knowledge
from tasks.report.views.missing_limits import NO_LINE, is_limited
from tasks.report.views.rows import FigureRow, figure_text, share_in_words
from tasks.report.wording.figure_formats import unit_of
from tasks.report.wording.meanings import meaning
from tasks.report.wording.sentence import Sentence, say
from tasks.score.measures.disclosure import REPLICATED_UNIQUES, UNIQUES_RELEASED
from tasks.score.measures.linkage import LINKED_VALUE_CONTROL, LINKED_VALUE_DISCLOSED
from tasks.score.policy import DECLARED

UNIQUES = (UNIQUES_RELEASED.name, REPLICATED_UNIQUES.name)
VALUE = LINKED_VALUE_DISCLOSED.name


def nobody_in_words(content: Content) -> tuple[Sentence, ...]:
    """The sentences at the head of the report: whose the rows are, what was not measured, and what was."""
    return (
        say("fully_synthetic.belong_to_nobody", rows=content.rows_out, tool=content.tool, records=content.rows_in),
        say("fully_synthetic.not_measured"),
        say("fully_synthetic.measured", counts=content.counts),
    )


def describe_synthetic_results(content: Content) -> Iterator[Sentence]:
    """What was found, in sentences: confidential values, by the declared intruder and the worst insider, and uniques."""
    told = list(content.figures(VALUE))
    for declared in (True, False):
        some = [one for one in told if (one.intruder == DECLARED) is declared]
        worst = content.largest(some, by=lambda one: _gain(content, one))
        limited = [line.attribute for line in content.policy if line.measure == VALUE] if declared else []
        for name in dict.fromkeys([worst.attribute if worst else None, *limited]):
            one = content.largest((one for one in some if one.attribute == name), by=lambda one: _gain(content, one))
            if one is not None:
                yield _value_in_words(content, one)
    if not told:
        yield say("fully_synthetic.no_value")
    for one in _uniques(content)[:1]:
        yield _uniques_in_words(content, one)


def not_limited_of_nobody(content: Content) -> Iterator[Sentence]:
    """Sentences on figures beyond what chance or people alike explain that no policy line limits."""
    worst = content.largest(content.figures(VALUE, declared=True), by=lambda one: _gain(content, one))
    if worst is not None and _gain(content, worst) > 0 and not is_limited(content, worst):
        yield _value_in_words(content, worst, NO_LINE)
    found = _uniques(content)
    if found and (found[0].value or 0.0) > (found[0].chance or 0.0) and not any(is_limited(content, one) for one in found):
        yield _uniques_in_words(content, found[0], NO_LINE)


def limits_of_nobody() -> tuple[Sentence, ...]:
    """What the report rests on that no program can find out."""
    return say("fully_synthetic.declared_so"), say("fully_synthetic.kept_by_synthesis")


def unique_rows(content: Content) -> tuple[FigureRow, ...]:
    """The measures of uniques, over all quasi-identifiers and over those that the release file asks for."""
    figures = [one for one in content.estimates if one.measure in UNIQUES]
    return tuple(
        FigureRow(
            title=meaning(one.measure, one.counts, unit=content.context.unit).title
            + ("" if one.attribute is None else f" ({_names(one)})"),
            sentence=meaning(one.measure, one.counts, unit=content.context.unit).sentence,
            value=figure_text(one),
            chance="" if one.chance is None else format_with_unit(one.chance, unit_of(one)),
        )
        for one in figures
    )


def _names(one: Estimate) -> str:
    return (one.attribute or "").replace(",", ", ")


def _uniques(content: Content) -> list[Estimate]:
    """Over all quasi-identifiers, the more cautious measure first."""
    return [one for name in UNIQUES for one in content.figures(name) if one.attribute is None]


def _uniques_in_words(content: Content, one: Estimate, no_line: str = "") -> Sentence:
    once = next((other for other in _uniques(content) if other.measure == REPLICATED_UNIQUES.name), None)
    return say("fully_synthetic.uniques", share_told=share_in_words(one, content.edition), counts=one.counts,
               once_told="" if once is None else share_in_words(once, content.edition), chance=one.chance or 0.0,
               no_line=no_line)  # fmt: skip


def _value_in_words(content: Content, one: Estimate, no_line: str = "") -> Sentence:
    return say("fully_synthetic.value", told=one, extra=extra_knowledge(one.intruder or ""), knows=content.intruder_knowledge,
               control=_control(content, one), gain=_gain(content, one), no_line=no_line)  # fmt: skip


def _control(content: Content, one: Estimate) -> Estimate | None:
    asked = (one.attack, one.intruder, one.attribute)
    controls = content.figures(LINKED_VALUE_CONTROL.name)
    return next((other for other in controls if (other.attack, other.intruder, other.attribute) == asked), None)


def _gain(content: Content, one: Estimate) -> float:
    others = _control(content, one)
    return (one.value or 0.0) - max(one.chance or 0.0, 0.0 if others is None else others.value or 0.0)
