"""Releases whose rows belong to nobody: what that means, what was measured all the same, and what has no answer."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.attack.outcomes.outcome import AttackResult
from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import count, format_with_unit, share
from tasks.microdata.words import join_with_and
from tasks.report.content import Content, extra_knowledge
from tasks.report.views.missing_limits import NO_LINE, is_limited
from tasks.report.views.rows import FigureRow, figure_text, share_in_words, unit_of
from tasks.report.wording.meanings import meaning
from tasks.report.wording.sentences import attack_named
from tasks.score.measures.disclosure import REPLICATED_UNIQUES, UNIQUES_RELEASED
from tasks.score.measures.linkage import LINKED_VALUE_CONTROL, LINKED_VALUE_DISCLOSED
from tasks.score.policy import DECLARED

UNIQUES = (UNIQUES_RELEASED.name, REPLICATED_UNIQUES.name)
VALUE = LINKED_VALUE_DISCLOSED.name
NO_INTERVALS = "Whether a released value is near a person's own has no answer here: no row is a person's."


def nobody_in_words(content: Content) -> tuple[str, ...]:
    """The sentences at the head of the report: whose the rows are, what was not measured, and what was; else empty."""
    if not content.of_nobody:
        return ()
    tool = "" if content.tool is None else f" with {content.tool}"
    return (
        f"The {count(content.rows_out)} rows of this table belong to nobody: it is fully synthetic, made elsewhere{tool} from "
        f"a source of {count(content.rows_in)} records, as the release file declares. No row is the released form of a record.",
        "Not measured, because without a person's own row there is no answer: who is found again (re-identification, records "
        "exposed, links that can be asserted), how near released values are to a person's own, and what single cells lost. "
        "None of these is 0; they have no figure.",
        f"Measured: how often the rows nearest to a person tell that person's confidential values; how many {content.counts} "
        "are alone in the source with what may be known of them and have their combination in the table; what became of "
        "distributions and relations.",
    )


def describe_synthetic_results(content: Content) -> Iterator[str]:
    """What was found, in sentences: confidential values, by the declared intruder and the worst insider, and uniques."""
    if not content.of_nobody:
        return
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
        yield "No confidential attribute is published that an intruder could read off the rows: nothing is said of such values."
    for one in _uniques(content)[:1]:
        yield _uniques_in_words(content, one)


def not_limited_of_nobody(content: Content) -> Iterator[str]:
    """Sentences on figures beyond what chance or people alike explain that no policy line limits."""
    if not content.of_nobody:
        return
    worst = content.largest(content.figures(VALUE, declared=True), by=lambda one: _gain(content, one))
    if worst is not None and _gain(content, worst) > 0 and not is_limited(content, worst):
        yield f"{_value_in_words(content, worst)} {NO_LINE}"
    found = _uniques(content)
    if found and (found[0].value or 0.0) > (found[0].chance or 0.0) and not any(is_limited(content, one) for one in found):
        yield f"{_uniques_in_words(content, found[0])} {NO_LINE}"


def limits_of_nobody(content: Content) -> Iterator[str]:
    """What the report rests on that no program can find out."""
    if content.of_nobody:
        yield (
            "That the rows belong to nobody is what the release file declares. A table whose rows were made from records, one "
            "from one, has to be aligned by row or by key: taken for fully synthetic, its risk is understated."
        )
        yield (
            "Rows near to a person may tell a value because the synthesis has kept how people alike answer, and also because "
            "it has kept the person's own record. The control tells the two apart as far as people alike are in the source; "
            "people who were held back from the synthesis would tell it better, and there are none here."
        )


def settings_of_nobody(result: AttackResult) -> str:
    """How the figures of an attack are counted."""
    scale = {
        "release": "both files are scaled by the release's mean and standard deviation",
        "original": "both files are scaled by the original's mean and standard deviation",
        "own": "each file is scaled by its own mean and standard deviation",
    }[result.scale_by or "release"]
    way = "each released row looks for the records" if result.direction == "to_original" else "each record looks for the rows"
    return f"Direction: {way} nearest to it. Scale: {scale}. Credit: of g values that are most frequent each earns 1/g."


def unique_rows(content: Content) -> tuple[FigureRow, ...]:
    """The measures of uniques, over all quasi-identifiers and over those that the release file asks for."""
    if not content.of_nobody:
        return ()
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


def _uniques_in_words(content: Content, one: Estimate) -> str:
    once = next((other for other in _uniques(content) if other.measure == REPLICATED_UNIQUES.name), None)
    exactly = "" if once is None else f" ({share_in_words(once, content.edition)} in exactly one row)"
    said = share_in_words(one, content.edition)
    return (
        f"{said[:1].upper()}{said[1:]} of the {one.counts} are alone in the source with their quasi-identifiers and "
        f"have their combination in the table{exactly}; rows drawn column by column would show {share(one.chance or 0.0)}."
    )


def _value_in_words(content: Content, one: Estimate) -> str:
    extra = extra_knowledge(one.intruder or "")
    who = f"an insider who also knows {extra}" if extra else f"somebody who knows {join_with_and(content.intruder_knowledge)}"
    others = _control(content, one)
    alike = (
        "" if others is None else f", and the nearest records of other people in the source for {share(others.value or 0.0)}"
    )
    beyond = "" if _gain(content, one) > 0 else ": no more than the frequencies, or people who are alike, would tell"
    return (
        f"The rows nearest to a person tell {one.attribute} rightly to {who} for {share(one.value or 0.0)} of the {one.counts} "
        f"({attack_named(one.attack)}); the most frequent value would for {share(one.chance or 0.0)}{alike}{beyond}."
    )


def _control(content: Content, one: Estimate) -> Estimate | None:
    asked = (one.attack, one.intruder, one.attribute)
    controls = content.figures(LINKED_VALUE_CONTROL.name)
    return next((other for other in controls if (other.attack, other.intruder, other.attribute) == asked), None)


def _gain(content: Content, one: Estimate) -> float:
    others = _control(content, one)
    return (one.value or 0.0) - max(one.chance or 0.0, 0.0 if others is None else others.value or 0.0)
