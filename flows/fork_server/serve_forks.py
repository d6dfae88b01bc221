"""The fork server of a home: it has imported what commands need, and forks a process for each until nobody asked for a while.

Each command gets two processes: one that runs it, and one that waits for it, tells how it ended, and kills it when who asked is
gone. So a fork server that ends, or is killed, ends no command. It ends when a file of the program or an installed package
changed, and when another one took its place.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import sysconfig
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from flows.fork_server import request
from tasks.microdata.fingerprint import SOURCES

DIGEST = request.digest_environment(os.environ)  # before anything changes it
PROJECT = Path(__file__).resolve().parents[2]
ROOMS = ("flows", "tasks", "sdcert")
IMPORTED = (
    "flows.cli",
    "flows.environment",
    "flows.home_server.connection",
    "flows.home_server.tracker",
    "flows.certify",
    "flows.release_file",
    "flows.run.publish",
    "flows.replay",
    "tasks.audit.lookup.index",
    "fastapi.encoders",
    "great_expectations",
    "numba",
    "scipy.optimize",
    "scipy.stats",
)
LARGEST_REQUEST = 4 << 20
LOOK_SECONDS = 1.0
BROKEN, LOST_OUTPUT = 3, 120  # the latter is Python's own
Versions = dict[str, tuple[int, int]]


class Command:
    """A command of somebody, in a process of its own that has yet to become like theirs."""

    def __init__(self, arguments: list[str], streams: list[int]) -> None:
        self.arguments, self.streams = arguments, streams

    def run(self) -> NoReturn:
        """Run it and end this process, without freeing what was imported: that takes a third of a second."""
        for number, stream in enumerate(self.streams):
            os.dup2(stream, number)
            os.close(stream)
        for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
            buffering = 1 if name == "stderr" or os.isatty(number) else -1
            errors = "backslashreplace" if name == "stderr" else "strict"
            setattr(sys, name, os.fdopen(number, mode, buffering=buffering, errors=errors, closefd=False))
        sys.argv = ["sdcert", *self.arguments]
        from flows.cli import main

        code = BROKEN
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        except BaseException:
            traceback.print_exc()
        finally:
            threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as Python does at its end
            atexit._run_exitfuncs()
            os._exit(code if _flush() else LOST_OUTPUT)


def _flush() -> bool:
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return False
    return True


def serve_forks(folder: Path, idle_seconds: float) -> Command | None:
    """Answer requests; returns the command to run in a process that was forked for one, and None in every other process."""
    for name in IMPORTED:
        importlib.import_module(name)
    versions = _read_versions()
    gc.collect()
    gc.freeze()  # what is there now is neither looked through nor copied in forked processes
    if threading.active_count() > 1:  # which a forked process has not; the one of Arrow's allocator is made anew there
        return None
    listening, own = _listen(folder / request.SOCKET)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forked processes
    used = time.monotonic()
    while time.monotonic() - used < idle_seconds and _identify(folder / request.SOCKET) == own:
        if not select.select([listening], [], [], LOOK_SECONDS)[0]:
            continue
        connection, _ = listening.accept()
        used = time.monotonic()
        if _read_versions() != versions:
            break
        if os.fork() == 0:
            listening.close()
            return _attend(connection)
        connection.close()
    if _identify(folder / request.SOCKET) == own:
        (folder / request.SOCKET).unlink(missing_ok=True)
    return None


def _listen(path: Path) -> tuple[socket.socket, tuple[int, int] | None]:
    """Take the place of another one, which sees it and ends."""
    new = path.with_name(f"{os.getpid()}")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(new))
    listening.listen()
    new.rename(path)
    return listening, _identify(path)


def _identify(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


def _read_versions() -> Versions:
    """Time and size of every file of the program, and the time of the folder of the installed packages. About 0.02 s."""
    found = (Path(folder, name) for room in ROOMS for folder, _, names in os.walk(PROJECT / room) for name in names)
    files = [Path(sysconfig.get_path("purelib")), *(path for path in found if path.suffix in SOURCES)]
    return {str(path): (one.st_mtime_ns, one.st_size) for path in files if (one := path.stat())}


def _attend(connection: socket.socket) -> Command | None:
    """Read a request, and fork the process that runs it; returns the command there. Here: wait, and tell how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    asked, streams = _receive(connection)
    if asked is None or asked["digest"] != DIGEST or not _become_like(asked):
        return None
    ends, lasts = os.pipe()
    worker = os.fork()
    if worker == 0:
        connection.close()
        os.close(ends)
        os.set_inheritable(lasts, False)
        return Command(asked["arguments"], streams)
    for descriptor in (lasts, *streams):
        os.close(descriptor)
    connection.sendall(f"{worker}\n".encode())
    if ends not in select.select([ends, connection.fileno()], [], [])[0]:  # who asked is gone
        os.kill(worker, signal.SIGKILL)
    _, status, used = os.wait4(worker, 0)
    with suppress(OSError):
        connection.sendall(f"{os.waitstatus_to_exitcode(status)} {used.ru_utime + used.ru_stime}\n".encode())
    return None


def _receive(connection: socket.socket) -> tuple[Mapping[str, Any] | None, list[int]]:
    content, streams, _, _ = socket.recv_fds(connection, 1, 3)
    while not content.endswith(b"\n") and len(content) < LARGEST_REQUEST:
        more = connection.recv(1 << 16)
        if not more:
            return None, streams
        content += more
    return (json.loads(content), streams) if len(streams) == 3 else (None, streams)


def _become_like(asked: Mapping[str, Any]) -> bool:
    """Take the folder, the environment and the limits of who asked. False: files of Prefect's settings are there, unread."""
    from flows.home_server.connection import has_prefect_files
    from tasks.runtime.servers import mark_children
    from tasks.runtime.settings import prepare_environment

    request.take_request(asked)
    time.tzset()
    tempfile.tempdir = None
    prepare_environment()
    mark_children()
    return not has_prefect_files()


if __name__ == "__main__":
    command = serve_forks(Path(sys.argv[1]), float(sys.argv[2]))
    if command is not None:
        command.run()
