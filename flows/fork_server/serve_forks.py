"""The fork server of a home: it has imported what commands need, and forks a process for each until nobody asked for a while.

Each command gets two processes: one that runs it, and one that waits for it, tells how it ended, and kills it when who asked is
gone. So a fork server that ends, or is killed, ends no command. It ends when a file of the program or an installed package
changed, and when another one took its place.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
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
from tasks.runtime.project_files import LOCK, find_project_file

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

    def __init__(self, arguments: list[str], streams: list[int], ignored: list[int], start: int) -> None:
        self.arguments, self.streams, self.ignored, self.start = arguments, streams, ignored, start

    def run(self) -> NoReturn:
        """Run it and end this process, without freeing what was imported: that takes a third of a second."""
        if not os.read(self.start, 1):  # who asked was gone before it began
            os._exit(BROKEN)
        os.close(self.start)
        self._set_streams()
        sys.argv = ["sdcert", *self.arguments]
        from flows.cli import INTERRUPTED, main
        from tasks.runtime.servers import mark_children

        mark_children()

        code = BROKEN
        try:
            self._set_signals()
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        except KeyboardInterrupt:  # before the command began
            code = INTERRUPTED
        except BaseException:
            traceback.print_exc()
        finally:
            threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as Python does at its end
            atexit._run_exitfuncs()
            os._exit(code if _flush() or code else LOST_OUTPUT)

    def _set_signals(self) -> None:
        """As Python has them where nobody ignores any, and as who asked ignores them. Those that came meanwhile act now."""
        for number in request.HANDED_ON:
            own = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, signal.SIG_IGN if number in self.ignored else own)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    def _set_streams(self) -> None:
        for number, stream in enumerate(self.streams):
            os.dup2(stream, number)
            os.close(stream)
        for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
            own = getattr(sys, name)  # made of the same variables
            buffering = 1 if name == "stderr" or os.isatty(number) else -1
            made = os.fdopen(number, mode, buffering=buffering, encoding=own.encoding, errors=own.errors, closefd=False)
            if os.environ.get("PYTHONUNBUFFERED") and isinstance(made, io.TextIOWrapper):
                made.reconfigure(write_through=True)
            setattr(sys, name, made)


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
    versions = _read_versions()
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")  # as the commands set it
    for name in IMPORTED:
        importlib.import_module(name)
    from flows.cli import build_command
    from flows.home_server.connection import has_prefect_files
    from tasks.ingest.columns.compiled_numbers import load_machine_code

    build_command()
    load_machine_code()
    gc.collect()
    gc.freeze()  # what is there now is neither looked through nor copied in forked processes
    if threading.active_count() > 1:  # which a forked process has not; the one of Arrow's allocator is made anew there
        return None
    if has_prefect_files() or _read_versions() != versions:  # which was read, or changed, meanwhile
        return None
    listening, own = _listen(folder / request.SOCKET)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forked processes
    taken, takes = os.pipe()  # of requests that were for this server: others keep it no longer
    used, asking = time.monotonic(), listening.fileno()
    while time.monotonic() - used < idle_seconds and _identify(folder / request.SOCKET) == own:
        ready = select.select([asking, taken], [], [], LOOK_SECONDS)[0]
        if taken in ready:
            os.read(taken, 1)
            used = time.monotonic()
        if asking not in ready:
            continue
        connection, _ = listening.accept()
        if _read_versions() != versions:
            break
        if os.fork() == 0:
            listening.close()
            os.close(taken)
            return _attend(connection, takes)
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
    """Time and size of every file of the program and of the lock, and the time of the folder of the packages. About 0.02 s."""
    found = (Path(folder, name) for room in ROOMS for folder, _, names in os.walk(PROJECT / room) for name in names)
    files = [Path(sysconfig.get_path("purelib")), PROJECT / "pyproject.toml", find_project_file(LOCK)]
    files += (path for path in found if path.suffix in SOURCES)
    return {str(path): (one.st_mtime_ns, one.st_size) for path in files if path.exists() and (one := path.stat())}


def _attend(connection: socket.socket, takes: int) -> Command | None:
    """Read a request, and fork the process that runs it; returns the command there. Here: wait, and tell how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    try:
        connection.sendall(b"ready\n")
        asked, streams = _receive(connection) if request.is_of_this_user(connection) else (None, [])
    except OSError:  # who asked is gone
        return None
    if asked is None or asked["digest"] != DIGEST or not _become_like(asked):
        return None
    os.write(takes, b"1")
    os.close(takes)
    (ends, lasts), (start, starts) = os.pipe(), os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, request.HANDED_ON)  # until the command has its own handlers
    worker = os.fork()
    if worker == 0:
        connection.close()
        os.close(ends)
        os.close(starts)
        return Command(asked["arguments"], streams, asked["ignored"], start)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, request.HANDED_ON)
    for descriptor in (lasts, start, *streams):
        os.close(descriptor)
    with suppress(OSError):  # who asked is gone, and the command is not begun
        connection.sendall(f"{worker}\n".encode())
        os.write(starts, b"1")
    os.close(starts)
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
    """Take the folder, the environment and the limits of who asked. False: that cannot be, or Prefect finds other settings."""
    from flows.home_server.connection import has_prefect_files
    from tasks.runtime.settings import prepare_environment

    is_like = request.take_request(asked)
    time.tzset()
    tempfile.tempdir = None
    prepare_environment()
    return is_like and not has_prefect_files()


if __name__ == "__main__":
    command = serve_forks(Path(sys.argv[1]), float(sys.argv[2]))
    if command is not None:
        command.run()
