"""Columns of numbers in ascending order: sorted once, for all measures that ask for ranks, tails or shares of values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats
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

    @cached_property
    def sd(self) -> float:
        """The standard deviation (n - 1) of the values that are there; of a constant exactly 0."""
        ascending = self.ascending
        return float(np.std(ascending, ddof=1)) if len(ascending) and ascending[0] < ascending[-1] else 0.0

    def compute_ranks(self) -> Floats:
        """Shape (n,): average ranks of the values that are there, from 1; NaN where missing."""
        ranks = np.full(len(self.values), np.nan)
        _write_average_ranks(*self.ascending_and_order, ranks)
        return ranks


@dataclass(frozen=True)
class ColumnPair:
    """One attribute in the original and in the release."""

    original: SortedColumn
    masked: SortedColumn

    @cached_property
    def places(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """For each of `masked.ascending`: how many originals are below it, and how many are not above it."""
        return find_places(self.original.ascending, self.masked.ascending)

    @cached_property
    def has_negative_zeros(self) -> bool:
        return any(bool(np.signbit(one.values[one.values == 0]).any()) for one in (self.original, self.masked))

    def compute_largest_distance(self) -> float:
        """The largest difference of the shares of cells up to any bound (Kolmogorov and Smirnov); the missing are below all."""
        before, after = self.original, self.masked
        sizes = len(before.values), len(after.values)
        return float(_find_largest_distance(before.ascending, after.ascending, *sizes))


def find_places(ascending: Floats, asked: Floats) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Shape (m,) each: how many of n ascending numbers are below each of m ascending numbers, and how many are not above it."""
    return look_up_in_order(ascending, asked, "left", np.int32), look_up_in_order(ascending, asked, "right", np.int32)


COMPARED = "an infinite number, which is only compared with"


@njit(infinite={"ascending": COMPARED}, missing={"ranks": "a missing value, which is written over"})
def _write_average_ranks(ascending: Floats, order: npt.NDArray[np.int32], ranks: Floats) -> None:
    begin, n = 0, len(ascending)
    while begin < n:
        end = begin + 1
        while end < n and ascending[end] == ascending[begin]:
            end += 1
        for at in range(begin, end):
            ranks[order[at]] = (begin + end + 1) / 2
        begin = end


@njit(infinite=dict.fromkeys(("before", "after"), COMPARED))
def _find_largest_distance(before: Floats, after: Floats, n_before: int, n_after: int) -> float:
    """before, after: the cells of each table that are there, ascending; the others are below them.

    n_before, n_after: how many cells each table has, with those that are missing.
    """
    gaps_before, gaps_after, i, j = n_before - len(before), n_after - len(after), 0, 0
    largest = abs(gaps_before / n_before - gaps_after / n_after)
    while i < len(before) or j < len(after):
        value = min(before[i] if i < len(before) else np.inf, after[j] if j < len(after) else np.inf)
        while i < len(before) and before[i] == value:
            i += 1
        while j < len(after) and after[j] == value:
            j += 1
        largest = max(largest, abs((gaps_before + i) / n_before - (gaps_after + j) / n_after))
    return largest
