"""Reading Parquet so that a small file cannot fill the memory: a few of its bytes may stand for any number of cells."""

from __future__ import annotations

import errno
from collections.abc import Callable
from io import BufferedIOBase
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.microdata.chunks import TextsTooLong, bound_text_bytes, count_text_bytes, is_text, write_out_dictionary
from tasks.microdata.regular_files import LARGEST_TABLE

_MANY_ROWS = 1 << 14  # for fewer, to open a file again takes longer than it saves
_LENGTH_BYTES = 4  # that Parquet keeps of each text beside it, unless it keeps the text once


class NestedColumn(TypeError):
    """A column of lists or structures. The message is its name."""


class TooExpansive(OSError):
    """A Parquet file whose table takes more memory than `LARGEST_TABLE`."""

    def __init__(self) -> None:
        super().__init__(errno.EFBIG, f"its table would take more than {LARGEST_TABLE >> 30} GiB of memory")


def read_parquet(
    content: bytes | BufferedIOBase,
    check_names: Callable[[list[str]], None] = lambda names: None,
    *,
    page_checksum_verification: bool = False,
) -> pa.Table:
    """The table of a Parquet file without lists and structures; what the file says of its rows is looked at before it is read.
    What programs wrote beside the columns is left out.

    content: the bytes of the file, or the open file. check_names: called with the names of the columns before they are read.
    Texts that the file keeps once and shows many times are read so, which is quicker, and counted before they are written out.
    No threads: at the end of a loaded process one that is still there ends it by an abort (seen twice).

    Raises TooExpansive for more than `LARGEST_TABLE` bytes, TextsTooLong with the name of a column whose texts, which the file
    keeps once each, would take more than `LARGEST_TEXTS`, pa.ArrowException (also for repeated names, and columns that have
    not as many rows as the file) and OSError as pyarrow does, and NestedColumn for lists and structures.
    Example: 666 bytes can stand for 200,000 texts of 100,000 characters, which are 20 GB.
    """
    options: dict[str, Any] = {"pre_buffer": False, "page_checksum_verification": page_checksum_verification}
    source = pa.BufferReader(content) if isinstance(content, bytes) else content
    file = pq.ParquetFile(source, **options)
    schema = file.schema_arrow
    check_names(schema.names)
    if len(set(schema.names)) < len(schema.names):
        raise pa.ArrowInvalid("column names are repeated")
    for field in schema:
        if is_nested(field.type):
            raise NestedColumn(field.name)
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    n = sum(group.num_rows for group in groups)
    if n != file.metadata.num_rows:
        raise pa.ArrowInvalid("the file contradicts itself about its rows")
    if n * sum(map(_estimate_width, schema.types)) > LARGEST_TABLE:
        raise TooExpansive
    repeated = _list_repeated_texts(groups, schema)
    if repeated:
        file = pq.ParquetFile(source, metadata=file.metadata, read_dictionary=repeated, **options)
    columns: list[pa.ChunkedArray | pa.Array] = []
    most_bytes = 0
    for field in schema:  # one after the other: what reading takes beside a column is free for the next
        column = file.read(columns=[field.name], use_threads=False).column(field.name)
        if len(column) != n:
            raise pa.ArrowInvalid("a column has not as many rows as the file")
        most_bytes += max(column.nbytes, bound_text_bytes(column))
        if most_bytes > LARGEST_TABLE < sum(max(one.nbytes, count_text_bytes(one)) for one in (*columns, column)):
            raise TooExpansive
        columns.append(column if pa.types.is_dictionary(field.type) else _write_out(column, field))
    return pa.table(columns, names=schema.names)


def is_nested(kind: pa.DataType) -> bool:
    """Is it a type of lists or structures, or derived from one?"""
    return bool(pa.types.is_nested(kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind))


def _write_out(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray | pa.Array:
    if column.type == field.type:
        return column
    try:
        written = write_out_dictionary(column)
        return written if written.type == field.type else written.cast(field.type)
    except TextsTooLong:
        raise TextsTooLong(field.name) from None


def _estimate_width(kind: pa.DataType) -> int:
    """Bytes of a cell in memory, but for the length of a text."""
    try:
        bits: int = kind.bit_width
    except ValueError:
        return 8
    return -(-bits // 8)


def _list_repeated_texts(groups: list[pq.RowGroupMetaData], schema: pa.Schema) -> list[str]:
    """The columns of texts that are read as dictionaries.

    Those that the file keeps as such, in fewer bytes than the lengths of the texts alone would take: of few rows only if the
    type of the column says so too. And those that could take more than may be: every cell the longest text that the file has
    room for.
    """
    n, found = sum(group.num_rows for group in groups), []
    for j, field in enumerate(schema):
        if is_text(field.type.value_type if pa.types.is_dictionary(field.type) else field.type):
            chunks = [group.column(j) for group in groups]
            sizes = [chunk.total_uncompressed_size for chunk in chunks]
            is_worth_it = n >= _MANY_ROWS or pa.types.is_dictionary(field.type)  # whose type is then always the same
            is_short = sum(sizes) < _LENGTH_BYTES * n and all(_has_dictionary(chunk) for chunk in chunks)
            if (is_worth_it and is_short) or max(sizes, default=0) * n > LARGEST_TABLE:
                found.append(field.name)
    return found


def _has_dictionary(chunk: pq.ColumnChunkMetaData) -> bool:
    """Has it a dictionary, and no pages of differences, which Arrow (25.0) cannot read as one?"""
    return chunk.has_dictionary_page and not any(name.startswith("DELTA") for name in chunk.encodings)
