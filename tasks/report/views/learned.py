"""What the page says of an attack by a learned distance: what it found beside the plain one, what is proven, what betrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.attack.learned.learning_summary import LearnedFacts
from tasks.microdata.numbers import SPACE, count, share
from tasks.report.views.rows import Bar, FigureRow
from tasks.report.wording.intruders import WORST_CASE

FAMILIES = {
    "weighted_mean": "weighted means of the squared differences of the attributes",
    "owa": "ordered weighted averages of the squared differences, which weigh the smallest, the next, and so on",
    "choquet": "Choquet integrals of the squared differences, which weigh every set of attributes",
    "choquet_2_additive": "Choquet integrals of the squared differences, which weigh attributes and pairs of them",
    "bilinear": "symmetric bilinear forms of the differences, which weigh attributes and products of two",
}
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
    metric = ", as far as they are metrics" if facts.metric else ""
    intro = (
        f"Of all {FAMILIES[facts.family]}{metric}, the one that links most was looked for, with the true links of "
        f"{count(facts.records)} released records in hand: the most that was found for anybody who weighs the attributes well."
    )
    places = "" if facts.betraying else "This family weighs places in an order, so that no attribute can be named."
    return LearnedView(
        reading=_reading(facts),
        intro=intro,
        rates=tuple(_rates(facts)),
        proof=_proof(facts),
        weights=tuple(_weights(facts)),
        without_weights=places,
    )


def _reading(facts: LearnedFacts) -> str:
    """The one sentence without which the figures are taken for an intruder's."""
    half = facts.held_out
    part = "" if half is None else (
        f"; an intruder who has half of them links {share(half.other_half)} of the others (the plain distance "
        f"{share(half.euclidean)})"
    )  # fmt: skip
    return f"Read this as {WORST_CASE}: only the data's owner has all true links, from which the distance was learned{part}."


def _rates(facts: LearnedFacts) -> Iterator[FigureRow]:
    yield _row("Learned from all true links", "Of the released records, linked to the right person; ties shared.", facts.rate)
    yield _row("Plain distance", "The same records, every attribute weighing the same.", facts.euclidean)
    halves = facts.held_out
    if halves is not None:
        learned = "The distance was learned from a random half of the true links."
        yield _row("Learned from half, on that half", learned, halves.learned_half)
        partly = "What an intruder reaches who has half of the true links."
        yield _row("Learned from half, on the other half", partly, halves.other_half)
        yield _row("Plain distance, on the other half", "What the row above has to be compared with.", halves.euclidean)
    if facts.bound is not None:
        said = "No distance of this family links more without a tie; equal rows share."
        yield _row("Proven for this family", said, facts.bound)


def _row(title: str, sentence: str, rate: float) -> FigureRow:
    return FigureRow(title=title, sentence=sentence, value=share(rate), chance="", bar=Bar(100 * rate))


def _proof(facts: LearnedFacts) -> str:
    if facts.bound is None or facts.gap is None:
        return "Nothing was proven: a distance of this family that links more may have been overlooked."
    most = f"no distance of this family links more than {share(facts.bound)} of these records without a tie"
    if facts.gap < ALL_BUT_NONE / facts.records:
        return f"Proven: {most}; so many were linked. Other families, and other attacks, may link more."
    ended = (
        "The time allowed ended the proof, so that another machine may prove another bound"
        if facts.stopped
        else ("The proof came no further")
    )
    return f"Proven: {most}; {share(facts.sure)} were linked so. {ended}."


def _weights(facts: LearnedFacts) -> Iterator[FigureRow]:
    for name, weight in sorted(facts.betraying, key=lambda one: -one[1]):
        shown = abs(weight)
        value = f"under 0.1{SPACE}%" if shown < 1e-3 else f"{'-' if weight < 0 else ''}{share(shown)}"
        yield FigureRow(title=name, sentence="", value=value, chance="", bar=Bar(100 * shown))
