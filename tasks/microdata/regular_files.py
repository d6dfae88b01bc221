"""Open files for reading, here and nowhere else: regular files alone, and at most a stated number of bytes of them.

What lies where a file is expected may be a device that never ends, or a pipe that nobody writes to, also behind a link. Neither
is opened. A file that is larger than what it can be, or grows while it is read, is not read to its end. A read from a disk of
another machine that no longer answers cannot be ended from here: it goes on until that machine answers.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import SEEK_END, BufferedIOBase, BufferedReader
from pathlib import Path
from typing import Literal

from tasks.microdata.errors import InputError

SMALLEST_LIMIT = 4 << 30


def _find_largest_table() -> int:
    """A quarter of the machine's memory: what is read and what is made of it have to fit."""
    names = os.sysconf_names
    known = {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(names)
    return max(SMALLEST_LIMIT, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4 if known else 0)


LARGEST_TABLE = _find_largest_table()  # bytes of a table, a model or a page: what a compressed file may unpack to
LARGEST_RECORD = 64 << 20  # bytes of a manifest, an entry of a cache, a list
LARGEST_NOTE = 1 << 20  # bytes of a key, a seed, the name of one, a note of a process
_PIECE_BYTES = 1 << 20

_KINDS = (
    (stat.S_ISDIR, errno.EISDIR, "it is a folder"),
    (stat.S_ISFIFO, errno.EINVAL, "it is a pipe, not a file"),
    (stat.S_ISSOCK, errno.EINVAL, "it is a socket, not a file"),
)


class UnreadableFile(InputError, OSError):
    """What lies at a path is no regular file, or is larger than it can be. `strerror` says which."""

    def __init__(self, path: Path, number: int, reason: str, allowed: str) -> None:
        remedy = "look at what lies there, and at where a link leads; put the file itself there"
        InputError.__init__(self, "unreadable-file", str(path), f"The file cannot be read: {reason}.", allowed, remedy)
        self.errno, self.strerror, self.filename = number, reason, str(path)


@contextmanager
def open_regular_file(path: Path, largest: int | None = None) -> Iterator[BufferedReader]:
    """Open a regular file for reading; UnreadableFile for anything else, other OSErrors as `open` raises them.

    It is looked at before it is opened, because opening a device may do something, and again when it is open.
    largest: bytes; UnreadableFile for a file that has more.
    """
    _refuse_irregular(path.stat().st_mode, path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        _refuse_irregular(found.st_mode, path)
        if largest is not None and found.st_size > largest:
            raise _create_size_error(path, largest)
    except UnreadableFile:
        os.close(descriptor)
        raise
    with os.fdopen(descriptor, "rb") as file:
        yield file


def read_file(path: Path, largest: int = LARGEST_RECORD) -> bytes:
    """The bytes of a regular file of at most `largest` bytes; UnreadableFile for anything else."""
    with open_regular_file(path, largest) as file:
        content = read_pieces(file, largest)
    if len(content) > largest:
        raise _create_size_error(path, largest)
    return content


def read_pieces(file: BufferedIOBase, largest: int) -> bytes:
    """The bytes of an open file from here to its end, but little more than `largest` of a file that grows while it is read."""
    begin = file.tell()
    n_bytes = file.seek(0, SEEK_END) - begin
    file.seek(begin)
    pieces, read_bytes = [], 0
    while read_bytes <= largest and (piece := file.read(max(min(n_bytes, largest) - read_bytes, _PIECE_BYTES))):
        pieces.append(piece)
        read_bytes += len(piece)
    return b"".join(pieces)


def read_text_file(
    path: Path, largest: int = LARGEST_RECORD, *, encoding: str = "utf-8", errors: Literal["strict", "replace"] = "strict"
) -> str:
    """The text of a regular file of at most `largest` bytes; lines end with a line feed, as `Path.read_text` gives them."""
    return read_file(path, largest).decode(encoding, errors).replace("\r\n", "\n").replace("\r", "\n")


def _create_size_error(path: Path, largest: int) -> UnreadableFile:
    return UnreadableFile(path, errno.EFBIG, f"it is larger than {largest:,} bytes", f"at most {largest:,} bytes")


def _refuse_irregular(mode: int, path: Path) -> None:
    if stat.S_ISREG(mode):
        return
    found = ((number, reason) for is_kind, number, reason in _KINDS if is_kind(mode))
    number, reason = next(found, (errno.EINVAL, "it is a device, not a file"))
    raise UnreadableFile(path, number, reason, "a regular file")
