"""Keeps one process: ends it, and all that it started, at its limit, when asked, and when who asked for it is gone.

`flows.scheduled.process_tree` starts this as a process of its own, and it imports little: it must answer while the process
it supervises holds every lock that a process can hold. The process that asked holds the other end of standard input, which the
kernel closes when that process dies, in whatever way. A mark in the environment, which every child inherits, says what belongs
to the supervised process, so that a child that left the group or lost its parent is found too.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import psutil

from tasks.runtime.processes import OWNER, identity, own_processes

MARK = "SDCERT_KEPT"
PIECE = 1 << 16
SECONDS_TO_DIE = 20.0
SECONDS_TO_DRAIN = 2.0
SECONDS_TO_LOOK = 10.0
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def open_output(path: Path, most: int) -> RotatingFileHandler:
    """A file that takes what a pipe gives; at `most` bytes it is set aside as `.1`, and what was there is lost.

    A full disk loses what was printed, never the process that prints.
    """
    output = RotatingFileHandler(path, maxBytes=most, backupCount=1, encoding="latin-1", delay=True)  # latin-1: any bytes
    output.terminator = ""
    return output


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
        environment = {**os.environ, OWNER: identity(owner)}
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
            self._events.register(stream, selectors.EVENT_READ, open_output(Path(order[name]), order["most"]))  # type: ignore[arg-type]  # both are pipes

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
                key.data.emit(logging.makeLogRecord({"msg": piece.decode("latin-1")}))
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


def is_mark(text: str) -> bool:
    """Whether `keeping` makes marks like this one. The empty one would be found in every process."""
    return re.fullmatch("[0-9a-f]{32}", text) is not None


def find_marked_processes(mark: str) -> list[psutil.Process]:
    """The living processes of this mark, nested ones too, without this one."""
    if not mark:
        return []
    marked = (one for one, environment in own_processes() if mark in environment.get(MARK, "").split(":"))
    return [one for one in marked if one.pid != os.getpid()]


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
