"""Caching that can be trusted: a stage is computed again when its inputs, code, libraries or seed changed, and only then."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from prefect.cache_policies import CachePolicy
from prefect.context import TaskRunContext
from prefect.locking.protocol import LockManager
from prefect.serializers import JSONSerializer, Serializer
from prefect.transactions import get_transaction
from pydantic import Field

from tasks.microdata.errors import InputError
from tasks.microdata.fingerprint import fingerprint, list_room_files
from tasks.microdata.regular_files import read_file, read_text_file
from tasks.runtime.artifacts import Store
from tasks.runtime.files import try_lock
from tasks.runtime.provenance import list_installed_packages, lock_file
from tasks.runtime.records import LARGEST_RECORD, Returned, is_produced, parse_returned, read_returned, seal_result
from tasks.runtime.seals import STORE_URL_VARIABLE
from tasks.runtime.settings import Home
from tasks.runtime.store_sharing import fetch_record, share_record


@cache
def platform_fingerprint() -> str:
    """What the code runs on: Python, the installed versions and the lock (one lock serves several Pythons, hence all three)."""
    lock = lock_file()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    parts = [python, *list_installed_packages(), read_text_file(lock) if lock.exists() else "no lock"]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@dataclass
class Fingerprint(CachePolicy):
    """Adds to a task's key the sources of the rooms it runs and the platform, both taken when the task was imported.

    Taken at import, because a long-lived process that meets edited files goes on computing with the old ones.
    """

    stage: str = ""
    rooms: tuple[str, ...] = ()
    value: str = field(init=False, default="")

    def __post_init__(self) -> None:
        parts = (self.stage, fingerprint(list_room_files(self.rooms)), platform_fingerprint())
        self.value = hashlib.sha256(":".join(parts).encode()).hexdigest()

    def compute_key(self, task_ctx: TaskRunContext, inputs: dict[str, Any], flow_parameters: dict[str, Any], **_: Any) -> str:
        return self.value


class SealedResultSerializer(Serializer):
    """Writes what a stage returned with the seal of its cache key, and reads nothing without: Prefect calls it at both ends."""

    type: str = Field(default="sealed", frozen=True)

    def dumps(self, obj: Any) -> bytes:
        key = _compute_call_key()
        if key is None or not is_produced(obj):  # how a call failed: nothing reads it again
            return JSONSerializer().dumps(obj)
        return seal_result(Home.current(), key, obj)

    def loads(self, blob: bytes) -> Any:
        key, found, home = _compute_call_key(), parse_returned(blob), Home.current()
        if found is None or not (found.is_sealed(home) if key is None else found.is_of(home, key)):
            what = "a record of the cache was changed while a run began to read it"
            remedy = "run again: it is computed anew; `sdcert doctor` looks at the private folder"
            raise InputError("record-changed", "SDCERT_HOME", what, "records that this program alone writes", remedy)
        return found.produced


def _compute_call_key() -> str | None:
    """The cache key of the task that runs here. Prefect sets it while it computes, reads and writes, not while it looks whether
    there is a record."""
    transaction = get_transaction()
    return None if transaction is None else transaction.key


class FlockManager(LockManager):
    """One computation per key across threads and processes, by flock: the kernel frees it when the holder dies.

    Prefect's FileSystemLockManager would wait for ever for a holder that was killed.
    Each time a lock is taken, the record under its key is vetted before Prefect reads it (Prefect would execute a pickled one).
    """

    _held: ClassVar[dict[str, tuple[str, int]]] = {}
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def acquire_lock(
        self, key: str, holder: str, acquire_timeout: float | None = None, hold_timeout: float | None = None
    ) -> bool:
        deadline = None if acquire_timeout is None else time.monotonic() + acquire_timeout
        while not self.is_lock_holder(key, holder):
            descriptor = try_lock(_lock_path(key))
            if descriptor is not None:
                with self._guard:
                    self._held[key] = (holder, descriptor)
                vet(key)
                break
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(0.05)
        return True

    async def aacquire_lock(
        self, key: str, holder: str, acquire_timeout: float | None = None, hold_timeout: float | None = None
    ) -> bool:
        return await asyncio.to_thread(self.acquire_lock, key, holder, acquire_timeout, hold_timeout)

    def release_lock(self, key: str, holder: str) -> None:
        with self._guard:
            found = self._held.get(key)
            if found is None or found[0] != holder:
                raise ValueError(f"no lock on {key} is held by {holder}")
            del self._held[key]
        try:
            _drop_torn(key)
            share_result(key)
        finally:
            os.close(found[1])

    def is_locked(self, key: str) -> bool:
        if key in self._held:
            return True
        descriptor = try_lock(_lock_path(key))
        if descriptor is None:
            return True
        os.close(descriptor)
        return False

    def is_lock_holder(self, key: str, holder: str) -> bool:
        return self._held.get(key, ("", -1))[0] == holder

    def wait_for_lock(self, key: str, timeout: float | None = None) -> bool:
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.is_locked(key):
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(0.05)
        return True

    async def await_for_lock(self, key: str, timeout: float | None = None) -> bool:
        return await asyncio.to_thread(self.wait_for_lock, key, timeout)


def vet(key: str) -> None:
    """Remove the record under a key unless it has the seal of that key, and the artifacts it names are there and undamaged.

    A removed record is computed again; nothing is read by a deserialiser that could execute it. Where the store is shared,
    one that another machine made is taken from there, and looked at in the same way.
    """
    path = Home.current().records / key
    if path.is_symlink() or (path.exists() and not _trustworthy(key, path)):  # Prefect follows links, in a circle too
        path.unlink(missing_ok=True)
    if not path.exists():
        fetch_record(key, path)
        if path.exists() and not _trustworthy(key, path):
            path.unlink(missing_ok=True)


def _drop_torn(key: str) -> None:
    """Remove a record that a full disk has cut off: Prefect writes it in place."""
    path = Home.current().records / key
    if path.exists() and _read_cached_result(path) is None:
        path.unlink(missing_ok=True)


def share_result(key: str) -> None:
    """Let other machines have what a stage returned, where the store is shared."""
    path = Home.current().records / key
    if (
        STORE_URL_VARIABLE in os.environ
        and (found := _read_cached_result(path)) is not None
        and found.is_of(Home.current(), key)
    ):
        share_record(key, path)


def _trustworthy(key: str, path: Path) -> bool:
    found = _read_cached_result(path)
    if found is None or not found.is_of(Home.current(), key):
        return False
    store = Store()
    return all(store.intact(ref) for ref in found.produced.values())


def _read_cached_result(path: Path) -> Returned | None:
    """What a record says that its stage returned; None where it is none that this version writes."""
    try:
        return read_returned(read_file(path, LARGEST_RECORD))
    except OSError:
        return None


def _lock_path(key: str) -> Path:
    return Home.current().locks / f"{Path(key).name}.lock"
