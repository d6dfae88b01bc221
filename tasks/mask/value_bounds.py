"""What is still known of an attribute when steps have hidden who holds which value: bounds on each value, and on the column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tasks.microdata.table import Floats, Integers
from tasks.microdata.value_ranks import count_below, count_up_to


@dataclass(frozen=True, slots=True)
class ValueBounds:
    """Between which positions the value of each record lies after some of the steps.

    low, high: shape (n,), NaN where a record has no value.
    spread: the standard deviation of noise by which values stand off the middle of their bounds, to weigh them; 0: none.
    lowest, highest: shape (m,), ascending: between what the j-th smallest of the column's m present values lies, whoever holds
        it; equal where the intruder knows the column's values. None: they do not know the column.
    """

    name: str
    low: Floats
    high: Floats
    lowest: Floats | None = None
    highest: Floats | None = None
    spread: float = 0.0

    @property
    def knows_column(self) -> bool:
        """Are the values of the column known, though not who holds them?"""
        return self.lowest is not None and self.highest is not None and np.array_equal(self.lowest, self.highest)

    def find_ranks(self) -> tuple[Integers, Integers]:
        """Shape (n,) each: the first and the last rank, 0..m-1, that each value can have; -1 for a missing value.

        Example: a column of 1, 3, 3, 8 for sure, and a value within 3..4: ranks 1 and 2.
        """
        if self.lowest is None or self.highest is None:
            raise ValueError("the column is not known")
        most = len(self.lowest) - 1
        # at a rank whose highest value is below `low` something else stands, and so at all ranks before it
        first = np.minimum(count_below(self.highest, self.low), most)
        last = np.maximum(count_up_to(self.lowest, self.high) - 1, 0)
        missing = np.isnan(self.low)
        return np.where(missing, -1, first), np.where(missing, -1, last)

    def map_ends(self, lower: Callable[[Floats], Floats], upper: Callable[[Floats], Floats]) -> ValueBounds:
        """The bounds after a step that takes no value x below lower(x) or above upper(x), both of which rise with x."""
        return ValueBounds(
            self.name,
            lower(self.low),
            upper(self.high),
            None if self.lowest is None else lower(self.lowest),
            None if self.highest is None else upper(self.highest),
            self.spread,
        )

    def select_rows(self, rows: Integers) -> ValueBounds:
        """The same for some of the records; which values of the column are theirs is not known."""
        return replace(self, low=self.low[rows], high=self.high[rows], lowest=None, highest=None)


def move_by_ranks(bounds: ValueBounds, reach: int, after: Floats | None = None) -> ValueBounds | None:
    """The bounds after a permutation of the column that moves no value by more than `reach` ranks; None: nothing follows.

    after: the values of the permuted column, ascending, where they are known better than the column before.
    Example: a column of 1, 2, 3, 4 and 5, and a reach of 1: the value 3 becomes 2 to 4.
    """
    if bounds.lowest is None or bounds.highest is None or not len(bounds.lowest):
        return None
    lowest, highest = (bounds.lowest, bounds.highest) if after is None else (after, after)
    first, last = bounds.find_ranks()
    missing, most = np.isnan(bounds.low), len(lowest) - 1
    low, high = lowest[np.clip(first - reach, 0, most)], highest[np.clip(last + reach, 0, most)]
    return ValueBounds(
        bounds.name, np.where(missing, np.nan, low), np.where(missing, np.nan, high), bounds.lowest, bounds.highest
    )


def largest_spread(lowest: Floats, highest: Floats) -> float:
    """The largest standard deviation (n - 1) that a column within these bounds can have; by the triangle inequality."""
    middle, half = (lowest + highest) / 2, (highest - lowest) / 2
    return float(np.std(middle, ddof=1) + np.sqrt((half**2).sum() / (len(half) - 1)))
