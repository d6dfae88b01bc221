"""The groups of an earlier release that a newer one keeps: which record shows which published values. Private."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.codes import row_codes
from tasks.microdata.spec import Name, Spec
from tasks.microdata.table import (
    CALENDAR_TYPES,
    Booleans,
    Integers,
    Microdata,
    from_stored_integers,
    to_stored_integers,
)

NEWCOMER = -1
Cell = bool | int | float | str | None


class KeptGroups(Spec):
    """What the mask of a newer release was given of an earlier one. The program writes it, never a release file.

    of_record: for each record of the source that is masked, the number of its group, NEWCOMER where it was not released.
    values: by attribute, what each group shows; dates and times as the whole numbers they are stored as.

    Two groups that show the same are one here. It is private: an intruder may know who was grouped with whom, so the attacks
    read it, and nothing of it is published.
    """

    of_record: tuple[int, ...]
    values: tuple[tuple[Name, tuple[Cell, ...]], ...]

    @classmethod
    def from_released_rows(cls, masked: Microdata, names: tuple[str, ...], row: Integers) -> KeptGroups:
        """The groups of the earlier masked table. row: shape (n,), each record's row in it, negative for a newcomer."""
        groups = row_codes(masked, names)
        first = np.unique(groups, return_index=True)[1]
        values = tuple((name, tuple(_to_cells(masked.column(name).take(pa.array(first))))) for name in names)
        return cls(of_record=tuple(np.where(row < 0, NEWCOMER, groups[row]).tolist()), values=values)

    @property
    def groups(self) -> Integers:
        """Shape (n,): the number of each record's group, NEWCOMER where it has none yet."""
        return np.array(self.of_record, dtype=np.int64)

    @property
    def newcomers(self) -> Booleans:
        """Shape (n,): was the record in no earlier release?"""
        return np.asarray(self.groups < 0)

    def restore_values(self, data: Microdata, names: tuple[str, ...]) -> Microdata:
        """The table in which every record with a group shows in `names` what the group showed. data: n rows."""
        groups, shown = self.groups, dict(self.values)
        kept, row = pa.array(groups >= 0), pa.array(np.maximum(groups, 0))
        for name in names:
            column = data.column(name)
            data = data.replace_column(name, pc.if_else(kept, _from_cells(shown[name], column.type).take(row), column))
        return data


def _to_cells(column: pa.Array) -> list[Cell]:
    cells: list[Cell] = (to_stored_integers(column) if column.type in CALENDAR_TYPES else column).to_pylist()
    return cells


def _from_cells(cells: tuple[Cell, ...], kind: pa.DataType) -> pa.Array:
    if kind in CALENDAR_TYPES:
        return from_stored_integers(pa.array(cells, pa.int64()), kind)
    return pa.array(cells, kind)
