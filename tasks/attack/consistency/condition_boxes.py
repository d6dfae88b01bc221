"""The conditions on pairs as intervals, as the walk along orbits takes them."""

from __future__ import annotations

import numpy as np

from tasks.attack.consistency.exchanges import MISSING, Exchange
from tasks.attack.consistency.orbits import Boxes, Intervals
from tasks.attack.transparency.intersection import Conditions
from tasks.microdata.table import Floats


def create_boxes(conditions: Conditions, exchanges: tuple[Exchange, ...]) -> Boxes:
    """The conditions as intervals; of a list of several codes only the first and last are looked at.

    Besides, who has no value of an exchanged attribute shows none. What keeps nobody apart is left out.
    """
    parts = [_create_box_from_codes(conditions, j) for j in range(len(conditions.allowed)) if _keeps_apart(conditions, j)]
    parts += [_create_box_for_missing(exchange) for exchange in exchanges if not _tells_missing(conditions, exchange)]
    intervals = Intervals(conditions.low, conditions.high, conditions.positions)
    if not parts and conditions.positions.shape[1] == 0:
        parts = [_create_box_from_codes(conditions, 0)]
    if not parts:
        return Boxes.create_from_intervals(intervals)
    return Boxes(intervals, Intervals(*(np.column_stack(columns) for columns in zip(*parts, strict=True))))


def _keeps_apart(conditions: Conditions, j: int) -> bool:
    return len(conditions.allowed[j]) > 1 or bool((conditions.shown[j] != conditions.allowed[j]).any())


def _tells_missing(conditions: Conditions, exchange: Exchange) -> bool:
    """Do the intervals keep apart who has no value, because one of them is missing just where the attribute is?

    True also where everybody has a value.
    """
    held, shown = exchange.held == MISSING, exchange.shown == MISSING
    columns = zip(conditions.low.T, conditions.positions.T, strict=True)
    return not held.any() or any(
        np.array_equal(np.isnan(low), held) and np.array_equal(np.isnan(position), shown) for low, position in columns
    )


def _create_box_from_codes(conditions: Conditions, j: int) -> tuple[Floats, Floats, Floats]:
    begins, ends, allowed = conditions.begins[j], conditions.ends[j], conditions.allowed[j].astype(np.float64)
    return allowed[begins], allowed[ends - 1], conditions.shown[j].astype(np.float64)


def _create_box_for_missing(exchange: Exchange) -> tuple[Floats, Floats, Floats]:
    missing = (exchange.held == MISSING).astype(np.float64)
    return missing, missing, (exchange.shown == MISSING).astype(np.float64)
