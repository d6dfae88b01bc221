"""The table of a sweep, read back: figures per trial, and per point over its seeds. `layout.py` says what its columns are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tasks.microdata.estimate import Estimate
from tasks.microdata.table import Booleans, Floats, Integers
from tasks.sweep.layout import AXIS, BESIDE, FIGURE_FIELDS, FIRST, LAST, FigureSubject, decode_figure, parse_figure_id

__all__ = ["FIGURE_FIELDS", "OverSeeds", "Results"]
TextArray = npt.NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class OverSeeds:
    """A quantity per point: mean, least and largest over the seeds that gave it, NaN where none did.

    Each of shape (points,), in the order of `Results.points`. count: seeds that gave it. complete: did all of the point's?
    """

    mean: Floats
    low: Floats
    high: Floats
    count: Integers
    complete: Booleans


@dataclass(frozen=True, slots=True)
class Results:
    """The trials of a sweep.

    table: as it is stored. points: the points' numbers, ascending. position: shape (trials,), where the point of each trial
    stands in `points`. first: shape (points,), the first trial of each point. figures: what each figure is about, by its id.
    """

    table: pa.Table
    points: Integers
    position: Integers
    first: Integers
    figures: dict[str, FigureSubject]

    @classmethod
    def from_table(cls, table: pa.Table) -> Results:
        """Raises ValueError for a table that lacks a column, is not in the order of point and seed, or has unknown figures."""
        missing = [name for name in (*FIRST, *LAST) if name not in table.column_names]
        if missing:
            raise ValueError(f"the table of a sweep has no column {', '.join(missing)}")
        point, seed = (table.column(name).to_numpy() for name in ("point", "seed"))
        steps, ties = np.diff(point), np.diff(point) == 0
        if (steps < 0).any() or (np.diff(seed)[ties] <= 0).any():
            raise ValueError("the table of a sweep is in the order of point and seed, each pair once")
        points, first, position = np.unique(point, return_index=True, return_inverse=True)
        names = [name for name in table.column_names if name not in (*FIRST, *LAST) and not name.startswith((AXIS, *BESIDE))]
        return cls(table, points, position, first, {name: parse_figure_id(name) for name in names})

    @property
    def n_trials(self) -> int:
        return int(self.table.num_rows)

    @property
    def n_points(self) -> int:
        return len(self.points)

    @property
    def axes(self) -> tuple[str, ...]:
        """The paths of all axes."""
        return tuple(name.removeprefix(AXIS) for name in self.table.column_names if name.startswith(AXIS))

    def texts(self, column: str) -> list[str | None]:
        """A column of text, per trial: pipeline, status, reason, or `status:<id>`; None everywhere where there is none."""
        if column not in self.table.column_names:
            return [None] * self.n_trials
        found: list[str | None] = self.table.column(column).to_pylist()
        return found

    def axis(self, path: str) -> list[bool | int | float | str | None]:
        """The values of an axis, per trial; None where it is not active."""
        found: list[bool | int | float | str | None] = self.table.column(AXIS + path).to_pylist()
        return found

    def values(self, column: str) -> Floats:
        """Shape (trials,): a figure, an end of its interval (`low:<id>`, `high:<id>`) or the seconds; else NaN."""
        if column not in self.table.column_names:
            return np.full(self.n_trials, np.nan)
        return np.asarray(self.table.column(column).to_numpy(), dtype=np.float64)

    def aggregate_seeds(self, values: Floats) -> OverSeeds:
        """A quantity per trial, shape (trials,), NaN where there is none, brought together per point.

        The mean of equal numbers is that number, to the last bit, so that the same release under three seeds ties with itself.
        Cost: O(trials).
        """
        given = ~np.isnan(values)
        count = np.bincount(self.position[given], minlength=self.n_points)
        low, high = np.full(self.n_points, np.inf), np.full(self.n_points, -np.inf)
        np.minimum.at(low, self.position[given], values[given])
        np.maximum.at(high, self.position[given], values[given])
        total = np.bincount(self.position[given], weights=values[given], minlength=self.n_points)
        none = count == 0
        mean = np.clip(total / np.maximum(count, 1), low, high)
        low, high, mean = (np.where(none, np.nan, part) for part in (low, high, mean))
        return OverSeeds(mean, low, high, count, count == np.bincount(self.position, minlength=self.n_points))

    def estimates(self, trial: int) -> tuple[Estimate, ...]:
        """The figures of one trial as far as they were kept, in the order of the table."""
        return next(Results.from_table(self.table.slice(trial, 1)).all_estimates(tuple(self.figures)))

    def all_estimates(self, figures: Sequence[str]) -> Iterator[tuple[Estimate, ...]]:
        """Those of these figures that a trial has, trial after trial. Cost: some microseconds for each."""
        beside = [f"{field}{name}" for name in figures for field in BESIDE]
        wanted = [name for name in (*figures, *beside) if name in self.table.column_names]
        for batch in self.table.select(wanted).to_batches(max_chunksize=1000):
            for row in batch.to_pylist():
                kept = ((name, _read_figure(row, name)) for name in figures)
                yield tuple(decode_figure(name, figure) for name, figure in kept if figure)


def _read_figure(row: dict[str, float | str | None], name: str) -> dict[str, float | str]:
    columns = zip(FIGURE_FIELDS, (name, *(prefix + name for prefix in BESIDE)), strict=True)
    return {field: found for field, column in columns if (found := row.get(column)) is not None}
