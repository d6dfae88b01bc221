"""Wrong sources and codebooks: each is told once, with a place, what is allowed and what to do, and leaks nothing."""

import bz2
import gzip
import io
import lzma
import sqlite3
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from pydantic import ValidationError

from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.codebooks.codebook_file import load_codebook, merge_codebook
from tasks.ingest.methods import IngestPlan, ingest
from tasks.ingest.readers import compressed, statistical
from tasks.ingest.sources import SourceSpec, reachable
from tasks.microdata.errors import InputError

CANARY = "canary-4711"
URL = f"postgresql://canary-user:{CANARY}@127.0.0.1:1/canary-db"  # nobody listens on port 1


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (n integer, t text, b blob, mixed)")
        connection.executemany("insert into t values (?, ?, ?, ?)", [(1, CANARY, b"x", 1), (2, "b", None, CANARY)])
        connection.execute("create table numbers (n)")
        connection.executemany("insert into numbers values (?)", [(1,), (2.5,)])
    connection.close()
    (tmp_path / "no.db").write_bytes(b"no database, " * 100)
    urls = {"DB": f"sqlite:///{path}", "WORDS": f"the database of {CANARY}", "PORT": f"postgresql://u:{CANARY}@h:many/d",
            "EMPTY": " ", "UNKNOWN": f"dbase://u:{CANARY}@h/d", "DRIVER": f"postgresql+pg8000://u:{CANARY}@h/d", "SILENT": URL,
            "ASYNC": f"sqlite+aiosqlite:///{path}", "MEMORY": "sqlite://", "NOWHERE": f"sqlite:///{tmp_path}/{CANARY}.db",
            "DAMAGED": f"sqlite:///{tmp_path}/no.db", "OPTION": f"{URL}?canary=1"}  # fmt: skip
    for name, url in urls.items():
        monkeypatch.setenv(name, url)
    monkeypatch.delenv("ABSENT", raising=False)


# name of a column -> code
NAMES = {
    "x" * 301: "long-column-name",
    "\u05d0" * 5000: "long-column-name",
    "a\0b": "zero-byte",
    "\u200b\ufeff": "unnamed-column",
    "\u202e \n": "unnamed-column",
    "\xa0": "unnamed-column",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_nobody_can_use_is_refused_wherever_it_stands(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1, 2], name: [3, 4]}), tmp_path / "t.parquet")
    (tmp_path / "folder").mkdir()
    pq.write_table(pa.table({"n": [1, 2], name: [3, 4]}), tmp_path / "folder" / "t.parquet")
    (tmp_path / "t.csv").write_text(f'"n","{name}"\n1,2\n', encoding="utf-16")
    for table in ("t.parquet", "folder", "t.csv"):
        with pytest.raises(InputError) as refused:
            ingest(IngestPlan(source=SourceSpec(table=str(tmp_path / table))))
        assert refused.value.code == NAMES[name]
        assert len(str(refused.value)) < 500
        assert refused.value.where.endswith(("column 2", "header"))


@pytest.mark.parametrize("name", ["x" * 300, "\u05d0" * 300, "e\u0301", "\U0001f469\u200d\U0001f52c", "{0}", "a\nb"])
def test_every_other_name_is_taken_as_it_is(name: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f'"n","{name}"\n1,2\n', encoding="utf-8")
    assert ingest(IngestPlan(source=SourceSpec(table=str(tmp_path / "t.csv")))).data.names == ("n", name)


def test_names_that_are_no_unicode_are_no_readable_file(tmp_path: Path) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"abcd": [1, 2]}), sink, store_schema=False)
    (tmp_path / "t.parquet").write_bytes(sink.getvalue().replace(b"abcd", b"a\xff\xfed"))
    with pytest.raises(InputError) as refused:
        ingest(IngestPlan(source=SourceSpec(table=str(tmp_path / "t.parquet"))))
    assert refused.value.code == "not-parquet"


# SQL, variable with the URL -> code, words that the message has
QUERIES = {
    "variable absent": ("select 1 as a", "ABSENT", "no-url", "not set"),
    "variable empty": ("select 1 as a", "EMPTY", "no-url", "not set"),
    "URL not a URL": ("select 1 as a", "WORDS", "not-a-url", "URL"),
    "port not a number": ("select 1 as a", "PORT", "not-a-url", "URL"),
    "unknown database": ("select 1 as a", "UNKNOWN", "no-driver", "kind of database"),
    "driver not installed": ("select 1 as a", "DRIVER", "no-driver", "sdcert[postgresql]"),
    "asynchronous driver": ("select 1 as a", "ASYNC", "no-driver", "synchronous"),
    "server silent": ("select 1 as a", "SILENT", "no-connection", "OperationalError"),
    "option unknown": ("select 1 as a", "OPTION", "no-connection", "ProgrammingError"),
    "database in memory": ("select 1 as a", "MEMORY", "no-connection", "memory"),
    "file absent": ("select 1 as a", "NOWHERE", "no-connection", "not there"),
    "file no database": ("select * from t", "DAMAGED", "query-failed", "no SQLite database"),
    "no such table": ("select * from nowhere where t = 'canary-4711'", "DB", "query-failed", "no such table"),
    "no such column": ("select nowhere from t where t = 'canary-4711'", "DB", "query-failed", "no such column"),
    "syntax error": ("select from where 'canary-4711'", "DB", "query-failed", "syntax error"),
    "quote not closed": ("select 'canary-4711", "DB", "query-failed", "refuses"),
    "two statements": ("select 1; select 'canary-4711'", "DB", "several-statements", "more than one"),
    "an insert": ("insert into t values (1, 'canary-4711', null, 2)", "DB", "not-a-query", "not one that reads"),
    "a pragma": ("pragma table_info(t)", "DB", "not-a-query", "not one that reads"),
    "a hidden insert": ("with a as (select 1) insert into t select 1, 'canary-4711', 2, 3", "DB", "query-failed", "would"),
    "no statement": ("-- nothing", "DB", "no-statement", "no statement"),
    "repeated names": ("select n, t as n from t", "DB", "repeated-column", "more than once"),
    "unnamed column": ('select n as "" from t', "DB", "unnamed-column", "no name"),
    "bytes": ("select n, b from t", "DB", "unsupported-type", "bytes"),
    "text beside numbers": ("select mixed from t", "DB", "mixed-types", "whole numbers and text"),
    "decimals beside integers": ("select n from numbers", "DB", "mixed-types", "whole numbers and decimals"),
    "no rows": ("select * from t where n > 9", "DB", "no-rows", "no rows"),
}  # fmt: skip


def zipped(members: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return sink.getvalue()


def encrypted_zip() -> bytes:
    content = bytearray(zipped({"a.csv": b"a\n1\n"}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the flag of the member, here and in the directory
    return bytes(content)


def sav(folder: Path) -> bytes:
    pyreadstat.write_sav(pd.DataFrame({"n": [1.0, 2.0], "t": [CANARY, "b"]}), folder / "whole.sav")
    return (folder / "whole.sav").read_bytes()


TEXT = f"n,t\n1,{CANARY}\n".encode()
FILES: dict[str, tuple[str, Callable[[Path], bytes], str, str]] = {
    "sav cut": ("a.sav", lambda folder: sav(folder)[:-30], "damaged-file", "SPSS"),
    "sav is a text": ("a.sav", lambda _: TEXT, "not-statistical", "not what its name says"),
    "dta is a text": ("a.dta", lambda _: TEXT, "not-statistical", "not what its name says"),
    "sav encrypted": ("a.sav", lambda _: bytes(8) + b"ENCRYPTEDSAV" + bytes(90), "encrypted-file", "encrypted"),
    "sas is nothing": ("a.sas7bdat", lambda _: statistical.SAS_MAGIC + bytes(500), "damaged-file", "SAS"),
    "dta has only a head": ("a.dta", lambda _: b"<stata_dta><header>", "damaged-file", "Stata"),
    "gz cut": ("a.csv.gz", lambda _: gzip.compress(TEXT)[:-9], "damaged-archive", "gzip"),
    "gz is a text": ("a.csv.gz", lambda _: TEXT, "damaged-archive", "is none"),
    "bz2 damaged": ("a.csv.bz2", lambda _: bz2.compress(TEXT)[:20] + b"xxxx", "damaged-archive", "bzip2"),
    "compressed twice": ("a.csv.gz", lambda _: gzip.compress(lzma.compress(TEXT)), "compressed-twice", "another"),
    "zip with two members": ("a.zip", lambda _: zipped({f"{CANARY}.csv": TEXT, "b.csv": TEXT}), "zip-members", "2 files"),
    "zip without members": ("a.zip", lambda _: zipped({}), "zip-members", "0 files"),
    "zip encrypted": ("a.zip", lambda _: encrypted_zip(), "encrypted-file", "encrypted"),
    "workbook": ("a.xlsx", lambda _: zipped({"[Content_Types].xml": b"x", "xl/workbook.xml": b"x"}), "binary-file", "Excel"),
    "bomb": ("a.csv.xz", lambda _: lzma.compress(bytes(6 << 20)), "too-large", "grows beyond"),
    "empty inside": ("a.csv.gz", lambda _: gzip.compress(b""), "empty-file", "empty"),
}  # fmt: skip


def parquet_parts(folder: Path, *tables: pa.Table, names: tuple[str, ...] = ("0.parquet", "1.parquet")) -> None:
    for name, table in zip(names, tables, strict=False):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / name)


ONE = pa.table({"n": [1], "t": [CANARY]})
OTHER = ONE.set_column(0, "n", pa.array([1.5]))
FOLDERS: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "empty": (lambda folder: None, "not-a-parquet-folder", "no Parquet files"),
    "CSV files": (lambda folder: (folder / f"{CANARY}.csv").write_bytes(TEXT), "not-a-parquet-folder", "1 of its 1 files"),
    "two schemas": (lambda folder: parquet_parts(folder, ONE, ONE.drop_columns("t")), "several-schemas", "differ"),
    "two types": (lambda folder: parquet_parts(folder, ONE, OTHER), "several-schemas", "differ"),
    "keys here and there": (lambda folder: parquet_parts(folder, ONE, ONE, names=("a=1/0.parquet", "1.parquet")),
                            "several-schemas", "keys"),
    "key is a column": (lambda folder: parquet_parts(folder, ONE, names=("n=1/0.parquet",)), "repeated-column", "once"),
    "damaged part": (lambda folder: (folder / "0.parquet").write_bytes(b"PAR1" + TEXT), "not-parquet", "not a readable"),
    "Delta Lake": (lambda folder: parquet_parts(folder, ONE, ONE, names=("0.parquet", "_delta_log/1.parquet")),
                   "not-a-parquet-folder", "Delta"),
}  # fmt: skip

CODEBOOKS = {
    "not YAML": ("attributes: {n: [", "codebook-file", "not YAML"),
    "a list": ("- n\n", "codebook-file", "one mapping"),
    "no attributes": ("title: x\n", "codebook-file", "attributes"),
    "attribute twice": ("attributes:\n  n: {label: a}\n  n: {label: b}\n", "codebook-file", "twice"),
    "category twice": ('attributes: {n: {categories: {"1": a, "1": b}}}', "codebook-file", "twice"),
    "category twice in a list": ('attributes: {n: {categories: ["1", "1"]}}', "codebook-file", "twice"),
    "code no text": ("attributes: {n: {categories: {1: a}}}", "codebook-file", "not a text"),
    "code no text in a list": ("attributes: {n: {categories: [1]}}", "codebook-file", "a text is expected"),
    "unknown field": ("attributes: {n: {lable: a}}", "codebook-file", "lable"),
    "role in a codebook": ("attributes: {n: {role: confidential}}", "codebook-file", "role"),
    "valid and missing": ('attributes: {n: {categories: ["1", "9"], missing: {"9": refused}}}', "codebook-file", "missing"),
    "cycle": ("attributes: {t: {hierarchy: {a: b, b: a}}}", "codebook-file", "cycle"),
    "parent lacking": ("attributes: {t: {hierarchy: {a: b, b: d, c: d}}}", "codebook-file", "fewer"),
    "hierarchy of others": ("attributes: {t: {categories: [a], hierarchy: {b: c}}}", "codebook-file", "exactly the declared"),
    "order of others": ("attributes: {t: {categories: [a], order: [b]}}", "codebook-file", "different codes"),
    "unknown attribute": ("attributes: {m: {label: a}}", "unknown-attribute", "no such column"),
    "value outside": ('attributes: {n: {categories: ["2"]}}', "expectation-failed", "1 rows fail"),
    "codes no numbers": ("attributes: {n: {categories: [one]}}", "unfitting-categories", "1 of 1 codes"),
}


def assert_told_once(error: InputError, code: str, words: str) -> None:
    assert error.code == code, error
    assert words in str(error)
    assert all((error.where, error.what, error.allowed, error.remedy))
    assert CANARY not in error.where + error.what + error.public
    assert len(error.where.splitlines()) == 1
    if error.value is None:  # what `value` holds is shown on the terminal alone
        assert CANARY not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("mistake", QUERIES)
@pytest.mark.usefixtures("database")
def test_queries(mistake: str) -> None:
    sql, url_env, code, words = QUERIES[mistake]
    with pytest.raises(InputError) as caught:
        ingest(IngestPlan(source=SourceSpec(sql=sql, url_env=url_env)))
    assert_told_once(caught.value, code, words)
    assert caught.value.value is None or mistake in {"repeated names"}
    if code in {"no-url", "not-a-url", "no-driver", "no-connection", "no-statement", "several-statements", "not-a-query"}:
        with pytest.raises(InputError) as early:
            reachable(SourceSpec(sql=sql, url_env=url_env))
        assert early.value.code == code


@pytest.mark.parametrize("mistake", FILES)
def test_files(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, content, code, words = FILES[mistake]
    monkeypatch.setattr(compressed, "_SMALL_BYTES", 1 << 20)
    (tmp_path / name).write_bytes(content(tmp_path))
    with pytest.raises(InputError) as caught:
        ingest(IngestPlan(source=SourceSpec(table=name).resolve_path(tmp_path)))
    assert_told_once(caught.value, code, words)


@pytest.mark.parametrize("mistake", FOLDERS)
def test_folders(mistake: str, tmp_path: Path) -> None:
    make, code, words = FOLDERS[mistake]
    (tmp_path / "t").mkdir()
    make(tmp_path / "t")
    with pytest.raises(InputError) as caught:
        ingest(IngestPlan(source=SourceSpec(table="t").resolve_path(tmp_path)))
    assert_told_once(caught.value, code, words)


@pytest.mark.parametrize("mistake", CODEBOOKS)
def test_codebooks(mistake: str, tmp_path: Path) -> None:
    text, code, words = CODEBOOKS[mistake]
    (tmp_path / "codebook.yaml").write_text(text)
    (tmp_path / "t.csv").write_bytes(TEXT)
    with pytest.raises(InputError) as caught:
        attributes = merge_codebook((), load_codebook(tmp_path / "codebook.yaml"))
        ingest(IngestPlan(source=SourceSpec(table="t.csv").resolve_path(tmp_path), attributes=attributes))
    assert_told_once(caught.value, code, words)
    assert "params/" not in str(caught.value)


def test_an_absent_codebook(tmp_path: Path) -> None:
    (tmp_path / "codebook.yaml").write_text("attributes: {}")
    with pytest.raises(InputError, match=r"did you mean `codebook.yaml`") as caught:
        load_codebook(tmp_path / "codebok.yaml")
    assert caught.value.code == "no-such-codebook"


def test_labels_inside_a_file_contradict_a_declaration(tmp_path: Path) -> None:
    pyreadstat.write_sav(pd.DataFrame({"n": [1.0, 9.0]}), tmp_path / "a.sav", missing_ranges={"n": [9]})
    declared = AttributeSpec.model_validate_json('{"name": "n", "categories": ["1", "9"]}')
    with pytest.raises(InputError) as caught:
        ingest(IngestPlan(source=SourceSpec(table="a.sav").resolve_path(tmp_path), attributes=(declared,)))
    assert_told_once(caught.value, "contradictory-codebook", "1 declared categories")


@pytest.mark.parametrize(
    ("name", "option"), [("a.parquet", "encoding"), ("a.parquet", "delimiter"), ("whole.sav", "delimiter")]
)
def test_options_that_mean_nothing_are_refused(tmp_path: Path, name: str, option: str) -> None:
    sav(tmp_path)
    pq.write_table(ONE, tmp_path / "a.parquet")
    source = SourceSpec.model_validate({"table": name, option: "utf-8" if option == "encoding" else ";"})
    with pytest.raises(InputError) as caught:
        ingest(IngestPlan(source=source.resolve_path(tmp_path)))
    assert_told_once(caught.value, "unused-option", option)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sql": "select 1"}, "url_env"),
        ({"url_env": "A", "table": "a.csv"}, "url_env"),
        ({"sql": "select 1", "url_env": "A", "table": "a.csv"}, "exactly one"),
        ({"sql": "select 1", "url_env": "A", "dataset": "fair"}, "exactly one"),
        ({"sql": "select 1", "url_env": "A", "encoding": "utf-8"}, "belong to a file"),
        ({"sql": "select 1", "url_env": URL}, "never written down"),
        ({"sql": "", "url_env": "A"}, "at least 1"),
    ],
)
def test_specs(given: dict[str, str], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        SourceSpec.model_validate(given)


@pytest.mark.parametrize("name", ["census", "eia", "household"])
def test_a_reference_table_that_is_absent_says_where_to_get_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDCERT_REFERENCE_DATA", str(tmp_path))
    source = SourceSpec.model_validate({"dataset": name})
    with pytest.raises(InputError, match="sdcMicro") as caught:
        reachable(source)
    assert_told_once(caught.value, "no-such-dataset-file", "SDCERT_REFERENCE_DATA")
    (tmp_path / f"{name}.csv").write_bytes(TEXT)
    with pytest.raises(InputError) as caught:
        ingest(IngestPlan(source=source))
    assert_told_once(caught.value, "other-version", "SHA-256")
