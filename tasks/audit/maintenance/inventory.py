"""What lies in the private folder: artifacts, Prefect's records of them, what killed writers left, and what nobody knows."""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.microdata.regular_files import LARGEST_TABLE, open_regular_file, read_file
from tasks.runtime.artifacts import SUFFIX
from tasks.runtime.failures import StageFailure
from tasks.runtime.records import LARGEST_RECORD, SERIALIZER, Returned, parse_returned
from tasks.runtime.seals import MARK
from tasks.runtime.settings import Home
from tasks.runtime.store_sharing import BESIDE_ARTIFACTS, open_shared_storage

if TYPE_CHECKING:
    from tasks.runtime.shared_storage import SharedStorage

AN_HOUR = 3600.0
OURS = stat.S_IFREG | 0o400  # who may read a shared place is not written on its files
FOREIGN = frozenset({"prefect", "mlflow-artifacts", "matplotlib", "compiled", "numba"})  # libraries keep house there
PLAIN = {  # of versions that made no seals
    "type": "json",
    "jsonlib": "json",
    "object_encoder": "prefect.serializers.prefect_json_object_encoder",
    "object_decoder": "prefect.serializers.prefect_json_object_decoder",
    "dumps_kwargs": {},
    "loads_kwargs": {},
}
STAGE_FAILURE = f"{StageFailure.__module__}.{StageFailure.__qualname__}"
# What Prefect raises of itself: it speaks of its server and never of values.
_OF_PREFECT = re.compile(r"prefect\.exceptions\.[A-Z]\w+|(?:httpx|httpcore)\.[A-Z]\w*(?:Error|Timeout)")
_NAME = re.compile(rf"([0-9a-f]{{64}})({'|'.join(map(re.escape, SUFFIX.values()))})")
_DRAFT = re.compile(r"\..+\.[0-9a-f]{32}\.tmp|\..+\.key\.[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class PrivateFile:
    """A file of the private folder. modified: seconds since 1970."""

    path: Path
    size: int
    modified: float
    mode: int
    owner: int

    @property
    def private(self) -> bool:
        """Readable by its owner, who is us, and by nobody else."""
        return not self.mode & 0o077 and self.owner == os.geteuid()

    def older_than(self, seconds: float) -> bool:
        """Last written longer ago, or as far in the future: by a clock that was wrong, and not just now."""
        return abs(time.time() - self.modified) > seconds


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """The store: its artifacts by address, and whatever else lies in it. shared: where it is a place; paths are below it."""

    artifacts: dict[str, PrivateFile]
    others: tuple[PrivateFile, ...]
    shared: SharedStorage | None = None

    def content(self, ref: str) -> bytes:
        path = self.artifacts[ref].path
        return read_file(path, LARGEST_TABLE) if self.shared is None else self.shared.read(path.as_posix())

    def exists(self, ref: str) -> bool:
        path = self.artifacts[ref].path
        return path.exists() if self.shared is None else self.shared.exists(path.as_posix())


@dataclass(frozen=True, slots=True)
class CacheRecord:
    """One of Prefect's records.

    refs: the addresses it returns; None where it is not what this program writes. failure: it tells that a stage or a run
    failed, with a code and a place; nothing reads it again. torn: only the beginning is there, as a full disk leaves it.
    returned: what it says, with the seal that has to fit; None for a failure, and for a record of a version that made no seals.
    """

    file: PrivateFile
    refs: frozenset[str] | None
    failure: bool = False
    torn: bool = False
    returned: Returned | None = None

    @property
    def is_of_older_version(self) -> bool:
        """Whether it is whole, of a version that made no seals: no run reads it again."""
        return self.returned is None and self.refs is not None and not self.failure and not self.torn

    def is_sealed(self, home: Home) -> bool:
        """Whether a stage of this home, or of one with the same key, returned this under the cache key that is its name."""
        return self.returned is not None and self.returned.is_of(home, self.file.path.name)


def store_files(store: Path) -> StoreFiles:
    """List the store. Reads no content: a second per hundred thousand files."""
    artifacts: dict[str, PrivateFile] = {}
    others: list[PrivateFile] = []
    for file in _files(store):
        ref = _address(file, store)
        if ref is not None:
            artifacts[ref] = file
        elif file.path != store / MARK:
            others.append(file)
    return StoreFiles(artifacts, tuple(others))


def list_home_store(home: Home) -> StoreFiles:
    """What is in the store of a home: in its folder, or in the place that it shares."""
    storage = open_shared_storage(home)
    if storage is None:
        return store_files(home.store)
    artifacts: dict[str, PrivateFile] = {}
    others: list[PrivateFile] = []
    for name, size in storage.sizes("").items():
        file = PrivateFile(Path(name), size, time.time(), OURS, os.geteuid())
        ref = _address(file, Path())
        if ref is not None:
            artifacts[ref] = file
        elif name != MARK and file.path.parts[0] not in BESIDE_ARTIFACTS:
            others.append(file)
    return StoreFiles(artifacts, tuple(others), storage)


def cache_records(records: Path) -> Iterator[CacheRecord]:
    """Every record of Prefect's; nothing is read by a deserialiser that could execute it."""
    for file in _files(records):
        yield _record(file) if stat.S_ISREG(file.mode) else CacheRecord(file, None)


def drafts(root: Path) -> Iterator[PrivateFile]:
    """Files that a writer makes before it renames them. One that is older than an hour has no writer any more."""
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        if folder.name not in FOREIGN and folder.is_dir() and not folder.is_symlink():
            yield from (file for file in _files(folder) if is_draft(file))


def is_draft_name(name: str) -> bool:
    return _DRAFT.fullmatch(name) is not None


def is_draft(file: PrivateFile) -> bool:
    return is_draft_name(file.path.name) and stat.S_ISREG(file.mode)


def is_abandoned(file: PrivateFile) -> bool:
    """A draft that was not written within an hour, and that nobody has locked."""
    return file.older_than(AN_HOUR) and not _is_locked(file.path)


def _files(folder: Path) -> Iterator[PrivateFile]:
    """All files below a folder, sorted; links are told as what they are, and not followed."""
    for here, folders, names in os.walk(folder):
        folders.sort()
        linked = [name for name in folders if Path(here, name).is_symlink()]
        for name in sorted([*names, *linked]):
            path = Path(here, name)
            try:
                found = path.lstat()
            except FileNotFoundError:
                continue
            yield PrivateFile(path, found.st_size, found.st_mtime, found.st_mode, found.st_uid)


def _address(file: PrivateFile, store: Path) -> str | None:
    parts, match = file.path.relative_to(store).parts, _NAME.fullmatch(file.path.name)
    if match is None or len(parts) != 3 or not stat.S_ISREG(file.mode):
        return None
    kind, prefix, address = parts[0], parts[1], match[1]
    return f"{kind}:{address}" if SUFFIX.get(kind) == match[2] and address.startswith(prefix) and len(prefix) == 2 else None


def _record(file: PrivateFile) -> CacheRecord:
    try:
        content = read_file(file.path, LARGEST_RECORD)
        if _is_torn(content):
            return CacheRecord(file, frozenset(), torn=True)
        record = json.loads(content)
        if _is_failure(record):  # of a flow: Prefect writes it bare
            return CacheRecord(file, frozenset(), failure=True)
        serializer, result = record["metadata"]["serializer"], json.loads(record["result"])
        found = parse_returned(record["result"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return CacheRecord(file, None)
    if serializer not in (SERIALIZER, PLAIN):
        return CacheRecord(file, None)
    if _is_failure(result):
        return CacheRecord(file, frozenset(), failure=True)
    if serializer == SERIALIZER:
        return CacheRecord(file, None if found is None else frozenset(found.produced.values()), returned=found)
    plain = isinstance(result, dict) and all(isinstance(ref, str) for ref in result.values())
    return CacheRecord(file, frozenset(result.values()) if plain else None)


def _is_torn(content: bytes) -> bool:
    """Is it the beginning of one of Prefect's records, and no more? It is read as JSON alone, which this is not."""
    begins = any(content.startswith(start) or start.startswith(content) for start in (b'{"metadata":', b'{"__exc_type__":'))
    try:
        return begins and json.loads(content) is None
    except ValueError:
        return begins


def _is_failure(value: object) -> bool:
    """Is it what Prefect keeps of an exception that this program lets out, or of its own (a server whose disk is full)?"""
    if not isinstance(value, dict) or value.keys() != {"__exc_type__", "message"}:
        return False
    kind = str(value["__exc_type__"])
    return kind == STAGE_FAILURE or _OF_PREFECT.fullmatch(kind) is not None


def _is_locked(path: Path) -> bool:
    try:
        with open_regular_file(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False
