"""Keeps one process: ends it, and all that it started, at its limit, when asked, and when who asked for it is gone.

`flows.scheduled.process_tree` starts this file as a process of its own, and it imports little: it must answer while the process
it supervises holds every lock that a process can hold. The process that asked holds the other end of standard input, which the
kernel closes when that process dies, in whatever way. A mark in the environment, which every child inherits, says what belongs
to the supervised process, so that a child that left the group or lost its parent is found too.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import psutil

MARK, OWNER = "SDCERT_KEPT", "SDCERT_OWNER"  # OWNER: as tasks.runtime.servers reads it
PIECE = 1 << 16
SECONDS_TO_DIE = 20.0
SECONDS_TO_DRAIN = 2.0
SECONDS_TO_LOOK = 10.0
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class Sink:
    """A private file that takes what a pipe gives; at `most` bytes it is set aside as `.1`, and what was there is lost."""

    def __init__(self, path: Path, most: int) -> None:
        self._path, self._most = path, most
        self._file: IO[bytes] | None = None
        self._size = 0

    def write(self, piece: bytes) -> None:
        """A full disk loses what was printed, never the process that prints."""
        with suppress(OSError):
            self._open_file().write(piece)
            self._size += len(piece)

    def _open_file(self) -> IO[bytes]:
        if self._file is not None and self._size < self._most:
            return self._file
        if self._file is not None:
            self._file.close()
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb", buffering=0)
        self._size = self._path.stat().st_size
        return self._file


class Supervisor:
    """One process that is kept: `order` holds its command, limit, grace, and where its output goes."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._mark = os.environ[MARK]
        self._asked = False
        self._events = selectors.DefaultSelector()
        signals_in, signals_out = os.pipe()
        for end in (signals_in, signals_out):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(signals_out, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, self._handle_signal)  # a handler, not SIG_IGN, which the process kept would inherit
        self._events.register(signals_in, selectors.EVENT_READ)
        self._events.register(0, selectors.EVENT_READ)
        owner = os.getppid() if order["leave"] else os.getpid()  # what goes on without its keeper is no orphan
        environment = {**os.environ, OWNER: f"{owner}:{read_process_start(owner)}"}
        self._child = subprocess.Popen(
            order["command"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            process_group=0,
            pass_fds=order["descriptors"],
            preexec_fn=_die_with_parent(),  # noqa: PLW1509  # this process has one thread
        )
        for descriptor in order["descriptors"]:  # they are the process's now, and end with it
            os.close(descriptor)
        for stream, name in ((self._child.stdout, "out"), (self._child.stderr, "err")):
            os.set_blocking(stream.fileno(), False)  # type: ignore[union-attr]  # both are pipes
            self._events.register(stream, selectors.EVENT_READ, Sink(Path(order[name]), order["most"]))  # type: ignore[arg-type]  # both are pipes

    def keep(self) -> dict[str, Any]:
        """Wait for the end or bring it about; says how the process ended, and what ended it."""
        began = time.monotonic()
        limit = self._order["limit"]
        ended = self._wait(None if limit is None else began + limit)
        stopped = None if ended else ("asked" if self._asked else "limit")
        if not ended:
            self._child.terminate()
            self._wait(time.monotonic() + self._order["grace"], even_if_asked=True)
            self._child.kill()
        if not (ended and self._order["leave"]):
            end_marked(self._mark)
        with suppress(subprocess.TimeoutExpired):  # the kernel may hold one back (a disk that does not answer)
            self._child.wait(SECONDS_TO_DIE)
        self._drain()
        return {"exit": self._child.returncode, "stopped": stopped, "seconds": time.monotonic() - began}

    def guard(self) -> None:
        """What the process left goes on until it ends, or somebody asks for the end."""
        while not self._asked and find_marked_processes(self._mark):
            self._carry(SECONDS_TO_LOOK)
        end_marked(self._mark)

    def _wait(self, deadline: float | None, *, even_if_asked: bool = False) -> bool:
        """Carry output until the process has ended (True), the deadline passes, or somebody asks for the end."""
        while self._child.poll() is None:
            left = None if deadline is None else deadline - time.monotonic()
            if (left is not None and left <= 0) or (self._asked and not even_if_asked):
                return False
            self._carry(left)
        return True

    def _carry(self, seconds: float | None) -> None:
        for key, _ in self._events.select(seconds):
            piece = self._read(key.fd)
            if key.data is not None and piece:
                key.data.write(piece)
            elif piece == b"":
                self._asked = self._asked or key.data is None
                self._events.unregister(key.fileobj)

    def _read(self, descriptor: int) -> bytes | None:
        try:
            return os.read(descriptor, PIECE)
        except BlockingIOError:
            return None

    def _drain(self) -> None:
        deadline = time.monotonic() + SECONDS_TO_DRAIN
        while time.monotonic() < deadline and any(key.data is not None for key in self._events.get_map().values()):
            self._carry(0.05)

    def _handle_signal(self, number: int, _: object) -> None:
        self._asked = self._asked or number == signal.SIGTERM


def read_process_start(process: int) -> str:
    """`tasks.runtime.processes.read_process_start`, which this file cannot import."""
    proc = Path("/proc")
    try:
        ticks = (proc / str(process) / "stat").read_text(errors="replace").rpartition(")")[2].split()[19]
        boot = (proc / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
    except (OSError, IndexError):
        return f"{psutil.Process(process).create_time():.2f}"
    return f"{boot}/{ticks}"


def is_mark(text: str) -> bool:
    """Whether `keeping` makes marks like this one. The empty one would be found in every process."""
    return re.fullmatch("[0-9a-f]{32}", text) is not None


def find_marked_processes(mark: str) -> list[psutil.Process]:
    """The living processes of this mark, nested ones too, without this one."""
    return [one for one in psutil.process_iter() if mark and one.pid != os.getpid() and _has(one, mark)]


def end_marked(mark: str) -> None:
    """Kill every process of a mark, and those that they start meanwhile. Returns when none is left, or after 20 seconds.

    They are not waited for: that would take the exit code of one that is this process's own child.
    """
    deadline = time.monotonic() + SECONDS_TO_DIE
    while (found := find_marked_processes(mark)) and time.monotonic() < deadline:
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(0.05)


def _has(process: psutil.Process, mark: str) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and mark in process.environ().get(MARK, "").split(":")
    except (psutil.Error, OSError):
        return False


def _die_with_parent() -> Any:
    """What makes the kernel kill the process kept when this one dies by kill -9, where the kernel can (Linux)."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_DIE_WITH_PARENT, int(signal.SIGKILL))


def main() -> None:
    order = json.loads(sys.argv[1])
    try:
        keeper = Supervisor(order)
    except OSError:
        _report({"exit": None, "stopped": "not started", "seconds": 0.0})
        return
    report = keeper.keep()
    _report(report)
    if order["leave"] and report["stopped"] is None:
        keeper.guard()


def _report(report: dict[str, Any]) -> None:
    """All that is ever written to standard output; who reads it sees its end at once, though this process may go on."""
    with suppress(OSError):
        os.write(1, json.dumps(report).encode())
    os.close(1)


if __name__ == "__main__":
    main()
