"""Lines through points: the rate by what the intruder knows; precision against coverage."""

from __future__ import annotations

from tasks.report.charts.canvas import AFTER, FONT_SIZE, INK, LINE, SOFT, create_sheet, find_round_ticks, format_svg
from tasks.report.charts.horizontal_bars import choose_ticks, format_tick

HEIGHT = 165.0


def draw_line(
    points: tuple[tuple[int, float], ...],
    *,
    most: float,
    chance: float | None,
    key: str,
    title: str,
    description: str,
    below: str,
) -> str:
    """The points as an SVG. most: the top of the scale, common to charts that are compared. below: what the points count."""
    with create_sheet(HEIGHT, left=46, right=16, top=12, bottom=40) as drawn:
        axes = drawn.axes
        ticks = choose_ticks(most, 120)
        last = max(known for known, _ in points)
        axes.set_ylim(0, ticks[-1])
        axes.set_xlim(0.7, max(last, 2) + 0.15)
        axes.set_yticks(ticks, [format_tick(tick, percent=True) for tick in ticks])
        wanted = find_round_ticks(1, last, nbins=8, integer=True, steps=[1, 2, 5, 10])
        marks = sorted({1, last, *(int(one) for one in wanted if 1 < one < last - 0.04 * last)})
        axes.set_xticks(marks, [str(mark) for mark in marks])
        axes.grid(axis="y", color=LINE, lw=0.8, clip_on=False)
        axes.set_axisbelow(True)
        axes.plot(*zip(*points, strict=True), color=AFTER, lw=2, clip_on=False)
        for known, rate in points:  # a marker would be a link inside the picture: a short thick stroke with round ends is none
            (dot,) = axes.plot([known, known], [rate, rate + 1e-9], color=AFTER, lw=8, solid_capstyle="round", clip_on=False)
            dot.set_gid(drawn.add_title(f"{known}: {format_tick(round(rate, 4), percent=True)}"))
        if chance is not None:
            axes.axhline(chance, color=INK, lw=1.2, ls=(0, (1, 2)), clip_on=False)
        axes.annotate(
            below, (0, 0), (0, -34), xycoords="axes fraction", textcoords="offset points", color=SOFT, fontsize=FONT_SIZE
        )
        return format_svg(drawn, key=key, title=title, description=description)


def draw_shares(
    points: tuple[tuple[float, float], ...], *, aim: float | None, key: str, title: str, description: str, below: str
) -> str:
    """Shares of shares as an SVG, both from 0 to 100 %. aim: the dotted line, None for the diagonal.

    below: what the points are shares of.
    """
    with create_sheet(HEIGHT, left=46, right=16, top=12, bottom=40) as drawn:
        axes = drawn.axes
        ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
        texts = [format_tick(tick, percent=True) for tick in ticks]
        axes.set_ylim(0, 1)
        axes.set_xlim(0, 1)
        axes.set_yticks(ticks, texts)
        axes.set_xticks(ticks, texts)
        axes.tick_params(axis="x", pad=9)
        axes.grid(axis="y", color=LINE, lw=0.8, clip_on=False)
        axes.set_axisbelow(True)
        ends = (0, 1) if aim is None else (aim, aim)
        axes.plot([0, 1], ends, color=INK, lw=1.2, ls=(0, (1, 2)), clip_on=False)
        axes.plot(*zip(*points, strict=True), color=AFTER, lw=2, clip_on=False)
        for share, right in points:
            (dot,) = axes.plot([share, share], [right, right + 1e-9], color=AFTER, lw=6, solid_capstyle="round", clip_on=False)
            texts_of = [format_tick(round(one, 4), percent=True) for one in (share, right)]
            dot.set_gid(drawn.add_title(": ".join(texts_of)))
        axes.annotate(
            below, (0, 0), (0, -34), xycoords="axes fraction", textcoords="offset points", color=SOFT, fontsize=FONT_SIZE
        )
        return format_svg(drawn, key=key, title=title, description=description)
