"""Text tables without a header: the first record would be taken for the names of the columns, and published as such."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from functools import reduce
from itertools import takewhile

import pyarrow as pa
import pyarrow.compute as pc

from tasks.ingest.columns.iso_cells import find_calendar_kind
from tasks.microdata.errors import InputError
from tasks.microdata.table import Microdata

_YEAR = re.compile("(19|20)[0-9]{2}")


def refuse_missing_header(data: Microdata, declared: Collection[str], label: str) -> None:
    """InputError where the first row seems to be a record, unless all of its cells are declared as names of columns.

    It seems to be one where at least two names are like the cells below them, and none is unlike them. A number is like
    numbers, and a date like dates. A text is like texts if it is one of them, and unlike them if it is not, although there are
    at most half as many different ones as rows. Years are taken for names, and so are whole numbers that go up by one: from 0
    or 1, or three of them. The message holds no name: it may be a value of a person.
    """
    texts = [name for name in data.names if data.is_text(name)]
    others = [name for name in data.names if not data.is_text(name)]
    if set(data.names) <= set(declared) or _are_labels(others):
        return
    likeness = (_is_cell(name, data.column(name)) for name in (*others, *texts))  # texts take longest
    found = list(takewhile(lambda is_cell: is_cell is not False, likeness))
    if len(found) == len(data.names) and found.count(True) >= 2 and not _is_repeated_below(data):
        raise InputError("no-header", f"{label}: header",
                         "The first row seems to be a record, and not the names of the columns: its cells are as those below.",
                         "a first row with a name for every column",
                         "write one; if these are the names, give the columns others (`x5` instead of `5`), or declare all of "
                         "them under `attributes`")  # fmt: skip


def _is_cell(name: str, column: pa.Array) -> bool | None:
    """Is the name like the cells? None: nobody can tell, as of texts that are all different."""
    if pa.types.is_string(column.type):
        is_there = bool(pc.any(pc.equal(column, name)).as_py())
        return is_there or (False if 2 * len(column.unique()) <= len(column) else None)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return _is_number(name)
    return find_calendar_kind(pa.array([name])) is not None


def _is_number(name: str) -> bool:
    try:
        return math.isfinite(float(name))
    except ValueError:
        return False


def _are_labels(names: Sequence[str]) -> bool:
    """Are they years, or whole numbers that go up by one?"""
    if names and all(map(_YEAR.fullmatch, names)):
        return True
    if not names or not all(name.isdecimal() for name in names):
        return False
    first = int(names[0])
    return [int(name) for name in names] == list(range(first, first + len(names))) and (first < 2 or len(names) > 2)


def _is_repeated_below(data: Microdata) -> bool:
    """Does a row of texts repeat the names? Then two files with a header each were joined."""
    if not all(data.is_text(name) for name in data.names):
        return False
    return bool(pc.any(reduce(pc.and_, (pc.equal(data.column(name), name) for name in data.names))).as_py())
