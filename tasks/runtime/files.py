"""Writing files so that they are whole or not there, private, and never written by two processes at once."""

from __future__ import annotations

import fcntl
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def write_whole(
    path: Path, content: bytes | Callable[[BinaryIO], None], *, mode: int = 0o600, whatever_umask: bool = False
) -> None:
    """Write a file under a temporary name, sync it, and rename it into place: a reader sees all of it or nothing.

    content: the bytes, or what writes them, for those that are too many to be held at once.
    A link of this name is replaced, and what it leads to is left alone. whatever_umask: the mode is exactly this.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            if whatever_umask:
                os.fchmod(file.fileno(), mode)
            if isinstance(content, bytes):
                file.write(content)
            else:
                content(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        if error.errno is not None:
            error.filename = str(path)  # a write knows no name, and that of the draft says nothing
        raise
    finally:
        with suppress(OSError):  # a name that is too long: what was met first is told
            temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_first(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Write a file unless it is there: of several writers at once the first wins, and each then reads what the first wrote."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    write_whole(draft, content, mode=mode)
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
    finally:
        draft.unlink()
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def append_line(path: Path, line: str) -> None:
    """Append one line to a private file, synced, with the file locked: lines of several processes never mix."""
    with hold_file_lock(path.with_name(f".{path.name}.lock")):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "rb+") as file:
            torn = file.seek(0, os.SEEK_END) > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
            file.write((b"\n" if torn else b"") + line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def hold_file_lock(path: Path, *, shared: bool = False, timeout_seconds: float | None = None) -> Iterator[None]:
    """Hold a lock on a file, exclusive or shared; the kernel releases it when the holder dies, however it dies."""
    descriptor = try_lock(path, shared=shared)
    started = time.monotonic()
    while descriptor is None:
        if timeout_seconds is not None and time.monotonic() - started > timeout_seconds:
            raise TimeoutError(f"{path} is locked by another process")
        time.sleep(0.05)
        descriptor = try_lock(path, shared=shared)
    try:
        yield
    finally:
        os.close(descriptor)


def try_lock(path: Path, *, shared: bool = False) -> int | None:
    """A lock as an open descriptor (closing it releases the lock), or None while another's hinders it.

    Several hold a shared lock at once, and none of them while one holds an exclusive one. The library filelock has no shared
    lock by flock, and makes folders that others may read.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
