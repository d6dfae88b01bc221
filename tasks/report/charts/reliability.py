"""The chart of claims and hits: where an intruder says that a guess is right with 70 %, how often is it?

What it may tell: rates of an attack, which are public as they are. In the public edition they have 2 digits, and no point
stands for fewer targets than a bar holds records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.microdata.table import Microdata
from tasks.report.charts.canvas import AFTER, INK, LINE, SOFT, TEXT, sheet, svg
from tasks.report.charts.editions import Rule
from tasks.report.charts.lines import HEIGHT
from tasks.report.charts.rows import tick_text
from tasks.score.rounding import FEW, rounded

PARTS = 10


@dataclass(frozen=True, slots=True)
class Claim:
    """Guesses that claim about so much are right so often."""

    claimed: float
    right: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """One attack's curve by the declared intruder, claims ascending; no points where it has no probabilities."""

    attack: str
    points: tuple[Claim, ...]


def reliability(attack: str, outcomes: Microdata, rule: Rule) -> Reliability:
    """The targets by tenths of what the guess claims: of each tenth with enough targets the mean claim and the mean credit.

    Example: claims of 0.5 for guesses of which 4 in 5 are right: one point (0.5, 0.8).
    """
    if "claimed" not in outcomes.names:
        return Reliability(attack=attack, points=())
    claimed, credit = outcomes.floats("claimed"), outcomes.floats("credit")
    part = np.minimum((claimed * PARTS).astype(np.int64), PARTS - 1)
    chosen = [part == one for one in range(PARTS) if (part == one).sum() >= rule.least]
    pairs = [(float(claimed[some].mean()), float(credit[some].mean())) for some in chosen]
    points = (Claim(*(one if rule.exact else rounded(one, FEW) for one in pair)) for pair in pairs)
    return Reliability(attack=attack, points=tuple(points))


def draw_reliability(points: tuple[Claim, ...], *, key: str, title: str, description: str, below: str) -> str:
    """The points as an SVG, both axes from 0 to 100 %; on the dotted line claims are true."""
    with sheet(HEIGHT, left=46, right=16, top=12, bottom=40) as drawn:
        axes = drawn.axes
        ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
        texts = [tick_text(tick, percent=True) for tick in ticks]
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_xticks(ticks, texts)
        axes.set_yticks(ticks, texts)
        axes.tick_params(axis="x", pad=9)
        axes.grid(axis="y", color=LINE, lw=0.8, clip_on=False)
        axes.set_axisbelow(True)
        axes.plot([0, 1], [0, 1], color=INK, lw=1.2, ls=(0, (1, 2)), clip_on=False)
        axes.plot([one.claimed for one in points], [one.right for one in points], color=AFTER, lw=2, clip_on=False)
        for one in points:
            pair = [one.right, one.right + 1e-9]
            (dot,) = axes.plot([one.claimed] * 2, pair, color=AFTER, lw=6, solid_capstyle="round", clip_on=False)
            said = [tick_text(round(side, 4), percent=True) for side in (one.claimed, one.right)]
            dot.set_gid(drawn.titled(": ".join(said)))
        axes.annotate(below, (0, 0), (0, -34), xycoords="axes fraction", textcoords="offset points", color=SOFT, fontsize=TEXT)
        return svg(drawn, key=key, title=title, description=description)
