"""Text tables without a header: the first record would be taken for the names of the columns, and published as such."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tasks.ingest.columns.iso_cells import find_calendar_kind
from tasks.ingest.columns.numerals import INTEGER, NUMBER
from tasks.microdata.errors import InputError
from tasks.microdata.table import Microdata


def refuse_missing_header(data: Microdata, declared: Collection[str], label: str) -> None:
    """InputError where the names of the columns are what their cells are, unless somebody declared all of these names.

    Each column of numbers has a number as its name, and each of dates or times such a one; where there are none of these, each
    name is a cell of its column. Numbers that go up by one, as years do, are names. The message holds no name: it may be a
    value of a person.
    """
    names = [name for name in data.names if not data.is_text(name)] or data.names
    if set(data.names) <= set(declared) or _count_up(names) or _count_up(data.names):
        return
    if all(_is_cell(name, data.column(name)) for name in names):
        raise InputError("no-header", f"{label}: header",
                         "The first row seems to be a record, and not the names of the columns: its cells are as those below.",
                         "a first row with a name for every column", "write one; or declare all columns under `attributes` "
                         "if these are their names")  # fmt: skip


def _is_cell(name: str, column: pa.Array) -> bool:
    if pa.types.is_string(column.type):
        return bool(pc.any(pc.equal(column, name)).as_py())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return re.fullmatch(NUMBER, name) is not None
    return find_calendar_kind(pa.array([name])) is not None


def _count_up(names: Sequence[str]) -> bool:
    if len(names) < 2 or not all(re.fullmatch(INTEGER, name) for name in names):
        return False
    first = int(names[0])
    return [int(name) for name in names] == list(range(first, first + len(names)))
