"""The lock of the store: runs use it side by side; a process that removes what nobody needs has it alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.runtime.files import hold_file_lock, try_lock
from tasks.runtime.settings import Home


@contextmanager
def use_store() -> Iterator[None]:
    """Nothing is removed from the store meanwhile; waits for a removal to end. May be held several times over."""
    with hold_file_lock(_lock(), shared=True):
        yield


@contextmanager
def lock_store() -> Iterator[bool]:
    """True: no run is in progress, and those that begin now wait. False, without waiting: one is."""
    descriptor = try_lock(_lock())
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _lock() -> Path:
    return Home.current().locks / "in-use.lock"
