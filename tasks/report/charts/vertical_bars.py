"""Vertical bars side by side: a histogram, or the levels of an ordinal scale."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.report.charts.canvas import (
    AFTER,
    BEFORE,
    LINE,
    SOFT,
    WIDTH,
    Sheet,
    create_sheet,
    estimate_text_width,
    format_svg,
    to_printable,
)
from tasks.report.charts.horizontal_bars import choose_ticks, format_tick

HEIGHT = 150.0
_LEFT, _RIGHT = 42.0, 10.0
_GAP = 8.0
_BESIDE_ZERO = 3.0  # a mark may reach so far to the left: beyond it stands the 0 of the other axis


@dataclass(frozen=True, slots=True)
class BarPair:
    """A bar before and after. label: in full. mark: what stands under it, or at its left end where `between` is asked for."""

    label: str
    original: float
    released: float
    mark: str


def draw_columns(columns: tuple[BarPair, ...], *, between: bool, key: str, title: str, description: str) -> str:
    """The columns as an SVG; marks that would touch are left out."""
    with create_sheet(HEIGHT, left=_LEFT, right=_RIGHT, top=10, bottom=24) as drawn:
        axes, n = drawn.axes, len(columns)
        ticks = choose_ticks(max(max(one.original, one.released) for one in columns), 130)
        axes.set_ylim(0, ticks[-1])
        axes.set_xlim(-0.5, n - 0.5)
        axes.set_yticks(ticks, [format_tick(tick, percent=True) for tick in ticks])
        axes.grid(axis="y", color=LINE, lw=0.8, clip_on=False)
        axes.set_axisbelow(True)
        _draw_bars(drawn, columns)
        shown = _place_marks([to_printable(one.mark) for one in columns], between)
        axes.set_xticks([position for position, _ in shown], [text for _, text in shown])
        return format_svg(drawn, key=key, title=title, description=description)


def _draw_bars(drawn: Sheet, columns: tuple[BarPair, ...]) -> None:
    texts = [
        f"{one.label}: {format_tick(round(one.original, 4), percent=True)} before, "
        f"{format_tick(round(one.released, 4), percent=True)} after"
        for one in columns
    ]
    for position, (one, text) in enumerate(zip(columns, texts, strict=True)):
        drawn.add_bar(position - 0.46, 0, 0.92, one.original, text, fc=BEFORE, ec=SOFT, lw=0.7)
    for position, (one, text) in enumerate(zip(columns, texts, strict=True)):
        drawn.add_bar(position - 0.23, 0, 0.46, one.released, text, fc=AFTER, ec=AFTER, lw=0)


def _place_marks(marks: list[str], between: bool) -> list[tuple[float, str]]:
    """From the left on, each mark that has room beside the last."""
    step = (WIDTH - _LEFT - _RIGHT) / len(marks)
    shown: list[tuple[float, str]] = []
    end = -_BESIDE_ZERO
    for i, text in enumerate(marks):
        position = i - 0.5 if between else float(i)
        centre = (position + 0.5) * step
        half = estimate_text_width(text) / 2
        if text and centre - half >= end + (_GAP if shown else 0) and centre + half <= WIDTH - _LEFT:
            shown.append((position, text))
            end = centre + half
    return shown
