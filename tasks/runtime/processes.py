"""Which process it is: ids are used again, and the clock may be set while it runs."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

OWNER = "SDCERT_OWNER"  # the variable that says which process started this one
_PROC = Path("/proc")
_NO_ID = 2**31
_IDENTITY = re.compile(r"([1-9][0-9]{0,9}):([0-9a-f-]{1,64}/[0-9]{1,20}|[0-9]{1,20}\.[0-9]{2})")


def read_process_start(process: int) -> str:
    """What tells a process from every other one that has or had its id, also before a restart of the machine.

    Where the kernel counts the starts of processes from its own start (Linux), the clock of the day plays no part in it:
    psutil's `create_time` is another one after the clock was set. Raises psutil.NoSuchProcess.
    """
    try:
        ticks = (_PROC / str(process) / "stat").read_text(errors="replace").rpartition(")")[2].split()[19]
        boot = (_PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
    except (OSError, IndexError):
        return f"{psutil.Process(process).create_time():.2f}"
    return f"{boot}/{ticks}"


def is_there(process: int, since: str) -> bool:
    """Whether the process that had this id when `read_process_start` said so is there still."""
    try:
        return read_process_start(process) == since
    except psutil.Error:
        return False


def user_name() -> str:
    """Who runs this process; `uid 1234` where the machine knows no such name, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def is_taken(process: object) -> bool:
    """Whether a process has this id now. What a file or a name holds in place of an id, and can be none, is nobody's."""
    return isinstance(process, int) and 0 < process < _NO_ID and psutil.pid_exists(process)


def identity(process: int) -> str:
    """A process as one word, `id:start`. Raises psutil.NoSuchProcess."""
    return f"{process}:{read_process_start(process)}"


def parse_identity(text: str) -> tuple[int, str] | None:
    """The id and the start that `identity` wrote; None for any other text, because anybody can put it into an environment."""
    found = _IDENTITY.fullmatch(text)
    return (int(found[1]), found[2]) if found else None


def own_processes() -> Iterator[tuple[psutil.Process, Mapping[str, str]]]:
    """The living processes of this user, each with its environment.

    Root can read the environment of every process. What other users write into theirs must decide nothing here.
    """
    me = os.geteuid()
    for process in psutil.process_iter():
        try:
            if process.uids().effective != me or process.status() == psutil.STATUS_ZOMBIE:
                continue
            environment = process.environ()
        except (psutil.Error, OSError):
            continue
        yield process, environment
