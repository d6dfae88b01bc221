"""Who is in the file, at a glance: a row for each attack, with the figures that decide and those of the left end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import count, format_limit, format_share, format_with_unit
from tasks.microdata.words import join_with_and
from tasks.report.content import Content
from tasks.report.views.membership import (
    ADVANTAGE,
    AUC,
    anchor,
    describe_most_exposed,
    fewest_others,
    name_membership,
    silence,
    title_of,
)
from tasks.report.views.rows import bounds_text
from tasks.report.wording.figure_formats import unit_of
from tasks.report.wording.meanings import meaning
from tasks.report.wording.sentence import say
from tasks.score.measures.membership import FALSE_POSITIVE_RATES, MEMBERSHIP_TRUE_POSITIVE_RATE
from tasks.score.membership.membership_estimates import others_needed

LEFT_END = MEMBERSHIP_TRUE_POSITIVE_RATE.name
NOT_ESTIMABLE = "not estimable"
WORST, DECIDES = "worst found", "decides"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A figure, its bounds, and whether it is the worst of its column or decided a line of the policy."""

    value: str
    bounds: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackRow:
    """One attack. anchor: of what is said of it below. silent: why it has no figures."""

    title: str
    id: str
    imitations: str
    anchor: str
    cells: tuple[Cell, ...]
    silent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The table, what guessing would score in each of its columns, and what there is to say about it: terms and texts."""

    heads: tuple[str, ...]
    rows: tuple[AttackRow, ...]
    chance: tuple[str, ...]
    notes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Column:
    """One measure of all attacks that have a value of it. rates: for the left end, of the others who are mistaken."""

    head: str
    measure: str
    figures: tuple[Estimate, ...]
    rates: tuple[float, ...] = ()

    @property
    def chance(self) -> str:
        if self.rates:
            return join_with_and([format_limit(rate, "share") for rate in self.rates])
        return next((format_share(one.chance) for one in self.figures if one.chance is not None), "\u2013")


def membership_summary(content: Content) -> Summary | None:
    """All attacks that ask who is in the file, in the order of the plan; None where there are none."""
    if not content.membership:
        return None
    columns = (
        _Column("Told from others (AUC)", AUC, tuple(content.figures(AUC))),
        _Column("Advantage", ADVANTAGE, tuple(content.figures(ADVANTAGE))),
        *_left_end(content),
    )
    rows = tuple(
        AttackRow(
            title=title_of(result),
            id=result.attack,
            imitations=f"{count(result.shadows)} shadow models" if result.shadows else "",
            anchor=anchor(place),
            cells=tuple(_cell(content, column, result.attack) for column in columns),
            silent=silence(content, result),
        )
        for place, result in enumerate(content.membership)
    )
    chance = tuple(column.chance for column in columns)
    return Summary(heads=tuple(one.head for one in columns), rows=rows, chance=chance, notes=tuple(_notes(content, columns)))


def _left_end(content: Content) -> Iterator[_Column]:
    """A column for each rate that some attack has a figure at, and one for all that none has."""
    asked = [one for one in content.estimates if one.measure == LEFT_END]
    rates = [rate for rate in reversed(FALSE_POSITIVE_RATES) if any(_rate(one) == rate for one in asked)]
    found = {rate: tuple(one for one in content.figures(LEFT_END) if _rate(one) == rate) for rate in rates}
    silent = tuple(rate for rate in rates if not found[rate])
    for one in (*((rate,) for rate in rates if found[rate]), *([silent] if silent else [])):
        head = f"Noticed at {join_with_and([format_limit(rate, 'share') for rate in one])} false alarms"
        yield _Column(head, LEFT_END, found[one[0]], one)


def _rate(one: Estimate) -> float | None:
    return dict(one.parameters).get("false_positive_rate")


def _cell(content: Content, column: _Column, attack: str) -> Cell:
    one = next((figure for figure in column.figures if figure.attack == attack), None)
    if one is None or one.value is None:
        return Cell(value=NOT_ESTIMABLE)
    return Cell(value=format_with_unit(one.value, unit_of(one)), bounds=bounds_text(one), mark=_mark(content, column, one))


def _mark(content: Content, column: _Column, one: Estimate) -> str:
    worst = len(column.figures) > 1 and one is content.largest(column.figures)
    return ", ".join(word for word, said in ((WORST, worst), (DECIDES, one.id in _deciding(content))) if said)


def _deciding(content: Content) -> set[str | None]:
    return {criterion.estimate for criterion in content.verdict.criteria}


def _notes(content: Content, columns: tuple[_Column, ...]) -> Iterator[tuple[str, str]]:
    yield from ((column.head, _meaning(content, column.measure)) for column in columns if not column.rates)
    if any(column.rates and column.figures for column in columns):
        yield "Noticed at so many false alarms", _meaning(content, LEFT_END)
    silent = next((column.rates for column in columns if column.rates and not column.figures), ())
    if silent:
        needed = [say("membership.needed", others=others_needed(rate), rate=rate) for rate in silent]
        yield (
            "Not estimable",
            say("membership.not_estimable", of_model=content.model is not None, needed=needed,
                asked_about=fewest_others(content)),
        )  # fmt: skip
    if any(one.id in _deciding(content) for column in columns for one in column.figures):
        yield "Decides", say("membership.decides")
    yield from (("Most exposed", text) for text in (describe_most_exposed(content),) if text)


def _meaning(content: Content, measure: str) -> str:
    return meaning(measure, content.counts, name_membership(content)).sentence
