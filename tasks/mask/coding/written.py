"""Values that a person writes in a release file, such as limits, as positions on the scale of an attribute."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pyarrow as pa
from pydantic import Field

from tasks.ingest.columns.iso_cells import find_calendar_kind, parse_iso_cells
from tasks.mask.precision_grid import round_to_grid
from tasks.mask.step import MaskContext
from tasks.microdata.errors import InputError
from tasks.microdata.spec import Name
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import DATE, MOMENT, Microdata

Written = Annotated[int | float | Name, Field(description="a number; a date or time as ISO 8601 text; a category as text")]


def parse_position(site: MaskContext, name: str, written: Written, location: str) -> float:
    """Where a written value stands: a number, days, seconds, or the place of a category in the declared order.

    Raises InputError for one of another kind than the column holds, a category outside the order, and a number, date or time
    with more digits than the column shows: it could not be published.
    """
    data, attribute = site.data, site.schema[name]
    if data.is_text(name):
        return _place_in_order(attribute.order or (), written, location)
    if data.is_calendar(name):
        position = _calendar_position(site, name, written, location)
    elif isinstance(written, str):
        raise InputError("written-value", location, f"`{name}` holds numbers, and this is text", "a number",
                         "take the quotes away", written)  # fmt: skip
    else:
        position = float(written) + 0.0  # -0.0 is 0.0, as in the source
    if round_to_grid(np.array([position]), site.precision[name])[0] != position:
        what = f"the value has more digits than those of `{name}`"
        raise InputError("between-values", location, what, "a value that the column could hold", "round it", written)
    return position


def _place_in_order(order: tuple[str, ...], written: Written, location: str) -> float:
    if written not in order:
        remedy = did_you_mean(str(written), order, "write a category as `order` has it")
        what = "this is no category of the declared order"
        raise InputError("unknown-category", location, what, "a category of `order`", remedy, written)
    return float(order.index(str(written)))


def _calendar_position(site: MaskContext, name: str, written: Written, location: str) -> float:
    column = site.data.arrow.schema.field(name).type
    kinds = ("date",) if column == DATE else ("date", "moment") if column == MOMENT else ("time",)
    cells = pa.array([written if isinstance(written, str) else None], type=pa.string())
    kind = find_calendar_kind(cells)
    values = parse_iso_cells(cells, kind) if kind in kinds and kind is not None else None
    if values is None:
        example = {"date": '"2020-01-31"', "moment": '"2020-01-31T12:30:00"', "time": '"12:30:00"'}[kinds[-1]]
        what = f"this is no {' or '.join(kinds)}, and `{name}` holds such values"
        raise InputError("written-value", location, what, f"ISO 8601, e.g. {example}", "write it so, in quotes", written)
    return float(Microdata.from_columns({name: values.cast(column)}).floats(name)[0])
