"""What is there now: the newest version of a source, in a drop folder or where the release has it.

The newest settled file decides; older ones that came in the meantime are named and not certified. Only plain files directly in
the folder count: a link could point anywhere, and is never followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path

from flows.watch.spec import LookAt, WatchDefinition
from tasks.ingest.sources import SourceSpec, files
from tasks.ingest.task import source_digest
from tasks.microdata.errors import InputError
from tasks.runtime.artifacts import Store

LONGEST_NAME, LONGEST_PATH = 200, 300  # in characters; a release file takes no longer path
BEING_WRITTEN = "what is there is still being written"
_AWAY = {"no-such-source", "unreadable-source", "no-connection"}
_SILENT = ("OperationalError", "InterfaceError", "Shutdown", "CannotConnect", "QueryCanceled", "LockNotAvailable", "Timeout",
           "Deadlock", "Serialization", "the file is not there")  # fmt: skip  # kinds of failures of a database, not of a query


class SourceUnavailable(Exception):
    """What a watch needs is not there, does not answer or is not at rest: a later look may see it. error: what to tell."""

    def __init__(self, error: InputError) -> None:
        super().__init__(error.public)
        self.error = error


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a source.

    source: as the release names it. source_file: its keyed digest. label: what messages call it. adopted: keyed digest of the
    table that was masked elsewhere. refusal: why it cannot be read at all; its digest is then that of the refusal.
    """

    source: SourceSpec
    source_file: str
    label: str
    adopted: str | None = None
    refusal: InputError | None = None


@dataclass(frozen=True, slots=True)
class SourceSnapshot:
    """What a look found. waiting: files still being written. older: settled ones, with when they came. ignored: no plain files.

    version: None where there is nothing to look at; `reason` says why.
    """

    version: Version | None
    reason: str
    waiting: tuple[str, ...] = ()
    older: tuple[tuple[str, datetime], ...] = ()
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IncomingFile:
    """A file in a drop folder, as one `lstat` saw it."""

    path: Path
    seen: os.stat_result

    @property
    def identity(self) -> tuple[int, ...]:
        """Changes with whatever is done to the file."""
        return (self.seen.st_dev, self.seen.st_ino, self.seen.st_size, self.seen.st_mtime_ns, self.seen.st_ctime_ns)

    @property
    def came(self) -> float:
        """When it was last touched, by the file system's own clock: a time that nobody can set."""
        return self.seen.st_ctime


def poll_source(watch: WatchDefinition, now: datetime) -> SourceSnapshot:
    """The newest version of the source. Reads its bytes (a query: runs it) for the digest, and keeps nothing.

    Raises Away where the folder, the file or the database is not there; InputError for what only a person can mend.
    """
    if watch.folder is None:
        return _poll_release_source(watch, now)
    plain, ignored = _scan_folder(watch.folder, watch.spec.look_at)
    settled = [one for one in plain if now.timestamp() - one.came >= watch.spec.look_at.settled_seconds]
    waiting = tuple(one.path.name for one in plain if one not in settled)
    if not settled:
        return SourceSnapshot(
            None, BEING_WRITTEN if waiting else "no file in the folder matches the pattern", waiting, ignored=ignored
        )
    *older, newest = sorted(settled, key=lambda one: _age(one, watch.spec.look_at))
    passed = tuple((one.path.name, datetime.fromtimestamp(one.came, now.tzinfo)) for one in older)
    version = _read_file_version(newest, watch)
    if version is None:
        return SourceSnapshot(None, BEING_WRITTEN, (*waiting, newest.path.name), passed, ignored)
    return SourceSnapshot(version, "", waiting, passed, ignored)


def is_away(error: InputError) -> bool:
    """Is it the place of the source that fails, rather than the source?"""
    return error.code in _AWAY or (error.code == "query-failed" and any(kind in error.what for kind in _SILENT))


def _scan_folder(folder: Path, look_at: LookAt) -> tuple[list[IncomingFile], tuple[str, ...]]:
    """The plain files that match, and the names of what matches and is none."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if _matches(entry.name, look_at.pattern))
        found = list(_stat_files(folder, names))
    except OSError as error:
        what = f"the drop folder cannot be looked at ({error.strerror})"
        remedy = "make the folder, mount it again, or correct `look_at.folder`; it is relative to the watch file"
        raise SourceUnavailable(InputError("no-drop-folder", "look_at.folder", what, "a folder", remedy, str(folder))) from None
    plain = [one for one in found if stat.S_ISREG(one.seen.st_mode)]
    return plain, tuple(one.path.name for one in found if not stat.S_ISREG(one.seen.st_mode))


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def _stat_files(folder: Path, names: list[str]) -> Iterator[IncomingFile]:
    for name in names:
        path = folder / name
        try:
            yield IncomingFile(path, path.lstat())
        except FileNotFoundError:  # taken away a moment ago
            continue


def _age(one: IncomingFile, look_at: LookAt) -> tuple[int, str]:
    return (one.seen.st_mtime_ns if look_at.newest_by == "modified" else 0, one.path.name)


def _read_file_version(newest: IncomingFile, watch: WatchDefinition) -> Version | None:
    """The version in a file; None where the file changes meanwhile."""
    source = watch.release.source.model_copy(update={"table": str(newest.path)})
    refusal = _refusal(newest, watch.spec.look_at)
    if refusal is not None:
        return Version(source, _compute_digest(repr((newest.path, *newest.identity))), newest.path.name, refusal=refusal)
    try:
        digest = source_digest(source)
        unchanged = IncomingFile(newest.path, newest.path.lstat()).identity == newest.identity
    except InputError as error:
        raise SourceUnavailable(error) from None
    except OSError:
        return None
    return Version(source, digest, newest.path.name) if unchanged else None


def _refusal(newest: IncomingFile, look_at: LookAt) -> InputError | None:
    """What is wrong with a file before a byte of it is read."""
    name = newest.path.name
    if not name.isprintable() or len(name) > LONGEST_NAME or len(str(newest.path)) > LONGEST_PATH:
        what = "the name of the file has signs that do not print, or it or the path is too long"
        allowed = f"at most {LONGEST_NAME} signs that print, {LONGEST_PATH} with the folder"
        return InputError("file-name", "look_at.folder", what, allowed, "rename the file", name)
    if newest.seen.st_size > look_at.largest_mb * 1_000_000:
        what = f"the file has {newest.seen.st_size / 1e6:,.0f} MB"
        return InputError("file-too-large", "look_at.largest_mb", what, f"at most {look_at.largest_mb:,} MB", "raise the limit")
    return None


def _poll_release_source(watch: WatchDefinition, now: datetime) -> SourceSnapshot:
    """The release's own file or query; a file that was touched a moment ago is waited for, as in a folder."""
    since = now.timestamp() - watch.spec.look_at.settled_seconds
    tables = [one for one in (watch.release.source, watch.release.released) if one is not None and one.table is not None]
    try:
        waiting = tuple(one.label for one in tables if any(path.stat().st_ctime > since for path in files(one)))
    except InputError as error:
        if is_away(error):
            raise SourceUnavailable(error) from None
        waiting = ()  # told by what reads it
    return SourceSnapshot(None, BEING_WRITTEN, waiting) if waiting else SourceSnapshot(_read_release_version(watch), "")


def _read_release_version(watch: WatchDefinition) -> Version:
    source, released = watch.release.source, watch.release.released
    try:
        adopted = None if released is None else source_digest(released)
        return Version(source, source_digest(source), source.label, adopted)
    except InputError as error:
        if is_away(error):
            raise SourceUnavailable(error) from None
        if error.where.startswith("source.url_env"):  # nothing about the source: the variable is not set or not read
            raise
        return Version(source, _compute_digest(f"unread: {error.public}"), source.label, refusal=error)


def _compute_digest(text: str) -> str:
    return Store().digest(text.encode(errors="surrogateescape"))
