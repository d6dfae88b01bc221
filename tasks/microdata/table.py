"""`Microdata`: an immutable table of one row per respondent, and the few ways to look at its columns.

Held as an Arrow table of four logical types (int64, double, string, bool) with validity apart from the values: a missing
value is never a number, and an integer column with gaps stays integer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.schema import Attribute, Scale

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

LOGICAL_TYPES = (pa.int64(), pa.float64(), pa.string(), pa.bool_())


@dataclass(frozen=True, slots=True)
class Microdata:
    """A table of n rows. Columns are int64, double, string or bool; nulls are missing values; doubles hold no NaN."""

    arrow: pa.Table

    def __post_init__(self) -> None:
        for field in self.arrow.schema:
            if field.type not in LOGICAL_TYPES:
                raise TypeError(f"column {field.name}: {field.type} is not one of {[str(t) for t in LOGICAL_TYPES]}")

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[object] | npt.NDArray[np.generic] | pa.Array]) -> Microdata:
        """Build a table from columns; None and NaN become missing."""
        return cls(pa.table({name: _array(values) for name, values in columns.items()}))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.arrow.column_names)

    @property
    def n(self) -> int:
        return int(self.arrow.num_rows)

    def column(self, name: str) -> pa.Array:
        """One column as a single contiguous Arrow array."""
        return self.arrow.column(name).combine_chunks()

    def is_text(self, name: str) -> bool:
        return bool(pa.types.is_string(self.arrow.schema.field(name).type))

    def is_integer(self, name: str) -> bool:
        return bool(pa.types.is_integer(self.arrow.schema.field(name).type))

    def missing(self, name: str) -> Booleans:
        """Shape (n,): True where the value is missing."""
        return np.asarray(self.column(name).is_null().to_numpy(zero_copy_only=False), dtype=bool)

    def floats(self, name: str) -> Floats:
        """Shape (n,), a fresh writable array: the numbers of a numeric (or bool) column, NaN where missing."""
        cast = pc.cast(self.column(name), pa.float64(), safe=False)
        return np.array(cast.to_numpy(zero_copy_only=False), dtype=np.float64)

    def positions(self, attribute: Attribute) -> Floats:
        """Shape (n,): where each value stands on a numeric or ordinal scale (the number, or the index of the ordered text)."""
        if attribute.scale is Scale.NOMINAL:
            raise TypeError(f"{attribute.name} is nominal: its values have no positions")
        if not self.is_text(attribute.name):
            return self.floats(attribute.name)
        if attribute.order is None:
            raise TypeError(f"{attribute.name} is text on an {attribute.scale} scale without a declared order")
        index = pc.index_in(self.column(attribute.name), value_set=pa.array(attribute.order, type=pa.string()))
        return np.array(pc.cast(index, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)

    def with_positions(self, attribute: Attribute, positions: Floats) -> Microdata:
        """The table with one column replaced by what stands at `positions`: the inverse of `positions`; NaN is missing.

        An integer column and an ordered text take whole positions only (ValueError otherwise).
        """
        field = self.arrow.schema.field(attribute.name)
        if field.type == pa.float64():
            values = pa.array(positions, from_pandas=True)
        else:
            whole = pa.array([None if np.isnan(p) else _whole(p, attribute.name) for p in positions], type=pa.int64())
            if pa.types.is_string(field.type):
                values = pa.array(attribute.order or (), type=pa.string()).take(whole)
            else:
                values = whole.cast(field.type)
        return self.with_column(attribute.name, values)

    def with_column(self, name: str, values: pa.Array) -> Microdata:
        """The table with the values of one column replaced; the type stays."""
        place = self.names.index(name)
        field = self.arrow.schema.field(name)
        return Microdata(self.arrow.set_column(place, field, values.cast(field.type)))

    def select(self, names: Iterable[str]) -> Microdata:
        return Microdata(self.arrow.select(list(names)))

    def take(self, rows: npt.NDArray[np.integer]) -> Microdata:
        """The given rows in the given order."""
        return Microdata(self.arrow.take(pa.array(rows)))


def shared_codes(*columns: pa.Array) -> tuple[Integers, ...]:
    """Codes 0..c-1 for the values of several columns over one common dictionary (ascending); missing is -1.

    Equal values have equal codes across the columns, so that an original and a masked column can be compared.
    """
    joined = pa.chunked_array(list(columns))
    values = pc.unique(joined.drop_null())
    ordered = values.take(pc.sort_indices(values))
    codes = (pc.fill_null(pc.index_in(column, value_set=ordered), -1) for column in columns)
    return tuple(np.array(code.to_numpy(zero_copy_only=False), dtype=np.int64) for code in codes)


def _array(values: Sequence[object] | npt.NDArray[np.generic] | pa.Array) -> pa.Array:
    array = values if isinstance(values, pa.Array) else pa.array(values, from_pandas=True)
    if array.type in LOGICAL_TYPES:
        return array
    wide = pa.int64() if pa.types.is_integer(array.type) else pa.float64() if pa.types.is_floating(array.type) else pa.string()
    return array.cast(wide)


def _whole(position: float, name: str) -> int:
    if position != round(position):
        raise ValueError(f"column {name} takes whole positions only")
    return round(position)
