"""The one value that is published for a band of values or for a coded tail: limit, mean, median; refused for too few rows."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tasks.mask.step import MaskContext
from tasks.microdata.errors import InputError
from tasks.microdata.table import Booleans, Floats
from tasks.microdata.units import find_units

FEWEST = 3  # of one record the mean is its value, and each of two can tell the other's from it
Centre = Literal["mean", "median"]


def compute_centre(values: Floats, centre: Centre, *, ordinal: bool) -> float:
    """The mean or median of at least one value; of an even number the ordinal median is the lower of the middle two.

    The same to the last bit whatever the order of the values.
    """
    ascending = np.sort(values)
    if ordinal:
        return float(ascending[(len(ascending) - 1) // 2])
    return float(ascending.mean() if centre == "mean" else np.median(ascending))


def refuse_centre_of_few(site: MaskContext, behind: Booleans, centre: Centre, name: str, location: str) -> None:
    """InputError where a centre of 1 or 2 records would be published; of persons, where the schema names a person key.

    behind: shape (n,), the rows of the site whose centre it is.
    """
    units = find_units(site.source, site.schema)
    n = len(np.unique(units.of_row[behind]))
    if 0 < n < FEWEST:
        one = units.counts.removesuffix("s")
        behind_it = f"{n} {units.counts if n > 1 else one}"
        what = f"the {centre} of {behind_it} of `{name}` would be published: nearly the value of one person"
        allowed = f"no {one}, or at least {FEWEST}, behind each published {centre}"
        raise InputError("few-behind-a-centre", location, what, allowed, "move the limit, or publish something else than that")
