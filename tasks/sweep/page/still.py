"""Draw the risk-utility map as a still picture, for paper and for browsers that run no script."""

from __future__ import annotations

import math
import re

import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import IdentityTransform
from numpy.typing import NDArray

from tasks.microdata.numbers import format_with_unit
from tasks.report.charts.canvas import FONT_SIZE, INK, LINE, SOFT, Sheet, create_sheet, format_svg, shorten
from tasks.sweep.page.page_content import Floats, PageData, RiskUtilityMap

HEIGHT = 262.0
MOST_DRAWN = 2_000
MOST_BARS = 150
MOST_APART = 60
KINDS = 8
_KIND = tuple(f"#0000a{i}" for i in range(KINDS))
_REGION, _PAPER = "#0000b1", "#0000b2"
_THEMED = {**{colour: f"kind-{i}" for i, colour in enumerate(_KIND)}, _REGION: "pass-ground", _PAPER: "paper"}
_STYLE = re.compile(r' style="([^"]*)"')
_SIZE = 3.1


def list_corners(kind: int) -> tuple[tuple[float, float], ...]:
    """The corners of the mark of a pipeline, y upwards, about one unit from the middle. The script draws the same."""
    return SHAPES[(kind + kind // KINDS) % len(SHAPES)]


def _round(corners: int, turn: float, size: float = 1.0, inner: float | None = None) -> tuple[tuple[float, float], ...]:
    sizes = (size,) if inner is None else (size, inner)
    total = corners * len(sizes)
    angles = [math.pi * (0.5 + turn + 2 * i / total) for i in range(total)]
    ends = [(sizes[i % len(sizes)], angle) for i, angle in enumerate(angles)]
    return tuple((round(r * math.cos(angle), 3), round(r * math.sin(angle), 3)) for r, angle in ends)


SHAPES = (
    _round(16, 0),
    _round(4, 0.25, 1.2),
    _round(3, 0, 1.3),
    _round(4, 0, 1.3),
    _round(3, 1, 1.3),
    _round(5, 0, 1.35, 0.6),
    _round(4, 0, 1.45, 0.5),
    _round(6, 0, 1.15),
)


def draw_still_map(data: PageData, view: RiskUtilityMap, key: str) -> str:
    """The map of one view as an SVG without style attributes, which the page's policy would drop."""
    risk, loss = view.risk.mean, data.loss.spread.mean
    drawn_points = sample(data, view)
    title = f"Risk-utility map, {view.title}"
    with create_sheet(HEIGHT, left=50, right=14, top=22, bottom=44) as drawn:
        _draw_scales(drawn, data, view)
        _draw_region(drawn, data, view)
        for kept in (False, True):
            for kind, pipeline in enumerate(data.kinds):
                mine = [i for i in drawn_points if data.pipelines[i] == pipeline and (data.decisions[i] == "kept") == kept]
                _draw_marks(drawn, np.column_stack((loss[mine], risk[mine])), kind, filled=kept)
        _draw_frontier(drawn, data, view)
        return _convert_styles(
            format_svg(drawn, key=key, title=title, description=_describe_map(data, view, len(drawn_points)))
        )


def sample(data: PageData, view: RiskUtilityMap, most: int = MOST_DRAWN) -> list[int]:
    """The places of the points to draw: all that have a risk and a loss, else the frontier and evenly many of the others."""
    there = np.flatnonzero(~np.isnan(view.risk.mean) & ~np.isnan(data.loss.spread.mean))
    if len(there) <= most:
        return [int(i) for i in there]
    others = np.setdiff1d(there, view.frontier)
    wanted = max(0, most - len(view.frontier))
    chosen = others[np.linspace(0, len(others) - 1, wanted).astype(int)] if wanted else others[:0]
    return sorted({*view.frontier, *(int(i) for i in chosen)})


def _describe_map(data: PageData, view: RiskUtilityMap, drawn: int) -> str:
    there = int(np.sum(~np.isnan(view.risk.mean) & ~np.isnan(data.loss.spread.mean)))
    counted = f"{drawn:,} of {there:,} points are drawn" if drawn < there else f"{there:,} points"
    return (
        f"Across: {data.loss.axis}. Upwards: {view.axis}. {counted}; {len(view.frontier):,} of them are on the frontier, which "
        "is drawn in full. Filled marks keep the policy, hollow ones do not. The table below says the same in words."
    )


def _draw_scales(drawn: Sheet, data: PageData, view: RiskUtilityMap) -> None:
    axes = drawn.axes
    for name, values, unit, most in (("x", data.loss.spread, data.loss.unit, 4), ("y", view.risk, view.unit, 5)):
        there = values.mean[~np.isnan(view.risk.mean) & ~np.isnan(data.loss.spread.mean)]
        top = float(there.max()) if len(there) else 1.0
        ticks = MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10], min_n_ticks=2).tick_values(0, top or 1.0)
        texts = ["0" if tick == 0 else format_with_unit(float(tick), unit) for tick in ticks]
        axes.set(**{f"{name}lim": (-0.02 * ticks[-1], ticks[-1] * 1.02), f"{name}ticks": ticks, f"{name}ticklabels": texts})
    axes.grid(color=LINE, lw=0.8)
    axes.set_axisbelow(True)
    axes.annotate(
        shorten(data.loss.axis, 236),
        (1, 0),
        (0, -34),
        "axes fraction",
        textcoords="offset points",
        ha="right",
        color=SOFT,
        size=FONT_SIZE,
    )
    axes.annotate(
        shorten(view.axis, 290), (0, 1), (-46, 10), "axes fraction", textcoords="offset points", color=SOFT, size=FONT_SIZE
    )


def _draw_region(drawn: Sheet, data: PageData, view: RiskUtilityMap) -> None:
    """Shaded where both scales are within the policy, as far as it limits them."""
    if data.loss.limit is None and view.limit is None:
        return
    left, right = drawn.axes.get_xlim()
    bottom, top = drawn.axes.get_ylim()
    x = right if data.loss.limit is None else min(right, data.loss.limit)
    y = top if view.limit is None else min(top, view.limit)
    drawn.axes.fill([left, x, x, left], [bottom, bottom, y, y], color=_REGION, lw=0, zorder=0.1)


def _draw_frontier(drawn: Sheet, data: PageData, view: RiskUtilityMap) -> None:
    front = list(view.frontier)
    if not front:
        return
    loss, risk = data.loss.spread, view.risk
    drawn.axes.step(loss.mean[front], risk.mean[front], where="post", color=INK, lw=1.3, clip_on=False)
    some = front[:MOST_BARS]
    _draw_error_bars(drawn, (loss.mean[some], loss.mean[some]), (risk.low[some], risk.high[some]))
    _draw_error_bars(drawn, (loss.low[some], loss.high[some]), (risk.mean[some], risk.mean[some]))


def _draw_error_bars(drawn: Sheet, across: tuple[Floats, Floats], up: tuple[Floats, Floats]) -> None:
    """Error bars from the first to the second of each pair, as one line with gaps."""
    x, y = (np.column_stack((*ends, np.full(len(ends[0]), np.nan))).ravel() for ends in (across, up))
    drawn.axes.plot(x, y, color=INK, lw=0.8)


def _draw_marks(drawn: Sheet, points: NDArray[np.float64], kind: int, *, filled: bool) -> None:
    """All marks of a kind as one path: thousands of elements would weigh on the page."""
    if not len(points):
        return
    corners = np.asarray(list_corners(kind)) * _SIZE
    middles = drawn.axes.transData.transform(points)
    closed = np.concatenate((corners, corners[:1]))
    vertices = (middles[:, None, :] + closed[None, :, :]).round(1).reshape(-1, 2)
    codes = [Path.MOVETO, *[Path.LINETO] * (len(corners) - 1), Path.CLOSEPOLY] * len(points)
    look = (
        {"facecolor": _KIND[kind % KINDS], "edgecolor": _PAPER, "lw": 0.4 if len(points) <= MOST_APART else 0}
        if filled
        else {"fill": False, "edgecolor": _KIND[kind % KINDS], "lw": 1}
    )
    drawn.axes.add_artist(PathPatch(Path(vertices, codes), transform=IdentityTransform(), zorder=2.5 if filled else 2, **look))


def _convert_styles(picture: str) -> str:
    """Styles as attributes of their own, colours as the page's variables."""
    attributes = _STYLE.sub(lambda found: "".join(_attribute(one) for one in found[1].split(";") if one.strip()), picture)
    for colour, variable in _THEMED.items():
        attributes = attributes.replace(colour, f"var(--{variable})")
    return attributes


def _attribute(declaration: str) -> str:
    name, _, value = declaration.partition(":")
    return f' {name.strip()}="{value.strip()}"'
