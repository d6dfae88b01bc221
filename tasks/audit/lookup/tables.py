"""The tables of the index, and how its file is opened: through SQLAlchemy, so that it can become a database on a server."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Engine,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    create_engine,
    delete,
    insert,
)
from sqlalchemy.pool import NullPool, StaticPool

SCHEMA = "2"  # another one is built anew: raise it with every change of a table, or of what is kept in one
WAIT_SECONDS = 60
TEXT = Text().with_variant(Text(collation="C"), "postgresql")  # sorted and compared by code points, as SQLite does

META = MetaData()
FACTS = Table("facts", META, Column("name", TEXT, primary_key=True), Column("value", TEXT, nullable=False))
ENTRIES = Table(
    "entries",
    META,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("first_byte", BigInteger, nullable=False),
    Column("n_bytes", Integer, nullable=False),
    Column("leaf", LargeBinary, nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("run", TEXT),
    Column("series", TEXT),
    Column("source_file", TEXT),
    Column("adopted", TEXT),
    Column("signer", TEXT),
    Index("entries_run", "run"),
    Index("entries_series", "series"),
    Index("entries_source", "source_file"),
    Index("entries_adopted", "adopted"),
    Index("entries_kind", "kind"),
)
RUNS = Table(
    "runs",
    META,
    Column("run", TEXT, primary_key=True),
    Column("first", Integer, nullable=False, unique=True),
    Column("at", BigInteger, nullable=False),
    Column("ended", Integer),
    Column("release", TEXT),
    Column("series", TEXT),
    Column("dataset", TEXT),
    Column("outcome", TEXT),
    Column("publishable", Boolean, nullable=False),
    Column("certificate", TEXT),
    Column("issued", BigInteger),
    Column("review_by", BigInteger),
    Column("catalogue", TEXT),
    Column("revoked", BigInteger),
    Column("content_address", TEXT),
    Column("alike", TEXT),
    Column("attributes", TEXT),
    *(
        Index(f"runs_{name}", name)
        for name in ("at", "release", "series", "dataset", "certificate", "content_address", "alike")
    ),
    Index("runs_attributes", "attributes"),
)
FILES = Table(
    "files",
    META,
    Column("sha256", TEXT, nullable=False),
    Column("run", TEXT, nullable=False),
    Column("number", Integer, nullable=False),
    Column("role", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Index("files_sha256", "sha256"),
)
ATTRIBUTES = Table(
    "attributes",
    META,
    Column("attributes", TEXT, primary_key=True),
    Column("name", TEXT, primary_key=True),
    Index("attributes_name", "name"),
)


def create_memory_engine() -> Engine:
    """An empty index that ends with the process."""
    return create_engine("sqlite://", poolclass=StaticPool)


def create_file_engine(path: Path) -> Engine:
    """The index in a file, made private where there is none."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    return create_engine("sqlite://", creator=lambda: sqlite3.connect(path, timeout=WAIT_SECONDS), poolclass=NullPool)


def create_read_only_engine(path: Path) -> Engine:
    """The index in a file that this process may read and not write."""
    address = f"{path.as_uri()}?mode=ro&immutable=1"
    return create_engine("sqlite://", creator=lambda: sqlite3.connect(address, uri=True), poolclass=NullPool)


def replace(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Put rows in place of those of the same key, which is one column."""
    (key,) = table.primary_key.columns
    connection.execute(delete(table).where(key == bindparam("same")), [{"same": row[key.name]} for row in rows])
    connection.execute(insert(table), list(rows))
