"""Which rows belong to one unit: to a person if the schema has a person key, else each row is a unit of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Integers, Microdata, encode_jointly

Counts = Literal["records", "persons"]


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Rows by the number of what they belong to: those of number u are rows[starts[u]:starts[u + 1]], ascending."""

    starts: Integers
    rows: Integers

    @property
    def sizes(self) -> Integers:
        return np.diff(self.starts)

    def find_rows(self, numbers: Integers) -> tuple[Integers, Integers]:
        """The rows of the given numbers, all of one together, and for each row its place in `numbers`."""
        sizes = self.sizes[numbers]
        position = np.repeat(np.arange(len(numbers)), sizes)
        before = np.cumsum(sizes) - sizes
        return self.rows[np.arange(len(position)) + (self.starts[numbers] - before)[position]], position


@dataclass(frozen=True, slots=True)
class Units:
    """The units of a table of n rows. of_row: shape (n,), the unit 0..n_units-1 of each row. counts: what a unit is."""

    of_row: Integers
    n_units: int
    counts: Counts

    def rows(self) -> RowGroups:
        """The rows of each unit."""
        return group_rows(self.of_row, self.n_units)


def find_units(data: Microdata, schema: Schema) -> Units:
    """The persons of a table whose schema names a person key, else its records.

    Raises InputError as `check_units`. Cost: O(n log n). Example: a key that differs in every row: persons are records.
    """
    check_units(data, schema)
    for name in schema.find_by_role(Role.PERSON):
        (codes,) = encode_jointly(data.column(name))
        return Units(codes, int(codes.max(initial=-1)) + 1, "persons")
    return Units(np.arange(data.n, dtype=np.int64), data.n, "records")


def person_key(data: Microdata, schema: Schema) -> pa.Array | None:
    """The column that joins the rows of one person; None where the schema names none, or the table does not hold it."""
    return next((data.column(name) for name in schema.find_by_role(Role.PERSON) if name in data.names), None)


def list_person_columns(schema: Schema, key: str | None = None) -> tuple[str, ...]:
    """The columns that tell people apart in two tables: the person key, and the key of rows across versions.

    Where there are none, only a whole row tells somebody from others.
    """
    return tuple(dict.fromkeys([*schema.find_by_role(Role.PERSON), *([key] if key is not None else [])]))


def check_units(data: Microdata, schema: Schema) -> None:
    """Refuse a table of which it is not clear whose row is whose.

    Raises InputError for two person keys, and for a row without one: it may be another row of somebody who has one, and to
    count it as a person of its own would make k larger than it is.
    """
    names = schema.find_by_role(Role.PERSON)
    if len(names) > 1:
        raise InputError(
            "two-person-keys",
            f"attributes.{names[1]}.role",
            f"{len(names)} attributes have the role person: {', '.join(names)}.",
            "at most one attribute that joins the rows of one person",
            "declare the others identifiers or, if they join several persons, `role: group`",
        )
    for name in names:
        missing = int(data.missing(name).sum())
        if missing:
            raise InputError(
                "person-missing",
                f"attributes.{name}",
                f"{missing:,} of {data.n:,} rows have no `{name}`: whose rows they are is not known.",
                "a person for every row",
                "give each of these persons a key of their own, or leave the rows out",
            )


def group_rows(numbers: Integers, n_numbers: int) -> RowGroups:
    """Rows by their number 0..n_numbers-1; rows with a negative number belong to none."""
    order = np.argsort(numbers, kind="stable")
    present = numbers[numbers >= 0]
    starts = len(numbers) - len(present) + np.append(0, np.cumsum(np.bincount(present, minlength=n_numbers)))
    return RowGroups(starts, order)
