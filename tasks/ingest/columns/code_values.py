"""Convert the codes of a codebook, which are text, to the type of a column."""

from __future__ import annotations

import re

import pyarrow as pa

from tasks.ingest.columns.numerals import INTEGER, NUMBER
from tasks.microdata.errors import InputError

CodeValue = str | bool | int | float
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


def convert_codes(codes: tuple[str, ...], kind: pa.DataType, name: str) -> tuple[CodeValue, ...]:
    """The codes as values of a column's logical type. InputError for codes that no value of the column could equal."""
    if pa.types.is_string(kind):
        return codes
    if pa.types.is_boolean(kind):
        found: list[CodeValue | None] = [_FLAGS.get(code.lower()) for code in codes]
    elif pa.types.is_integer(kind):
        found = [int(code) if re.search(INTEGER, code) else None for code in codes]
    elif pa.types.is_floating(kind):
        found = [float(code) if re.search(NUMBER, code) else None for code in codes]
    else:
        raise InputError("unfitting-categories", f"attributes.{name}.categories", f"The column holds {kind} values.",
                         "categories of text, numbers or true/false", "remove them, or declare `scale: nominal`")  # fmt: skip
    unfitting = found.count(None)
    if unfitting:
        raise InputError("unfitting-categories", f"attributes.{name}.categories",
                         f"The column holds {kind} values, and {unfitting} of {len(codes)} codes are none.",
                         'codes as the values are written, e.g. "1" for 1', "correct the codes")  # fmt: skip
    return tuple(value for value in found if value is not None)
