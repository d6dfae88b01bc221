"""Use a Prefect server: the one that Prefect's settings name, or the one of this home, which is started if it does not run.

A server takes longer to start than most releases take to be certified. So the one of a home stays for some minutes after the
command that started it, and serves the commands that follow.
"""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path

import psutil

from flows.fork_server.request import IDLE, LONGEST_IDLE_SECONDS, parse_idle_seconds, select_lasting
from flows.home_server.named import check_named_server
from flows.home_server.state import (
    FOLDER,
    HomeServer,
    digest_settings,
    find_server,
    read_state,
    start_lock,
    state_file,
    users_lock,
    write_state,
)
from flows.home_server.tracker import KeptTracker, records_in_home
from flows.scheduled.listening import format_url, open_listening_socket
from flows.scheduled.process_tree import create_python_path
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_file
from tasks.runtime.files import hold_file_lock
from tasks.runtime.processes import identity, parse_identity
from tasks.runtime.server_guard import ADDRESS, CLIENT, CLOUD_KEY, SERVER, create_server_settings, new_password
from tasks.runtime.servers import end_orphans, refuse_damaged_database
from tasks.runtime.settings import Home
from tasks.runtime.tracking_calls import Tracker

SECONDS_TO_START = 240.0
LOCK_SECONDS, SECONDS_TO_DRAIN = 60.0, 30
PROGRAM = ("-m", "flows.home_server.process")
WITHOUT_PAGES = {"PREFECT_UI_ENABLED": "0"}
_in_use: ContextVar[tuple[Home, HomeServer] | None] = ContextVar("server of the home", default=None)


@contextmanager
def use_prefect_server() -> Iterator[Callable[[], None]]:
    """Let Prefect find a server in this process, and in those that it starts, for as long as this lasts.

    Yields a function that waits until the server answers: a server that is started does so while this process imports what it
    needs, Prefect above all. Raises InputError where the server that is named does not answer, where that of this home does not
    start or its database is damaged, and where `SDCERT_SERVER_IDLE_SECONDS` is no number of seconds.
    """
    end_orphans()
    if _is_named():
        check_named_server()
        yield lambda: None
        return
    home, idle_seconds = Home.current(), read_idle_seconds()
    refuse_damaged_database()
    with hold_file_lock(users_lock(home), shared=True, timeout_seconds=LOCK_SECONDS):
        with hold_file_lock(start_lock(home), timeout_seconds=LOCK_SECONDS):
            settings = _collect_settings()
            server = find_server(home, settings) or _start(home, idle_seconds, settings)
        with _name_server(home, server):
            yield partial(_wait_until_it_answers, home, server)


def _wait_until_it_answers(home: Home, server: HomeServer) -> None:
    import httpx

    deadline, problem = time.monotonic() + SECONDS_TO_START, "it ended"
    while time.monotonic() < deadline and server.runs():
        try:
            # the socket is open before the server reads from it, so that a request waits and need not be made again
            httpx.get(f"{server.api}/health", timeout=SECONDS_TO_START).raise_for_status()
        except httpx.HTTPError as error:
            problem = type(error).__name__
            time.sleep(0.1)
        else:
            return
    _end(home, server)
    what, remedy = f"the Prefect server of this home did not start ({problem})", "read server.err there, and try again"
    raise InputError("no-server", "SDCERT_HOME", what, "a server that answers", remedy, str(home.root / FOLDER))


def read_idle_seconds() -> float:
    """How long the server of a home stays when nobody uses it. 0: as long as the command that started it, and a moment."""
    seconds = parse_idle_seconds(os.environ)
    if seconds is not None:
        return seconds
    allowed = f"seconds, from 0 (it ends with the command) to {LONGEST_IDLE_SECONDS:,.0f}"
    raise InputError("idle-seconds", IDLE, "this is no time to stay", allowed, "correct it, or unset it", os.environ[IDLE])


def _is_named() -> bool:
    """Do the environment, a profile or a file of Prefect's settings name a server?"""
    if os.environ.get(ADDRESS):
        return True
    if "prefect" not in sys.modules and not has_prefect_files():
        return False
    from prefect.settings import get_current_settings

    return bool(get_current_settings().api.url)


def has_prefect_files() -> bool:
    """Is there a file in which Prefect would find settings? Only then it is imported before the server is started."""
    folder = Path(os.environ.get("PREFECT_HOME") or "~/.prefect").expanduser()
    if Path(os.environ.get("PREFECT_PROFILES_PATH") or folder / "profiles.toml").exists() or Path("prefect.toml").exists():
        return True
    mentions = {".env": b"PREFECT_", "pyproject.toml": b"[tool.prefect"}
    return any(Path(name).is_file() and text in read_file(Path(name)) for name, text in mentions.items())


def _collect_settings() -> dict[str, str]:
    """The variables that a server is given: Prefect's settings, wherever they are from, and what a process needs."""
    given = select_lasting(os.environ)
    if has_prefect_files():
        from prefect.settings import get_current_settings

        given |= get_current_settings().to_environment_variables(exclude_unset=True)
    if "PREFECT_HOME" in given:
        given["PREFECT_HOME"] = str(Path(given["PREFECT_HOME"]).expanduser().absolute())
    for name in (ADDRESS, CLOUD_KEY, CLIENT, SERVER):
        given.pop(name, None)
    return given


def _start(home: Home, idle_seconds: float, settings: Mapping[str, str]) -> HomeServer:
    """Start a server that outlives this process and is in no group of it: Ctrl-C on a terminal does not reach it."""
    listening = open_listening_socket(None, 0)
    password = os.environ.get(SERVER) or new_password()
    environment = {
        **settings,
        **create_server_settings(password),
        **WITHOUT_PAGES,
        "PYTHONPATH": create_python_path(os.environ),
    }
    descriptor = listening.fileno()
    command = [sys.executable, *PROGRAM, str(descriptor), str(idle_seconds)]
    with (home.folder(FOLDER) / "server.err").open("wb") as errors, listening:
        process = subprocess.Popen(
            [*command, str(users_lock(home)), str(state_file(home))],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            cwd=home.root,
            pass_fds=(descriptor,),
            start_new_session=True,
        )
        server = HomeServer(identity(process.pid), format_url(listening), password, digest_settings(password, settings))
    write_state(home, server)
    return server


def _end(home: Home, server: HomeServer) -> None:
    found = parse_identity(server.process)
    with suppress(psutil.Error):
        if found is not None and identity(found[0]) == server.process:
            psutil.Process(found[0]).kill()
    with hold_file_lock(start_lock(home), timeout_seconds=LOCK_SECONDS):
        if read_state(home) == server:  # another command may have started one with other settings
            state_file(home).unlink(missing_ok=True)


@contextmanager
def _name_server(home: Home, server: HomeServer) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in (ADDRESS, CLIENT, SERVER)}
    _set({ADDRESS: server.api, CLIENT: server.password, SERVER: server.password})
    given = _in_use.set((home, server))
    try:
        yield
    finally:
        _in_use.reset(given)
        leave_server()
        _set(before)


def find_kept_tracker() -> Tracker | None:
    """Who writes to MLflow for this process: the server of this home, if it is in use and the database is the home's."""
    used = _in_use.get()
    if used is None or used[0] != Home.current() or not records_in_home():
        return None
    return KeptTracker(used[1].api, used[1].password)


def leave_server() -> None:
    """End Prefect's services of this process: each goes on asking the server with which it began, whatever the settings say.

    Bound to a server that has ended, one would try for a minute to reach it, and fail the flow of another server.
    """
    if "prefect.logging.handlers" in sys.modules:
        from prefect.logging.handlers import APILogWorker

        # all services are of one register: events and places of tasks too. Where an event loop runs, it would not wait
        waiting = threading.Thread(target=partial(APILogWorker.drain_all, timeout=SECONDS_TO_DRAIN))
        waiting.start()
        waiting.join()


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if "prefect" in sys.modules:
        from prefect.context import refresh_global_settings_context

        refresh_global_settings_context()
