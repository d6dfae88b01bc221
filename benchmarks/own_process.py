"""What some work costs in a process of its own."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

import pyarrow as pa

SHORT_SECONDS = 8.0
REPEATS = 3


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds, and the bytes at the peak beyond what was held before; None of both: left out."""

    seconds: float | None
    peak_bytes: float | None = None


def measure_alone(work: Callable[..., Any], first: Callable[[], object], *inputs: Any, seconds: float) -> tuple[Cost, Any]:
    """The cost of some work in a process of its own, and what it returned. first: what warms up.

    Work of less than SHORT_SECONDS is measured REPEATS times, and the least is returned: on a virtual machine the first process
    that fills some memory can wait for it longer than the work takes. A process that has not ended after so many seconds on the
    clock is ended: both are None then.
    """
    cost, made = _measure_once(work, first, inputs, seconds)
    for _ in range(REPEATS - 1):
        if cost.seconds is None or cost.seconds > SHORT_SECONDS:
            break
        again, _ = _measure_once(work, first, inputs, seconds)
        if again.seconds is not None and again.seconds < cost.seconds:
            cost = again
    return cost, made


def _measure_once(
    work: Callable[..., Any], first: Callable[[], object], inputs: tuple[Any, ...], seconds: float
) -> tuple[Cost, Any]:
    context = get_context("forkserver")  # whose server has imported all this
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(sender, work, first, inputs))
    process.start()
    sender.close()
    try:
        found: tuple[Cost, Any] = receiver.recv() if receiver.poll(seconds) else (Cost(None), None)
    except EOFError:
        raise RuntimeError(f"{work} ended with an error") from None
    finally:
        process.kill()
        process.join()
    return found


def _measure(sender: Connection, work: Callable[..., Any], first: Callable[[], object], inputs: tuple[Any, ...]) -> None:
    first()
    before, begin = _begin_peak(), time.process_time()
    made = work(*inputs)
    seconds, peak = time.process_time() - begin, _read_memory("VmHWM")
    sender.send((Cost(seconds, peak - before), made))


def _begin_peak() -> float:
    """Give back what is free, and let the peak begin anew (Linux; elsewhere it is that of the process until now)."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    pa.default_memory_pool().release_unused()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _read_memory("VmRSS")


def _read_memory(name: str) -> float:
    with suppress(OSError):
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
        return float(line.split()[1]) * 1024
    return getrusage(RUSAGE_SELF).ru_maxrss  # bytes on macOS
