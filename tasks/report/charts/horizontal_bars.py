"""Horizontal bars, one row under the other: categories, candidate sets, subgroups, losses."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.report.charts.canvas import (
    AFTER,
    BEFORE,
    FONT_SIZE,
    INK,
    LINE,
    SOFT,
    WIDTH,
    Sheet,
    create_sheet,
    estimate_text_width,
    find_round_ticks,
    format_svg,
    shorten,
)

LEFT = 112.0
_ONE, _TWO, _HEAD = 22.0, 28.0, 24.0
_BOTTOM = 22.0
_MOST_TEXT = 90.0


@dataclass(frozen=True, slots=True)
class BarRow:
    """A row of one or two bars, or a heading. text: written after the bars. limit, guess: marks across the row."""

    label: str
    values: tuple[float, ...] = ()
    text: str = ""
    limit: float | None = None
    guess: float | None = None

    @property
    def height(self) -> float:
        return (_HEAD, _ONE, _TWO)[len(self.values)]


def draw_rows(
    rows: tuple[BarRow, ...],
    *,
    key: str,
    title: str,
    description: str,
    percent: bool,
    line: float | None = None,
    left: float = LEFT,
) -> str:
    """The rows as an SVG. percent: are the values shares? line: a level that all rows are compared with."""
    height = sum(row.height for row in rows) + _BOTTOM + 4
    right = max([20.0, *(estimate_text_width(shorten(row.text, _MOST_TEXT)) + 10 for row in rows)])
    with create_sheet(height, left=left, right=right, top=4, bottom=_BOTTOM) as drawn:
        most = _draw_axis(drawn, rows, line, percent=percent)
        tops = [sum(row.height for row in rows[:i]) for i in range(len(rows))]
        for top, row in zip(tops, rows, strict=True):
            _draw_row(drawn, row, top, most)
        drawn.axes.set_ylim(sum(row.height for row in rows), 0)
        _draw_labels(drawn, rows, tops, left)
        if line is not None:
            drawn.axes.axvline(line, color=INK, lw=1.2, ls=(0, (6, 4)), clip_on=False)
        return format_svg(drawn, key=key, title=title, description=description)


def choose_ticks(largest: float, room: float) -> list[float]:
    """0, a few round numbers, and one at or above the largest value, as many as there is room for."""
    count = 4 if room > 150 else 3 if room > 110 else 2
    return find_round_ticks(0, largest or 1, nbins=count, steps=[1, 2, 2.5, 5, 10], min_n_ticks=2)


def format_tick(value: float, *, percent: bool) -> str:
    return f"{100 * value:.10g}\u202f%" if percent else f"{value:,.10g}"


def _draw_axis(drawn: Sheet, rows: tuple[BarRow, ...], line: float | None, *, percent: bool) -> float:
    marks = [value for row in rows for value in (row.limit, row.guess, line) if value is not None]
    largest = max([*(value for row in rows for value in row.values), *marks], default=0.0)
    room = drawn.axes.get_position().width * WIDTH
    ticks = choose_ticks(largest, room)
    drawn.axes.set_xlim(0, ticks[-1])
    drawn.axes.set_xticks(ticks, [format_tick(tick, percent=percent) for tick in ticks])
    drawn.axes.grid(axis="x", color=LINE, lw=0.8, clip_on=False)
    drawn.axes.set_axisbelow(True)
    return ticks[-1]


def _draw_row(drawn: Sheet, row: BarRow, top: float, most: float) -> None:
    from matplotlib.lines import Line2D

    bar = 10.0 if len(row.values) == 1 else 9.0
    first = top + (row.height - bar * len(row.values)) / 2 + bar / 2
    colours = (BEFORE, AFTER)[-len(row.values) :] if row.values else ()
    for i, (value, colour) in enumerate(zip(row.values, colours, strict=True)):
        edge = SOFT if colour == BEFORE else AFTER
        text = f"{row.label}: {row.text}" if row.text else row.label
        drawn.add_bar(0, first + i * bar - (bar - 1) / 2, value, bar - 1, text, fc=colour, ec=edge, lw=0.7 if value else 0)
    middle = top + row.height / 2
    for mark, style in ((row.limit, "solid"), (row.guess, (0, (1, 1.5)))):
        if mark is not None:
            ends = (middle - 9, middle + 9)
            drawn.axes.add_artist(Line2D((mark, mark), ends, color=INK, lw=1.6, ls=style, solid_capstyle="butt", clip_on=False))
    if row.text:
        text_at = (most, middle + FONT_SIZE * 0.35)
        label = drawn.axes.annotate(
            shorten(row.text, _MOST_TEXT), text_at, (6, 0), textcoords="offset points", annotation_clip=False
        )
        label.set(color=INK, fontsize=FONT_SIZE, va="baseline")


def _draw_labels(drawn: Sheet, rows: tuple[BarRow, ...], tops: list[float], left: float) -> None:
    for top, row in zip(tops, rows, strict=True):
        heading = not row.values
        shown = shorten(row.label, WIDTH - 8 if heading else left - 8)
        text_at = (4 - left) if heading else -6.0
        label = drawn.axes.annotate(
            shown,
            (0, top + row.height / 2),
            (text_at, -FONT_SIZE * 0.35 - (3 if heading else 0)),
            textcoords="offset points",
            color=INK if heading else SOFT,
            fontsize=FONT_SIZE,
            fontweight="bold" if heading else "normal",
            ha="left" if heading else "right",
            va="baseline",
            annotation_clip=False,
        )
        label.set_gid(drawn.add_title(row.label))
    drawn.axes.set_yticks([])
