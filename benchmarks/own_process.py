"""What some work costs in a process of its own."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

SHORT_SECONDS = 20.0
REPEATS = 3
LEAST_SECONDS_TOLD_APART = 0.1
READY_BYTES_PER_ROW = 1_000
_CLEAR_REFS = Path("/proc/self/clear_refs")


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds, and the bytes at the peak beyond what was held before; None of both: left out.

    system_seconds: of these what the system took, which is nearly all to give memory. A virtual machine that returns freed
    memory to its host waits for it again: on one 4 GB took from 0.4 s, soon after they were freed, to 13.6 s.
    """

    seconds: float | None
    peak_bytes: float | None = None
    system_seconds: float = 0.0

    @property
    def own_seconds(self) -> float | None:
        """What the process itself took; None too where that is so short that the system's clock does not tell it."""
        own = None if self.seconds is None else self.seconds - self.system_seconds
        return None if own is None or own < LEAST_SECONDS_TOLD_APART else own


def measure_alone(
    work: Callable[..., Any], first: Callable[[], object], *inputs: Any, seconds: float, rows: int = 0
) -> tuple[Cost, Any]:
    """The cost of some work in a process of its own, and what it returned. first: what warms up.

    rows: for each the process fills and frees READY_BYTES_PER_ROW just before (at most three quarters of what is free), so
    that a virtual machine has that memory from its host, and the work waits less for it.

    Work of less than SHORT_SECONDS is measured REPEATS times, and the least is returned. Work that has not ended after so many
    seconds on the clock is ended: both are None then.
    """
    cost, made = _measure_once(work, first, inputs, seconds, rows)
    for _ in range(REPEATS - 1):
        if cost.seconds is None or cost.seconds > SHORT_SECONDS:
            break
        again, _ = _measure_once(work, first, inputs, seconds, rows)
        if again.seconds is not None and again.seconds < cost.seconds:
            cost = again
    return cost, made


def _measure_once(
    work: Callable[..., Any], first: Callable[[], object], inputs: tuple[Any, ...], seconds: float, rows: int
) -> tuple[Cost, Any]:
    context = get_context("forkserver")  # whose server has imported all this
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(sender, work, first, inputs, rows))
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


def _measure(
    sender: Connection, work: Callable[..., Any], first: Callable[[], object], inputs: tuple[Any, ...], rows: int
) -> None:
    first()
    _make_memory_ready(rows * READY_BYTES_PER_ROW)
    sender.send(None)
    before, begin = _begin_peak(), getrusage(RUSAGE_SELF)
    made = work(*inputs)
    end, peak = getrusage(RUSAGE_SELF), _read_memory("VmHWM")
    system_seconds = end.ru_stime - begin.ru_stime
    sender.send((Cost(end.ru_utime - begin.ru_utime + system_seconds, peak - before, system_seconds), made))


def _make_memory_ready(n_bytes: int) -> None:
    if not os.access(_CLEAR_REFS, os.W_OK):  # this would count as the peak
        return
    most = 3 * psutil.virtual_memory().free // 4  # what files are read from stays
    for _ in range(2):  # the second fills in part pages that the first did not
        np.ones(min(n_bytes, most), dtype=np.uint8)


def _begin_peak() -> float:
    """Give back what is free, and let the peak begin anew (Linux; elsewhere it is that of the process until now)."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    pa.default_memory_pool().release_unused()
    with suppress(OSError):
        _CLEAR_REFS.write_text("5")
    return _read_memory("VmRSS")


def _read_memory(name: str) -> float:
    with suppress(OSError):
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
        return float(line.split()[1]) * 1024
    return getrusage(RUSAGE_SELF).ru_maxrss  # bytes on macOS
