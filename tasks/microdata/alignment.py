"""Which released row belongs to which source record, or that none does: the evaluator's knowledge, never an intruder's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from tasks.microdata.errors import NotApplicable
from tasks.microdata.table import Booleans, Integers, Microdata

ABSENT = -1
ROWS_OF_NOBODY = "the rows of the release belong to nobody (a fully synthetic table): whose row is whose has no answer"


@dataclass(frozen=True)
class Alignment:
    """How the m rows of a masked table belong to the n records of its source.

    record: shape (m,), ascending: masked row i is the released form of record record[i]. position: shape (m,): masked row i is
    row place[i] of the released file. n_records: n; records that stand in no masked row are absent from the release.
    """

    record: Integers
    position: Integers
    n_records: int

    def __post_init__(self) -> None:
        if len(self.record) != len(self.position):
            raise ValueError("every masked row has a record and a place")
        if len(self.record) and not (
            self.record[0] >= 0 and self.record[-1] < self.n_records and np.all(np.diff(self.record) > 0)
        ):
            raise ValueError("the records of the masked rows ascend within the source")
        _check_places(self.position)

    @classmethod
    def complete_in(cls, order: Integers) -> Alignment:
        """Every record is released; `order[i]` is the record in row i of the released file."""
        return cls(np.arange(len(order), dtype=np.int64), invert_permutation(order), len(order))

    @classmethod
    def from_table(cls, table: Microdata, n_records: int) -> Alignment:
        """The inverse of `as_table`."""
        record, position = (np.array(table.column(name).to_numpy(), dtype=np.int64) for name in ("record", "place"))
        return cls(record, position, n_records)

    def as_table(self) -> Microdata:
        return Microdata.from_columns(
            {"record": pa.array(self.record, pa.int64()), "place": pa.array(self.position, pa.int64())}
        )

    @property
    def n_rows(self) -> int:
        """m, the number of masked rows."""
        return len(self.position)

    @property
    def complete(self) -> bool:
        """Is every record of the source in the release?"""
        return len(self.record) == self.n_records

    @cached_property
    def row_by_record(self) -> Integers:
        """Shape (n,): the masked row of each record, ABSENT where it is not released."""
        rows = np.full(self.n_records, ABSENT, dtype=np.int64)
        rows[self.record] = np.arange(len(self.record))
        return rows

    @property
    def present(self) -> Booleans:
        """Shape (n,): is the record in the release?"""
        return np.asarray(self.row_by_record != ABSENT)

    @property
    def order(self) -> Integers:
        """Shape (m,): the masked row that stands in each row of the released file."""
        return invert_permutation(self.position)


@dataclass(frozen=True)
class NoAlignment:
    """How the m rows of a table that belong to nobody stand in the released file.

    position: shape (m,): row i is row position[i] of the released file. n_records: of the source, of which none has a row.
    It has no records to ask for, so that what needs to know whose row is whose cannot be computed on it by mistake:
    `require_alignment` refuses it, and everything else is an error of types.
    """

    position: Integers
    n_records: int

    def __post_init__(self) -> None:
        _check_places(self.position)

    def as_table(self) -> Microdata:
        return Microdata.from_columns({"place": pa.array(self.position, pa.int64())})

    @property
    def n_rows(self) -> int:
        return len(self.position)

    @property
    def order(self) -> Integers:
        """Shape (m,): the row that stands in each row of the released file."""
        return invert_permutation(self.position)


RowAlignment = Alignment | NoAlignment


def read_alignment(table: Microdata, n_records: int) -> RowAlignment:
    """The inverse of `as_table` of either."""
    if "record" in table.names:
        return Alignment.from_table(table, n_records)
    return NoAlignment(np.array(table.column("place").to_numpy(), dtype=np.int64), n_records)


def require_alignment(belonging: RowAlignment) -> Alignment:
    """The alignment of rows that belong to records; raises NotApplicable, with the reason, where they belong to nobody."""
    if isinstance(belonging, NoAlignment):
        raise NotApplicable(ROWS_OF_NOBODY)
    return belonging


def invert_permutation(order: Integers) -> Integers:
    """Shape (n,): where each of the numbers 0..n-1 stands in a permutation of them."""
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    return position


def _check_places(position: Integers) -> None:
    n = len(position)
    present = np.zeros(n, dtype=bool)
    if n and position.min() >= 0 and position.max() < n:
        present[position] = True
    if not present.all():
        raise ValueError("the places are a permutation of the released rows")
