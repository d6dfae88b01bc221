"""The chart of a comparison pattern: what each attribute adds to the evidence that a pair of records is one person.

What it may tell: levels of likeness and weights of a pattern, no value of anybody. In the public edition ten records or more
show the pattern, and weights have one decimal (`attack.probabilistic.linkage_summary`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.report.charts.canvas import (
    AFTER,
    BEFORE,
    FONT_SIZE,
    INK,
    LINE,
    SOFT,
    Sheet,
    create_sheet,
    estimate_text_width,
    find_round_ticks,
    format_svg,
    shorten,
)

_ROW, _BAR, _BOTTOM, _LEFT = 22.0, 10.0, 40.0, 128.0


@dataclass(frozen=True, slots=True)
class Fall:
    """One bar from `begin` to `end`, in bits. total: the whole so far, and not a part of it."""

    label: str
    begin: float
    end: float
    text: str
    total: bool = False


def draw_waterfall(falls: tuple[Fall, ...], *, key: str, title: str, description: str, below: str) -> str:
    """The bars as an SVG, one under the other, each beginning where the last one ended; the line is at even odds."""
    right = max(estimate_text_width(fall.text) for fall in falls) + 12
    height = _ROW * len(falls) + _BOTTOM + 4
    with create_sheet(height, left=_LEFT, right=right, top=4, bottom=_BOTTOM) as drawn:
        axes = drawn.axes
        ends = [0.0, *(end for fall in falls for end in (fall.begin, fall.end))]
        ticks = find_round_ticks(min(ends), max(ends), nbins=4, integer=True, steps=[1, 2, 5, 10])
        axes.set_xlim(ticks[0], ticks[-1])
        axes.set_xticks(ticks, [f"{tick:g}".replace("-", "\u2212") for tick in ticks])
        axes.grid(axis="x", color=LINE, lw=0.8, clip_on=False)
        axes.set_axisbelow(True)
        axes.set_ylim(_ROW * len(falls), 0)
        axes.set_yticks([])
        for position, fall in enumerate(falls):
            _draw_fall(drawn, fall, _ROW * (position + 0.5), ticks[-1])
        axes.axvline(0, color=INK, lw=1.2, clip_on=False)
        axes.annotate(
            below, (0, 0), (0, -34), xycoords="axes fraction", textcoords="offset points", color=SOFT, fontsize=FONT_SIZE
        )
        return format_svg(drawn, key=key, title=title, description=description)


def _draw_fall(drawn: Sheet, fall: Fall, middle: float, most: float) -> None:
    colour, edge = (AFTER, AFTER) if fall.total or fall.end > fall.begin else (BEFORE, SOFT)
    left, wide = min(fall.begin, fall.end), abs(fall.end - fall.begin)
    drawn.add_bar(left, middle - _BAR / 2, wide, _BAR, f"{fall.label}: {fall.text}", fc=colour, ec=edge, lw=0.7)
    down = middle + FONT_SIZE * 0.35
    name = drawn.axes.annotate(
        shorten(fall.label, _LEFT - 8), (0, down), (-6, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
        color=INK if fall.total else SOFT, fontsize=FONT_SIZE, fontweight="bold" if fall.total else "normal", ha="right",
        va="baseline", annotation_clip=False,
    )  # fmt: skip
    name.set_gid(drawn.add_title(fall.label))
    drawn.axes.annotate(
        fall.text, (most, down), (6, 0), textcoords="offset points", color=INK, fontsize=FONT_SIZE, va="baseline",
        annotation_clip=False,
    )  # fmt: skip
