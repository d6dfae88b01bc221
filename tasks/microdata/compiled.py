"""The only door to numba: compiled functions are cached in a folder named by the fingerprint of all rooms.

Numba's own cache looks at the file of the compiled function alone: when a compiled function of ANOTHER file that it calls
is changed, it goes on serving the old machine code, and with it old numbers. A folder per fingerprint cannot.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import numba

from tasks.microdata.fingerprint import TASKS, files_of, fingerprint

P = ParamSpec("P")
R = TypeVar("R")

_ROOMS = sorted(path.name for path in TASKS.iterdir() if path.is_dir() and path.name != "__pycache__")
_HOME = os.environ.get("SDCERT_HOME") or ".sdcert"
CACHE = Path(os.environ.get("SDCERT_COMPILED") or Path(_HOME, "compiled")).absolute() / fingerprint(files_of(_ROOMS))[:32]
os.environ["NUMBA_CACHE_DIR"] = str(CACHE)
numba.config.reload_config()  # type: ignore[no-untyped-call]  # numba is untyped; it may have been imported before the folder was named


def njit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of arrays and numbers to machine code: no Python objects, no fast-math, one thread."""
    compiled: Callable[P, R] = numba.njit(cache=True, fastmath=False, nogil=True)(function)
    return compiled
