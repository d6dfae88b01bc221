"""Processes that a killed run left behind, found by a mark in their environment, and the database of its Prefect server."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress

import psutil

from tasks.microdata.errors import InputError
from tasks.runtime.processes import OWNER, identity, is_there, own_processes, parse_identity
from tasks.runtime.settings import Home


def mark_children() -> None:
    """Let every process that this one starts say whose it is (process id and start: ids are used again)."""
    os.environ[OWNER] = identity(os.getpid())


def refuse_damaged_database() -> None:
    """InputError where the file of Prefect's database in this home is no database: its server would not come up."""
    path = Home.current().root / "prefect" / "prefect.db"
    if os.environ.get("PREFECT_SERVER_DATABASE_CONNECTION_URL") or not path.is_file():
        return
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.execute("pragma schema_version").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return  # it is busy, for example: Prefect waits
        what = "prefect/prefect.db was changed: it is no database any more"
        remedy = "restore it from a backup, or move it away: schedules are deployed again, the history of flow runs is lost"
        raise InputError("damaged-database", "SDCERT_HOME", what, "the file as Prefect left it", remedy, str(path)) from None


def end_orphans() -> int:
    """End the marked processes of this home whose owner is gone; returns how many there were."""
    found = orphans()
    for process in found:
        _ignore_gone(process.terminate)
    _, alive = psutil.wait_procs(found, timeout=5)
    for process in alive:
        _ignore_gone(process.kill)
    return len(found)


def orphans(home: str | None = None) -> list[psutil.Process]:
    """The marked processes of this user and a home (default: the one in the environment) whose owner is gone."""
    of = home or os.environ.get("SDCERT_HOME")
    return [process for process, environment in own_processes() if _is_orphan(process, environment, of)]


def _is_orphan(process: psutil.Process, environment: Mapping[str, str], home: str | None) -> bool:
    """A mark that `mark_children` did not write names no owner: the process is none of ours."""
    owner = parse_identity(environment.get(OWNER, ""))
    if owner is None or environment.get("SDCERT_HOME") != home:
        return False
    return process.pid != owner[0] and not is_there(*owner)


def _ignore_gone(action: Callable[[], None]) -> None:
    with suppress(psutil.Error):
        action()
