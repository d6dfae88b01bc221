"""Temporary Prefect servers that a killed run left behind: found by a mark in their environment, and ended."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import psutil

from tasks.runtime.processes import is_there, started

OWNER = "SDCERT_OWNER"


def mark_children() -> None:
    """Let every process that this one starts say whose it is (process id and start: ids are used again)."""
    os.environ[OWNER] = f"{os.getpid()}:{started(os.getpid())}"


def detach_temporary_server() -> None:
    """Let Prefect start its temporary server in a session of its own.

    In ours, Ctrl-C on a terminal would end the server together with the run, which then waits a minute for its answer.
    Where `PREFECT_API_URL` names a server, none is started, and Prefect's server is not imported: some 2 CPU seconds.
    """
    if os.environ.get("PREFECT_API_URL"):
        return
    from prefect.server.api import server

    class Detached(subprocess.Popen[Any]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "start_new_session": True})

    server.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": Detached})  # type: ignore[assignment, attr-defined]  # its only use there


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
    """The marked processes of a home (default: the one in the environment) whose owner is gone."""
    of = home or os.environ.get("SDCERT_HOME")
    return [process for process in psutil.process_iter() if _is_orphan(process, of)]


def _is_orphan(process: psutil.Process, home: str | None) -> bool:
    try:
        environment = process.environ()
    except (psutil.Error, OSError):
        return False
    owner = environment.get(OWNER)
    if owner is None or environment.get("SDCERT_HOME") != home:
        return False
    pid, _, since = owner.partition(":")
    return process.pid != int(pid) and not is_there(int(pid), since)


def _ignore_gone(action: Callable[[], None]) -> None:
    try:
        action()
    except psutil.NoSuchProcess:
        return
