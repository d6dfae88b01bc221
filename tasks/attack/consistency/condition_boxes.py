"""The conditions on pairs as ranges of whole numbers, as the walk along orbits takes them."""

from __future__ import annotations

import numpy as np

from tasks.attack.consistency.exchanges import MISSING, Exchange
from tasks.attack.consistency.orbits import Boxes
from tasks.attack.transparency.intersection import Conditions
from tasks.microdata.table import Booleans, Floats, Integers


def create_boxes(conditions: Conditions, exchanges: tuple[Exchange, ...]) -> Boxes:
    """The conditions as ranges of whole numbers; of a list of several codes only the first and last are looked at.

    Besides, who has no value of an exchanged attribute shows none.
    """
    parts = [_create_box_from_codes(conditions, j) for j in range(len(conditions.allowed))]
    intervals = zip(conditions.low.T, conditions.high.T, conditions.positions.T, strict=True)
    parts += [_create_box_from_positions(*interval) for interval in intervals]
    parts += [_create_box_for_missing(exchange) for exchange in exchanges if (exchange.held == MISSING).any()]
    low, high, location = (np.column_stack(columns) for columns in zip(*parts, strict=True))
    return Boxes(low, high, location)


def _create_box_from_codes(conditions: Conditions, j: int) -> tuple[Integers, Integers, Integers]:
    begins, ends, allowed = conditions.begins[j], conditions.ends[j], conditions.allowed[j]
    return allowed[begins], allowed[ends - 1], conditions.shown[j]


def _create_box_from_positions(low: Floats, high: Floats, positions: Floats) -> tuple[Integers, Integers, Integers]:
    locations = np.unique(positions[~np.isnan(positions)])
    missing: Booleans = np.isnan(low)
    first = np.where(missing, len(locations), np.searchsorted(locations, low, side="left"))
    last = np.where(missing, len(locations), np.searchsorted(locations, high, side="right") - 1)
    return first, last, np.where(np.isnan(positions), len(locations), np.searchsorted(locations, positions))


def _create_box_for_missing(exchange: Exchange) -> tuple[Integers, Integers, Integers]:
    missing = (exchange.held == MISSING).astype(np.int64)
    return missing, missing, (exchange.shown == MISSING).astype(np.int64)
