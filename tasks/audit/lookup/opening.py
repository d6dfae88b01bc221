"""Opening the index: caught up where it fits its ledger, else built anew; in memory where nothing may be written."""

from __future__ import annotations

import json
import os
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from tasks.audit.lookup import server
from tasks.audit.lookup.index_update import Progress, catch_up, fill, find_index_end, watch
from tasks.audit.lookup.ledger_lines import IndexMismatch, LedgerLineReader
from tasks.audit.lookup.server import CHANGED, NONE, STAMP, UNSTAMPED
from tasks.audit.lookup.tables import META, create_file_engine, create_memory_engine, create_read_only_engine
from tasks.microdata.regular_files import open_regular_file, read_file
from tasks.runtime.files import hold_file_lock, write_whole
from tasks.runtime.seals import compute_seal
from tasks.runtime.settings import Home

FILE, LOCK, DRAFT = "index.db", ".index.lock", ".index.draft-"
WORTH_TELLING_SECONDS = 1.0
COUNTER = slice(24, 28)  # of SQLite's header: goes up with every change of the file


@dataclass(frozen=True, slots=True)
class Opened:
    """An index that fits its ledger. note: that it was built, why, and how long it took; "" where it only caught up."""

    engine: Engine
    note: str = ""


def open_index(reader: LedgerLineReader, progress: Progress, doubt: str = "") -> Opened:
    """The index of a ledger. doubt: why the one in the file must not be used. Several processes may do this at once.

    Nothing is made where there is no ledger.
    """
    if reader.n_bytes == 0:
        return _build_index(create_memory_engine(), reader, progress)
    if address := os.environ.get(server.INDEX_URL_VARIABLE):
        return _open_on_server(address, reader, progress, doubt)
    try:
        with hold_file_lock(reader.folder / LOCK):
            return _open_locked(reader, progress, doubt)
    except (OSError, SQLAlchemyError):
        return _open_unlocked(reader, progress, doubt)


def _open_on_server(address: str, reader: LedgerLineReader, progress: Progress, doubt: str) -> Opened:
    """The index on a database server; in memory where that does not answer: a release does not wait for its index."""
    engine = server.create_server_engine(address, reader)
    started = time.monotonic()
    try:
        with hold_file_lock(reader.folder / LOCK):
            why = server.update_index(engine, reader, progress, doubt)
    except (OSError, ValueError, SQLAlchemyError) as error:  # ValueError: a text that the server cannot hold
        engine.dispose()
        return _build_in_memory(reader, progress, f"its database cannot be used ({type(error).__name__})")
    return Opened(engine, _describe_rebuild(why, time.monotonic() - started))


def _open_locked(reader: LedgerLineReader, progress: Progress, doubt: str) -> Opened:
    path = reader.folder / FILE
    why = doubt or _why_not(path)
    if not why:
        engine = create_file_engine(path)
        try:
            with engine.begin() as connection:
                new = catch_up(connection, reader, progress)
            if new:
                _put_stamp(path)
            return Opened(engine)
        except (IndexMismatch, SQLAlchemyError) as error:
            engine.dispose()
            why = "it did not fit the ledger" if isinstance(error, IndexMismatch) else "it was damaged"
    return _rebuild_index_file(path, reader, progress, why)


def _open_unlocked(reader: LedgerLineReader, progress: Progress, doubt: str) -> Opened:
    """Where the folder cannot be written: the file as it is, if it says all there is to say, and else an index in memory."""
    path = reader.folder / FILE
    with suppress(OSError, SQLAlchemyError, IndexMismatch):
        if not (doubt or _why_not(path)):
            engine = create_read_only_engine(path)
            with engine.connect() as connection:
                number, after = find_index_end(connection, reader)
            if next(reader.ledger.lines(after, index=number), None) is None:
                return Opened(engine)
    return _build_in_memory(reader, progress, "its folder cannot be written")


def _build_in_memory(reader: LedgerLineReader, progress: Progress, why: str) -> Opened:
    started = time.monotonic()
    built = _build_index(create_memory_engine(), reader, progress)
    seconds = time.monotonic() - started
    return Opened(built.engine, f"the index of the ledger was built in memory ({seconds:.1f} s): {why}")


def _describe_rebuild(why: str, seconds: float) -> str:
    """why: it was built; "" where it was not."""
    quietly = not why or (why == NONE and seconds < WORTH_TELLING_SECONDS)
    return "" if quietly else f"the index of the ledger was built anew in {seconds:.1f} s: {why}"


def _rebuild_index_file(path: Path, reader: LedgerLineReader, progress: Progress, why: str) -> Opened:
    for left in path.parent.glob(f"{DRAFT}*"):  # of a process that was killed; we hold the lock
        left.unlink(missing_ok=True)
    draft, started = path.with_name(f"{DRAFT}{uuid.uuid4().hex}"), time.monotonic()
    try:
        _build_index(create_file_engine(draft), reader, progress).engine.dispose()
        for left in _list_sqlite_side_files(path):
            left.unlink(missing_ok=True)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    _put_stamp(path)
    return Opened(create_file_engine(path), _describe_rebuild(why, time.monotonic() - started))


def _build_index(engine: Engine, reader: LedgerLineReader, progress: Progress) -> Opened:
    META.create_all(engine)
    if reader.n_bytes:
        with engine.begin() as connection:
            connection.execute(text("PRAGMA synchronous = OFF"))
            fill(connection, reader.ledger.lines(), watch(reader, progress))
    return Opened(engine)


def _why_not(path: Path) -> str:
    """Why the file must not be used: it is not there, or not as this program left it."""
    if not path.exists():
        return NONE
    if any(
        left.exists() for left in _list_sqlite_side_files(path)
    ):  # SQLite would write it into the index after this look at the stamp
        return f"its file {CHANGED}"
    try:
        stamp = json.loads(read_file(path.with_name(STAMP)))
    except (OSError, ValueError, RecursionError):
        return UNSTAMPED
    return "" if stamp == _seal_stamp(path) else f"its file {CHANGED}"


def _list_sqlite_side_files(path: Path) -> tuple[Path, ...]:
    """Where SQLite keeps what it has not finished; a process that was killed leaves them too."""
    return tuple(path.with_name(path.name + suffix) for suffix in ("-journal", "-wal", "-shm"))


def _put_stamp(path: Path) -> None:
    write_whole(path.with_name(STAMP), json.dumps(_seal_stamp(path)).encode())


def _seal_stamp(path: Path) -> list[int | str]:
    """The stamp and, in a home with a key of the store, its seal: who cannot read the key cannot leave entries out."""
    stamp, home = _stamp(path), Home(path.parent.parent)
    return [*stamp, compute_seal(home, "index", *map(str, stamp))] if (home.root / "keys" / "store.key").is_file() else stamp


def _stamp(path: Path) -> list[int | str]:
    """What changes when anybody writes the file: the system sets the time of its last change, and SQLite counts."""
    with open_regular_file(path) as file:
        header, known = file.read(100), os.fstat(file.fileno())
    return [known.st_ino, known.st_size, known.st_mtime_ns, known.st_ctime_ns, header[COUNTER].hex()]
