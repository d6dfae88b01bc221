"""From the record of a sweep to one HTML page that needs nothing but itself, and fetches nothing.

Its one script and its styles are allowed by their digests in the content security policy; what stands in the data reaches the
screen as text alone.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable

from markupsafe import Markup

from tasks.microdata.numbers import count, format_with_unit
from tasks.microdata.words import join_with_and
from tasks.report.interactive_page import create_environment, render_page
from tasks.sweep.page.page_columns import serialise_column
from tasks.sweep.page.page_content import InfluenceCell, PageAxis, PageData, RiskUtilityMap, Spread
from tasks.sweep.page.still import KINDS, SHAPES, shape, still_map

MOST_ROWS = 60
MOST_REASONS = 30
LITTLE, CLEAR = 0.02, 0.3
_NUMBER = re.compile(r"\d+(\.\d+)?")


def render_sweep_page(data: PageData) -> str:
    """The page. All texts are escaped. Cost: about a second and 8 MB for 10,000 points."""
    environment = create_environment("tasks.sweep", "page/templates")
    environment.globals.update(
        frontier_rows=frontier_rows,
        reasons=reasons,
        heat=_heat,
        share_in_words=_share,
        rises=_rises,
        mark=_mark,
        kinds=KINDS,
        counted=count,
    )
    drawing = {"shapes": json.dumps(SHAPES), "kinds": str(KINDS)}
    maps = [Markup(still_map(data, view, f"map-{i}")) for i, view in enumerate(data.views)]  # noqa: S704  escaped by ElementTree
    return render_page(environment, "sweep", json=serialise_column(data), drawing=drawing, data=data, maps=maps)


def frontier_rows(data: PageData, view: RiskUtilityMap) -> list[dict[str, str]]:
    """The frontier in words, at most so many points: the ends and evenly many between."""
    front = view.frontier
    step = max(1, -(-len(front) // MOST_ROWS))
    varying = tuple(axis for axis in data.axes if len(set(axis.values)) > 1)
    return [_row(data, view, i, varying) for i in dict.fromkeys((*front[::step], *front[-1:]))]


def reasons(data: PageData) -> list[tuple[str, str, str, str]]:
    """Status, reason, how many points, and the first of them, for those that have no figures."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for position, (status, reason) in enumerate(zip(data.statuses, data.reasons, strict=True)):
        if status != "ok":
            found[status, _NUMBER.sub("#", reason)].append(position)
    most = sorted(found.items(), key=lambda one: -len(one[1]))[:MOST_REASONS]
    return [
        (status, _alike(data, positions), count(len(positions)), _first(data, positions)) for (status, _), positions in most
    ]


def parameters(axes: Iterable[PageAxis], position: int) -> str:
    """The parameters of a point in words, e.g. `k = 3, partition = mdav`."""
    axes_text = [f"{axis.label} = {_value(axis.values[position])}" for axis in axes if axis.values[position] is not None]
    return ", ".join(axes_text) or "as in the sweep file"


def _row(data: PageData, view: RiskUtilityMap, position: int, varying: tuple[PageAxis, ...]) -> dict[str, str]:
    return {
        "point": str(data.numbers[position]),
        "pipeline": data.pipelines[position],
        "parameters": parameters(varying, position),
        "loss": _spread(data.loss.spread, position, data.loss.unit),
        "risk": _spread(view.risk, position, view.unit),
        "policy": {"kept": "kept", "broken": "not kept", "undecided": "undecided", "none": ""}[data.decisions[position]],
    }


def _spread(spread: Spread, position: int, unit: str) -> str:
    mean, low, high = (float(one[position]) for one in (spread.mean, spread.low, spread.high))
    return (
        format_with_unit(mean, unit)
        if low == high
        else f"{format_with_unit(mean, unit)} ({format_with_unit(low, unit)} to {format_with_unit(high, unit)})"
    )


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def _alike(data: PageData, positions: list[int]) -> str:
    """The reason of the first, where the others differ in numbers alone."""
    reasons = {data.reasons[position] for position in positions}
    return data.reasons[positions[0]] + (" (the others alike, with other numbers)" if len(reasons) > 1 else "")


def _first(data: PageData, positions: list[int]) -> str:
    few = [count(data.numbers[position]) for position in positions[:5]]
    return join_with_and(few) if len(positions) <= len(few) else ", ".join(few) + ", \u2026"


def _heat(share: float | None) -> int:
    """From 0 (nothing) to 4: how dark a cell of the sensitivity table is."""
    return 0 if share is None else sum(share >= step for step in (LITTLE, 0.1, 0.3, 0.6))


def _share(cell: InfluenceCell) -> str:
    return "\u2013" if cell.share is None else f"{100 * cell.share:.0f}\u202f%"


def _rises(cell: InfluenceCell) -> str:
    """`rising` or `falling`, where the measure clearly follows the parameter, and not only in a trace."""
    if cell.direction is None or abs(cell.direction) < CLEAR or (cell.share is not None and cell.share < LITTLE):
        return ""
    return "rising" if cell.direction > 0 else "falling"


def _mark(kind: int) -> str:
    """The mark of a pipeline as points of an SVG polygon, ten units wide."""
    return " ".join(f"{10 + 6.5 * x:.1f},{10 - 6.5 * y:.1f}" for x, y in shape(kind))
