"""What some work costs in a process of its own."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from threading import Event, Thread
from typing import Any

import numpy as np
import pyarrow as pa

SHORT_SECONDS, REPEATS = 20.0, 3
MOMENT_SECONDS, TURNS = 0.3, 20
Work = tuple[Callable[..., Any], Callable[[], object], tuple[Any, ...]]  # what is measured, what warms up, inputs
IMPORTED_ONCE = (  # by the server; each process would take two seconds for it
    "pandas", "pyarrow.csv", "pyarrow.parquet", "scipy.spatial", "sklearn.neighbors", "typer", "machine_code",
    "tasks.ingest.methods", "tasks.classify.methods", "tasks.mask.methods", "tasks.attack.methods", "tasks.score.methods",
)  # fmt: skip
LEAST_SECONDS_TOLD_APART = 0.1
SAMPLING_SECONDS = 0.02
_CLEAR_REFS = Path("/proc/self/clear_refs")
_OWN_MEMORY, _MEMORY_OF_ALL = Path("/proc/self/status"), Path("/proc/meminfo")


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds, and the bytes at the peak beyond what was held before; None of both: left out.

    system_seconds: of these what the system took, which is nearly all to give memory. A virtual machine that returns freed
    memory to its host waits for it again: on one 4 GB took from 0.4 s, soon after they were freed, to 13.6 s. Memory that is
    kept for large pages is not given back (`use_large_pages`).
    """

    seconds: float | None
    peak_bytes: float | None = None
    system_seconds: float = 0.0

    @property
    def own_seconds(self) -> float | None:
        """What the process itself took; None too where that is so short that the system's clock does not tell it."""
        own = None if self.seconds is None else self.seconds - self.system_seconds
        return None if own is None or own < LEAST_SECONDS_TOLD_APART else own


def use_large_pages() -> None:
    """Let all work that is measured from now on take its memory from what the system keeps for large pages (Linux).

    It keeps none unless somebody said so: `sysctl vm.nr_hugepages=6000` is 12 GB. All of it is filled once, so that a virtual
    machine has got it from its host. Raises RuntimeError where none is kept, or another process uses it.
    """
    free, taken = (_read_line(_MEMORY_OF_ALL, f"HugePages_{name}:") for name in ("Free", "Rsvd"))
    if free - taken < 0.9 * _read_line(_MEMORY_OF_ALL, "HugePages_Total:") or not free:
        raise RuntimeError("no memory is kept for large pages (`sysctl vm.nr_hugepages=6000` keeps 12 GB), or others use it")
    os.environ |= {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=2", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    _measure_once(_fill, _do_nothing, (int(0.99 * (free - taken) * _read_line(_MEMORY_OF_ALL, "Hugepagesize:")),), 120.0)


def _fill(n_bytes: int) -> None:
    np.ones(n_bytes, dtype=np.uint8)


def _do_nothing() -> None:
    pass


def measure_alone(work: Callable[..., Any], first: Callable[[], object], *inputs: Any, seconds: float) -> tuple[Cost, Any]:
    """The cost of some work in a process of its own, and what it returned. first: what warms up.

    Work of less than SHORT_SECONDS is measured REPEATS times, and the least is returned. Work that has not ended after so many
    seconds on the clock is ended: both are None then.
    """
    cost, made = _measure_once(work, first, inputs, seconds)
    if cost.seconds is None or cost.seconds > SHORT_SECONDS:
        return cost, made
    again = [_measure_once(work, first, inputs, seconds)[0] for _ in range(REPEATS - 1)]
    return _find_least((cost, *again)), made


def measure_in_turns(works: Mapping[str, Work], costs: dict[str, Cost], seconds: float) -> None:
    """Measure again what takes a moment, one after the other and TURNS times, and keep the least of each.

    A processor may be slower for seconds at a time: what is measured in these alone would not compare with the rest.
    """
    moments = [name for name in works if (taken := costs[name].seconds) is not None and taken < MOMENT_SECONDS]
    for _ in range(TURNS):
        for name in moments:
            work, first, inputs = works[name]
            costs[name] = _find_least((costs[name], _measure_once(work, first, inputs, seconds)[0]))


def _find_least(costs: Iterable[Cost]) -> Cost:
    return min(costs, key=lambda cost: float("inf") if cost.seconds is None else cost.seconds)


def _measure_once(
    work: Callable[..., Any], first: Callable[[], object], inputs: tuple[Any, ...], seconds: float
) -> tuple[Cost, Any]:
    context = get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED_ONCE))
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(sender, work, first, inputs))
    process.start()
    sender.close()
    try:
        receiver.recv()  # it begins now
        found: tuple[Cost, Any] = receiver.recv() if receiver.poll(seconds) else (Cost(None), None)
    except EOFError:
        raise RuntimeError(f"{work} ended with an error") from None
    finally:
        process.kill()
        process.join()
    return found


def _measure(sender: Connection, work: Callable[..., Any], first: Callable[[], object], inputs: tuple[Any, ...]) -> None:
    first()
    sender.send(None)
    before = _begin_peak()
    with _LargePages() as large:
        begin = getrusage(RUSAGE_SELF)
        made = work(*inputs)
        end, peak = getrusage(RUSAGE_SELF), _read_peak()
    system_seconds = end.ru_stime - begin.ru_stime
    seconds = end.ru_utime - begin.ru_utime + system_seconds
    sender.send((Cost(seconds, peak - before + large.additional_bytes, system_seconds), made))


class _LargePages:
    """The most bytes in large pages at a time, looked at every SAMPLING_SECONDS, as the system tells no peak of them."""

    def __init__(self) -> None:
        self._before = self._most = _read_line(_OWN_MEMORY, "HugetlbPages:")
        self._ended, self._thread = Event(), Thread(target=self._look, daemon=True)

    def __enter__(self) -> _LargePages:
        if _read_line(_MEMORY_OF_ALL, "HugePages_Total:"):
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._most = max(self._most, _read_line(_OWN_MEMORY, "HugetlbPages:"))

    @property
    def additional_bytes(self) -> float:
        return self._most - self._before

    def _look(self) -> None:
        while not self._ended.wait(SAMPLING_SECONDS):
            self._most = max(self._most, _read_line(_OWN_MEMORY, "HugetlbPages:"))


def _begin_peak() -> float:
    """Give back what is free, and let the peak begin anew (Linux; elsewhere it is that of the process until now)."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    pa.default_memory_pool().release_unused()
    with suppress(OSError):
        _CLEAR_REFS.write_text("5")
    return _read_line(_OWN_MEMORY, "VmRSS:") or _read_peak()


def _read_peak() -> float:
    return _read_line(_OWN_MEMORY, "VmHWM:") or getrusage(RUSAGE_SELF).ru_maxrss  # bytes on macOS


def _read_line(path: Path, name: str) -> float:
    """What a line says, in bytes if it has a unit; 0 where there is none."""
    with suppress(OSError):
        for line in path.read_text().splitlines():
            if line.startswith(name):
                _, value, *unit = line.split()
                return float(value) * (1024 if unit else 1)
    return 0.0
