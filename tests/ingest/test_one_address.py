"""The same table in every form that is read has one content address."""

import csv
import gzip
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from sqlalchemy import create_engine, text

from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.methods import IngestPlan, ingest
from tasks.ingest.sources import SourceSpec
from tasks.runtime.artifacts import Store, content_address

COLUMNS = ("n", "x", "t", "flag", "code", "opinion")
ROWS = [
    (1, 0.1, "Åsa", 0, "007", "low"),
    (2, 2.5, 'say "hi", then', 1, "1", "high"),
    (3, None, "line\nbreak", 1, "02", None),
    (4, 1e-300, None, None, "9", "high"),
    (None, -3.0, "O'Brien; --", 0, "5", "low"),
]
DECLARED = (AttributeSpec(name="opinion", order=("low", "high")),)
CREATE = "create table t (n {int}, x double precision, t text, flag smallint, code text, opinion text)"


def address(source: SourceSpec) -> str:
    return content_address(ingest(IngestPlan(source=source, attributes=DECLARED)).data)


def frame() -> pd.DataFrame:
    return pd.DataFrame({name: [row[place] for row in ROWS] for place, name in enumerate(COLUMNS)})


def as_parquet(path: Path, rows: Sequence[tuple[object, ...]] = ROWS) -> None:
    pq.write_table(pa.table({name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("forms")
    with (here / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *ROWS])
    (here / "t.csv.gz").write_bytes(gzip.compress((here / "t.csv").read_bytes()))
    as_parquet(here / "t.parquet")
    (here / "parts").mkdir()
    as_parquet(here / "parts" / "0.parquet", ROWS[:2])
    as_parquet(here / "parts" / "1.parquet", ROWS[2:])
    pyreadstat.write_sav(frame(), here / "t.sav", variable_format={"n": "F8.0", "flag": "F1.0"})
    pyreadstat.write_dta(frame().astype({"n": "Int32", "flag": "Int8"}), here / "t.dta")
    with sqlite3.connect(here / "t.db") as database:
        database.execute(CREATE.format(int="integer"))
        database.executemany("insert into t values (?, ?, ?, ?, ?, ?)", ROWS[::-1])
    database.close()
    return here


@pytest.fixture(scope="module")
def as_csv(folder: Path) -> str:
    return address(SourceSpec(table="t.csv").resolve_path(folder))


@pytest.mark.parametrize("form", ["t.csv.gz", "t.parquet", "parts", "t.sav", "t.dta"])
def test_files(folder: Path, as_csv: str, form: str) -> None:
    assert address(SourceSpec(table=form).resolve_path(folder)) == as_csv


@pytest.mark.parametrize("sql", ["select * from t", "select * from t order by n is null, n"])
def test_sqlite(folder: Path, as_csv: str, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows were inserted backwards; the table above is in the canonical order, which is also the one that is asked for."""
    monkeypatch.setenv("FORMS", f"sqlite:///{folder / 't.db'}")
    assert address(SourceSpec(sql=sql, url_env="FORMS")) == as_csv


@pytest.mark.parametrize("sql", ["select * from t", "select * from t order by n"])
def test_postgresql(postgresql: str, as_csv: str, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = create_engine(postgresql)
    with engine.begin() as connection:
        connection.execute(text("drop table if exists t"))
        connection.execute(text(CREATE.format(int="integer")))
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS[::-1]]
        connection.execute(text("insert into t values (:n, :x, :t, :flag, :code, :opinion)"), rows)
    engine.dispose()
    monkeypatch.setenv("FORMS", postgresql)
    assert address(SourceSpec(sql=sql, url_env="FORMS")) == as_csv


def test_the_order_of_a_file_is_content(folder: Path, as_csv: str) -> None:
    as_parquet(folder / "backwards.parquet", ROWS[::-1])
    assert address(SourceSpec(table="backwards.parquet").resolve_path(folder)) != as_csv


def test_a_changed_row_of_a_database_is_another_source(home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tasks.ingest.task import ingest_source, source_digest
    from tasks.runtime.failures import StageFailure

    monkeypatch.setenv("FORMS", f"sqlite:///{folder / 't.db'}")
    source = SourceSpec(sql="select * from t", url_env="FORMS")
    before = source_digest(source)
    assert source_digest(source) == before
    plan = Store().put_record(IngestPlan(source=source, attributes=DECLARED))
    produced = ingest_source.bind(plan, before).compute()
    assert Store().table(produced["data"]).n == len(ROWS)
    with sqlite3.connect(folder / "t.db") as database:
        database.execute("update t set x = 0.2 where n = 1")
    try:
        assert source_digest(source) != before
        with pytest.raises(StageFailure, match="source-changed"):
            ingest_source.bind(plan, before).compute()
    finally:
        with sqlite3.connect(folder / "t.db") as database:
            database.execute("update t set x = 0.1 where n = 1")
        database.close()


def test_a_renamed_partition_is_another_source(home: Path, tmp_path: Path) -> None:
    from tasks.ingest.task import source_digest

    (tmp_path / "t" / "y=1").mkdir(parents=True)
    as_parquet(tmp_path / "t" / "y=1" / "0.parquet")
    source = SourceSpec(table="t").resolve_path(tmp_path)
    before = source_digest(source)
    (tmp_path / "t" / "y=1").rename(tmp_path / "t" / "y=2")
    assert source_digest(source) != before
