"""The ledger: one file of signed lines, only ever appended to, each line bound to the one before it.

An entry is acknowledged when `append` returns: its line is synced to the disk. Whatever ends the process before that leaves
either no line, or one that stands whole, or a torn tail without a line break, which the next append sets aside in a file of
its own.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pydantic import ValidationError

from tasks.audit.ledger.entries import AskedBy, ClockSetBack, Entry, EntryEvent, LedgerOpened
from tasks.audit.ledger.head import LARGEST_HEAD, LedgerHead, parse_head, serialise_head
from tasks.audit.ledger.merkle import hash_leaf
from tasks.audit.ledger.order import BACKWARDS
from tasks.audit.signing.envelope import ENTRY_TYPE, LARGEST_BYTES, NotAnEnvelope, open_envelope, sign_envelope
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import open_regular_file
from tasks.runtime.files import hold_file_lock, sync_folder, write_whole
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from tasks.audit.signing.keys import SigningKey  # keys append to the ledger

SECONDS_TO_WAIT = 300.0  # for another process that appends
VERIFY = "`sdcert audit verify` says what is wrong; bring ledger.jsonl back from a backup, and never edit it"


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """A whole line of the file, without its line break. index: its place, counted from 0."""

    index: int
    first_byte: int
    content: bytes

    @property
    def leaf(self) -> bytes:
        return hash_leaf(self.content)


@dataclass(frozen=True, slots=True)
class Appended:
    """An acknowledged entry. leaf: its leaf hash; size, root: of the tree that ends with it, in hexadecimal."""

    index: int
    leaf: str
    size: int
    root: str
    entry: Entry
    first_byte: int
    n_bytes: int


class Ledger:
    """The ledger in a folder. Opening it reads nothing and makes nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "ledger.jsonl"
        self.head_path = folder / "head.json"
        self._lock = folder / ".lock"

    @classmethod
    def current(cls) -> Ledger:
        """The ledger of this home; its folder is made by the first append."""
        return cls(Home.current().root / "ledger")

    def exists(self) -> bool:
        """Whether there is a ledger: its file, a link in place of it, or a head.json that speaks of one."""
        return self._there(self.path) or self._there(self.head_path)

    def _there(self, path: Path) -> bool:
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise self._not_usable(error) from None
        return True

    @contextmanager
    def hold_lock(self) -> Iterator[Ledger]:
        """The ledger with nobody appending to it; do not call `append` inside.

        Raises InputError where the lock cannot be had.
        """
        with ExitStack() as stack:
            try:
                for folder in (self.folder.parent, self.folder):
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                stack.enter_context(hold_file_lock(self._lock, timeout_seconds=SECONDS_TO_WAIT))
            except TimeoutError:
                raise _create_busy_error() from None
            except OSError as error:
                raise self._not_usable(error) from None
            yield self

    def append(
        self, event: EntryEvent | Callable[[Ledger], EntryEvent], key: SigningKey, at: datetime | None = None
    ) -> Appended:
        """Sign an event, append it, and return when it is on the disk. The first entry of a new ledger is `LedgerOpened`.

        event: what happened, or a function that is called while nobody else can append and says it. An exception of the
        function appends nothing. at: when, default now.
        Raises InputError where an acknowledged entry is missing or damaged, the clock says less than the last entry, or the
        file cannot be written; nothing was appended then. Cost: one signature and three syncs, however long the ledger is.
        """
        with self.hold_lock(), self._open_file(os.O_RDWR | os.O_APPEND | os.O_CREAT) as file:
            head = self._ready(file)
            if head.size == 0:
                opened = LedgerOpened(key=key.claim)
                head, first = self._write(file, LedgerHead(secrets.token_hex(16)), opened, key, at)
                if isinstance(event, LedgerOpened):
                    return first
            at = at or self._now(file, head)
            made = event(self) if callable(event) else event
            return self._write(file, head, made, key, at)[1]

    def append_clock_set_back(self, reason: str, asked_by: AskedBy, key: SigningKey) -> Appended:
        """Note that the clock is right though it says less than the last entry; entries follow from there.

        Raises InputError where it does not say less, and as `append` does.
        """
        with self.hold_lock(), self._open_file(os.O_RDWR | os.O_APPEND | os.O_CREAT) as file:
            head, now = self._ready(file), datetime.now(UTC)
            latest = self._last_at(file, head)
            if latest is None or latest - now <= BACKWARDS:
                what, remedy = "the clock says no less than the last entry of the ledger", "nothing is to be noted"
                raise InputError("clock-fits", "ledger", what, "a clock that was set back", remedy)
            return self._write(file, head, ClockSetBack(latest=latest, reason=reason, asked_by=asked_by), key, now)[1]

    def refuse_clock_behind(self) -> None:
        """InputError where the clock says less than the last entry: nothing could be appended."""
        if self.exists():
            kept = self._read_head_file()
            with self._open_file(os.O_RDONLY) as file:
                self._now(file, self._catch_up_head(file, kept))

    def head(self) -> LedgerHead:
        """Where the ledger ends now. Cost: of the entries since head.json was written.

        Raises InputError where the file does not agree with head.json, or an entry since then is damaged.
        """
        if not self.exists():
            return LedgerHead()
        kept = self._read_head_file()
        with self._open_file(os.O_RDONLY) as file:
            return self._catch_up_head(file, kept)

    def reading(self) -> AbstractContextManager[BinaryIO]:
        """The file, opened for reading. Raises InputError where it is missing, a link, or may not be read."""
        return self._open_file(os.O_RDONLY)

    def lines(self, first_byte: int = 0, *, index: int = 0) -> Iterator[LedgerLine]:
        """Every whole line from a byte on, where the line `index` begins; a torn tail is left out.

        Nothing is checked. The last line may be one that is not yet acknowledged, and gone a moment later if the disk is full.
        """
        if not self._there(self.path):
            return
        with self._open_file(os.O_RDONLY) as file:
            for content in read_whole_lines(file, first_byte):
                yield LedgerLine(index, first_byte, content)
                index, first_byte = index + 1, first_byte + len(content) + 1

    def entry(self, first_byte: int, n_bytes: int) -> Entry:
        """The entry whose line begins at a byte; n_bytes: its length, with or without its line break. Not verified.

        Raises InputError where there is no entry.
        """
        with self._open_file(os.O_RDONLY) as file:
            file.seek(first_byte)
            return self._read_entry(file.read(min(n_bytes, LARGEST_BYTES + 1)).removesuffix(b"\n"), first_byte)

    def _read_entry(self, content: bytes, first_byte: int) -> Entry:
        try:
            return open_entry(content)
        except NotAnEnvelope as error:
            raise self.create_damage_error(f"what stands at byte {first_byte} of ledger.jsonl is no entry: {error}") from None

    def _ready(self, file: BinaryIO) -> LedgerHead:
        """The head of a file that ends with a whole entry: a torn tail is set aside first."""
        kept = self._read_head_file()
        head = self._catch_up_head(file, kept)
        torn = os.fstat(file.fileno()).st_size - head.n_bytes
        if torn:
            self._set_aside(file, head.n_bytes)
        if head != kept:
            for left in (*self.folder.glob(".head.json.*.tmp"), *self.folder.glob(".torn-*.tmp")):
                left.unlink(missing_ok=True)  # of a process that was killed: we hold the lock
        return head

    def _read_head_file(self) -> LedgerHead | None:
        try:
            with open_regular_file(self.head_path) as file:
                return parse_head(file.read(LARGEST_HEAD))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._not_usable(error) from None

    def _catch_up_head(self, file: BinaryIO, kept: LedgerHead | None) -> LedgerHead:
        head = kept or LedgerHead()
        if kept is not None:
            self._agrees(file, kept)
        for content in read_whole_lines(file, head.n_bytes):
            entry = self._read_entry(content, head.n_bytes)
            follows = (head.ledger or entry.ledger, head.size, head.last)
            if (entry.ledger, entry.index, entry.previous) != follows:
                raise self.create_damage_error(f"line {head.size} of ledger.jsonl does not follow the one before it")
            head = head.add_leaf(entry.ledger, hash_leaf(content), len(content) + 1)
        return head

    def _agrees(self, file: BinaryIO, kept: LedgerHead) -> None:
        if os.fstat(file.fileno()).st_size < kept.n_bytes:
            raise self.create_damage_error(f"ledger.jsonl has lost entries: {kept.size} were acknowledged, and it is shorter")
        file.seek(kept.last_byte)
        last = file.read(kept.n_bytes - kept.last_byte)
        if not last.endswith(b"\n") or hash_leaf(last[:-1]).hex() != kept.last:
            raise self.create_damage_error(
                f"the last acknowledged entry, {kept.size - 1}, is not where head.json says, or was changed"
            )
        entry = self._read_entry(last[:-1], kept.last_byte)
        if (entry.ledger, entry.index) != (kept.ledger, kept.size - 1):
            raise self.create_damage_error(
                "head.json speaks of another ledger, or of another number of entries, than the last entry"
            )

    def _last_at(self, file: BinaryIO, head: LedgerHead) -> datetime | None:
        if head.size == 0:
            return None
        file.seek(head.last_byte)
        return self._read_entry(file.read(head.n_bytes - head.last_byte).removesuffix(b"\n"), head.last_byte).at

    def _now(self, file: BinaryIO, head: LedgerHead) -> datetime:
        """What the clock says; at least the time of the last entry, so that a second of difference leaves no trace.

        Raises InputError where it is more than a minute behind that.
        """
        now, latest = datetime.now(UTC), self._last_at(file, head)
        if latest is None or now >= latest:
            return now
        if latest - now <= BACKWARDS:
            return latest
        time_text = f"{latest.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        what = f"the clock says {now:%Y-%m-%d %H:%M:%S} UTC, and the last entry of the ledger is of {time_text}"
        remedy = "set the clock right; if it is right now, sign a note that it was wrong: sdcert keys clock --reason TEXT"
        raise InputError("clock-behind", "ledger", what, "a clock that is not set back (by a minute at the most)", remedy)

    def _set_aside(self, file: BinaryIO, end: int) -> None:
        """Move what stands behind the last whole entry to a file of its own: first the copy, then the cut."""
        file.seek(end)
        tail = file.read(LARGEST_BYTES)
        name = f"torn-{end}-{hash_leaf(tail).hex()[:8]}.bin"
        try:
            write_whole(self.folder / name, tail)
            os.ftruncate(file.fileno(), end)
            os.fsync(file.fileno())
        except OSError as error:
            raise self._not_usable(error) from None

    def _write(
        self, file: BinaryIO, head: LedgerHead, event: EntryEvent, key: SigningKey, at: datetime | None
    ) -> tuple[LedgerHead, Appended]:
        if isinstance(event, LedgerOpened) and head.size:
            raise ValueError("a ledger is opened once")
        values = {"ledger": head.ledger, "index": head.size, "previous": head.last, "at": at or datetime.now(UTC)}
        entry = Entry.model_validate({**values, "event": event})
        line = sign_envelope(entry.model_dump(mode="json"), ENTRY_TYPE, key.signer)
        self._write_line(file, line + b"\n", head.n_bytes)
        leaf = hash_leaf(line)
        now = head.add_leaf(head.ledger, leaf, len(line) + 1)
        self._keep(now)
        return now, Appended(head.size, leaf.hex(), now.size, now.root, entry, head.n_bytes, len(line) + 1)

    def _write_line(self, file: BinaryIO, line: bytes, end: int) -> None:
        """Write a line and sync it, or leave the file as it was."""
        try:
            _write_all(file.fileno(), line)
            os.fsync(file.fileno())
        except BaseException as error:
            self._cut_back(file, end)
            if isinstance(error, OSError):
                raise self._not_usable(error) from None
            raise

    def _cut_back(self, file: BinaryIO, end: int) -> None:
        try:
            os.ftruncate(file.fileno(), end)
            os.fsync(file.fileno())
        except OSError:  # a torn tail stays: the next append sets it aside
            return

    def _keep(self, head: LedgerHead) -> None:
        try:
            write_whole(self.head_path, serialise_head(head))
        except OSError:  # the entry is acknowledged all the same: the next append reads on from the older head
            return

    @contextmanager
    def _open_file(self, flags: int) -> Iterator[BinaryIO]:
        """The file itself: never a link to another, never something that is no file."""
        new = not self._there(self.path)
        if new and self._there(self.head_path):
            raise self.create_damage_error("ledger.jsonl is missing, and head.json speaks of entries")
        try:
            descriptor = _open_regular_file(self.path, flags)
            if new:
                sync_folder(self.folder)
        except OSError as error:
            raise self._not_usable(error) from None
        with os.fdopen(descriptor, "rb+" if flags & os.O_RDWR else "rb") as file:
            yield file

    def create_damage_error(self, what: str) -> InputError:
        """The error that says that the ledger is not what it was."""
        return InputError("ledger-damaged", "ledger", what, "a ledger to which entries were only appended", VERIFY)

    def _not_usable(self, error: OSError) -> InputError:
        match error.errno:
            case errno.ELOOP | errno.ENXIO | errno.EISDIR:
                what, remedy = "ledger.jsonl is a link or no regular file", "put the file itself there"
            case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
                what, remedy = "the disk is full, or a limit is reached: nothing was appended", "make room, then run again"
            case errno.EACCES | errno.EPERM | errno.EROFS:
                what, remedy = "the ledger may not be read or written", "work as the user who owns the home"
            case _:
                what, remedy = f"the ledger cannot be read or written ({error.strerror})", "look after the disk, then run again"
        return InputError("ledger-not-usable", "ledger", what, "a private file of this home", remedy, str(self.path))


def _open_regular_file(path: Path, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.ELOOP, "not a regular file")


def _create_busy_error() -> InputError:
    what = f"another process has held the ledger for {SECONDS_TO_WAIT:.0f} seconds"
    return InputError("ledger-busy", "ledger", what, "one appending process at a time", "end or wait for the other one")


def read_whole_lines(file: BinaryIO, first_byte: int) -> Iterator[bytes]:
    """The lines of a file without their breaks, from a byte on; what has no break at the end is left out.

    A line longer than any entry ends the reading with a piece of it. Memory: one line.
    """
    file.seek(first_byte)
    while (line := file.readline(LARGEST_BYTES + 1)).endswith(b"\n"):
        yield line[:-1]
    if len(line) > LARGEST_BYTES:
        yield line


def open_entry(content: bytes) -> Entry:
    """The entry of a line, not verified. Raises NotAnEnvelope; its text holds nothing of the line."""
    envelope = open_envelope(content, ENTRY_TYPE)
    try:
        return Entry.model_validate_json(envelope.payload)
    except ValidationError:
        raise NotAnEnvelope("what is signed is not an entry") from None


def _write_all(descriptor: int, content: bytes) -> None:
    done = os.write(descriptor, content)
    while done < len(content):  # the rest fails with the reason why the first write was cut short
        done += os.write(descriptor, content[done:])
