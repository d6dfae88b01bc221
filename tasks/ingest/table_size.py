"""How large the table of a source is, without reading it: what is known beforehand of what a run will need."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.ingest.readers import compressed, parquet
from tasks.ingest.readers.delimited import count_columns
from tasks.ingest.readers.statistical import FORMAT as STATISTICAL
from tasks.ingest.sources import SourceSpec, list_source_files
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import open_regular_file

_SAMPLE_BYTES = 1 << 20
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # marks of texts of two bytes a character, whose lines are not counted here


@dataclass(frozen=True, slots=True)
class TableSize:
    """Rows and columns of a table. is_text: it is read from delimited text. is_exact: else the rows are judged by a sample."""

    rows: int
    columns: int
    is_text: bool
    is_exact: bool = True

    @property
    def cells(self) -> int:
        return self.rows * self.columns


def find_table_size(source: SourceSpec) -> TableSize | None:
    """The size of a source's table by the footers of its Parquet files, or by the first mebibyte of its text.

    None where only reading would tell: queries, compressed files, files of statistics programs, what cannot be read. No error:
    what is wrong with a source is told when it is read. Cost: a footer, or a mebibyte.
    """
    if source.table is None:
        return None
    with suppress(InputError, OSError, ValueError, pa.ArrowException):
        paths = [path for _, path in list_source_files(source)]
        sizes = [_find_file_size(path, source) for path in paths]
        known = [one for one in sizes if one is not None]
        if known and len(known) == len(sizes):
            return _add_rows(known)
    return None


def _add_rows(sizes: Iterable[TableSize]) -> TableSize:
    first, *rest = sizes
    return TableSize(first.rows + sum(one.rows for one in rest), first.columns, first.is_text, first.is_exact)


def _find_file_size(path: Path, source: SourceSpec) -> TableSize | None:
    with open_regular_file(path) as file:
        sample, whole = file.read(_SAMPLE_BYTES), os.fstat(file.fileno()).st_size
        if sample.startswith(parquet.MAGIC):
            file.seek(0)
            footer = pq.ParquetFile(file).metadata
            return TableSize(footer.num_rows, footer.num_columns, is_text=False)
    is_packed = compressed.is_compressed(sample) or path.suffix.lower() in STATISTICAL.suffixes or b"\x00" in sample
    if is_packed or sample.startswith(_WIDE):
        return None
    return _judge_text(sample, whole, source.delimiter)


def _judge_text(sample: bytes, whole: int, delimiter: str | None) -> TableSize | None:
    """As if the lines of the rest were as long as those of the sample; a line break inside quotes counts as a row."""
    lines = sample.count(b"\n") or sample.count(b"\r")
    if not lines:
        return None
    is_exact = len(sample) == whole
    rows = lines - 1 + (not sample.endswith((b"\n", b"\r"))) if is_exact else round(whole * lines / len(sample)) - 1
    columns = count_columns(sample.decode("latin-1"), delimiter)
    return TableSize(max(rows, 0), columns, is_text=True, is_exact=is_exact) if columns else None
