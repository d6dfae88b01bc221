"""Bands of numbers, dates, times and ordered categories."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow.compute as pc

from tasks.mask.coding.centres import compute_centre, refuse_centre_of_few
from tasks.mask.coding.written import Written, parse_position
from tasks.mask.precision_grid import grid_step, round_to_grid
from tasks.mask.step import MaskContext
from tasks.microdata.errors import InputError
from tasks.microdata.positions import extract_positions
from tasks.microdata.schema import Scale
from tasks.microdata.table import Floats, Integers, Microdata

BandRule = Literal["midpoint", "lower", "mean", "median"]


def apply_bands(
    site: MaskContext,
    name: str,
    intervals: tuple[Written, ...],
    shown: BandRule | tuple[Written, ...],
    location: str,
    *,
    protected: bool,
) -> Microdata:
    """The table with each value of one attribute replaced by that of its band.

    shown: what stands for a band: a rule, or one value for each. protected: refuse a mean or median of 1 or 2 records.
    """
    before = extract_positions(site.data, site.schema, name, location)
    limits = _limits(site, name, intervals, f"{location}.intervals")
    if not isinstance(shown, str):
        of_band = _position_stated_values(site, name, shown, limits, f"{location}.values")
    elif shown in ("midpoint", "lower"):
        of_band = _compute_limit_values(site, name, shown, limits, location)
    else:
        of_band = _centres(site, name, shown, limits, before, location, protected=protected)
    after = np.where(np.isnan(before), np.nan, of_band[find_bands(before, limits)])
    _refuse_open_bands(before, after, name, str(shown), location)
    return site.data.replace_positions(site.schema[name], after)


def bound_bands(
    site: MaskContext,
    name: str,
    intervals: tuple[Written, ...],
    shown: BandRule | tuple[Written, ...],
    outermost: tuple[float, float],
    location: str,
) -> tuple[Floats, Floats, Floats]:
    """The limits of the bands, and between what lies that which is published for each: shapes (b - 1,), (b,), (b,).

    outermost: between which values the column lies; within it an open band ends for its mean or median. A band that nothing is
    published for holds no value: it gets the ends of its neighbour.
    """
    limits = _limits(site, name, intervals, location)
    if not isinstance(shown, str):
        of_band = _position_stated_values(site, name, shown, limits, location)
        return limits, of_band, of_band
    if shown in ("midpoint", "lower"):
        of_band = _compute_limit_values(site, name, shown, limits, location)
        there = np.flatnonzero(~np.isnan(of_band))
        every = np.arange(len(of_band) if len(there) else 0)
        after = np.minimum(np.searchsorted(there, every, side="left"), len(there) - 1)
        before = np.maximum(np.searchsorted(there, every, side="right") - 1, 0)
        return (limits, of_band[there[after]], of_band[there[before]]) if len(there) else (limits, of_band, of_band)
    slack = 0.0 if site.schema[name].scale is Scale.ORDINAL else grid_step(site.precision[name]) / 2
    low, high = np.append(outermost[0], limits) - slack, np.append(limits, outermost[1]) + slack
    return limits, np.minimum.accumulate(low[::-1])[::-1], np.maximum.accumulate(high)


def find_bands(positions: Floats, limits: Floats) -> Integers:
    """Shape (n,): 0 below the first limit, i from limit i - 1 on. A missing value gets the last band."""
    return np.searchsorted(limits, positions, side="right").astype(np.int64)


def refuse_idle_bands(before: Microdata, after: Microdata, name: str, location: str) -> None:
    """InputError where different values became one and the same."""
    if pc.count_distinct(after.column(name)).as_py() < 2 <= pc.count_distinct(before.column(name)).as_py():
        what = f"all values of `{name}` fall into one band, or are published as one value"
        raise InputError("one-band", f"{location}.intervals", what, "limits within the values",
                         "compare the limits with the unit of the attribute")  # fmt: skip


def _limits(site: MaskContext, name: str, intervals: tuple[Written, ...], location: str) -> Floats:
    limits = np.array([parse_position(site, name, written, f"{location}[{i}]") for i, written in enumerate(intervals)])
    if (np.diff(limits) <= 0).any():
        raise InputError("limits-not-ascending", location, f"the limits of `{name}` do not ascend", "each above the one before",
                         "sort them, lowest first")  # fmt: skip
    return limits


def _position_stated_values(site: MaskContext, name: str, values: tuple[Written, ...], limits: Floats, location: str) -> Floats:
    found = np.array([parse_position(site, name, written, f"{location}[{i}]") for i, written in enumerate(values)])
    outside = np.flatnonzero(find_bands(found, limits) != np.arange(len(found)))
    if len(outside):
        what = f"the value of band {outside[0] + 1} does not lie in it"
        raise InputError("value-outside-its-band", f"{location}[{outside[0]}]", what, "lower limit <= value < upper limit",
                         "one value for each band, lowest first")  # fmt: skip
    return found


def _compute_limit_values(site: MaskContext, name: str, shown: BandRule, limits: Floats, location: str) -> Floats:
    """NaN for a band that has no such value."""
    if shown == "lower":
        return np.concatenate([[np.nan], limits])
    if site.schema[name].scale is Scale.ORDINAL:
        what = f"`{name}` is ordinal, and its categories have no midpoint"
        raise InputError(
            "no-midpoint", f"{location}.publish", what, "lower or median, or `values`", "publish: median", "midpoint"
        )
    grid = site.precision[name]
    # a quarter of a step lower, so that a midpoint between two points of the grid goes to the one inside the band
    between = (limits[:-1] + limits[1:]) / 2 - grid.units / grid.parts / 4
    return np.concatenate([[np.nan], round_to_grid(between, grid), [np.nan]])


def _centres(
    site: MaskContext, name: str, shown: BandRule, limits: Floats, before: Floats, location: str, *, protected: bool
) -> Floats:
    ordinal = site.schema[name].scale is Scale.ORDINAL
    if ordinal and shown == "mean":
        what = f"`{name}` is ordinal, and its categories have no mean"
        raise InputError("no-mean", f"{location}.publish", what, "lower or median, or `values`", "publish: median", "mean")
    centre: Literal["mean", "median"] = "mean" if shown == "mean" else "median"
    present = ~np.isnan(before)
    band = np.where(present, find_bands(before, limits), -1)
    found = np.full(len(limits) + 1, np.nan)
    for i in np.unique(band[present]):
        if protected:
            refuse_centre_of_few(site, band == i, centre, name, f"{location}.publish")
        found[i] = compute_centre(before[band == i], centre, ordinal=ordinal)
    return found if ordinal else round_to_grid(found, site.precision[name])


def _refuse_open_bands(before: Floats, after: Floats, name: str, shown: str, location: str) -> None:
    outside = int((np.isnan(after) & ~np.isnan(before)).sum())
    if outside:
        lacking = "lower limit" if shown == "lower" else shown
        what = f"values of `{name}` lie in an open band, which has no {lacking}: {outside:,} records"
        raise InputError("open-band", f"{location}.publish", what, "limits around all values; or mean, median, or `values`",
                         "add a limit below the lowest, or above the highest value, or give `values`", shown)  # fmt: skip
