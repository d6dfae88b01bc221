"""Columns of numbers in ascending order: sorted once, for all measures that ask for ranks, tails or shares of values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tasks.microdata.table import Booleans, Floats, Integers
from tasks.microdata.value_order import look_up_in_order, sort_with_order


@dataclass(frozen=True)
class SortedColumn:
    """Where the values of one attribute stand on its scale, shape (n,), NaN where missing. Nobody may write to its arrays."""

    values: Floats

    @cached_property
    def present(self) -> Booleans:
        return np.asarray(~np.isnan(self.values))

    @cached_property
    def n_present(self) -> int:
        return int(np.count_nonzero(self.present))

    @cached_property
    def ascending_and_order(self) -> tuple[Floats, npt.NDArray[np.int32]]:
        """The values that are there, ascending, and the rows that have one in that order, those of equal values by row."""
        ascending, order = sort_with_order(self.values)  # NaN comes last
        return ascending[: self.n_present], order[: self.n_present]

    @property
    def order(self) -> npt.NDArray[np.int32]:
        return self.ascending_and_order[1]

    @property
    def ascending(self) -> Floats:
        return self.ascending_and_order[0]

    @property
    def is_constant(self) -> bool:
        return self.n_present > 0 and bool(self.ascending[0] == self.ascending[-1])

    @property
    def starts(self) -> Integers:
        """Where in `ascending` each of the c different values begins, and the end: shape (c + 1,)."""
        ascending = self.ascending
        if not len(ascending):
            return np.zeros(1, dtype=np.int64)
        return np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1], [True]]))

    @cached_property
    def sd(self) -> float:
        """The standard deviation (n - 1) of the values that are there; of a constant exactly 0."""
        ascending = self.ascending
        return float(np.std(ascending, ddof=1)) if len(ascending) and ascending[0] < ascending[-1] else 0.0

    def compute_ranks(self) -> Floats:
        """Shape (n,): average ranks of the values that are there, from 1; NaN where missing."""
        ranks, starts = np.full(len(self.values), np.nan), self.starts
        ranks[self.order] = np.repeat((starts[:-1] + starts[1:] + 1) / 2, np.diff(starts))
        return ranks


@dataclass(frozen=True)
class ColumnPair:
    """One attribute in the original and in the release."""

    original: SortedColumn
    masked: SortedColumn

    @cached_property
    def places(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """For each of `masked.ascending`: how many originals are below it, and how many are not above it."""
        ranked, looked_up, starts = self.original.ascending, self.masked.ascending, self.masked.starts
        if np.array_equal(ranked, looked_up):  # values that only changed hands, or did not change
            below, up_to = starts[:-1], starts[1:]
        else:
            different = looked_up[starts[:-1]]
            below = look_up_in_order(ranked, different, "left")
            up_to = below.copy()
            if len(ranked):
                occurs = np.flatnonzero(ranked[np.minimum(below, len(ranked) - 1)] == different)
                up_to[occurs] = look_up_in_order(ranked, different[occurs], "right")
        of_value = np.diff(starts)
        return np.repeat(below.astype(np.int32), of_value), np.repeat(up_to.astype(np.int32), of_value)

    @cached_property
    def has_negative_zeros(self) -> bool:
        return any(bool(np.signbit(one.values[one.values == 0]).any()) for one in (self.original, self.masked))

    def compute_largest_distance(self) -> float:
        """The largest difference of the shares of cells up to any bound (Kolmogorov and Smirnov); the missing are below all."""
        before, after = self.original, self.masked
        n, m = len(before.values), len(after.values)
        gaps = n - before.n_present, m - after.n_present
        below, up_to = self.places
        own, shown = before.starts, after.starts
        up_to_own = np.cumsum(np.bincount(below, minlength=before.n_present + 1))[own[:-1]]
        distances = (
            np.array([gaps[0] / n - gaps[1] / m]),
            (gaps[0] + up_to[shown[1:] - 1].astype(np.int64)) / n - (gaps[1] + shown[1:]) / m,
            (gaps[0] + own[1:]) / n - (gaps[1] + up_to_own) / m,
        )
        return max(float(np.abs(one).max(initial=0.0)) for one in distances)
