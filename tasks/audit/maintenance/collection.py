"""Garbage collection of the store: find what nobody needs any more, and remove it if that is asked for.

Kept is what a certified release that is not revoked needs, what the newest run of each series needs, and whatever is young.
Of a revoked one its tables are kept, because its file is still out: later releases about the same persons are attacked with it.
Seeds, keys, manifests and the ledger are never touched: a seed has 32 bytes and cannot be made again. Nor are the artifacts
of a store that several homes share: one home does not know what the others need.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from tasks.audit.maintenance.inventory import (
    CacheRecord,
    PrivateFile,
    StoreFiles,
    find_drafts,
    is_abandoned,
    list_home_store,
    read_cache_records,
)
from tasks.audit.maintenance.retention import (
    KnownRun,
    RetentionReason,
    create_link_finder,
    find_reachable_addresses,
    find_runs_to_keep,
)
from tasks.runtime.files import sync_folder
from tasks.runtime.settings import Home

_KEY = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class RemovalPlan:
    """What would be removed, and what is kept.

    reasons: of the runs whose artifacts are kept. artifacts: those that go, by address. records: of Prefect's, which point to
    what goes or is gone, tell of a failure, or have no seal. drafts: of writers that were killed. traces: of failures.
    locks: of cache keys without a record. needed, young: how many artifacts are kept because a run needs them, or because of
    their age alone.
    """

    reasons: dict[str, RetentionReason]
    artifacts: dict[str, PrivateFile]
    records: tuple[PrivateFile, ...]
    drafts: tuple[PrivateFile, ...]
    traces: tuple[PrivateFile, ...]
    locks: tuple[PrivateFile, ...]
    needed: int
    young: int
    kept_bytes: int

    @property
    def files(self) -> Iterator[PrivateFile]:
        """Everything that goes, in an order that leaves no record pointing to what is gone."""
        yield from self.records
        yield from self.artifacts.values()
        yield from (*self.drafts, *self.traces, *self.locks)

    @property
    def removal_bytes(self) -> int:
        return sum(file.size for file in self.files)


def plan_removal(home: Home, runs: tuple[KnownRun, ...], *, now: datetime, younger_than: timedelta) -> RemovalPlan:
    """Look what nobody needs. Changes nothing; hold `use_store` or `alone` meanwhile.

    younger_than: runs, artifacts without a run, and traces of failures below this age are kept.
    """
    files = list_home_store(home)
    since = now - younger_than
    reasons, oldest = find_runs_to_keep(runs, since=since), since.timestamp()
    links = create_link_finder(files.artifacts, files.content)
    roots = (ref for run in runs if run.run in reasons for ref in run.list_needed(reasons[run.run]))
    needed = find_reachable_addresses(roots, links)
    recent = find_reachable_addresses((ref for ref, file in files.artifacts.items() if file.modified > oldest), links)
    kept = needed | recent
    kept |= files.artifacts.keys() if files.shared else set()
    going = {ref: file for ref, file in files.artifacts.items() if ref not in kept}
    records = tuple(read_cache_records(home.records))
    useless = tuple(record.file for record in records if not _is_usable(record, home, files, going))
    return RemovalPlan(
        reasons=reasons,
        artifacts=going,
        records=useless,
        drafts=tuple(file for file in find_drafts(home.root) if is_abandoned(file)),
        traces=tuple(file for file in _find_files(home.root / "failures", "*.txt") if file.modified < oldest),
        locks=tuple(
            _find_idle_locks(home, {record.file.path.name for record in records} - {file.path.name for file in useless})
        ),
        needed=len(needed & files.artifacts.keys()),
        young=len((recent - needed) & files.artifacts.keys()),
        kept_bytes=sum(file.size for ref, file in files.artifacts.items() if ref not in going),
    )


def remove_files(found: RemovalPlan) -> None:
    """Remove what a plan says. Only `alone`: a run could be about to use it.

    Whenever it is interrupted, what is left is a store in which everything is what its address says.
    """
    for file in found.files:
        file.path.unlink(missing_ok=True)
    for folder in {file.path.parent for file in found.artifacts.values()}:
        with suppress(OSError):  # others are left in it
            folder.rmdir()
    for folder in {file.path.parent for file in found.files if file.path.parent.is_dir()}:
        sync_folder(folder)


def _is_usable(record: CacheRecord, home: Home, files: StoreFiles, going: dict[str, PrivateFile]) -> bool:
    if record.refs is None or not record.is_sealed(home):
        return False
    return all(ref in files.artifacts and ref not in going for ref in record.refs)


def _find_files(folder: Path, pattern: str) -> Iterator[PrivateFile]:
    for path in sorted(folder.glob(pattern)):
        found = path.lstat()
        yield PrivateFile(path, found.st_size, found.st_mtime, found.st_mode, found.st_uid)


def _find_idle_locks(home: Home, keys: set[str]) -> Iterator[PrivateFile]:
    for file in _find_files(home.locks, "*.lock"):
        if _KEY.fullmatch(file.path.stem) and file.path.stem not in keys:
            yield file
