"""Compile functions with numba, here and nowhere else; they are cached under a fingerprint of the whole source code.

Numba's own cache looks at the file of the compiled function alone: when a compiled function of ANOTHER file that it calls
is changed, it goes on serving the old machine code, and with it old numbers. A folder per fingerprint cannot.

Compiled code does not check where it reads and writes, and searches that begin with "nothing found yet" still say so at the end
if every comparison was with NaN: the index that they return lies outside the array. So Python hands no NaN, no infinity and no
number above `LARGEST` to compiled code, unless the function declares that it was written for them.

Where millions of rows pass through, the arrays that a function writes are made by its caller: numpy asks the system for large
pages, compiled code does not, and then it waits for each 4 kB by itself.
"""

from __future__ import annotations

import fcntl
import inspect
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property, update_wrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from tasks.microdata.cache_folder import find_cache_folder
from tasks.microdata.errors import InputError
from tasks.microdata.fingerprint import TASKS, fingerprint, list_room_files
from tasks.microdata.imports import one_at_a_time

P = ParamSpec("P")
R = TypeVar("R")

_ROOMS = sorted(path.name for path in TASKS.iterdir() if path.is_dir() and path.name != "__pycache__")
CACHE = find_cache_folder() / fingerprint(list_room_files(_ROOMS))[:32]

_COMPILING = threading.RLock()  # taken before numba's own lock: a thread that has that one never waits for another thread here
_HELD: set[str] = set()  # names of functions

LARGEST = 1e100  # of a number that compiled code is given: a sum of 10^100 squares of such numbers is finite

Reasons = Mapping[str, str]


class UnfitNumber(InputError):
    """A number that a compiled function was not written for. It holds no value: `fault` is the kind alone."""

    def __init__(self, function: str, argument: str, fault: str) -> None:
        self.function, self.argument, self.fault = function, argument, fault
        super().__init__(
            "unfit-number",
            f"{function}: {argument}",
            f"A calculation came to {fault}, which double precision cannot carry further.",
            f"numbers of at most {LARGEST:.0e} in size",
            "rescale the columns of the largest and the smallest numbers, or do not publish them; if there are none, report it",
        )


class Compiled(Generic[P, R]):
    """A compiled function as Python calls it: its numbers are checked first. Compiled code calls the machine code alone."""

    def __init__(self, function: Callable[P, R], missing: Reasons, infinite: Reasons) -> None:
        self.py_func = function  # as numba calls what was compiled
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.arguments = tuple(inspect.signature(function).parameters)
        self.missing, self.infinite = missing, infinite
        unknown = {name.partition(".")[0] for name in (*missing, *infinite)} - set(self.arguments)
        if unknown:
            raise TypeError(f"{function.__qualname__} has no argument {', '.join(sorted(unknown))}")
        update_wrapper(self, function)

    @cached_property
    def dispatcher(self) -> Any:
        """What numba makes of the function; made when it is first called, because most commands call few or none."""
        with one_at_a_time():
            os.environ["NUMBA_CACHE_DIR"] = str(CACHE)
            import numba

            numba.config.reload_config()  # it may have been imported before the folder was named
            made: Any = numba.njit(cache=_can_be_written(CACHE), fastmath=False, nogil=True)(self.py_func)
        self._compile, made.compile = made.compile, self._compile_once
        return made

    @property
    def is_loaded(self) -> bool:
        """Was it called before, in this process or one that it was forked from?"""
        return "dispatcher" in vars(self)

    @property
    def _numba_type_(self) -> Any:
        """What another compiled function sees of this object."""
        return self.dispatcher._numba_type_

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        for value, name in zip(args, self.arguments, strict=False):
            if type(value) is not int and not _fits(value):
                self._check(name, value)
        for name, value in kwargs.items():
            if not _fits(value):
                self._check(name, value)
        result: R = self.dispatcher(*args, **kwargs)
        return result

    def _compile_once(self, signature: Any) -> Any:
        """Compile for these types, or load what another process has left in the cache while this one waited for it."""
        with _COMPILING, _hold_lock(self.name):
            return self._compile(signature)

    def _check(self, name: str, value: object) -> None:
        """Refuse what does not fit and was not declared. name: of an argument, or of a part of it (`tree.low`)."""
        if isinstance(value, tuple):
            for part, one in zip(getattr(value, "_fields", range(len(value))), value, strict=True):
                if not _fits(one):
                    self._check(f"{name}.{part}", one)
            return
        numbers = np.asarray(value)
        least, most = (one.reduce(numbers, axis=None, initial=0.0) for one in (np.fmin, np.fmax))  # they pass over NaN
        largest = max(-least, most)
        faults = {
            "NaN": name not in self.missing and bool(np.isnan(np.minimum.reduce(numbers, axis=None, initial=0.0))),
            "an infinite number": name not in self.infinite and bool(np.isinf(largest)),
            "a number too large": name not in self.infinite and bool(largest > LARGEST),
        }
        for fault, is_there in faults.items():
            if is_there:
                raise UnfitNumber(self.name, name, fault)


@cache
def _can_be_written(folder: Path) -> bool:
    """Can the folder of the cache? Numba would else write beside the source code, where another version of it would find it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@contextmanager
def _hold_lock(name: str) -> Iterator[None]:
    """One process at a time, where the cache can be written: of several that begin together only one compiles a function.

    Whoever has `_COMPILING` takes it; for a function that is compiled within itself it is held already.
    """
    descriptor = None if name in _HELD else _lock_file(name)
    if descriptor is None:
        yield
        return
    _HELD.add(name)
    try:
        yield
    finally:
        _HELD.discard(name)
        os.close(descriptor)


def _lock_file(name: str) -> int | None:
    descriptor = None
    try:
        CACHE.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(CACHE / f"{name[-200:]}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None
    return descriptor


def _fits(value: object) -> bool:
    """Is it no floating-point number, or are all its numbers finite and at most `LARGEST` in size?"""
    if isinstance(value, np.ndarray):
        if value.dtype.kind != "f" or not value.size:
            return True
        if value.flags.forc:  # one look without a copy: the sum of the squares says that no number is large, or leaves it open
            flat = value.ravel("K")
            with np.errstate(over="ignore", invalid="ignore"):
                if flat.dot(flat) <= LARGEST:
                    return True
        return bool(np.minimum.reduce(value, axis=None) >= -LARGEST and np.maximum.reduce(value, axis=None) <= LARGEST)
    if isinstance(value, tuple):
        return all(map(_fits, value))
    return not isinstance(value, float | np.floating) or bool(-LARGEST <= value <= LARGEST)


@overload
def njit(function: Callable[P, R], /) -> Compiled[P, R]: ...


@overload
def njit(*, missing: Reasons = ..., infinite: Reasons = ...) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...


def njit(function: Callable[P, R] | None = None, /, *, missing: Reasons | None = None, infinite: Reasons | None = None) -> Any:
    """Compile a function of arrays and numbers to machine code: no Python objects, no fast-math, one thread.

    missing, infinite: the arguments (`low`, or `tree.low` for a field of a named tuple) that may hold NaN, or infinities and
    numbers of any size, each with the reason why the function is safe with them: where it tests for them, or that they decide
    no index. All other numbers that Python hands over must be finite and at most `LARGEST` in size; UnfitNumber otherwise. What
    one compiled function hands to another is not checked. Cost: a pass over each array of floating-point numbers, 1 us a call.
    """
    if function is not None:
        return Compiled(function, {}, {})
    return lambda wrapped: Compiled(wrapped, missing or {}, infinite or {})
