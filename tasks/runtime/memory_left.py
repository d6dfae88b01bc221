"""How much memory a run may take: what the machine has left, or the control group of this process if that is less.

A limit is compared with an estimate before a run, and nothing is set that the kernel would enforce. `RLIMIT_AS` and
`RLIMIT_DATA` count what is reserved, and Arrow's allocator, the stacks of threads and compiled code reserve several times what
they use; under a limit that a run would really reach, threads fail to start and solvers abort without a message, possibly after
an attempt was written down. A control group counts what is used: OPERATIONS.md says how to start a run in one.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_NOTE, read_text_file

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)
_GROUPS = Path("/sys/fs/cgroup")


def parse_memory(text: str) -> int:
    """The bytes of `12GB`, `1.5 GiB` or `800M`; InputError for anything else."""
    found = _SIZE.fullmatch(text)
    size = 0 if found is None else round(float(found[1]) * _UNITS.get(found[2].upper(), 0))
    if size <= 0:
        what, allowed = "this is no amount of memory", "a number above 0 and a unit: 800MB, 12GB, 1.5GiB"
        raise InputError("memory-amount", "--memory", what, allowed, "write it so", text)
    return size


def find_memory_left() -> int | None:
    """Bytes that this process and its children may still take, free swap space included; None where nothing tells."""
    with suppress(ImportError, OSError, RuntimeError):
        import psutil

        swap = psutil.swap_memory().free
        left = psutil.virtual_memory().available + swap
        groups = [one for one in map(_find_left_in_group, _list_groups()) if one is not None]
        return min([left, *(one + swap for one in groups)])
    return None


def _list_groups() -> list[Path]:
    """The folders of this process's control group and of those around it, of either version of Linux's control groups."""
    folders = []
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        root = _GROUPS if not controllers else _GROUPS / "memory" if "memory" in controllers.split(",") else None
        if root is not None:
            inner = root / path.lstrip("/")
            folders += [root, *(one for one in (inner, *inner.parents) if root in one.parents)]
    return folders


def _find_left_in_group(folder: Path) -> int | None:
    """None: the group has no limit. Pages of files that nobody uses are given back when memory is short."""
    for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        with suppress(ValueError):
            cached = dict(line.split(" ", 1) for line in _read(folder / "memory.stat").splitlines() if " " in line)
            reclaimable = int(cached.get("inactive_file") or cached.get("total_inactive_file") or 0)
            return max(int(_read(folder / limit)) - int(_read(folder / used)) + reclaimable, 0)
    return None


def _read(path: str | Path) -> str:
    with suppress(OSError):
        return read_text_file(Path(path), LARGEST_NOTE)
    return ""
