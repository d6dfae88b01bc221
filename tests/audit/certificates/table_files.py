"""Files of one table, written in many faithful ways, and what can be hidden in them."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import zipfile
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat

from tasks.microdata.table import Microdata
from tasks.report.predicate import FileClaim
from tasks.report.publication import encode
from tasks.report.statement import create_column_claims
from tasks.runtime.artifacts import content_address

Written = tuple[str, bytes]  # the file's name and its bytes
ROWS = 40


def claim_of(table: Microdata) -> FileClaim:
    return FileClaim(
        name="released.csv",
        sha256=hashlib.sha256(b"elsewhere").hexdigest(),
        content_address=content_address(table),
        rows=table.n,
        columns=create_column_claims(table),
    )


def small_table() -> Microdata:
    """All logical types, with missing values, values that repeat, and values that do not."""
    rows = range(ROWS)
    columns = {
        "age": pa.array([None if row == 3 else 20 + row % 7 for row in rows], pa.int64()),
        "income": pa.array([None if row == 5 else row * 0.1 + 1 / 3 for row in rows]),
        "town": pa.array([None if row % 9 == 4 else ("Ava", "Bö, w", "x;y")[row % 3] for row in rows]),
        "note": pa.array([f"n{row}" for row in rows]),
        "insured": pa.array([None if row == 7 else row % 2 == 0 for row in rows]),
        "visit": pa.array([None if row == 8 else date(1988, 12, 1 + row % 28) for row in rows]),
        "seen": pa.array([datetime(2020, 1, 2, row % 24, 30, 0, 250_000 * (row % 2)) for row in rows], pa.timestamp("us")),
        "woke": pa.array([time(6, row, 1) for row in rows], pa.time64("us")),
    }
    return Microdata(pa.table(columns))


def plain_table() -> Microdata:
    """What SPSS, Stata and SAS can hold."""
    rows = range(ROWS)
    columns = {
        "age": pa.array([None if row == 3 else 20 + row % 7 for row in rows], pa.int64()),
        "income": pa.array([None if row == 5 else row * 0.5 for row in rows]),
        "town": pa.array([None if row % 9 == 4 else ("Ava", "Bow", "xy")[row % 3] for row in rows]),
        "visit": pa.array([date(1988, 12, 1 + row % 28) for row in rows]),
    }
    return Microdata(pa.table(columns))


def zipped(content: bytes, name: str = "released.csv", **options: object) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", **options) as archive:  # type: ignore[arg-type]  # arguments of ZipFile, of several types
        archive.writestr(name, content)
    return sink.getvalue()


def gzipped(content: bytes, name: str = "") -> bytes:
    sink = io.BytesIO()
    with gzip.GzipFile(name, "wb", fileobj=sink) as file:
        file.write(content)
    return sink.getvalue()


def parquet(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def compressed_by(codec: str, content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


def faithful_files(table: Microdata) -> Iterator[Written]:
    """The table as text, packed and as Parquet, by writers and settings that people use."""
    csv = encode(table, "csv")
    text = csv.decode()
    yield "crlf.csv", csv.replace(b"\n", b"\r\n")
    yield "no-end.csv", csv.rstrip(b"\n")
    yield "bom.csv", b"\xef\xbb\xbf" + csv
    yield "wide.csv", text.encode("utf-16")
    cells = pd.read_csv(io.BytesIO(csv), dtype=str)
    yield "semicolons.csv", cells.to_csv(sep=";", index=False).encode()
    yield "tabs.tsv", cells.to_csv(sep="\t", index=False).encode()
    yield "quoted.csv", cells.to_csv(index=False, quoting=1).encode()
    yield "na.csv", cells.to_csv(index=False, na_rep="NA").encode()
    for level in (1, 9):
        yield f"level{level}.csv.gz", gzip.compress(csv, level)
    yield "released.csv.gz", gzipped(csv, "released.csv")
    yield "own.csv.gz", gzipped(csv, "own.csv")
    yield "r.csv.bz2", bz2.compress(csv)
    yield "r.csv.xz", lzma.compress(csv)
    yield "r.csv.zst", compressed_by("zstd", csv)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        yield f"method{method}.zip", zipped(csv, compression=method)
    yield "own.zip", zipped(csv, "own.csv", compression=zipfile.ZIP_DEFLATED)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive, archive.open("released.csv", "w", force_zip64=True) as member:
        member.write(csv)
    yield "sixty-four.zip", sink.getvalue()
    stream = Unseekable()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("released.csv", csv)
    yield "streamed.zip", stream.getvalue()
    yield from faithful_parquet(table)
    yield "parquet.zip", zipped(encode(table, "parquet"), "released.parquet")


class Unseekable(io.BytesIO):
    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation

    def tell(self) -> int:
        raise io.UnsupportedOperation


def faithful_parquet(table: Microdata) -> Iterator[Written]:
    arrow = table.arrow
    yield "ours.parquet", encode(table, "parquet")
    for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4"):
        yield f"{codec}.parquet", parquet(arrow, compression=codec)
    yield "level.parquet", parquet(arrow, compression="zstd", compression_level=19)
    yield "v1.parquet", parquet(arrow, version="1.0")
    yield "v2pages.parquet", parquet(arrow, data_page_version="2.0", compression="gzip")
    yield "no-dictionary.parquet", parquet(arrow, use_dictionary=False)
    yield "split.parquet", parquet(arrow, use_dictionary=False, column_encoding={"income": "BYTE_STREAM_SPLIT", "age": "PLAIN"})
    yield "groups.parquet", parquet(arrow, row_group_size=7)
    yield "pages.parquet", parquet(arrow, data_page_size=16, write_batch_size=4, write_page_index=True)
    yield "index-v2.parquet", parquet(arrow, write_page_index=True, data_page_version="2.0", row_group_size=11)
    yield "checksums.parquet", parquet(arrow, write_page_checksum=True)
    yield "fallback.parquet", parquet(arrow, dictionary_pagesize_limit=16, write_batch_size=2)
    yield "no-statistics.parquet", parquet(arrow, write_statistics=False, store_schema=False)
    required = pa.schema([pa.field(f.name, f.type, nullable=arrow.column(f.name).null_count > 0) for f in arrow.schema])
    yield "required.parquet", parquet(arrow.cast(required))
    types = {
        "age": pa.int32(),
        "town": pa.dictionary(pa.int8(), pa.string()),
        "note": pa.large_string(),
        "seen": pa.timestamp("ms"),
    }
    own = pa.schema([(field.name, types.get(field.name, field.type)) for field in arrow.schema])
    yield "own-types.parquet", parquet(arrow.cast(own))
    yield "int96.parquet", parquet(arrow, use_deprecated_int96_timestamps=True)
    decimal = arrow.set_column(0, "age", arrow.column("age").cast(pa.decimal128(20, 0)))
    yield "decimal.parquet", parquet(decimal)
    frame = arrow.to_pandas()
    for options in ({}, {"index": False}, {"compression": "gzip"}):
        sink = io.BytesIO()
        frame.assign(age=frame["age"].astype("Int16"), town=frame["town"].astype("category")).to_parquet(sink, **options)
        yield f"pandas{len(options)}.parquet", sink.getvalue()
    rich = io.BytesIO()
    frame.convert_dtypes().to_parquet(rich)
    yield "nullable.parquet", rich.getvalue()


def faithful_statistical(table: Microdata, folder: Path) -> Iterator[Written]:
    """The table in the formats of statistical programs, by pyreadstat and pandas, without a label."""
    frame = table.arrow.to_pandas()
    frame["town"] = frame["town"].fillna("")
    writers: dict[str, Callable[[Path], object]] = {
        "plain.sav": lambda path: pyreadstat.write_sav(frame, path),
        "whole.sav": lambda path: pyreadstat.write_sav(frame, path, variable_format={"age": "F8.0"}),
        "rows.sav": lambda path: pyreadstat.write_sav(frame, path, row_compress=True),
        "packed.zsav": lambda path: pyreadstat.write_sav(frame, path, compress=True),
        "v15.dta": lambda path: pyreadstat.write_dta(frame, path),
        "v10.dta": lambda path: pyreadstat.write_dta(frame, path, version=10),
        "integers.dta": lambda path: pyreadstat.write_dta(frame.assign(age=frame["age"].astype("Int8")), path),
        "v5.xpt": lambda path: pyreadstat.write_xport(frame, path, file_format_version=5),
        "v8.xpt": lambda path: pyreadstat.write_xport(frame, path, file_format_version=8),
        "pandas114.dta": lambda path: dated(frame).to_stata(
            path, write_index=False, version=114, convert_dates={"visit": "td"}
        ),
        "pandas118.dta": lambda path: dated(frame).to_stata(
            path, write_index=False, version=118, convert_dates={"visit": "td"}
        ),
    }
    for name, write in writers.items():
        write(folder / name)
        yield name, (folder / name).read_bytes()


def dated(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(visit=pd.to_datetime(frame["visit"]))
