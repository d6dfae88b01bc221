"""The precision at which masked numbers are published: that of the source column.

A centroid at full float64 lets k-1 members of a group solve for the value of the k-th, and tells masked cells from others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tasks.microdata.table import DATE, MOMENT, SECONDS_OF_A_DAY, TIME, Floats, Microdata, to_stored_integers

MOST_DECIMALS = 15
_PART = 1 << 14  # values
_WHOLE_IN_FLOAT = 2.0**53


@dataclass(frozen=True, slots=True)
class PrecisionGrid:
    """Where the numbers of a column lie: on whole multiples of `units` / `parts`.

    Two decimals: 1 / 100. Whole days: 1 / 1. Moments in whole seconds, counted in days: 1 / 86400. Times in whole minutes,
    counted in seconds: 60 / 1.
    within_days: whole days are taken apart before rounding, because a float64 of days and microseconds has no digit to spare.
    """

    units: int
    parts: int
    within_days: bool = False


PrecisionGrids = Mapping[str, PrecisionGrid]

_SECOND = 10**6  # microseconds
_DAY = SECONDS_OF_A_DAY * _SECOND
_STEPS = (_DAY, 3600 * _SECOND, 60 * _SECOND, *(10**d for d in range(6, -1, -1)))  # coarse to fine, each divides the one before


def source_decimals(values: Floats) -> int:
    """The number of decimals that the numbers of a column show, 0..15; NaN is passed over.

    The smallest d at which rounding to d decimals changes no value. Source columns that were computed (1/3) show 15.
    Cost: at most 16 passes over the column. Example: (1.0, 2.5, 10.25) shows 2; an empty column shows 0.
    """
    return next((d for d in range(MOST_DECIMALS) if _shows_at_most(values, d)), MOST_DECIMALS)


def _shows_at_most(values: Floats, decimals: int) -> bool:
    """Do all numbers show so few decimals? By parts, which stay in the processor's cache; mostly the first one says no."""
    parts = (values[begin : begin + _PART] for begin in range(0, len(values), _PART))
    return all(np.array_equal(round_to_decimals(part, decimals), part, equal_nan=True) for part in parts)


def round_to_decimals(values: Floats, decimals: int) -> Floats:
    """Values rounded to `decimals` decimals, halves to even; those too large to have such decimals in a float64 stay."""
    return round_to_grid(values, PrecisionGrid(1, 10**decimals))


def round_to_grid(values: Floats, grid: PrecisionGrid) -> Floats:
    """Values moved to the nearest point of the grid, halves to the even multiple; those too large for it in a float64 stay."""
    if grid.within_days:
        day = np.floor(values)
        return day + round_to_grid(values - day, PrecisionGrid(grid.units, grid.parts))
    rounded = np.abs(values)
    rounded *= grid.parts / grid.units
    unchanged = ~(rounded < _WHOLE_IN_FLOAT)  # NaN too
    np.copyto(rounded, values)
    rounded[unchanged] = 0.0
    rounded *= float(grid.parts)
    rounded /= grid.units
    np.rint(rounded, out=rounded)
    rounded *= grid.units
    rounded /= float(grid.parts)
    np.copyto(rounded, values, where=unchanged)
    rounded += 0.0  # -0.0 would tell the sign of what was rounded away
    return rounded


def find_precision(source: Microdata, names: Iterable[str]) -> PrecisionGrids:
    """The grid of each named column of numbers, dates or times; text columns have none and are left out.

    Of numbers: their decimals. Of dates: days. Of moments: days, hours, minutes, seconds or decimals of a second, the coarsest
    that holds them all; of times the same from hours on.
    """
    return {name: find_precision_grid(source, name) for name in names if not source.is_text(name)}


def find_precision_grid(source: Microdata, name: str) -> PrecisionGrid:
    """The grid of one column of numbers, dates or times."""
    column = source.column(name)
    if column.type == DATE:
        return PrecisionGrid(1, 1)
    if column.type not in (MOMENT, TIME):
        return PrecisionGrid(1, 10 ** source_decimals(source.floats(name, writable=False)))
    stored = to_stored_integers(column.drop_null()).to_numpy()
    step = next(step for step in _STEPS if not (stored % step).any())
    if column.type == MOMENT:
        return PrecisionGrid(1, _DAY // step, within_days=step < _DAY)
    step = min(step, _STEPS[1])
    return PrecisionGrid(step // _SECOND, 1) if step >= _SECOND else PrecisionGrid(1, _SECOND // step)


def find_position_step(grids: PrecisionGrids, name: str) -> float:
    """The distance of two neighbouring positions of an attribute; texts in an order have no grid, and stand 1 apart."""
    return grid_step(grids[name]) if name in grids else 1.0


def grid_step(grid: PrecisionGrid) -> float:
    """The distance of two neighbouring points of a grid, in units of positions."""
    return grid.units / grid.parts
