"""Sources without an end, or that stand for more than they are: each is refused with a sentence, at once."""

import os
import sqlite3
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from tasks.ingest.readers import database_rows, raw, sql, statistical
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
    assert "GiB" in refused(SourceSpec(table=str(path))).what


def test_a_small_parquet_file_that_stands_for_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"a": np.zeros(300_000)}), tmp_path / "t.parquet", compression="zstd")
    monkeypatch.setattr(parquet_files, "LARGEST_TABLE", 1 << 20)
    monkeypatch.setattr(pq.ParquetFile, "read", None)  # it is told before anything is read
    assert "of memory" in refused(SourceSpec(table=str(tmp_path / "t.parquet"))).what


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
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=50)
    content = (tmp_path / "t.parquet").read_bytes()
    assert read_parquet(content).equals(table)
    monkeypatch.setattr(parquet_files, "LARGEST_TABLE", 20_000)  # so that texts are counted before they are written out
    assert read_parquet(content).equals(table)


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
