"""The index on a PostgreSQL server: a schema for each ledger in each place, changed in one transaction or not at all.

Who reads meanwhile sees it as it was before. As of the file, a stamp in the private folder says how this program left it: the
number of rows of each table, and the sum of the transactions that wrote them, which nobody changes who changes a row.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from sqlalchemy import BigInteger as Big
from sqlalchemy import Connection, Engine, String, cast, create_engine, delete, func, literal_column, make_url, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateSchema, DropSchema

from tasks.audit.lookup.index_rows import parse_entry
from tasks.audit.lookup.index_update import Progress, catch_up, fill, watch
from tasks.audit.lookup.ledger_lines import IndexMismatch, LedgerLineReader
from tasks.audit.lookup.tables import META, SCHEMA
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_file
from tasks.runtime.files import write_whole

INDEX_URL_VARIABLE = "SDCERT_INDEX_URL"
STAMP = "index.stamp"
NONE = "there was none"
UNSTAMPED = "its stamp is gone or damaged"
CHANGED = "was changed by something else, or its writer was stopped"
SECONDS_TO_CONNECT = 10
ALLOWED = "postgresql+psycopg2://user:password@host/database"


def create_server_engine(address: str, reader: LedgerLineReader) -> Engine:
    """The engine of a ledger's own schema at an address. Raises InputError, which does not tell the address."""
    url = _url(address)
    try:
        engine = create_engine(
            url.update_query_dict({"connect_timeout": str(SECONDS_TO_CONNECT), **url.query}),
            poolclass=NullPool,
            executemany_mode="values_plus_batch",
            hide_parameters=True,
        )
    except (ImportError, ArgumentError, TypeError):
        remedy = "install the extra: pip install 'sdcert[postgresql]'"
        raise InputError(
            "index-driver", INDEX_URL_VARIABLE, "its driver is not installed, or is another one", ALLOWED, remedy
        ) from None
    return engine.execution_options(schema_translate_map={None: name_schema(reader)})


def _url(address: str) -> URL:
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.drivername not in ("postgresql", "postgresql+psycopg2"):
        what, remedy = "it is not the address of a PostgreSQL database", "leave it out: the index is then a file of the home"
        raise InputError("index-url", INDEX_URL_VARIABLE, what, ALLOWED, remedy)
    return url


def name_schema(reader: LedgerLineReader) -> str:
    """The name of the schema: of the ledger, and of where it lies, so that a copy of a home never writes into that of another.

    The form of the tables is part of it: two versions of this program do not hinder each other.
    """
    first = next(reader.ledger.lines(), None)
    entry = None if first is None else parse_entry(first.content)
    ledger = "unknown" if entry is None else entry.ledger[:16]
    position = hashlib.sha256(str(reader.folder.resolve()).encode()).hexdigest()[:12]
    return f"sdcert_index_{SCHEMA}_{ledger}_{position}".lower()


def update_index(engine: Engine, reader: LedgerLineReader, progress: Progress, doubt: str) -> str:
    """Catch the index up, or build it anew; returns why it was built, "" where it was not. One process at a time.

    Raises SQLAlchemyError where the server does not answer or refuses, OSError where the stamp cannot be written.
    """
    schema, stamp = name_schema(reader), reader.folder / STAMP
    with engine.begin() as connection:
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(schema))))
        why = doubt or _why_not(connection, schema, stamp)
        new = 0
        if not why:
            try:
                with connection.begin_nested():
                    new = catch_up(connection, reader, progress)
            except IndexMismatch:
                why = "it did not fit the ledger"
            except SQLAlchemyError:
                why = "it was damaged"
        if why:
            _build(connection, schema, reader, progress)
        if new or why:
            write_whole(stamp, json.dumps(_stamp(connection, schema)).encode())
    return why


def _build(connection: Connection, schema: str, reader: LedgerLineReader, progress: Progress) -> None:
    """Empty the tables and fill them; who reads goes on reading the old rows. Tables of another form are made anew."""
    try:
        with connection.begin_nested():
            if not _has(connection, schema):
                connection.execute(CreateSchema(schema))
            META.create_all(connection)
            for table in META.sorted_tables:
                connection.execute(delete(table))
            fill(connection, reader.ledger.lines(), watch(reader, progress))
    except SQLAlchemyError:
        connection.execute(DropSchema(schema, cascade=True, if_exists=True))
        connection.execute(CreateSchema(schema))
        META.create_all(connection)
        fill(connection, reader.ledger.lines(), watch(reader, progress))


def _why_not(connection: Connection, schema: str, stamp: Path) -> str:
    """Why what is there must not be used: there is nothing, or it is not as this program left it."""
    if not _has(connection, schema):
        return NONE
    try:
        kept = json.loads(read_file(stamp))
    except (OSError, ValueError, RecursionError):
        return UNSTAMPED
    try:
        with connection.begin_nested():
            return "" if kept == _stamp(connection, schema) else f"its database {CHANGED}"
    except SQLAlchemyError:
        return "it was damaged"


def _has(connection: Connection, schema: str) -> bool:
    return connection.dialect.has_schema(connection, schema)


def _stamp(connection: Connection, schema: str) -> list[str | int]:
    """What changes when anybody writes a row: of each table the number of rows, and the sum of who wrote them."""
    found: list[str | int] = [schema]
    for table in META.sorted_tables:
        writers = func.coalesce(func.sum(cast(cast(literal_column("xmin"), String), Big)), 0)
        found += map(int, connection.execute(select(func.count(), writers).select_from(table)).one())
    return found
