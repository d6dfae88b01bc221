"""Which process it is: ids are used again, and the clock may be set while it runs."""

from __future__ import annotations

from pathlib import Path

import psutil

_PROC = Path("/proc")


def started(process: int) -> str:
    """What tells a process from every other one that has or had its id, also before a restart of the machine.

    Where the kernel counts the starts of processes from its own start (Linux), the clock of the day plays no part in it:
    psutil's `create_time` is another one after the clock was set. `flows/scheduled/keeper.py` has a twin of this.
    Raises psutil.NoSuchProcess.
    """
    try:
        ticks = (_PROC / str(process) / "stat").read_text(errors="replace").rpartition(")")[2].split()[19]
        boot = (_PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
    except (OSError, IndexError):
        return f"{psutil.Process(process).create_time():.2f}"
    return f"{boot}/{ticks}"


def is_there(process: int, since: str) -> bool:
    """Whether the process that had this id when `started` said so is there still."""
    try:
        return started(process) == since
    except psutil.NoSuchProcess:
        return False
