"""Do the attributes of a masking step fit it? Every refusal that does not depend on the method."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tasks.microdata.errors import InputError
from tasks.microdata.positions import extract_positions
from tasks.microdata.schema import MaskTargets, Schema
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Floats, Microdata

_MOST_WHOLE = 2.0**53


def fitting_attributes(targets: MaskTargets, schema: Schema, where: str) -> tuple[str, ...]:
    """The attributes a step masks: those it names, or every quasi-identifier of a fitting scale.

    Raises InputError for an unknown attribute, one that is not published, one of another scale, and where nothing is left.
    """
    names = targets.resolve(schema)
    scales = " or ".join(targets.by_default or targets.scales)
    if not names:
        raise InputError(
            "nothing-to-mask",
            where,
            f"no quasi-identifier is {scales}, so this step has nothing to mask",
            f"published attributes that are {scales}",
            "name the attributes under `attributes`, or declare roles and scales",
        )
    for name in names:
        _check(name, targets, schema, f"{where}.attributes")
    return names


def _check(name: str, targets: MaskTargets, schema: Schema, where: str) -> None:
    fitting = tuple(a.name for a in schema.attributes if a.is_published and a.scale in targets.scales)
    allowed = f"one of {', '.join(fitting)}" if fitting else "no attribute of this table"
    if name not in schema:
        remedy = did_you_mean(name, schema.names, "compare it with the column names of the table")
        raise InputError("unknown-attribute", where, f"the table has no attribute `{name}`", allowed, remedy, name)
    attribute = schema[name]
    if not attribute.is_published:
        what = f"`{name}` has the role {attribute.role} and is not published: there is nothing to mask"
        raise InputError(
            "unpublished-attribute", where, what, allowed, "take it out of the step, or declare another role", name
        )
    if attribute.scale not in targets.scales:
        what = f"`{name}` is {attribute.scale}; this method needs {' or '.join(targets.scales)}"
        raise InputError("wrong-scale", where, what, allowed, "take it out of the step, or declare its scale", name)


def extract_varying_positions(data: Microdata, schema: Schema, name: str, where: str) -> Floats:
    """`extract_positions` of an attribute to be masked; InputError also where its present values are all equal.

    A constant can be neither scaled nor swapped. Whole numbers from 2^53 on are refused: as floating-point numbers some of
    them are equal, so that their order would be a matter of chance, and who follows the step would look for another value.
    """
    location = f"{where}.attributes: {name}"
    positions = extract_positions(data, schema, name, location)
    if pa.types.is_integer(data.column(name).type) and (np.abs(positions) >= _MOST_WHOLE).any():
        what = f"`{name}` holds whole numbers of 16 digits and more, of which not all can be told apart in calculations"
        remedy = "declare it a code if it numbers something; else record it in larger units"
        raise InputError("too-large", location, what, "whole numbers between -2^53 and 2^53", remedy)
    least, most = np.fmin.reduce(positions, initial=np.inf), np.fmax.reduce(positions, initial=-np.inf)  # they pass over NaN
    refuse_constant(name, location, varies=bool(least < most))
    return positions


def refuse_constant(name: str, location: str, *, varies: bool) -> None:
    """InputError where an attribute to be masked shows fewer than two different values."""
    if not varies:
        what = f"all present values of `{name}` are equal: masking it would change nothing"
        raise InputError("constant-attribute", location, what, "at least two different values", "take it out of the step")
