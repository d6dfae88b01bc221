"""A folder of Parquet files as one table; folders named `key=value` (Hive's way) add columns."""

from __future__ import annotations

from collections.abc import Iterable
from io import BufferedIOBase
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from tasks.ingest.columns.numerals import INTEGER
from tasks.ingest.readers import parquet
from tasks.ingest.readers.raw import RawTable, refuse_bad_names
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import open_regular_file

_LAKES = {"_delta_log": "a Delta Lake table", "metadata": "an Iceberg table", ".hoodie": "a Hudi table"}
_ALLOWED = "a folder of Parquet files with one schema, in folders `key=value` or none"


def list_folder_files(folder: Path, label: str) -> tuple[tuple[str, Path], ...]:
    """The files of the table with their paths inside the folder, sorted by those paths: the order of the table's rows.

    Names that begin with `_` or `.` are bookkeeping of the program that wrote the folder, and left out. Raises InputError for a
    folder without Parquet files, with other files, or of a format that keeps a log of which files count.
    """
    lake = next((kind for name, kind in _LAKES.items() if (folder / name).is_dir()), None)
    if lake is not None:
        raise InputError("not-a-parquet-folder", f"source: {label}", f"The folder is {lake}: not every file in it counts.",
                         _ALLOWED, "export the table to one Parquet file")  # fmt: skip
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    counted = {name: path for name, path in found.items() if not any(part[0] in "._" for part in PurePosixPath(name).parts)}
    others = [name for name, path in counted.items() if not _is_parquet(path)]
    if others or not counted:
        what = f"{len(others)} of its {len(counted)} files are not Parquet files." if others else "It holds no Parquet files."
        raise InputError("not-a-parquet-folder", f"source: {label}", f"The source is a folder. {what}", _ALLOWED,
                         "name one file, or move other files away", value=others[:1] or None)  # fmt: skip
    return tuple(sorted(counted.items()))


def read(files: Iterable[tuple[str, BufferedIOBase]], label: str) -> RawTable:
    """The files one below the other, in the order given, then one column per key of the folders' names.

    files: the path of each inside the folder, and the file, which need not stay open.
    The values of a key are whole numbers where all of them are written as plain ones, otherwise text.

    Raises InputError: a file that is damaged, or whose columns or keys differ from those of the first; no rows at all.
    """
    found = {name: parquet.columns(file, f"{label}/{name}") for name, file in files}
    tables, keys = list(found.values()), [_keys(name) for name in found]
    for (name, table), own in zip(found.items(), keys, strict=True):
        _refuse_other_schema(table.schema, tables[0].schema, [*own] == [*keys[0]], f"{label}/{name}")
    refuse_bad_names([*tables[0].column_names, *keys[0]], label)
    whole = pa.concat_tables(tables)
    if whole.num_rows == 0:
        raise InputError("no-rows", label, "The table has columns but no rows.", "at least one row", "check the folder")
    for key in keys[0]:
        cells = [pa.repeat(pa.scalar(own[key], pa.string()), table.num_rows) for own, table in zip(keys, tables, strict=True)]
        whole = whole.append_column(key, _cast_key_column(pa.chunked_array(cells)))
    return RawTable(table=whole, label=label, format="parquet", as_text=False,
                    how=(f"{len(found):,} files, in the order of their paths",))  # fmt: skip


def _is_parquet(path: Path) -> bool:
    try:
        with open_regular_file(path) as file:
            return file.read(len(parquet.MAGIC)) == parquet.MAGIC
    except OSError:
        return path.suffix.lower() in parquet.SUFFIXES  # told when it is read


def _keys(name: str) -> dict[str, Any]:
    """What the folders on the way to a file say: key -> value as text, None where it is missing."""
    parents = PurePosixPath(name).parent.parts
    written = [part.partition("=")[0] for part in parents if "=" in part]
    schema = pa.schema([(key, pa.string()) for key in dict.fromkeys(written)])
    keys = ds.get_partition_keys(ds.HivePartitioning(schema).parse(f"/{name}"))
    return {key: keys.get(key) for key in schema.names}


def _refuse_other_schema(schema: pa.Schema, first: pa.Schema, same_keys: bool, where: str) -> None:
    if not schema.equals(first) or not same_keys:
        what = "types or names of columns" if same_keys else "keys in the names of folders"
        raise InputError("several-schemas", where, f"The file's {what} differ from those of the first file.",
                         "the same columns, types and keys in every file", "write the folder anew from one table")  # fmt: skip


def _cast_key_column(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    whole = pc.all(pc.match_substring_regex(cells.drop_null(), INTEGER)).as_py() and cells.null_count < len(cells)
    try:
        return cells.cast(pa.int64()) if whole else cells
    except pa.ArrowInvalid:  # beyond 64 bits
        return cells
