"""Recreates the private folder from a backup file; it gets its name only after every checksum was right."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tasks.audit.ledger.ledger import Ledger
from tasks.audit.maintenance.backup import BACKSLASH, SUMS, ByteProgress
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_TABLE, open_regular_file
from tasks.runtime.files import sync_folder
from tasks.runtime.settings import Home

PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class RestoreSummary:
    files: int
    bytes: int
    entries: int


def restore(backup: Path, home: Home, progress: ByteProgress = lambda done: None) -> RestoreSummary:
    """Make the home of a backup. It appears whole, or not at all.

    Raises InputError where there is a home already, the file cannot be read, or is not what was written.
    """
    _refuse(backup, home)
    draft = home.root.with_name(f".{home.root.name}.restoring-{os.urandom(8).hex()}")
    try:
        home.root.parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir(mode=0o700)
        with open_regular_file(backup) as file, tarfile.open(fileobj=file, mode="r:") as tar:
            found, sums, total = _unpack_backup(tar, draft, progress)
        if found != sums or not sums:
            raise _create_damage_error("its checksums are not those of its files")
        _empty(home.root)
        draft.rename(home.root)
        sync_folder(home.root.parent)
    except (tarfile.TarError, EOFError, ValueError, OverflowError, MemoryError):  # the last three: of numbers in its headers
        raise _create_damage_error("it is not a whole backup") from None
    except OSError as error:
        what, remedy = f"it cannot be read, or the home cannot be written ({error.strerror})", "make room, or choose another"
        raise InputError("restore", "sdcert restore", what, "a backup, and a disk with room", remedy, str(backup)) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return RestoreSummary(len(found), total, sum(1 for _ in Ledger(home.root / "ledger").lines()))


def _refuse(backup: Path, home: Home) -> None:
    if not backup.is_file():
        remedy = "name the file that `sdcert backup` wrote"
        raise InputError("no-backup", "sdcert restore", "there is no such file", "a backup", remedy, str(backup))
    if home.root.exists() and (not home.root.is_dir() or any(path.is_file() for path in home.root.rglob("*"))):
        what, remedy = "there is a home already: nothing is written over it", "move it away, or set SDCERT_HOME to a new folder"
        raise InputError("home-exists", "SDCERT_HOME", what, "a folder that is not there, or empty", remedy, str(home.root))


def _unpack_backup(tar: tarfile.TarFile, draft: Path, progress: ByteProgress) -> tuple[dict[str, str], dict[str, str], int]:
    """Write what is in a backup; returns its checksums as they are and as they were written down, and the bytes."""
    found: dict[str, str] = {}
    sums: dict[str, str] = {}
    total = 0
    for member in tar:
        if not member.isreg() or member.issparse() or not _inside(member.name) or member.name in found:
            raise _create_damage_error("it holds what no home holds")
        if member.name == SUMS:
            sums = _sums(tar, member)
            continue
        found[member.name] = _put(tar, member, draft / member.name)
        total += member.size
        progress(total)
    return found, sums, total


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return path.as_posix() == name and not path.is_absolute() and ".." not in path.parts and "\0" not in name


def _put(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> str:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    content, digest = tar.extractfile(member), hashlib.sha256()
    mode = 0o600 if member.mode & stat.S_IWUSR else 0o400
    with content as source, os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:  # type: ignore[union-attr]  # it is a regular file
        while piece := source.read(PIECE):
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    os.utime(path, (member.mtime, member.mtime))
    return digest.hexdigest()


def _sums(tar: tarfile.TarFile, member: tarfile.TarInfo) -> dict[str, str]:
    content = tar.extractfile(member)
    text = b"" if content is None or member.size > LARGEST_TABLE else content.read()
    try:
        pairs = [line.split("  ", 1) for line in text.decode(errors="surrogateescape").split("\n") if line]
        return dict((_unescape_name(name), digest[1:]) if digest[0] == BACKSLASH else (name, digest) for digest, name in pairs)
    except (ValueError, IndexError):
        raise _create_damage_error("its checksums cannot be read") from None


def _unescape_name(name: str) -> str:
    return "\\".join(piece.replace("\\n", "\n") for piece in name.split("\\\\"))


def _empty(root: Path) -> None:
    """Remove folders without files, which stand where the home will be."""
    if root.is_dir():
        for folder in sorted((path for path in root.rglob("*") if path.is_dir()), reverse=True):
            folder.rmdir()
        root.rmdir()


def _create_damage_error(what: str) -> InputError:
    remedy = "take another backup; `tar tf` and `sha256sum -c SHA256SUMS` say more"
    return InputError("backup-damaged", "sdcert restore", what, "a file as `sdcert backup` wrote it", remedy)
