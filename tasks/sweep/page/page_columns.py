"""The page's data as JSON: one list a column, each text once, five digits, so that 10,000 points load at once."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.sweep.page.page_content import Floats, PageAxis, PageData, PageFigure, RiskUtilityMap, Spread

DIGITS = 5


def serialise_column(data: PageData) -> str:
    """JSON that can stand inside a script element: it holds no `<`. Cost: some 25 bytes a figure and point."""
    value = {
        "sweep": data.id,
        "numbers": _whole(data.numbers),
        "pipeline": _encode_texts(data.pipelines),
        "method": _encode_texts(data.methods),
        "status": _encode_texts(data.statuses),
        "reason": _encode_texts(data.reasons),
        "policy": _encode_texts(data.decisions),
        "axes": [_axis(axis) for axis in data.axes],
        "loss": {"label": data.loss.axis, "unit": data.loss.unit, "limit": data.loss.limit, **_spread(data.loss.spread)},
        "views": [_view(view, data.loss.spread.mean) for view in data.views],
        "figures": [_figure(figure) for figure in data.figures],
        "releases": _releases(data),
    }
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def find_dominating_ranges(view: RiskUtilityMap, loss: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """From where to where (exclusive) on the frontier the points stand that dominate each point; an empty range: none do.

    The frontier falls in risk as it grows in loss, so those that are better in both stand side by side. Cost: O(n log m).
    """
    front = np.asarray(view.frontier, dtype=np.intp)
    risk = view.risk.mean
    start = np.searchsorted(-risk[front], -risk, side="left")
    stop = np.searchsorted(loss[front], loss, side="right")
    none = np.isnan(risk) | np.isnan(loss)
    none[front] = True
    return np.where(none, 0, start), np.where(none, 0, np.maximum(start, stop))


def _view(view: RiskUtilityMap, loss: Floats) -> dict[str, Any]:
    start, stop = find_dominating_ranges(view, loss)
    names = {"name": view.name, "title": view.title, "label": view.axis, "says": view.says, "unit": view.unit}
    marks = {"limit": view.limit, "frontier": list(view.frontier), "from": start.tolist(), "to": stop.tolist()}
    return {**names, **marks, **_spread(view.risk)}


def _figure(figure: PageFigure) -> dict[str, Any]:
    names = {"id": figure.id, "label": figure.label, "unit": figure.unit, "main": figure.main}
    return {**names, **_spread(figure.spread)}


def _axis(axis: PageAxis) -> dict[str, Any]:
    names = {"path": axis.path, "label": axis.label}
    if all(one is None or (isinstance(one, int | float) and not isinstance(one, bool)) for one in axis.values):
        return {**names, "values": axis.values}
    return {**names, **_encode_texts([None if one is None else _format_value(one) for one in axis.values])}


def _format_value(value: float | int | str | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _encode_texts(values: Sequence[str | None]) -> dict[str, Any]:
    """Texts as places in the list of those that occur, in order of their first; -1 for None."""
    levels = {text: position for position, text in enumerate(dict.fromkeys(one for one in values if one is not None))}
    return {"levels": list(levels), "codes": [-1 if one is None else levels[one] for one in values]}


def _spread(spread: Spread) -> dict[str, Any]:
    """The ends are left out where the seeds agree everywhere."""
    same = np.array_equal(spread.low, spread.high, equal_nan=True)
    ends = {} if same else {"low": _short(spread.low), "high": _short(spread.high)}
    return {"mean": _short(spread.mean), **ends}


def _short(values: Floats) -> list[float | None]:
    """To so many significant digits; null where there is no figure."""
    size = np.abs(np.where(np.isfinite(values) & (values != 0), values, 1.0))
    steps = 10.0 ** (DIGITS - 1 - np.floor(np.log10(size)))
    short = (np.round(values * steps) / steps).astype(object)
    short[np.isnan(values)] = None
    found: list[float | None] = short.tolist()
    return found


def _whole(numbers: tuple[int, ...]) -> list[int] | None:
    return None if numbers == tuple(range(len(numbers))) else list(numbers)


def _releases(data: PageData) -> dict[str, Any]:
    """The release files line by line, each line once: the files of a sweep differ in a few."""
    lines: dict[Hashable, int] = {}
    of = {number: _places(text.splitlines(), lines) for number, text in data.releases.items()}
    return {"lines": list(lines), "of": of}


def _places(lines: Iterable[str], known: dict[Hashable, int]) -> list[int]:
    return [known.setdefault(line, len(known)) for line in lines]
