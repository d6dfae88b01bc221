"""Reading Parquet so that a small file cannot fill the memory: a few of its bytes may stand for any number of cells."""

from __future__ import annotations

import errno
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.microdata.regular_files import LARGEST_TABLE


class TooExpansive(OSError):
    """A Parquet file whose table takes more memory than `LARGEST_TABLE`."""

    def __init__(self) -> None:
        super().__init__(errno.EFBIG, f"its table would take more than {LARGEST_TABLE >> 30} GiB of memory")


def read_parquet(content: bytes, *, page_checksum_verification: bool = False) -> pa.Table:
    """The table of a Parquet file without lists and structures; what the file says of its rows is looked at before it is read.

    Texts that the file keeps once and shows many times are counted before they are written out. No threads: at the end of a
    loaded process one that is still there ends it by an abort (seen twice).

    Raises TooExpansive for more than `LARGEST_TABLE` bytes, pa.ArrowException and OSError as pyarrow does, and TypeError for
    lists and structures. Example: 666 bytes can stand for 200,000 texts of 100,000 characters, which are 20 GB.
    """
    options: dict[str, Any] = {"pre_buffer": False, "page_checksum_verification": page_checksum_verification}
    file = pq.ParquetFile(pa.BufferReader(content), **options)
    schema = file.schema_arrow
    if any(pa.types.is_nested(field.type) for field in schema):
        raise TypeError("lists and structures are not read")
    if file.metadata.num_rows * sum(map(_width, schema.types)) > LARGEST_TABLE:
        raise TooExpansive
    repeated = _may_expand(file.metadata, schema)
    if repeated:
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=repeated, **options)
    table = file.read(use_threads=False)
    if sum(map(_count_text_bytes, table.columns)) > LARGEST_TABLE:
        raise TooExpansive
    for name in repeated:
        position = schema.get_field_index(name)
        if not pa.types.is_dictionary(schema.field(position).type):
            table = table.set_column(position, schema.field(position), table.column(position).cast(schema.field(position).type))
    return table


def _width(kind: pa.DataType) -> int:
    """Bytes of a cell in memory, but for the length of a text."""
    try:
        bits: int = kind.bit_width
    except ValueError:
        return 8
    return -(-bits // 8)


def _may_expand(summary: pq.FileMetaData, schema: pa.Schema) -> list[str]:
    """The columns of texts that could take more than may be: every cell the longest text that the file has room for."""
    groups = [summary.row_group(i) for i in range(summary.num_row_groups)]
    found = []
    for j, field in enumerate(schema):
        if _is_text(field.type.value_type if pa.types.is_dictionary(field.type) else field.type):
            longest = max((group.column(j).total_uncompressed_size for group in groups), default=0)
            if longest * summary.num_rows > LARGEST_TABLE:
                found.append(field.name)
    return found


def _is_text(kind: pa.DataType) -> bool:
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(is_text(kind) for is_text in texts)


def _count_text_bytes(column: pa.ChunkedArray) -> int:
    """Bytes of the texts of a column that keeps each once; 0 of other columns, which were bounded before they were read."""
    if not pa.types.is_dictionary(column.type) or not _is_text(column.type.value_type):
        return 0
    lengths = (pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks)
    return sum(pc.sum(length, min_count=0).as_py() for length in lengths)
