"""Imports come before threads; what is imported later than that is imported by one thread at a time.

Two threads that import packages whose modules need each other can meet half-made modules ("partially initialized module, most
likely due to a circular import"): Python lets one of them go on rather than wait for ever. So a thread is started when what it
will need has been imported. A slow library that few runs need is imported where it is used, inside `one_at_a_time`.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_LOCK = threading.RLock()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Import here what only some runs need: `with one_at_a_time(): from statsmodels... import GLM`."""
    with _LOCK:
        yield


def import_before_threads(modules: Iterable[str]) -> None:
    """Import what a thread will need, before it is started."""
    with one_at_a_time():
        for module in modules:
            importlib.import_module(module)


@contextmanager
def import_without(*optional: str) -> Iterator[None]:
    """Import here a package that does without these, as if they were not installed, unless they have been imported already."""
    with one_at_a_time():
        hidden = [name for name in optional if name not in sys.modules]
        sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None is how Python itself marks what cannot be imported
        try:
            yield
        finally:
            for name in hidden:
                del sys.modules[name]
