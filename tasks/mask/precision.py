"""The precision at which masked numbers are published: that of the source column.

A centroid at full float64 lets k-1 members of a group solve for the value of the k-th, and tells masked cells from others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tasks.microdata.table import DATE, MOMENT, SECONDS_OF_A_DAY, TIME, Floats, Microdata

MOST_DECIMALS = 15
_DECIMALS_OF_A_SECOND = 6
_WHOLE_IN_FLOAT = 2.0**53


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the numbers of a column lie: on whole multiples of `units` / `parts`.

    Two decimals: 1 / 100. Whole days: 1 / 1. Moments in whole seconds, counted in days: 1 / 86400. Times in whole minutes,
    counted in seconds: 60 / 1.
    """

    units: int
    parts: int


Precision = Mapping[str, Grid]

_SECONDS = (3600, 60, 1)
_FRACTIONS = tuple(10**d for d in range(1, _DECIMALS_OF_A_SECOND + 1))
_GRIDS_OF_TIMES = (*(Grid(seconds, 1) for seconds in _SECONDS), *(Grid(1, parts) for parts in _FRACTIONS))
_GRIDS_OF_MOMENTS = (
    Grid(1, 1),
    *(Grid(1, SECONDS_OF_A_DAY // seconds) for seconds in _SECONDS),
    *(Grid(1, SECONDS_OF_A_DAY * parts) for parts in _FRACTIONS),
)
_GRIDS_OF_TYPE = {DATE: (Grid(1, 1),), MOMENT: _GRIDS_OF_MOMENTS, TIME: _GRIDS_OF_TIMES}


def source_decimals(values: Floats) -> int:
    """The number of decimals that the numbers of a column show, 0..15; NaN is passed over.

    The smallest d at which rounding to d decimals changes no value. Source columns that were computed (1/3) show 15.
    Cost: at most 16 passes over the column. Example: (1.0, 2.5, 10.25) shows 2; an empty column shows 0.
    """
    present = values[~np.isnan(values)]
    return next((d for d in range(MOST_DECIMALS) if np.array_equal(at_decimals(present, d), present)), MOST_DECIMALS)


def at_decimals(values: Floats, decimals: int) -> Floats:
    """Values rounded to `decimals` decimals, halves to even; those too large to have such decimals in a float64 stay."""
    return at_precision(values, Grid(1, 10**decimals))


def at_precision(values: Floats, grid: Grid) -> Floats:
    """Values moved to the nearest point of the grid, halves to the even multiple; those too large for it in a float64 stay."""
    roundable = np.abs(values) * (grid.parts / grid.units) < _WHOLE_IN_FLOAT
    multiples = np.rint(np.where(roundable, values, 0.0) * float(grid.parts) / grid.units)
    rounded: Floats = np.where(roundable, multiples * grid.units / float(grid.parts), values)
    return rounded + 0.0  # -0.0 would tell the sign of what was rounded away


def precision_of(source: Microdata, names: Iterable[str]) -> Precision:
    """The grid of each named column of numbers, dates or times; text columns have none and are left out.

    Of numbers: their decimals. Of dates: days. Of moments: days, hours, minutes, seconds or decimals of a second, the coarsest
    that holds them all; of times the same from hours on.
    """
    return {name: grid_of(source, name) for name in names if not source.is_text(name)}


def grid_of(source: Microdata, name: str) -> Grid:
    """The grid of one column of numbers, dates or times."""
    values = source.floats(name)
    grids = _GRIDS_OF_TYPE.get(source.column(name).type)
    return Grid(1, 10 ** source_decimals(values)) if grids is None else _coarsest(values, grids)


def _coarsest(values: Floats, grids: tuple[Grid, ...]) -> Grid:
    present = values[~np.isnan(values)]
    return next((grid for grid in grids if np.array_equal(at_precision(present, grid), present)), grids[-1])
