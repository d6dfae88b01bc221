"""Back up the private folder into one file while runs go on; `restoring.py` makes the folder of it again.

The ledger is copied first and in one piece, then everything else: what an entry names was written before the entry, so a copy
holds all that its ledger speaks of. The file is a plain tar with its checksums at the end (`SHA256SUMS`, as `sha256sum -c`
reads them), so that it can be unpacked without this program. It holds the source, the seeds and the private keys.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import sqlite3
import stat
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tasks.audit.ledger.ledger import Ledger
from tasks.audit.maintenance.inventory import is_draft_name
from tasks.audit.maintenance.use import use_store
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import open_regular_file
from tasks.runtime.files import sync_folder
from tasks.runtime.settings import Home

SUMS = "SHA256SUMS"
BACKSLASH = "\\"  # begins a line of SHA256SUMS whose name has a line break or a backslash, both escaped
MADE_AGAIN = frozenset({"locks", "compiled", "numba", "matplotlib", "tmp", "serve", "server", "fork-server"})
"""Folders of a home that hold nothing that is not made again by itself."""

INDEX = frozenset({"index.db", "index.stamp", "checkpoint.json"})  # newer than the ledger of the backup, and made again
LEDGER = ("ledger.jsonl", "head.json")
SQLITE, BESIDE_SQLITE = b"SQLite format 3\0", ("-wal", "-shm", "-journal")
ByteProgress = Callable[[int], None]  # bytes so far


@dataclass(frozen=True, slots=True)
class BackupSummary:
    """What a backup holds. entries: of the ledger, the last of them is the newest thing in it."""

    files: int
    bytes: int
    entries: int


@dataclass(slots=True)
class _Sums:
    """The checksums of what was written so far."""

    lines: list[str] = field(default_factory=list)
    total: int = 0

    def add(self, name: str, digest: str, size: int) -> None:
        escaped = name.replace("\\", "\\\\").replace("\n", "\\n")
        self.lines.append(f"{'' if escaped == name else BACKSLASH}{digest}  {escaped}\n")
        self.total += size

    @property
    def content(self) -> bytes:
        return "".join(self.lines).encode(errors="surrogateescape")


class _Hashed(io.RawIOBase):
    """A file that is hashed as it is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._digest = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self._digest.update(content)
        return content

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()


def back_up(home: Home, output: Path, progress: ByteProgress = lambda done: None) -> BackupSummary:
    """Write the private folder into a new file, readable by its owner alone; whole, or not there.

    Raises InputError where there is no home, the file is there already, or cannot be written.
    Cost: every file is read once, and those of SQLite copied besides.
    """
    _refuse(home, output)
    draft = output.with_name(f".{output.name}.{os.urandom(16).hex()}.tmp")
    try:
        with use_store(), ExitStack() as stack:
            own = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=home.folder("tmp"))))
            file = stack.enter_context(os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"))
            made = _write_archive(home, file, own, progress)
            file.flush()
            os.fsync(file.fileno())
        output.hardlink_to(draft)
        sync_folder(output.parent)
    except OSError as error:
        what, remedy = f"the backup cannot be written ({error.strerror})", "make room, or choose another place"
        raise InputError("backup", "--output", what, "a new file on a disk with room", remedy, str(output)) from None
    finally:
        draft.unlink(missing_ok=True)
    return made


def _refuse(home: Home, output: Path) -> None:
    if not (home.root / "keys").is_dir():
        remedy = "set SDCERT_HOME to the folder to back up"
        raise InputError("no-home", "SDCERT_HOME", "there is no private folder with keys", "a home", remedy, str(home.root))
    if output.exists() or output.is_symlink():
        raise InputError(
            "backup-exists", "--output", "there is a file already", "a new file", "choose another name", str(output)
        )
    if not output.parent.is_dir() or output.parent.resolve().is_relative_to(home.root.resolve()):
        what = "its folder is not there, or lies in the private folder itself"
        raise InputError("backup-place", "--output", what, "a file outside the private folder", "choose another", str(output))


def _write_archive(home: Home, file: BinaryIO, own: Path, progress: ByteProgress) -> BackupSummary:
    sums = _Sums()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        entries = _put_ledger(home, tar, own, sums)
        for name, path in _walk_files(home.root):
            with suppress(FileNotFoundError):  # replaced or removed meanwhile: what it was for is in a newer file
                _put(tar, name, _copy_if_database(path, own), sums)
                progress(sums.total)
        content = sums.content
        tar.addfile(_create_tar_info(SUMS, len(content), time.time(), 0o600), io.BytesIO(content))
    return BackupSummary(len(sums.lines), sums.total, entries)


def _put_ledger(home: Home, tar: tarfile.TarFile, own: Path, sums: _Sums) -> int:
    """The ledger as it is at one moment; returns how many entries it has. One that is damaged is copied as it is."""
    ledger = Ledger(home.root / "ledger")
    if not ledger.exists():
        return 0
    with ledger.hold_lock():
        there = [name for name in LEDGER if (ledger.folder / name).is_file()]
        for name in there:
            shutil.copy2(ledger.folder / name, own / name)
    for name in there:
        _put(tar, f"ledger/{name}", own / name, sums)
    return sum(1 for _ in Ledger(own).lines())


def _walk_files(root: Path) -> Iterator[tuple[str, Path]]:
    """Every regular file of a home with its name in the backup, but the ledger, what is made again, and drafts."""
    walked = os.walk(
        root, followlinks=True, onerror=_handle_walk_error
    )  # a store may have been moved to another disk, and linked
    for here, folders, names in walked:
        relative = Path(here).relative_to(root)
        folders[:] = sorted(name for name in folders if relative.parts or name not in MADE_AGAIN)
        for name in sorted(names):
            if _is_in_backup(relative / name) and _is_file(Path(here, name), (relative / name).as_posix()):
                yield (relative / name).as_posix(), Path(here, name)


def _handle_walk_error(error: OSError) -> None:
    """A folder that cannot be listed is told; one that was removed meanwhile is none."""
    if not isinstance(error, FileNotFoundError):
        raise error


def _is_file(path: Path, name: str) -> bool:
    """Also by a link: keys may be mounted so. A link that leads nowhere is a disk that is not there: no backup without it."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        if not path.is_symlink():
            return False  # removed meanwhile
        what, remedy = f"a link of the home leads nowhere ({error.strerror})", "mount what it leads to, or remove the link"
        raise InputError("backup-link", "SDCERT_HOME", what, "a home that is there as a whole", remedy, name) from None


def _is_in_backup(name: Path) -> bool:
    if is_draft_name(name.name) or name.name.endswith((".lock", *BESIDE_SQLITE)):
        return False
    return name.parts[0] != "ledger" or name.name not in {*INDEX, *LEDGER}


def _copy_if_database(path: Path, own: Path) -> Path:
    """A file that does not change while it is read: a database of SQLite is copied by SQLite."""
    with open_regular_file(path) as file:
        if file.read(len(SQLITE)) != SQLITE:
            return path
    copy = own / "copy.db"
    copy.unlink(missing_ok=True)
    shutil.copystat(path, _copy_database(path, copy))
    return copy


def _copy_database(path: Path, copy: Path) -> Path:
    source, target = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True), sqlite3.connect(copy)
    try:
        source.backup(target)
    except sqlite3.DatabaseError:  # it is damaged, or only begins like one
        shutil.copyfile(path, copy)
    finally:
        source.close()
        target.close()
    return copy


def _put(tar: tarfile.TarFile, name: str, path: Path, sums: _Sums) -> None:
    """Put as many bytes of a file as it has now: what is appended to it later is left out."""
    with open_regular_file(path) as file:
        known = os.fstat(file.fileno())
        hashed = _Hashed(file)
        tar.addfile(_create_tar_info(name, known.st_size, known.st_mtime, known.st_mode & 0o700), hashed)
    sums.add(name, hashed.digest, known.st_size)


def _create_tar_info(name: str, size: int, modified: float, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = size, modified, mode
    return info
