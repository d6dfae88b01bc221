"""Result-driven privacy: how many of the rules follow from the release, and each rule's figures by its number."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import count
from tasks.report.content import Content
from tasks.report.views.rows import TextRow, figure_text
from tasks.report.wording.sentence import Sentence, say
from tasks.score.measure import Measure
from tasks.score.measures.disclosure import (
    RESULTS_HIDDEN,
    RULE_CONFIDENCE,
    RULE_CONFIDENCE_ORIGINAL,
    RULE_SUPPORT,
    RULE_SUPPORT_ORIGINAL,
)

RULES_AT_MOST = "rules_at_most"  # the parameter of figures of rules that were found
RELEASED = (("Support in the release", RULE_SUPPORT), ("Confidence in the release", RULE_CONFIDENCE))
ORIGINAL = (("Support in the original", RULE_SUPPORT_ORIGINAL), ("Confidence in the original", RULE_CONFIDENCE_ORIGINAL))


def describe_hidden_results(content: Content) -> tuple[Sentence, ...]:
    """What was declared or found, and how much of it follows; empty where no rule was asked for."""
    return tuple(_describe(content))


def _describe(content: Content) -> Iterator[Sentence]:
    for one in (figure for figure in content.estimates if figure.measure == RESULTS_HIDDEN.name):
        given = dict(one.parameters)
        at_most = given.get(RULES_AT_MOST)
        rules = int(given["rules"] if at_most is None else at_most)
        asks = "hidden_results.asks" if at_most is None else "hidden_results.asks_found"
        yield say(asks, rules=rules, support=given["support"], confidence=given["confidence"])
        if at_most is not None and content.edition != "public":
            yield say("hidden_results.found", found=len(list_rule_rows(content)), at_most=rules)
        if one.value is None:
            yield say("hidden_results.unknown", reason=one.reason)
        elif at_most is None:
            yield say("hidden_results.concluded", concluded=round(one.value * rules), rules=rules)
        else:
            yield say("hidden_results.concluded_of_found", concluded=round(one.value * rules))
        if content.edition == "public":
            yield say("hidden_results.unnamed")


def list_rule_heads(content: Content) -> tuple[str, ...]:
    """The columns of the edition. The public one has none: who has the released rows could tell by them which rule it is."""
    return tuple(head for head, _ in _choose_columns(content))


def list_rule_rows(content: Content) -> tuple[TextRow, ...]:
    """One row for each rule: by its place in the release file, or the strongest found first, with the rule itself."""
    measures = {measure.name for _, measure in _choose_columns(content)}
    found = {(one.measure, _read_number(one)): one for one in content.estimates if one.measure in measures}
    originals = {number: one for (name, number), one in found.items() if name == RULE_SUPPORT_ORIGINAL.name}
    return tuple(
        TextRow(
            head=_describe_rule(number, originals.get(number)),
            cells=tuple(figure_text(found.get((measure.name, number))) for _, measure in _choose_columns(content)),
        )
        for number in sorted({number for _, number in found})
        if number not in originals or originals[number].value is not None  # else so many were not found
    )


def _describe_rule(number: int, original: Estimate | None) -> str:
    words = None if original is None else original.reason
    return count(number) if words is None else f"{count(number)}: {words}"


def _choose_columns(content: Content) -> tuple[tuple[str, Measure], ...]:
    return () if content.edition == "public" else (*RELEASED, *ORIGINAL)


def _read_number(one: Estimate) -> int:
    return int(dict(one.parameters)["rule"])
