"""Prefect's database of a home: a new one is a copy of an empty one, because migrations take longer than most releases."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import prefect
from prefect.settings import PREFECT_API_BLOCKS_REGISTER_ON_START, PREFECT_API_DATABASE_MIGRATE_ON_START, temporary_settings

from tasks.microdata.cache_folder import find_cache_folder
from tasks.microdata.regular_files import read_file

DATABASE_URLS = ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "PREFECT_API_DATABASE_CONNECTION_URL")


@contextmanager
def prepare_database() -> Iterator[None]:
    """Have the database of this home ready before the server starts, which then need not look at it.

    Only for the file that Prefect makes where no database is named. An older database is migrated by the server, as ever.
    """
    if any(os.environ.get(name) for name in DATABASE_URLS):
        yield
        return
    path = Path(os.environ["PREFECT_HOME"]) / "prefect.db"
    empty = find_cache_folder() / f"prefect-{prefect.__version__}.db"
    if path.exists():
        is_current = _read_version(path) is not None and _read_version(path) == _read_version(empty)
        settings = {PREFECT_API_DATABASE_MIGRATE_ON_START: False} if is_current else {}
    else:
        if _read_version(empty) is None:
            asyncio.run(_make_database())
            with suppress(OSError, sqlite3.Error):  # a cache that cannot be written: the next home does this again
                _keep_copy(path, empty)
        else:
            _copy(empty, path)
        settings = {PREFECT_API_DATABASE_MIGRATE_ON_START: False, PREFECT_API_BLOCKS_REGISTER_ON_START: False}
    with temporary_settings(settings):
        yield


async def _make_database() -> None:
    """What Prefect's server does when it starts: it migrates the database and writes the types of blocks into it."""
    from prefect.server.database import provide_database_interface
    from prefect.server.models.block_registration import run_block_auto_registration

    database = provide_database_interface()
    await database.create_db()
    async with await database.session() as session:
        await run_block_auto_registration(session=session)
    await (await database.engine()).dispose()


def _read_version(path: Path) -> str | None:
    """The migration up to which a database is; None where there is none."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        row = database.execute("select version_num from alembic_version").fetchone()
        return None if row is None else str(row[0])
    return None


def _keep_copy(path: Path, empty: Path) -> None:
    empty.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = empty.with_name(f".{empty.name}.{uuid.uuid4().hex}")
    try:
        with closing(sqlite3.connect(path)) as database:
            database.execute("vacuum into ?", (str(draft),))
        draft.chmod(0o400)
        draft.replace(empty)
    finally:
        draft.unlink(missing_ok=True)


def _copy(empty: Path, path: Path) -> None:
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        draft.write_bytes(read_file(empty))
        draft.chmod(0o600)
        with suppress(FileExistsError):  # another server of this home was faster
            path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)
