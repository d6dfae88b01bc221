"""The rows of one SQL query, read through SQLAlchemy.

What a database says when it fails may hold its address, a password, the statement and values of the data. Nothing of it is
passed on: an error here names the kind of the failure alone, and no other exception hangs on it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import pyarrow as pa
from sqlalchemy import URL, Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from tasks.ingest.readers.database_rows import as_columns, sort_by_all_columns
from tasks.ingest.readers.raw import RawTable, refuse_bad_names
from tasks.ingest.readers.sql_statement import check_statement, is_ordered
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import open_regular_file

Answer = TypeVar("Answer")

_ROWS_AT_ONCE = 1 << 16
_PATIENCE_SECONDS = 15
_LONGEST_SECONDS = 3600  # of a query: PostgreSQL is told, SQLite is asked
_EXAMPLES = "e.g. postgresql://user@host/database or sqlite:////folder/file.db"
_READ_ONLY = {
    "postgresql": (
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        "SET TRANSACTION READ ONLY",
        f"SET statement_timeout = '{_LONGEST_SECONDS}s'",
        "SET TIME ZONE 'UTC'",  # else moments would depend on the server's settings
        "SET extra_float_digits = 3",
    ),
    "sqlite": ("PRAGMA query_only = ON",),
}
# the types of PostgreSQL by number: they alone tell what a column without values is
_POSTGRESQL = {16: pa.bool_(), 20: pa.int64(), 21: pa.int64(), 23: pa.int64(), 700: pa.float64(), 701: pa.float64(),
               1082: pa.date32(), 1083: pa.time64("us"), 1114: pa.timestamp("us"), 1700: pa.float64()}  # fmt: skip
_SQLITE_MESSAGES = {
    "no such table": "there is no such table",
    "no such column": "there is no such column",
    "syntax error": "the statement has a syntax error",
    "incomplete input": "the statement has a syntax error",
    "readonly database": "the statement would change the database",
    "unable to open database": "the file is not there, or this user may not open it",
    "not a database": "the file is no SQLite database",
    "interrupted": f"it ran for more than {_LONGEST_SECONDS // 60} minutes",
}  # it has one class of errors for all of them


def read(sql: str, url_env: str, label: str) -> RawTable:
    """The rows that a query returns, with the types of the database.

    The query runs in a transaction that is rolled back, and that PostgreSQL and SQLite (opened with mode=ro) are told is
    read-only; for other databases a note says that they were not told. A query has no order of its own: its rows are sorted by
    all columns (`database_rows.sort_by_all_columns`), unless the statement itself says ORDER BY.

    Parameters
    ----------
    sql: one SELECT (WITH, VALUES, TABLE). url_env: the environment variable that holds the database's URL. label: what messages
        call the source.

    Raises
    ------
    InputError: the variable is not set or holds no URL; no driver; no connection; a statement that is none, several, or does
        not read; a statement that the database refuses; repeated names; no rows; a column of mixed kinds, or of a kind that
        is not read.
    """
    statement = check_statement(sql, label)
    with _open_connection(url_env, label) as connection:
        table = _attempt(lambda: _fetch_table(connection, statement, label), "query-failed", label)
        guarded = connection.dialect.name in _READ_ONLY
    if table.num_rows == 0:
        raise InputError("no-rows", label, "The query returns no rows.", "at least one row", "check its conditions")
    ordered = is_ordered(statement)
    kind = "read-only transaction" if guarded else "transaction"
    order = "in the order of ORDER BY" if ordered else "sorted by all columns, because the query has no ORDER BY"
    return RawTable(table=table if ordered else sort_by_all_columns(table), label=label, format="sql", as_text=False,
                    notes=_warnings(guarded=guarded, ordered=ordered),
                    how=(f"in a {kind} that was rolled back", f"rows {order}"))  # fmt: skip


def check_query(sql: str, url_env: str, label: str) -> None:
    """InputError unless the statement is one that reads and the database answers; reads nothing."""
    check_statement(sql, label)
    with _open_connection(url_env, label):
        pass


def _warnings(*, guarded: bool, ordered: bool) -> tuple[str, ...]:
    free = () if guarded else ("this kind of database was not told that the transaction is read-only; it was rolled back",)
    ties = ("where ORDER BY leaves ties the database chooses, and the same rows may give another address",) if ordered else ()
    return free + ties


def _fetch_table(connection: Connection, statement: str, label: str) -> pa.Table:
    for setting in _READ_ONLY.get(connection.dialect.name, ()):
        connection.exec_driver_sql(setting)
    options = connection.execution_options(no_parameters=True, stream_results=True, max_row_buffer=_ROWS_AT_ONCE)
    with _limit_query_time(connection), options.exec_driver_sql(statement) as result:
        if not result.returns_rows:
            raise InputError("not-a-query", label, "The statement returns no table.", "a query", "write a SELECT")
        names = [str(name) for name in result.keys()]  # noqa: SIM118 - a result is no mapping
        refuse_bad_names(names, label)
        codes = [column[1] for column in result.context.cursor.description]  # gone when the last row has been read
        table = as_columns(names, result.partitions(_ROWS_AT_ONCE), label)
    return _type_empty_columns(table, codes) if connection.dialect.name == "postgresql" else table


@contextmanager
def _limit_query_time(connection: Connection) -> Iterator[None]:
    """End a statement of SQLite at its limit, from a thread: SQLite swallows what a signal raises in a handler of its own."""
    if connection.dialect.name != "sqlite":
        yield
        return
    driver: Any = connection.connection.driver_connection
    timer = threading.Timer(_LONGEST_SECONDS, driver.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _type_empty_columns(table: pa.Table, codes: list[Any]) -> pa.Table:
    fields = [
        field.with_type(_POSTGRESQL.get(code, pa.string())) if pa.types.is_null(field.type) else field
        for field, code in zip(table.schema, codes, strict=True)
    ]
    return table.cast(pa.schema(fields))


@contextmanager
def _open_connection(url_env: str, label: str) -> Iterator[Connection]:
    engine = _engine(_url(url_env), url_env, label)
    connection = _attempt(engine.connect, "no-connection", label)
    try:
        yield connection
    finally:
        with suppress(Exception):  # a connection that broke cannot be rolled back, and has been told of
            connection.rollback()
            connection.close()
        engine.dispose()


def _url(url_env: str) -> URL:
    written = os.environ.get(url_env, "").strip()
    where = f"source.url_env: {url_env}"
    if not written:
        raise InputError("no-url", where, "The environment variable is not set.", f"the URL of a database, {_EXAMPLES}",
                         f"export {url_env}=..., in the shell that starts sdcert")  # fmt: skip
    try:
        return make_url(written)
    except (ArgumentError, ValueError):
        pass
    raise InputError("not-a-url", where, "The environment variable does not hold the URL of a database.", _EXAMPLES,
                     "correct the variable; special signs in a password are written as %40, %2F, ...")  # fmt: skip


def _engine(url: URL, url_env: str, label: str) -> Engine:
    where = f"source.url_env: {url_env}"
    try:
        if url.get_dialect().is_async:
            raise InputError("no-driver", where, "The URL names a driver for asynchronous programs.",
                             "a synchronous driver, e.g. postgresql+psycopg2://", "change the driver in the URL")  # fmt: skip
        return create_engine(url, poolclass=NullPool, hide_parameters=True, **_arguments(url, label))
    except NoSuchModuleError:
        what, remedy = "The URL names a kind of database that is not known.", "correct it (postgresql://, not postgres://)"
    except ImportError:
        own = url.get_backend_name() == "postgresql"
        what = "The driver of this database is not installed."
        remedy = "pip install sdcert[postgresql]" if own else "install the Python driver that SQLAlchemy names for it"
    except (ArgumentError, ValueError, TypeError):
        what, remedy = "The URL is incomplete or has options that its driver does not know.", "correct the variable"
    raise InputError("no-driver", where, what, f"a database that SQLAlchemy knows, {_EXAMPLES}", remedy)


def _arguments(url: URL, label: str) -> dict[str, Any]:
    """What the engine is told besides: how long to wait, and for SQLite to open the file without the right to write."""
    if url.get_driver_name() in {"psycopg2", "psycopg"} and "connect_timeout" not in url.query:
        return {"connect_args": {"connect_timeout": _PATIENCE_SECONDS}}
    if url.get_backend_name() != "sqlite":
        return {}
    if url.database in {None, "", ":memory:"}:
        raise InputError("no-connection", label, "A SQLite database in memory holds no tables.", "a file", _EXAMPLES)
    if str(url.database).startswith("file:"):
        return {}
    path = Path(str(url.database)).absolute()
    with suppress(FileNotFoundError), open_regular_file(path):  # a pipe would be waited for; SQLite tells what is not there
        pass
    address = f"file:{quote(str(path))}?mode=ro"
    return {"creator": lambda: sqlite3.connect(address, uri=True, timeout=_PATIENCE_SECONDS)}


def _attempt(do: Callable[[], Answer], code: str, label: str) -> Answer:
    try:
        return do()
    except InputError:
        raise
    except Exception as error:  # whatever a driver raises may hold the URL, the SQL or values
        kind = _kind(error)
    what, remedy = "The database refuses the query", "try the query in the database's own client"
    if code == "no-connection":
        what, remedy = "No connection to the database", "check the variable, the network and the rights"
    raise InputError(code, label, f"{what}: {kind}.", "a query that the database answers", remedy)


def _kind(error: Exception) -> str:
    """The kind of a failure, without a word of the message but for what SQLite always says."""
    cause = getattr(error, "orig", None) or error
    if isinstance(cause, sqlite3.Error):
        return next((words for message, words in _SQLITE_MESSAGES.items() if message in str(cause)), type(cause).__name__)
    return type(cause).__name__
