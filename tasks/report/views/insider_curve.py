"""The worst insider by how many columns they know: shown where insiders may know more than one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tasks.attack.insiders import SETS_PER_COLUMN, largest_complete_size, list_columns
from tasks.attack.threat import INSIDER_ROLES
from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import count, format_share
from tasks.microdata.words import join_with_and
from tasks.report.charts.lines import draw_line
from tasks.report.content import Content, is_insider
from tasks.report.views.figures import RATE, Figure, safe
from tasks.report.views.rows import TextRow, bounds_text, figure_text
from tasks.report.wording.meanings import meaning
from tasks.report.wording.names import attack_named
from tasks.report.wording.sentence import Sentence, say


@dataclass(frozen=True, slots=True)
class Rung:
    """The worst figure of all who know so many columns besides the quasi-identifiers; 0: the declared intruder's."""

    columns: tuple[str, ...]
    figure: Estimate
    tried: int


def insider_rungs(content: Content) -> tuple[Rung, ...]:
    """The worst re-identification rate for 0, 1, 2, ... known columns; none unless insiders may know more than one.

    In the public edition the figures are those of that edition. tried: how many sets of so many columns gave a figure.
    """
    if content.intruder.insiders is None:
        return ()
    declared = content.worst(RATE, declared=True)
    rungs = [] if declared is None else [Rung((), declared, 1)]
    by_size: dict[int, list[Estimate]] = {}
    for one in content.figures(RATE, declared=False):
        columns = _columns_of(content, one)
        if columns:
            by_size.setdefault(len(columns), []).append(one)
    for _, figures in sorted(by_size.items()):
        worst = content.largest(figures)
        if worst is not None:
            rungs.append(Rung(_columns_of(content, worst), worst, len({one.intruder for one in figures})))
    return tuple(rungs)


def insider_figures(content: Content) -> tuple[Figure, ...]:
    """The chart of the worst insider's rate by the number of columns known, where at least two numbers were tried."""
    rungs = insider_rungs(content)
    points = tuple((len(one.columns), one.figure.value or 0.0) for one in rungs if one.columns)
    if len(points) < 2:
        return ()
    title = say("insider_curve.title", rate=meaning(RATE, content.counts).title)
    text = say("figures.rates_by_known", rates={known: format_share(rate) for known, rate in points})
    chance = rungs[-1].figure.chance
    key, most = "chart-insiders", max(rate for _, rate in points)
    drawn = draw_line(points, most=max(most, chance or 0.0), chance=chance, key=key, title=title, description=text,
                      below="how many other published columns are known")  # fmt: skip
    rows = tuple(TextRow(head=count(len(one.columns)), cells=_cells(content, one)) for one in rungs)
    return (Figure(key=key, caption=say("insider_curve.caption"), svg=safe(drawn), first="Columns known",
                   heads=("Linked to the right person", "Bounds", "Columns", "Attack", "Sets tried"), rows=rows,
                   note=say("insider_curve.note", chance=chance, sets=sets_in_words(content))),)  # fmt: skip


def curve_in_words(content: Content) -> str:
    """The rates of the curve as one sentence, and how the sets were chosen; empty where there is no curve."""
    told = [f"{figure_text(one.figure)} knowing {join_with_and(one.columns)}" for one in insider_rungs(content) if one.columns]
    if not told:
        return ""
    return say("insider_curve.curve", found=told, sets=sets_in_words(content))


def sets_in_words(content: Content) -> Sentence:
    """Of how many columns all sets were tried, and that larger ones were chosen greedily."""
    know, n = content.intruder.insiders_know, len(_list_extra_columns(content))
    complete = largest_complete_size(know, n)
    return say("insider_curve.sets", know=know, columns=n, complete=complete, per_column=SETS_PER_COLUMN)


def complete_size(content: Content) -> int | None:
    """Of how many columns all sets were tried; None where insiders know one, and every column is tried."""
    if content.intruder.insiders is None:
        return None
    return largest_complete_size(content.intruder.insiders_know, len(_list_extra_columns(content)))


def columns_as_published(content: Content, insider: str) -> Sentence:
    """The columns that an insider knows, and which of them are masked: `vote and party, which are published unchanged`."""
    names = list_columns(insider, content.schema.names)
    masked = [name for name in names if name in content.masking_targets]
    return say("insider_curve.as_published", names=names, masked=masked)


def curve_as_json(content: Content) -> list[dict[str, Any]] | None:
    """The curve for who lists runs and reads scorecards; None where there is none."""
    complete = complete_size(content)
    told = [
        {
            "columns_known": len(one.columns),
            "columns": list(one.columns),
            "attack": one.figure.attack,
            "intruder": one.figure.intruder,
            "reidentification": one.figure.value,
            "low": one.figure.low,
            "high": one.figure.high,
            "sets": "all" if complete is None or len(one.columns) <= complete else "greedy",
        }
        for one in insider_rungs(content)
    ]
    return told or None


def _cells(content: Content, rung: Rung) -> tuple[str, ...]:
    one = rung.figure
    names = join_with_and(rung.columns) or "none: the declared intruder"
    return (format_share(one.value or 0.0), bounds_text(one) or "\u2013", names, attack_named(one.attack), count(rung.tried))


def _list_extra_columns(content: Content) -> tuple[str, ...]:
    return content.schema.find_by_role(*INSIDER_ROLES)


def _columns_of(content: Content, one: Estimate) -> tuple[str, ...]:
    """The columns that an insider knows besides the quasi-identifiers; none for one who knows all quasi-identifiers alone."""
    names = list_columns(one.intruder or "", content.schema.names) if is_insider(one) else ()
    return names if set(names) <= set(_list_extra_columns(content)) else ()
