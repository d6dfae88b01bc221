"""What the page says of an attack by a learned distance: what it found beside the plain one, what is proven, what betrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.attack.learned.learning_summary import LearnedFacts
from tasks.microdata.numbers import SPACE, format_share
from tasks.report.views.rows import Bar, FigureRow
from tasks.report.wording.intruders import WORST_CASE
from tasks.report.wording.sentence import Sentence, say

ALL_BUT_NONE = 5e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedView:
    """How to read it; what was learned from whom; the learned rates and the plain ones; what is proven; the weights."""

    reading: str
    intro: str
    rates: tuple[FigureRow, ...]
    proof: str
    weights: tuple[FigureRow, ...]
    without_weights: str


def create_learned_view(facts: LearnedFacts) -> LearnedView:
    """The block of one attack by a learned distance, by the declared intruder."""
    return LearnedView(
        reading=say("learned.reading", worst_case=WORST_CASE, half=facts.held_out),
        intro=say("learned.intro", family=facts.family, metric=facts.metric, records=facts.records),
        rates=tuple(_rates(facts)),
        proof=_proof(facts),
        weights=tuple(_weights(facts)),
        without_weights="" if facts.betraying else say("learned.places"),
    )


def _rates(facts: LearnedFacts) -> Iterator[FigureRow]:
    yield _row("Learned from all true links", "learned.from_all", facts.rate)
    yield _row("Plain distance", "learned.plain", facts.euclidean)
    halves = facts.held_out
    if halves is not None:
        yield _row("Learned from half, on that half", "learned.from_half", halves.learned_half)
        yield _row("Learned from half, on the other half", "learned.other_half", halves.other_half)
        yield _row("Plain distance, on the other half", "learned.plain_half", halves.euclidean)
    if facts.bound is not None:
        yield _row("Proven for this family", "learned.bound", facts.bound)


def _row(title: str, sentence: str, rate: float) -> FigureRow:
    return FigureRow(title=title, sentence=say(sentence), value=format_share(rate), chance="", bar=Bar(100 * rate))


def _proof(facts: LearnedFacts) -> Sentence:
    if facts.bound is None or facts.gap is None:
        return say("learned.nothing_proven")
    return say("learned.proven", bound=facts.bound, sure=facts.sure, stopped=facts.stopped,
               closed=facts.gap < ALL_BUT_NONE / facts.records)  # fmt: skip


def _weights(facts: LearnedFacts) -> Iterator[FigureRow]:
    for name, weight in sorted(facts.betraying, key=lambda one: -one[1]):
        shown = abs(weight)
        value = f"under 0.1{SPACE}%" if shown < 1e-3 else f"{'-' if weight < 0 else ''}{format_share(shown)}"
        yield FigureRow(title=name, sentence="", value=value, chance="", bar=Bar(100 * shown))
