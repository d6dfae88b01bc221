"""The release folder: it appears whole or not at all, and holds no table unless the release is certified.

Beside the folders of a release's runs, `latest` is a link to the newest that is certified, if that stands. It is put right
whenever somebody looks (at the end of each run, by a watch, by `sdcert revoke`), from the ledger and the folders alone:
whatever was killed in between, the next one mends it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from tasks.audit.lookup.index import Index
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_file
from tasks.runtime.files import hold_file_lock, sync_folder, write_whole
from tasks.runtime.processes import is_taken
from tasks.runtime.settings import Home, read_users_umask

PARTIAL = ".partial-"
LATEST, DRAFT_OF_LATEST = "latest", ".latest-"
CERTIFICATE, UNCERTIFIED = "certificate.json", "statement.json"
_RUN = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")


FileContent = bytes | Callable[[BinaryIO], None]  # the bytes, or what writes them
AddFile = Callable[[str, FileContent], str]  # adds a file of this name; returns the SHA-256 of its bytes


@dataclass(frozen=True, slots=True)
class FolderDraft:
    """A release folder that nobody sees yet. final: where it will appear. held: the open folder, for as long as it is written.

    Raises FileNotFoundError where another folder, or a link to one, has taken its place.
    """

    folder: Path
    final: Path
    held: int | None = None

    def add(self, name: str, content: FileContent) -> str:
        """Write a file; returns the SHA-256 of what was written."""
        self._is_the_same()
        digested = _Digested()

        def write(file: BinaryIO) -> None:
            digested.file = file
            digested.take(content)

        write_whole(self.folder / name, write, mode=0o666 & ~read_users_umask(), whatever_umask=True)
        return digested.digest.hexdigest()

    def appear(self) -> Path:
        """Make the folder appear by one rename, with the rights that the user's umask leaves."""
        self._is_the_same()
        self.folder.chmod(0o777 & ~read_users_umask())
        self.folder.rename(self.final)
        sync_folder(self.final.parent)
        return self.final

    def _is_the_same(self) -> None:
        there = not self.folder.parent.is_symlink() and self.folder.is_dir() and not self.folder.is_symlink()
        if not there or (self.held is not None and not os.path.samestat(self.folder.stat(), os.fstat(self.held))):
            raise FileNotFoundError(errno.ENOENT, "the draft of the release folder was taken away", str(self.folder))


@contextmanager
def draft_release_folder(output: Path, release: str, run: str) -> Iterator[FolderDraft]:
    """A draft of `<output>/<release>/<run>/`. Raises InputError where the folder of the release is a link.

    What has not appeared at the end is removed, unless the ledger speaks of it already: then who looks next lets it appear.
    """
    parent = output / release
    refuse_link(parent)
    _make_folders(parent)
    refuse_link(parent)  # whoever may write there could have been quicker
    clear_partial(parent)
    folder = parent / f"{PARTIAL}{os.getpid()}-{run}"
    folder.mkdir(mode=0o700)
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    draft = FolderDraft(folder, parent / run, held)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield draft
    except BaseException:
        if not _is_written_down(draft.folder, run):
            shutil.rmtree(draft.folder, ignore_errors=True)
        raise
    finally:
        os.close(held)


def _make_folders(folder: Path) -> None:
    """Make the folders that are missing, with the rights that the user's umask leaves."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        with suppress(FileExistsError):  # another process was quicker
            path.mkdir()
            path.chmod(0o777 & ~read_users_umask())


def refuse_link(parent: Path) -> None:
    """InputError where the folder of a release is a link: what is written and removed there would be somebody else's.

    `--output` above it is the user's own choice, and may be one.
    """
    if parent.is_symlink():
        what = "the folder of the release is a link, which is not followed"
        remedy = "put a folder in its place, or choose another --output"
        raise InputError("output", "--output", what, "a folder", remedy, str(parent))


def clear_partial(parent: Path) -> None:
    """Remove drafts whose writer died; one that the ledger speaks of is complete, and appears as its writer meant it to."""
    if parent.is_symlink():
        return
    for draft in parent.glob(f"{PARTIAL}*"):
        if draft.is_symlink():
            continue
        writer, _, run = draft.name.removeprefix(PARTIAL).partition("-")
        if not writer.isdecimal() or is_taken(int(writer)) or _is_held(draft):
            continue
        if _is_written_down(draft, run):
            with suppress(OSError):  # another process was quicker
                FolderDraft(draft, parent / run).appear()
        else:
            shutil.rmtree(draft, ignore_errors=True)


def _is_held(draft: Path) -> bool:
    """Is its writer there, where its id says nothing: in another container, or on another machine?"""
    try:
        descriptor = os.open(draft, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _is_written_down(draft: Path, run: str) -> bool:
    """Did its writer die between the entry in the ledger and the rename?"""
    with Index.current() as index:
        ended = index.run(run).ending if index.begin_so(run) == [run] and not index.run(run).revocations else None
    statements = (draft / name for name in (CERTIFICATE, UNCERTIFIED) if (draft / name).is_file())
    return ended is not None and any(compute_sha256(read_file(path)) == ended.certificate for path in statements)


@dataclass(frozen=True, slots=True)
class Latest:
    """To which run `latest` pointed, and points now; None: to none."""

    before: str | None
    now: str | None


def settle_latest(parent: Path, release: str) -> Latest:
    """Let `latest` in the folder of a release point to its newest run that is certified, stands, and has its folder there.

    It never moves back to an older run: when the certificate that it points to was revoked it goes, and comes back with the
    next run that is certified. A rehearsal is never among them. What is called `latest` and is no link is left as it is. A
    folder that the ledger speaks of, and whose writer was killed before it appeared, appears first. Raises OSError.
    """
    link = parent / LATEST
    if not parent.is_dir() or parent.is_symlink():
        return Latest(None, None)
    with hold_file_lock(_find_lock_path(parent)):
        clear_partial(parent)
        _clear_links(parent)
        before = str(link.readlink()) if link.is_symlink() else None
        if before is None and link.exists():
            return Latest(None, None)
        wanted = _choose_latest_run(parent, release, before)
        if wanted is None and before is not None:
            link.unlink()
            sync_folder(parent)
        elif wanted is not None and wanted != before:
            _point(link, wanted)
        return Latest(before, wanted)


def _choose_latest_run(parent: Path, release: str, before: str | None) -> str | None:
    """Where `latest` is to point, given where it points."""
    with Index.current() as index:
        issued = {row["run"]: row for row, _ in index.list_certified_runs() if row["release"] == release}
        withdrawn = max((row["ended"] for row in issued.values() if row["revoked"] is not None), default=-1)
        order = {run: row["ended"] for run, row in issued.items() if row["revoked"] is None}
        since = [run for run in order if order[run] > withdrawn]  # what is older was not chosen by anybody
        there = (run for run in sorted(since, key=order.__getitem__, reverse=True) if _is_there(parent / run, issued[run]))
        newest = next((run for run in there if index.fits([run])), None)
    if before is None or before in issued:
        newer_gone = before in order and (newest is None or order[before] > order[newest])
        return before if newer_gone else newest  # a folder that was taken away does not bring back an older one
    of_another_home = _RUN.fullmatch(before) is not None and (parent / before).is_dir()
    return before if newest is None or (of_another_home and before > newest) else newest


def _is_there(folder: Path, row: dict[str, Any]) -> bool:
    try:
        here = not folder.is_symlink()
        return here and bool(compute_sha256(read_file(folder / CERTIFICATE)) == row["certificate"])
    except OSError:
        return False


def _point(link: Path, run: str) -> None:
    """Replace the link by one rename: whoever follows it meets the old folder or the new one."""
    draft = link.with_name(f"{DRAFT_OF_LATEST}{os.getpid()}-{run}")
    draft.unlink(missing_ok=True)
    draft.symlink_to(run)
    draft.replace(link)
    sync_folder(link.parent)


def _clear_links(parent: Path) -> None:
    for draft in parent.glob(f"{DRAFT_OF_LATEST}*"):
        writer = draft.name.removeprefix(DRAFT_OF_LATEST).partition("-")[0]
        if writer.isdecimal() and not is_taken(int(writer)):
            draft.unlink(missing_ok=True)


def _find_lock_path(parent: Path) -> Path:
    return Home.current().locks / f"latest-{compute_sha256(str(parent.absolute()).encode())[:16]}.lock"


def as_json(content: Any) -> bytes:
    """JSON for people and programs alike: sorted, indented, no NaN."""
    return json.dumps(content, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False).encode() + b"\n"


class _Digested(io.RawIOBase):
    """A file that digests what is written to it, and hands it on to another file, if there is one."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.file: BinaryIO | None = None

    def writable(self) -> bool:
        return True

    def write(self, content: Any, /) -> int:
        self.digest.update(content)
        if self.file is not None:
            self.file.write(content)
        return memoryview(content).nbytes

    def take(self, content: FileContent) -> None:
        if isinstance(content, bytes):
            self.write(content)
        else:
            content(cast(BinaryIO, self))


def digest_file(_: str, content: FileContent) -> str:
    """What `FolderDraft.add` returns, where nothing is to be written."""
    digested = _Digested()
    digested.take(content)
    return digested.digest.hexdigest()


def compute_sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
