"""Bounds between the bars of a measured scale: round numbers, dates and times."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import numpy as np

from tasks.microdata.schema import Scale
from tasks.microdata.table import Floats, Integers
from tasks.report.charts.canvas import find_round_ticks

_DAY_ZERO = datetime(1970, 1, 1, tzinfo=UTC)
_TIME_STEPS = (1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 10800, 21600)
_TAIL = 0.02
_CROWDED = 0.5
_LONG = 10_000
_SIZES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def choose_bounds(values: Floats, scale: Scale, most: int, *, whole: bool) -> tuple[float, ...]:
    """Ascending round bounds for at most about `most` bars.

    They lie between the 2 % and the 98 % quantile and are round numbers, so that neither they nor the open bars at both ends
    tell a value, least of all an extreme one. Where more than half the values would stand in one bar of equal width (incomes,
    sizes of towns), the bounds go up by 1, 2, 5, 10, ... instead.

    values: of both tables, at least one, none missing. whole: do they count by whole numbers?
    """
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
    if scale is Scale.DATE:
        return _choose_dates(low, high, most)
    if scale is Scale.TIME:
        step = next((step for step in _TIME_STEPS if (high - low) / step <= most), _TIME_STEPS[-1])
        return tuple(float(step * i) for i in range(int(low // step) + 1, int(high // step) + 1))
    even = _select_inside(find_round_ticks(low, high, nbins=most, steps=[1, 2, 5, 10], integer=whole), low, high)
    if low < 0 or high <= 0 or compute_fullest_share(values, even) <= _CROWDED:
        return even
    start = max(float(np.quantile(values[values > 0], 0.05)), high / 10**6)
    from matplotlib.ticker import LogLocator

    steep = _select_inside(LogLocator(subs=(1, 2, 5), numticks=most).tick_values(start, high), start, high)
    steep = steep if not whole else tuple(one for one in steep if one >= 1)
    return steep if compute_fullest_share(values, steep) < compute_fullest_share(values, even) else even


def find_bars(values: Floats, edges: tuple[float, ...]) -> Integers:
    """Shape (n,): the bar of each value; bar i holds what is at least edge i - 1 and below edge i, the outer ones are open."""
    return np.searchsorted(edges, values, side="right").astype(np.int64)


def compute_fullest_share(values: Floats, edges: tuple[float, ...]) -> float:
    """The share of the values that stand in the fullest bar."""
    return float(np.bincount(find_bars(values, edges)).max() / len(values))


def format_bound(value: float, scale: Scale) -> str:
    """A bound as a person writes it: 10,000; 1996-03-01; 13:30."""
    if scale is Scale.DATE:
        return f"{_DAY_ZERO + timedelta(days=value):%Y-%m-%d}"
    if scale is Scale.TIME:
        return f"{timedelta(seconds=value)}".rjust(8, "0")[: 5 if value % 60 == 0 else 8]
    return f"{value:,.10g}".replace("-", "\u2212")


def mark_text(value: float, scale: Scale) -> str:
    """A bound as it stands under a chart, short: 50 k, 2.5 M; in full where that would cut digits."""
    for size, unit in _SIZES:
        if scale not in (Scale.DATE, Scale.TIME) and abs(value) >= max(size, _LONG):
            short = f"{value / size:.4g}"
            exact = float(short) * size == value
            return f"{short}\u202f{unit}".replace("-", "\u2212") if exact else format_bound(value, scale)
    return format_bound(value, scale)


def _choose_dates(low: float, high: float, most: int) -> tuple[float, ...]:
    first, last = (_DAY_ZERO + timedelta(days=float(day)) for day in (low, max(high, low + 1)))
    from matplotlib.dates import AutoDateLocator, date2num

    locator = AutoDateLocator(minticks=min(4, most), maxticks=most)  # type: ignore[no-untyped-call]  # matplotlib.dates has no types
    ticks = locator.tick_values(first, last)  # type: ignore[no-untyped-call]  # as above
    zero = date2num(_DAY_ZERO)  # type: ignore[no-untyped-call]  # as above
    return _select_inside(ticks - zero, low, high)


def _select_inside(ticks: Iterable[float], low: float, high: float) -> tuple[float, ...]:
    """The bounds that cut the values: those up to `low` leave nothing below them."""
    return tuple(float(tick) for tick in ticks if low < tick <= high)
