"""Comparing what an intruder computes with what a table shows that somebody else rounded."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tasks.microdata.table import Floats, Microdata, holds_same_values
from tasks.microdata.value_ranks import count_below

SAME_TO = 1e-6  # of the value: programs write 7 significant digits or more


def as_shown(believed: Microdata, released: Microdata) -> Microdata:
    """The intruder's computed numbers, each replaced by the released one that it can only be.

    Meaning: a table masked elsewhere was written with as many digits as its tool writes; a mean of 265,865.6667 stands there as
    265865.67. Whoever computes it takes the two for the same.
    Formula in words: a number that is not in the released column becomes the nearest released number, if that is within a
    relative 1e-6 of it; every other number stays.

    Cost: O(n log n) per column of decimals. Example: what is in the released column stays, so that a table masked here, whose
    precision is known, is compared exactly.
    """
    for name in believed.names:
        column = released.column(name)
        if pa.types.is_floating(column.type) and not is_shown_as_it_is(believed.column(name), column):
            shown = _nearest_shown(believed.floats(name), released.floats(name))
            believed = Microdata(believed.arrow.set_column(believed.names.index(name), name, pa.array(shown, from_pandas=True)))
    return believed


def match_column_types(originals: Microdata, released: Microdata) -> Microdata:
    """The intruder's columns of whole numbers as decimals where the released table shows decimals."""
    for name in originals.names:
        if originals.is_integer(name) and pa.types.is_floating(released.arrow.schema.field(name).type):
            decimals = pa.array(originals.floats(name), from_pandas=True)
            originals = Microdata(originals.arrow.set_column(originals.names.index(name), name, decimals))
    return originals


def stack_tables(originals: Microdata, released: Microdata) -> Microdata:
    """The rows of both tables, whose columns are of the same kinds."""
    return Microdata(pa.concat_tables([originals.arrow, released.arrow.select(list(originals.names))]))


def is_shown_as_it_is(believed: pa.Array, released: pa.Array) -> bool:
    """Are the two columns equal, without a zero below zero, which may be shown as zero?"""
    if not holds_same_values(believed, released):
        return False
    if not pa.types.is_floating(believed.type):
        return True
    numbers = np.asarray(believed)
    return not np.signbit(numbers[numbers == 0]).any()


def _nearest_shown(values: Floats, released: Floats) -> Floats:
    ascending = np.sort(released[~np.isnan(released)])
    shown = ascending[np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)]]
    if len(shown) == 0:
        return values
    position = count_below(shown, values)
    below, above = shown[np.clip(position - 1, 0, len(shown) - 1)], shown[np.clip(position, 0, len(shown) - 1)]
    nearest = np.where(np.abs(values - below) < np.abs(above - values), below, above)
    same: Floats = np.where(np.abs(nearest - values) <= SAME_TO * np.abs(values), nearest, values)
    return same
