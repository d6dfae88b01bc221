"""Codes that are joined by their first digits, as hierarchical classifications are built (occupations, industries, regions)."""

from __future__ import annotations

from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from tasks.mask.step import MaskContext
from tasks.microdata.errors import InputError
from tasks.microdata.spec import Public, Spec

MOST_DIGITS = 18  # of a whole number of 64 bits


class DigitGrouping(Spec):
    """How codes are joined. digits: codes with the same first digits, so many, become one, which is shown as these digits."""

    digits: Public[Annotated[int, Field(ge=1, le=MOST_DIGITS)]]


def refuse_no_digits(site: MaskContext, name: str, location: str) -> None:
    """InputError for a column whose values are not all digits, or whose texts have a declared order."""
    column = site.data.column(name)
    if site.schema[name].order is not None:
        what, allowed = f"`{name}` has a declared order, in which its first digits do not stand", "`map`"
        raise InputError("ordered-digits", f"{location}.group", what, allowed, "join its categories by `map`")
    present = column.drop_null()
    if site.data.is_text(name):
        fits = bool(pc.all(pc.match_substring_regex(present, r"\A[0-9]+\z")).as_py()) if len(present) else True
    else:
        fits = _are_whole(present)
    if not fits:
        what = f"`{name}` holds values that are no codes of digits"
        allowed = "codes that are written in digits alone (0110, 9622)"
        raise InputError("no-digits", f"{location}.group", what, allowed, "join its categories by `map` or `file`")


def first_digits(site: MaskContext, name: str, group: DigitGrouping) -> pa.Array:
    """The first digits of each code; missing stays missing.

    Meaning: numbers have lost their leading zeros, and are read as if they had as many digits as the longest of the source.
    Texts are read as they are written; one that is shorter stays.
    Example: 110, 2310 and 9622 have the first digits 0, 2 and 9; the text "0110" has "0".
    """
    column = site.data.column(name)
    if site.data.is_text(name):
        return pc.utf8_slice_codeunits(column, 0, group.digits)
    longest = pc.max(site.table.column(name)).as_py()
    dropped = max(0, len(str(int(longest or 0))) - group.digits)
    kept = pc.divide(column, pa.scalar(10**dropped, type=column.type))  # of whole numbers the whole part
    return kept if pa.types.is_integer(column.type) else pc.floor(kept)


def _are_whole(present: pa.Array) -> bool:
    if not (pa.types.is_integer(present.type) or pa.types.is_floating(present.type)):
        return False
    whole = pa.types.is_integer(present.type) or not len(present) or pc.all(pc.equal(pc.floor(present), present)).as_py()
    return bool(whole and (not len(present) or pc.min(present).as_py() >= 0))
