"""Parquet files, column types mapped to the logical types of the project later (`logical`)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.ingest.readers.raw import RawTable, refuse_bad_names
from tasks.microdata.errors import InputError

MAGIC = b"PAR1"


def read(content: bytes, label: str) -> RawTable:
    """The columns of a Parquet file; InputError where it is damaged, has no rows, or column names are empty or repeated."""
    table = columns(content, label)
    if table.num_rows == 0:
        raise InputError("no-rows", label, "The table has columns but no rows.", "at least one row", "check the file")
    return RawTable(table=table, label=label, format="parquet", as_text=False)


def columns(content: bytes, label: str) -> pa.Table:
    """The columns of one Parquet file, which may have no rows, without what programs wrote beside them."""
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        refuse_bad_names(file.schema_arrow.names, label)
        table = file.read(use_threads=False)
    except (pa.ArrowException, OSError):
        raise InputError("not-parquet", label, "The file is not a readable Parquet file.", "a complete Parquet file",
                         "write it again, or name a text table .csv") from None  # fmt: skip
    plain = pa.schema([(field.name, field.type) for field in table.schema])
    return pa.Table.from_arrays(table.columns, schema=plain)
