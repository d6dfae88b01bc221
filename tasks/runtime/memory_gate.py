"""Let work run side by side only as far as the memory goes, and give back what it took."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Condition

import psutil
import pyarrow as pa

from tasks.runtime.memory_left import find_memory_left

ATTACKS_AT_ONCE = 2  # where there is memory for so many
SHARE = 0.8  # of what is left; an estimate may be wrong
_LARGE_BYTES = 1_500_000_000  # of a process; in a smaller one the next work uses again what was freed


def give_back_memory() -> None:
    """Free what was left behind, and give it back to the system, where the process is large. Cost: a second at most.

    Frames that an exception ties to each other keep the tables of all their callers until Python looks for such rings, and that
    goes by the number of objects, not by their size. Allocators keep what is freed for whoever asks next.
    """
    with suppress(psutil.Error, AttributeError, OSError):  # a system or a C library that does not tell or do it
        if psutil.Process().memory_info().rss < _LARGE_BYTES:
            return
        gc.collect()
        pa.default_memory_pool().release_unused()
        ctypes.CDLL(None).malloc_trim(0)


class MemoryGate:
    """Holds threads back that would together take more memory than there is. Whoever is alone is let in, whatever it needs."""

    def __init__(self, find_left: Callable[[], int | None]) -> None:
        self._find_left = find_left
        self._changed = Condition()
        self._held: list[float] = []
        self._budget = 0.0
        self._allowed: int | None = None

    def allow(self, process_bytes: int | None) -> None:
        """From now on the process may take so much in all; None: what is left."""
        self._allowed = process_bytes

    @contextmanager
    def hold(self, needed_bytes: float) -> Iterator[None]:
        """Wait until so much is free beside what others hold, and hold it meanwhile.

        What is left is looked up when nobody holds anything: later on nobody knows how much of it those will still take who
        have begun.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_free(needed_bytes))
            self._held.append(needed_bytes)
        try:
            yield
        finally:
            try:
                give_back_memory()
            finally:
                with self._changed:
                    self._held.remove(needed_bytes)
                    self._changed.notify_all()

    def _is_free(self, needed_bytes: float) -> bool:
        if not self._held:
            left = self._find_left()
            self._budget = float("inf") if left is None else SHARE * left
            if self._allowed is not None:
                self._budget = min(self._budget, self._allowed - psutil.Process().memory_info().rss)
            return True
        return sum(self._held) + needed_bytes <= self._budget


memory_gate = MemoryGate(find_memory_left)
