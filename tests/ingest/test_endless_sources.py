"""Sources without an end, or that stand for more than they are: each is refused with a sentence, at once."""

import os
import sqlite3
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from tasks.ingest.methods import IngestPlan, ingest_raw_table
from tasks.ingest.readers import database_rows, raw, sql, statistical
from tasks.ingest.readers.parquet import read as read_raw_parquet
from tasks.ingest.sources import SourceSpec, reachable, read
from tasks.microdata import parquet_files
from tasks.microdata.errors import InputError
from tasks.microdata.parquet_files import read_parquet
from tasks.microdata.regular_files import LARGEST_TABLE, SMALLEST_LIMIT
from tasks.microdata.table import Microdata

ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select "


def refused(source: SourceSpec) -> InputError:
    began = time.monotonic()
    with pytest.raises(InputError) as caught:
        read(source)
    assert time.monotonic() - began < 60
    assert caught.value.allowed
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize("name", ["pipe", "device", "sparse"])
def test_what_is_no_file_or_has_no_end(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 1 << 40)
    error = refused(SourceSpec(table=str(tmp_path / name)))
    assert (f"larger than {LARGEST_TABLE:,} bytes" if name == "sparse" else "not a file") in error.what


def texts(path: Path) -> Path:
    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * 200_000, pa.int32()), pa.array(["x" * 100_000]))
    pq.write_table(pa.table({"s": repeated}), path, compression="zstd", store_schema=False)
    return path


def categories(path: Path) -> Path:
    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * 200_000, pa.int32()), pa.array(["x" * 100_000]))
    pq.write_table(pa.table({"s": repeated}), path, compression="zstd")
    return path


@pytest.mark.parametrize("write", [texts, categories])
def test_a_small_parquet_file_that_stands_for_20_gigabytes_of_text(tmp_path: Path, write, monkeypatch) -> None:
    for module in (parquet_files, raw):  # a large machine may take more
        monkeypatch.setattr(module, "LARGEST_TABLE", SMALLEST_LIMIT)
    path = write(tmp_path / "t.parquet")
    assert path.stat().st_size < 5000
    assert "4 GiB" in refused(SourceSpec(table=str(path))).what


def test_a_small_parquet_file_that_stands_for_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"a": np.zeros(300_000)}), tmp_path / "t.parquet", compression="zstd")
    monkeypatch.setattr(parquet_files, "LARGEST_TABLE", 1 << 20)
    monkeypatch.setattr(pq.ParquetFile, "read", None)  # it is told before anything is read
    assert "of memory" in refused(SourceSpec(table=str(tmp_path / "t.parquet"))).what


KINDS = [
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int64(), pa.string(), ordered=True),
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_all_columns_count_for_what_a_table_may_take(kind: pa.DataType, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pa.array(["x" * 1000] * 500).cast(pa.binary() if kind == pa.binary() else pa.string())
    column = texts.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else texts.cast(kind)
    file = BytesIO()
    pq.write_table(pa.table({"a": column, "b": column, "n": np.arange(500)}), file)
    for limit in (1 << 20, 1 << 19, 600_000):  # all are 1,004,000 bytes and more, one of them 500,000
        monkeypatch.setattr(parquet_files, "LARGEST_TABLE", limit)
        if limit > 1_040_000:
            assert read_parquet(file.getvalue()).num_rows == 500
        else:
            with pytest.raises(parquet_files.TooExpansive):
                read_parquet(file.getvalue())


@pytest.mark.parametrize("rows", [1000, 400_000])  # the second in the way of tables whose texts may take too much
def test_categories_of_several_row_groups_are_read_whatever_their_indices(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "LARGEST_TABLE", 1 << 24)
    file, written = BytesIO(), []
    schema = pa.schema([("kind", pa.dictionary(pa.int8(), pa.string()))])
    with pq.ParquetWriter(file, schema) as writer:
        for group in range(2):
            texts = pa.array([f"{group}-{i % 100}" for i in range(rows)])
            writer.write_table(pa.table([texts.dictionary_encode().cast(schema.field(0).type)], schema=schema))
            written += texts.to_pylist()
    raw = read_raw_parquet(file, "t")
    assert ingest_raw_table(raw, IngestPlan(source=SourceSpec(table="t"))).data.column("kind").to_pylist() == written


def test_repeated_names_are_an_error_of_the_file() -> None:
    file = BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), file)
    with pytest.raises(pa.ArrowException):
        read_parquet(file.getvalue())


def test_lists_are_refused_before_they_are_read(tmp_path: Path) -> None:
    kind = pa.int64()
    for _ in range(100):
        kind = pa.list_(kind)
    pq.write_table(pa.table({"a": pa.array([None], kind)}), tmp_path / "t.parquet", store_schema=False)
    assert refused(SourceSpec(table=str(tmp_path / "t.parquet"))).code == "unsupported-type"


def test_ordinary_parquet_is_read_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table(
        {
            "text": ["a", None, "b" * 50, ""] * 30,
            "large": pa.array(["a", None, "b", ""] * 30, pa.large_string()),
            "kind": pa.array(["a", None, "b", "a"] * 30).dictionary_encode(),
            "number": [1.5, None, 3.0, -1.0] * 30,
        }
    )
    pq.write_table(table.replace_schema_metadata({"by": "somebody"}), tmp_path / "t.parquet", row_group_size=50)
    content = (tmp_path / "t.parquet").read_bytes()
    assert read_parquet(content).equals(table, check_metadata=True)
    monkeypatch.setattr(parquet_files, "_MANY_ROWS", 0)
    assert read_parquet(content).equals(table)
    monkeypatch.setattr(parquet_files, "LARGEST_TABLE", 20_000)  # so that texts are counted before they are written out
    assert read_parquet(content).equals(table)


@pytest.mark.parametrize("many_rows", [1200, 1201])
@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN", None])
def test_texts_are_the_same_however_a_file_keeps_them(
    encoding: str | None, many_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "_MANY_ROWS", many_rows)
    texts = pa.table({"few": ["a", None, "b", "a"] * 300, "many": [str(i) for i in range(1200)]})
    file = BytesIO()
    pq.write_table(texts, file, use_dictionary=encoding is None, column_encoding=encoding, row_group_size=500)
    assert read_parquet(file).equals(texts)
    footer = pq.ParquetFile(file).metadata
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    assert parquet_files._list_repeated_texts(groups, texts.schema) == (
        ["few"] if encoding is None and many_rows == 1200 else []
    )


def test_parts_of_a_folder_have_one_type_whatever_their_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "_MANY_ROWS", 300)
    for rows in (400, 100):
        kinds = pa.array(["a", "b"] * (rows // 2)).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
        pq.write_table(pa.table({"kind": kinds}), tmp_path / f"{rows}.parquet")
    assert read(SourceSpec(table=str(tmp_path))).table.num_rows == 500


def test_a_name_that_goes_on_after_a_point_is_that_of_another_column() -> None:
    table = pa.table({"a.b": [1, 2], "a": ["x", "y"], "a.b.c": [1.5, 2.5]})
    file = BytesIO()
    pq.write_table(table, file)
    assert read_parquet(file).equals(table)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sqlite3.connect(tmp_path / "t.db").execute("create table t (a)").connection.close()
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("DB", f"sqlite:///{tmp_path / 't.db'}")
    monkeypatch.setenv("PIPE", f"sqlite:///{tmp_path / 'pipe'}")


def test_a_query_that_returns_rows_without_end(database: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_rows, "LARGEST_TABLE", 1 << 20)
    assert "of memory" in refused(SourceSpec(sql=f"{ENDLESS} i from n", url_env="DB")).what


def test_a_query_that_never_answers(database: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "_LONGEST_SECONDS", 0.2)
    assert "it ran for more than 60 minutes" in refused(SourceSpec(sql=f"{ENDLESS} count(*) from n", url_env="DB")).what


def test_a_pipe_in_the_place_of_a_database(database: None) -> None:
    with pytest.raises(InputError, match="pipe"):
        reachable(SourceSpec(sql="select 1", url_env="PIPE"))


def test_a_data_file_of_more_rows_than_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    pyreadstat.write_sav(pd.DataFrame({"a": np.zeros(1000)}), str(tmp_path / "t.sav"))
    source = SourceSpec(table=str(tmp_path / "t.sav"))
    assert read(source).table.num_rows == 1000
    monkeypatch.setattr(statistical, "LARGEST_TABLE", 32 * 999)
    assert "of memory" in refused(source).what


def test_a_table_that_takes_more_memory_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("a\n" + "1\n" * 100)
    assert Microdata(read(SourceSpec(table=str(tmp_path / "t.csv"))).table).n == 100
    monkeypatch.setattr(raw, "LARGEST_TABLE", 100)
    assert "of memory" in refused(SourceSpec(table=str(tmp_path / "t.csv"))).what
