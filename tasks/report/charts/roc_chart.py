"""The ROC curve of a membership attack: how many members it recognises at each false positive rate.

What it may tell: rates of an attack, which are public as they are. In the public edition they have 2 digits, and no point
stands for fewer people of either side than a bar holds records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.microdata.table import Booleans, Floats
from tasks.report.charts.canvas import AFTER, FONT_SIZE, INK, LINE, SOFT, create_sheet, format_svg
from tasks.report.charts.editions import DrawingRule
from tasks.report.charts.horizontal_bars import format_tick
from tasks.score.figure_rounding import FEW, round_significant
from tasks.score.membership.roc_curve import compute_roc_curve

RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
HEIGHT = 185.0
TICKS = (0.001, 0.01, 0.1, 1.0)


@dataclass(frozen=True, slots=True)
class RocPoint:
    """Where this share of the others is taken for members, this share of the members is too."""

    others: float
    members: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RocChart:
    """One attack's curve (receiver operating characteristic), the others' share ascending."""

    attack: str
    points: tuple[RocPoint, ...]


def create_roc_chart(attack: str, scores: Floats, member: Booleans, rule: DrawingRule) -> RocChart:
    """The curve at round shares of the others: of each the last point that does not exceed it.

    Example: three members above all others: 100 % from the first share that 10 others make up.
    """
    found = compute_roc_curve(scores, member)
    allowed = [rate for rate in RATES if round(rate * found.others[-1]) >= rule.least]
    positions = np.searchsorted(found.false_positive_rates, np.array(allowed) + 1e-12, side="right") - 1
    pairs = [(rate, float(found.true_positive_rates[position])) for rate, position in zip(allowed, positions, strict=True)]
    points = (RocPoint(rate, hit if rule.exact else round_significant(hit, FEW)) for rate, hit in pairs)
    return RocChart(attack=attack, points=tuple(points))


def drawable(points: tuple[RocPoint, ...]) -> tuple[RocPoint, ...]:
    """The points that a logarithmic axis has a place for, of which a line takes two; empty where there are fewer.

    Example: an attack that says yes or no notices nobody until it takes nearly everybody for a member: it has no line.
    """
    shown = tuple(point for point in points if point.members > 0)
    return shown if len(shown) > 1 else ()


def draw_roc_curve(points: tuple[RocPoint, ...], *, key: str, title: str, description: str) -> str:
    """The curve as an SVG, both shares on logarithmic axes; dotted: guessing. points: of which some are `drawable`."""
    from matplotlib.ticker import NullLocator

    points = drawable(points)
    lowest = min(one for point in points for one in (point.others, point.members))
    first = next(tick for tick in reversed(TICKS) if tick <= lowest or tick == TICKS[0])
    ticks = [tick for tick in TICKS if tick >= first]
    with create_sheet(HEIGHT, left=46, right=16, top=12, bottom=40) as drawn:
        axes = drawn.axes
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(first, 1)
        axes.set_ylim(first, 1)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_locator(NullLocator())
        axes.set_xticks(ticks, [format_tick(tick, percent=True) for tick in ticks])
        axes.set_yticks(ticks, [format_tick(tick, percent=True) for tick in ticks])
        axes.tick_params(axis="x", pad=9)
        axes.grid(axis="y", color=LINE, lw=0.8, clip_on=False)
        axes.set_axisbelow(True)
        axes.plot([first, 1], [first, 1], color=INK, lw=1.2, ls=(0, (1, 2)), clip_on=False)
        shown = [(point.others, max(point.members, first)) for point in points]
        axes.plot(*zip(*shown, strict=True), color=AFTER, lw=2, clip_on=False)
        for (others, members), point in zip(shown, points, strict=True):
            (dot,) = axes.plot([others, others], [members, members * (1 + 1e-9)], color=AFTER, lw=6, solid_capstyle="round")
            texts = [format_tick(round(one, 4), percent=True) for one in (point.others, point.members)]
            dot.set_gid(drawn.add_title(": ".join(texts)))
        below = "others who are taken for members"
        axes.annotate(
            below, (0, 0), (0, -34), xycoords="axes fraction", textcoords="offset points", color=SOFT, fontsize=FONT_SIZE
        )
        return format_svg(drawn, key=key, title=title, description=description)
