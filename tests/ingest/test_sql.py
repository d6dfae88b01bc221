import datetime
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, text

from tasks.ingest.readers.database_rows import as_columns, sort_by_all_columns
from tasks.ingest.readers.sql_statement import check_statement, is_ordered
from tasks.ingest.sources import SourceSpec, files, reachable, read
from tasks.microdata.errors import InputError

ROWS = [(3, "b", 0.5), (None, "a", 2.5), (1, None, None), (1, "Å'\";", -1.0)]
SORTED = [ROWS[3], ROWS[2], ROWS[0], ROWS[1]]  # by n, then t, missing last; by hand


@pytest.fixture
def sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "a #å%.db"
    with sqlite3.connect(path) as database:
        database.execute("create table people (n integer, t text, x real)")
        database.executemany("insert into people values (?, ?, ?)", ROWS)
    database.close()
    monkeypatch.setenv("PEOPLE_DB", f"sqlite:///{path}")
    return path


def query(sql: str, url_env: str = "PEOPLE_DB") -> SourceSpec:
    return SourceSpec(sql=sql, url_env=url_env)


def rows_of(source: SourceSpec) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in read(source).table.to_pylist()]


def test_a_query_without_order_is_sorted_by_all_columns(sqlite: Path) -> None:
    raw = read(query("select * from people"))
    assert [tuple(row.values()) for row in raw.table.to_pylist()] == SORTED
    assert [str(field.type) for field in raw.table.schema] == ["int64", "string", "double"]
    assert (raw.format, raw.as_text, raw.label) == ("sql", False, "the query on $PEOPLE_DB")
    assert "read-only" in raw.how[0]
    assert "sorted by all columns" in raw.how[1]
    assert raw.notes == ()


def test_order_by_at_the_end_is_kept(sqlite: Path) -> None:
    assert "ties" in read(query("select * from people order by x desc")).notes[0]
    assert rows_of(query("select * from people order by x desc;")) == [ROWS[1], ROWS[0], ROWS[3], ROWS[2]]


def test_percent_signs_and_colons_are_no_parameters(sqlite: Path) -> None:
    assert rows_of(query("select ':a %s 12:30 %' as t, n % 2 as r from people where t like 'b%'")) == [(":a %s 12:30 %", 1)]


def test_a_query_has_no_files_and_is_reachable(sqlite: Path) -> None:
    source = query("select 1 as a")
    assert files(source) == ()
    reachable(source)
    assert source.resolve_path(Path("/nowhere")) == source


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(6)))
def test_the_order_of_the_rows_does_not_matter(order: list[int]) -> None:
    cells = [(1, "b"), (1, "a"), (None, "a"), (2, None), (-1, "Å"), (1, "a")]
    table = as_columns(["n", "t.x"], [[cells[place] for place in order]], "q")
    expected = [(-1, "Å"), (1, "a"), (1, "a"), (1, "b"), (2, None), (None, "a")]
    assert [tuple(row.values()) for row in sort_by_all_columns(table).to_pylist()] == expected


def test_types_of_values_become_types_of_columns() -> None:
    moment = datetime.datetime(2020, 1, 1, 12)
    row = (True, 1, 0.5, Decimal("1.50"), "a", moment, moment.date(), moment.time(), None)
    other = (None, 2**62, 1.5, Decimal("123.4"), "b", None, None, None, None)
    table = as_columns([f"c{place}" for place in range(9)], [[row], [other]], "q")
    kinds = ["bool", "int64", "double", "decimal128(5, 2)", "string", "timestamp[us]", "date32[day]", "time64[us]", "null"]
    assert [str(field.type) for field in table.schema] == kinds
    assert sort_by_all_columns(table).num_rows == 2


@pytest.mark.parametrize(
    ("sql", "ordered"),
    [
        ("select a from t order by a", True),
        ("SELECT a FROM t ORDER /* by */\n BY a LIMIT 3;", True),
        ("(select 1) union (select 2) order by 1", True),
        ("select * from (select a from t order by a) as s", False),
        ("select row_number() over (order by a) from t", False),
        ("select 'order by a' -- order by a", False),
        ('select "order by" from t', False),
    ],
)
def test_order_by_counts_at_the_top_level_alone(sql: str, ordered: bool) -> None:
    assert is_ordered(sql) == ordered


@pytest.mark.parametrize(
    "sql", ["select ';'", "with a as (select 1) select * from a", "values (1), (2)", "table t", "(select 1)"]
)
def test_statements_that_read_are_taken(sql: str) -> None:
    assert check_statement(sql, "q") == sql
    assert check_statement(f" {sql} ; -- the end;", "q") == sql


def test_sqlite_is_opened_without_the_right_to_write(sqlite: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(query("with a as (select 1) insert into people select 9, 'x', 1.0"))
    assert caught.value.code == "query-failed"
    with pytest.raises(InputError):
        read(SourceSpec(sql="select 1 as a", url_env="PEOPLE_DB").model_copy(update={"sql": "select load_extension('x')"}))
    assert len(rows_of(query("select * from people"))) == len(ROWS)


def test_an_absent_sqlite_file_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEOPLE_DB", f"sqlite:///{tmp_path}/absent.db")
    with pytest.raises(InputError) as caught:
        reachable(query("select 1 as a"))
    assert caught.value.code == "no-connection"
    assert not (tmp_path / "absent.db").exists()


@pytest.fixture
def people(postgresql: str, monkeypatch: pytest.MonkeyPatch) -> str:
    engine = create_engine(postgresql)
    with engine.begin() as connection:
        connection.execute(text("drop table if exists people"))
        connection.execute(text("create sequence if not exists counter"))
        connection.execute(text("create table people (n bigint, t text, x double precision)"))
        connection.execute(text("insert into people values (:n, :t, :x)"), [dict(zip("ntx", row, strict=True)) for row in ROWS])
    engine.dispose()
    monkeypatch.setenv("PEOPLE_DB", postgresql)
    return postgresql


def test_postgresql_gives_the_same_rows(people: str) -> None:
    raw = read(query("select * from people"))
    assert [tuple(row.values()) for row in raw.table.to_pylist()] == SORTED
    assert "read-only" in raw.how[0]
    assert rows_of(query("select t from people where t like 'b%' order by n::int")) == [("b",)]


def test_postgresql_types(people: str) -> None:
    columns = [
        ("1::smallint", "int64"),
        ("1.50::numeric(5, 2)", "decimal128(3, 2)"),
        ("true", "bool"),
        ("'a'::varchar(3)", "string"),
        ("date '2020-01-02'", "date32[day]"),
        ("time '10:30'", "time64[us]"),
        ("timestamp '2020-01-02 10:30'", "timestamp[us]"),
        ("timestamptz '2020-01-02 10:30+02'", "timestamp[us, tz=UTC]"),
        ("null::int", "int64"),
        ("null::date", "date32[day]"),
        ("null::float4", "double"),
        ("null::text", "string"),
        ("'0b9e6b0e-6d5a-4b1c-9d1b-0d6f6a3f0c11'::uuid", "string"),
    ]
    listed = ", ".join(f"{what} as c{place}" for place, (what, _) in enumerate(columns))
    table = read(query(f"select {listed}")).table
    assert [str(field.type).replace("Etc/UTC", "UTC") for field in table.schema] == [kind for _, kind in columns]
    assert table.column("c7")[0].as_py().hour == 8


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("with gone as (delete from people returning *) select * from gone", "FeatureNotSupported"),
        ("select nextval('counter')", "ReadOnlySqlTransaction"),
        ("select nextval('canary')", "UndefinedTable"),
        ("select canary from people", "UndefinedColumn"),
        ("selec 1", None),
        ("select 1 form people x y", "SyntaxError"),
        ("select 1 / (n - 1) from people", "DivisionByZero"),
        ("select 'canary'::bytea as b", None),
        ("select '{1,2}'::int[] as b", None),
        ("select '{}'::json as b", None),
        ("select interval '1 day' as b", None),
        ("select 'NaN'::numeric as b", None),
        ("select 123456789012345678901234567890::numeric * 10::numeric ^ 60 as b", None),
    ],
)
def test_what_postgresql_refuses_or_sdcert_does_not_read(people: str, sql: str, kind: str | None) -> None:
    with pytest.raises(InputError) as caught:
        read(query(sql))
    assert kind is None or kind in caught.value.what
    assert "canary" not in str(caught.value)
    assert len(rows_of(query("select * from people"))) == len(ROWS)


def test_two_statements_cannot_leave_the_transaction(people: str) -> None:
    """`'\\'; ...` is one text to the lexer and two statements to PostgreSQL: the session itself must be read-only."""
    with pytest.raises(InputError):
        read(query("select '\\'; commit; delete from people; select ' as a"))
    assert len(rows_of(query("select * from people"))) == len(ROWS)


def test_no_failure_tells_the_address(people: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = people.replace("sdcert@/postgres", "canary-user:canary-4711@/canary-db")
    monkeypatch.setenv("PEOPLE_DB", secret)
    with pytest.raises(InputError) as caught:
        read(query("select 'canary' as a"))
    error = caught.value
    assert error.code == "no-connection"
    assert "canary" not in f"{error} {error!r} {error.public}"
    assert error.__cause__ is None
    assert error.__context__ is None


def test_a_missing_driver_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEOPLE_DB", "postgresql+pg8000://user@host/db")  # a driver that is not among the dependencies
    with pytest.raises(InputError, match=r"pip install sdcert\[postgresql\]") as caught:
        reachable(query("select 1 as a"))
    assert caught.value.code == "no-driver"


def test_a_spec_does_not_show_its_query(sqlite: Path) -> None:
    assert "secret" not in repr(query("select 'secret' as a"))


def test_the_bytes_of_a_table_tell_equal_from_different(sqlite: Path) -> None:
    first, again = (read(query("select * from people")).content() for _ in range(2))
    assert first == again
    assert read(query("select * from people where n = 1")).content() != first
