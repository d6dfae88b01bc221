"""Parquet files, column types mapped to the logical types of the project later (`logical`)."""

from __future__ import annotations

from functools import partial
from io import BufferedIOBase

import pyarrow as pa

from tasks.ingest.readers.file_format import FileFormat
from tasks.ingest.readers.raw import RawTable, refuse_bad_names, texts_too_long, too_large
from tasks.microdata.chunks import TextsTooLong
from tasks.microdata.errors import InputError
from tasks.microdata.parquet_files import NestedColumn, TooExpansive, read_parquet

MAGIC = b"PAR1"
SUFFIXES = frozenset({".parquet", ".pq"})


def read(file: BufferedIOBase, label: str) -> RawTable:
    """The columns of a Parquet file; InputError where it is damaged, has no rows, or column names are empty or repeated."""
    table = columns(file, label)
    if table.num_rows == 0:
        raise InputError("no-rows", label, "The table has columns but no rows.", "at least one row", "check the file")
    return RawTable(table=table, label=label, format="parquet", as_text=False)


def columns(file: BufferedIOBase, label: str) -> pa.Table:
    """The columns of one Parquet file, which may have no rows."""
    try:
        return read_parquet(file, partial(refuse_bad_names, label=label))
    except TooExpansive:
        raise too_large(label, "write the columns and rows that are needed") from None
    except TextsTooLong as error:
        raise texts_too_long(label, str(error)) from None
    except NestedColumn as error:
        raise InputError("unsupported-type", f"{label}: column {error}", "Columns of lists and structures are not read.",
                         "numbers, text, true/false, dates, times",
                         "write one column for each part, or leave it out") from None  # fmt: skip
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the system; Arrow's own have no number
            raise InputError("unreadable-source", f"source: {label}", f"The source file cannot be read ({error.strerror}).",
                             "a file that this user may read", "check the disk") from None  # fmt: skip
        raise InputError("not-parquet", label, "The file is not a readable Parquet file.", "a complete Parquet file",
                         "write it again, or name a text table .csv") from None  # fmt: skip


def is_parquet(content: bytes) -> bool:
    return content.startswith(MAGIC)


FORMAT = FileFormat(name="Parquet", suffixes=SUFFIXES, recognise=is_parquet, read=read)
