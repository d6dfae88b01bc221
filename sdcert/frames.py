"""Data frames in and out: of pandas, polars and Arrow to a table as ingest reads it, and back to pandas."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pandas as pd
import pyarrow as pa

from tasks.ingest.readers.raw import RawTable, refuse_bad_names
from tasks.microdata.errors import InputError
from tasks.microdata.table import Integers, Microdata

_KINDS = "a data frame of pandas or polars, or an Arrow table"


def read_frame(frame: Any, label: str = "data frame") -> RawTable:
    """The columns of a data frame as a source holds them; its index is left out. label: what messages call it.

    Raises InputError for what is no data frame, a column name that is no text, empty or repeated, columns that mix kinds of
    values, and a frame without rows.
    """
    names = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
    for name in names:
        if not isinstance(name, str):
            what, remedy = f"The name of a column is no text but a {type(name).__name__}.", "rename it: `df.columns = [...]`"
            raise InputError("column-name", label, what, "texts as column names", remedy, value=name)
    read = _open_frame(frame, label, names)
    columns = {name: _convert_column(read, name, label) for name in names}
    table = pa.table(columns)
    if table.num_rows == 0:
        raise InputError("no-rows", label, "The table has columns but no rows.", "at least one row", "check the data frame")
    return RawTable(table=table, label=label, format="data frame", as_text=False)


def create_data_frame(data: Microdata, index: pd.Index[Any] | None = None) -> pd.DataFrame:
    """A table as a data frame of pandas. Whole numbers and truth values with gaps stay what they are (`Int64`, `boolean`)."""
    frame = pd.DataFrame({name: _to_series(data.column(name)) for name in data.names})
    return frame if index is None else frame.set_axis(index, axis="index")


def select_index(frame: Any, rows: Integers) -> pd.Index[Any] | None:
    """The index of these rows, where the frame has one."""
    return frame.index[rows] if isinstance(frame, pd.DataFrame) else None


def _open_frame(frame: Any, label: str, names: list[Any]) -> Any:
    if len(set(names)) == len(names):  # narwhals refuses repeated names in words of its own
        try:
            read = nw.from_native(frame, eager_only=True)
        except TypeError:
            what, remedy = "This is no data frame.", "make one: `pandas.DataFrame(...)`; a lazy one is collected first"
            raise InputError("no-data-frame", label, what, _KINDS, remedy, value=type(frame).__name__) from None
    refuse_bad_names(names, label)
    return read


def _convert_column(frame: Any, name: str, label: str) -> pa.ChunkedArray:
    try:
        found = frame.get_column(name).to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        what = "The column mixes kinds of values, or holds values that no table has."
        allowed, remedy = "numbers, text, true/false, dates, times: one kind for each column", "convert the column"
        raise InputError("mixed-values", f"{label}: column {name}", what, allowed, remedy) from None
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])


def _to_series(column: pa.Array) -> pd.Series[Any]:
    if column.null_count and pa.types.is_integer(column.type):
        return pd.Series(column.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get))
    if column.null_count and pa.types.is_boolean(column.type):
        return pd.Series(column.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get))
    return pd.Series(column.to_pandas(date_as_object=False))
