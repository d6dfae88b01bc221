"""Where the values of an attribute lie on its scale, with a refusal for each attribute that has no such positions."""

from __future__ import annotations

import numpy as np

from tasks.microdata.errors import InputError
from tasks.microdata.scaling import refuse_too_large
from tasks.microdata.schema import Scale, Schema
from tasks.microdata.table import Floats, Microdata


def extract_positions(data: Microdata, schema: Schema, name: str, location: str) -> Floats:
    """Shape (n,): the positions of one attribute, NaN where its value is missing and only there.

    Raises InputError for text without an order, a category outside the declared order, and a number too large, or infinite.
    """
    attribute = schema[name]
    if data.is_text(name) and (attribute.order is None or attribute.scale is not Scale.ORDINAL):
        allowed = "numbers, dates, times, or an ordinal attribute with `order`"
        remedy = "declare `order: [lowest, ..., highest]`"
        raise InputError("no-order", location, f"`{name}` is text and has no declared order", allowed, remedy)
    positions = data.positions(attribute)
    positions += 0.0  # in the place of -0.0
    if np.count_nonzero(np.isnan(positions)) > data.arrow.column(name).null_count:
        what = f"`{name}` holds a category that its declared order does not list"
        raise InputError("unknown-category", location, what, "the categories of `order`", "complete the order")
    refuse_too_large(positions, name, location)
    return positions
