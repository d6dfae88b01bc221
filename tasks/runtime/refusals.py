"""What the operating system refuses (no room, no right, no such kind of file) as one sentence about one file.

That is no fault of the program, and nobody is helped by a traceback: the command ends with exit code 2, as for a wrong input.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tasks.microdata.errors import InputError

NO_ROOM_BYTES = 2_000_000  # with less a database cannot be written to
FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "this user's share of the disk (quota) is used up",
    errno.EFBIG: "the limit on the size of files on this disk is reached",
}
DENIED = {
    errno.EACCES: "this user may not use it",
    errno.EPERM: "this user may not do that",
    errno.EROFS: "the disk is mounted read-only",
}
UNFIT = {
    errno.EISDIR: "there is a folder where a file must be",
    errno.ENOTDIR: "there is no folder where one must be",
    errno.ELOOP: "there is a link where none is followed, or one that leads to itself",
    errno.ENAMETOOLONG: "the name is too long for this disk",
    errno.EIO: "the disk does not read or write it",
    errno.ESTALE: "the disk that it was on is no longer mounted",
}
_OF_SQLITE = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_PERM: errno.EACCES,
}


def explain_refusal(error: OSError) -> str:
    """Why the system refused, in words that name the disk where it is the disk."""
    known = FULL | DENIED | UNFIT
    return known.get(error.errno or 0) or error.strerror or type(error).__name__


def find_system_refusal(error: BaseException, home: Path) -> InputError | None:
    """What the system refused, where that is why something broke; None where it is not known to be.

    home: the private folder. An error of a server's says nothing of its disk: then a disk without room says it.
    """
    for cause in _causes(error):
        number = cause.errno if isinstance(cause, OSError) else _OF_SQLITE.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF)
        if number in FULL | DENIED | UNFIT:
            name = cause.filename if isinstance(cause, OSError) else None
            return _sentence(number, Path(os.fsdecode(name)) if isinstance(name, str | bytes) else None, home)
    full = next(iter(_full_disks(home)), None)
    return None if full is None else _sentence(errno.ENOSPC, full, home)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it was raised from; not what was merely being handled when it was raised."""
    seen: list[BaseException] = []
    while isinstance(error, BaseException) and error not in seen:
        seen.append(error)
        yield error
        error = getattr(error, "cause", None) or getattr(error, "orig", None) or error.__cause__


def _full_disks(home: Path) -> Iterator[Path]:
    """The folders that the program writes to whose disk is full."""
    for folder in (home, Path(tempfile.gettempdir())):
        try:
            if shutil.disk_usage(folder).free < NO_ROOM_BYTES:
                yield folder
        except OSError:
            continue


def _sentence(number: int, path: Path | None, home: Path) -> InputError:
    full = number in FULL
    if path is None and full:
        path = next(iter(_full_disks(home)), None)
    where = "the disk" if path is None else "SDCERT_HOME" if path.is_relative_to(home) else "the file system"
    what = f"{(FULL | DENIED | UNFIT)[number]}{': nothing more can be written' if full else ''}"
    if full:
        code, allowed, remedy = "disk-full", "room on that disk", "make room, then give the same command again"
    elif number in DENIED:
        code, allowed = "not-allowed", "a file or folder that this user may read and write"
        remedy = "work as its owner, or name another place (SDCERT_HOME for the private folder, --output for releases)"
    else:
        code, allowed, remedy = (
            "unfit-file",
            "plain files and folders, with names that this disk takes",
            "put it right, or name another",
        )
    return InputError(code, where, what, allowed, remedy, None if path is None else str(path))
