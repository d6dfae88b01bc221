"""Where the values of one attribute lie after it was grouped by itself, if the column is known, or bounds on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tasks.mask.repetition import create_mask_context
from tasks.mask.step import IntruderView, MaskContext
from tasks.mask.value_bounds import ValueBounds, move_by_ranks
from tasks.microdata.table import Microdata
from tasks.microdata.value_ranks import count_below, count_up_to


def move_bounds_by_groups(
    view: IntruderView, bounds: ValueBounds, masked: Callable[[MaskContext], Microdata]
) -> ValueBounds | None:
    """The bounds after groups that depend on the column alone, whose values are known; None: they are not.

    Formula in words: the step is carried out on the column, whoever holds which value. A value within low..high gets what the
    values of the column from `low` on, and up to `high`, get at the least and at the most; equal values, of which it is not
    known which went to which group, count with both.
    """
    column = bounds.lowest
    if column is None or not bounds.knows_column or not len(column):
        return None
    attribute, there = view.schema[bounds.name], ~np.isnan(bounds.low)
    if int(there.sum()) != len(column):
        return None
    site = create_mask_context(view)
    values = np.full(len(there), np.nan)
    values[there] = column
    data = masked(replace(site, data=site.data.replace_positions(attribute, values)))
    after = data.positions(attribute)[there]
    first, last = count_below(column, bounds.low), count_up_to(column, bounds.high) - 1
    least, most = np.minimum.accumulate(after[::-1])[::-1], np.maximum.accumulate(after)
    end = len(column) - 1
    low = np.where(there, least[np.minimum(first, end)], np.nan)
    high = np.where(there, most[np.maximum(last, 0)], np.nan)
    ranked = np.sort(after)
    return ValueBounds(bounds.name, low, high, ranked, ranked)


def move_bounds_within_groups(bounds: ValueBounds, largest: int) -> ValueBounds | None:
    """The bounds after groups of at most `largest` values that are neighbours in the column, of which only bounds are known.

    A value is replaced by one between the lowest and the highest value of its group, which lie fewer than `largest` ranks away.
    """
    moved = move_by_ranks(bounds, largest - 1)
    if moved is None or bounds.lowest is None or bounds.highest is None:
        return None
    most, ranks = len(bounds.lowest) - 1, np.arange(len(bounds.lowest))
    lowest = bounds.lowest[np.maximum(ranks - (largest - 1), 0)]
    highest = bounds.highest[np.minimum(ranks + (largest - 1), most)]
    return replace(moved, lowest=lowest, highest=highest)
