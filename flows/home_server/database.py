"""Prefect's database of a home: a new one is a copy of an empty one, because migrations take longer than most releases."""

from __future__ import annotations

import asyncio
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import prefect
from prefect.settings import (
    PREFECT_API_BLOCKS_REGISTER_ON_START,
    PREFECT_API_DATABASE_MIGRATE_ON_START,
    get_current_settings,
    temporary_settings,
)
from sqlalchemy.engine import make_url

from tasks.microdata.cache_folder import find_cache_folder
from tasks.microdata.regular_files import read_file

BESIDE_DATABASE = ("-wal", "-shm", "-journal")


@contextmanager
def prepare_database() -> Iterator[None]:
    """Have the database of this home ready before the server starts, which then need not look at it.

    Only for the file that Prefect makes where no database is named. An older database is migrated by the server, as ever.
    """
    path = _find_database()
    if path is None:
        yield
        return
    empty = find_cache_folder() / f"prefect-{prefect.__version__}.db"
    if path.exists():
        version = _read_version(path)
        is_current = version is not None and version == _read_version(empty)
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


def _find_database() -> Path | None:
    """The file that Prefect will open, if it is the one of its folder: a name with `?` or `#` leads it elsewhere."""
    settings = get_current_settings()
    url = settings.server.database.connection_url
    opened = make_url(url.get_secret_value()) if url is not None else None
    path = Path(settings.home).expanduser().absolute() / "prefect.db"
    is_own = opened is not None and opened.drivername.startswith("sqlite") and not opened.query and opened.database == str(path)
    return path if is_own else None


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
        for end in BESIDE_DATABASE:  # of a file that is gone: it would be played into this one
            path.with_name(path.name + end).unlink(missing_ok=True)
        with suppress(FileExistsError):  # another server of this home was faster
            path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)
