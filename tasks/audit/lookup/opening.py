"""Opening the index: caught up where it fits its ledger, else built anew; in memory where nothing may be written."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, func, select, text
from sqlalchemy.exc import SQLAlchemyError

from tasks.audit.lookup.filling import fill
from tasks.audit.lookup.lines import Misfit, Places
from tasks.audit.lookup.tables import ENTRIES, FACTS, META, SCHEMA, in_file, in_memory, in_read_only_file
from tasks.runtime.files import locked, write_whole

FILE, STAMP, LOCK, DRAFT = "index.db", "index.stamp", ".index.lock", ".index.draft-"
NONE = "there was none"
WORTH_TELLING_SECONDS = 1.0
COUNTER = slice(24, 28)  # of SQLite's header: goes up with every change of the file
Progress = Callable[[int, int], None]  # bytes read, bytes there are


@dataclass(frozen=True, slots=True)
class Opened:
    """An index that fits its ledger. note: that it was built, why, and how long it took; "" where it only caught up."""

    engine: Engine
    note: str = ""


def open_index(places: Places, progress: Progress, doubt: str = "") -> Opened:
    """The index of a ledger. doubt: why the one in the file must not be used. Several processes may do this at once.

    Nothing is made where there is no ledger.
    """
    if places.n_bytes == 0:
        return _built(in_memory(), places, progress)
    try:
        with locked(places.folder / LOCK):
            return _open_locked(places, progress, doubt)
    except (OSError, SQLAlchemyError):
        return _open_unlocked(places, progress, doubt)


def _open_locked(places: Places, progress: Progress, doubt: str) -> Opened:
    path = places.folder / FILE
    why = doubt or _why_not(path)
    if not why:
        engine = in_file(path)
        try:
            if _catch_up(engine, places, progress):
                _put_stamp(path)
            return Opened(engine)
        except (Misfit, SQLAlchemyError) as error:
            engine.dispose()
            why = "it did not fit the ledger" if isinstance(error, Misfit) else "it was damaged"
    return _rebuilt(path, places, progress, why)


def _open_unlocked(places: Places, progress: Progress, doubt: str) -> Opened:
    """Where the folder cannot be written: the file as it is, if it says all there is to say, and else an index in memory."""
    path = places.folder / FILE
    with suppress(OSError, SQLAlchemyError, Misfit):
        if not (doubt or _why_not(path)):
            engine = in_read_only_file(path)
            with engine.connect() as connection:
                number, after = _end(connection, places)
            if next(places.ledger.lines(after, index=number), None) is None:
                return Opened(engine)
    started = time.monotonic()
    built = _built(in_memory(), places, progress)
    seconds = time.monotonic() - started
    return Opened(built.engine, f"the index of the ledger was built in memory ({seconds:.1f} s): its folder cannot be written")


def _rebuilt(path: Path, places: Places, progress: Progress, why: str) -> Opened:
    for left in path.parent.glob(f"{DRAFT}*"):  # of a process that was killed; we hold the lock
        left.unlink(missing_ok=True)
    draft, started = path.with_name(f"{DRAFT}{uuid.uuid4().hex}"), time.monotonic()
    try:
        _built(in_file(draft), places, progress).engine.dispose()
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    _put_stamp(path)
    seconds = time.monotonic() - started
    quietly = why == NONE and seconds < WORTH_TELLING_SECONDS
    return Opened(in_file(path), "" if quietly else f"the index of the ledger was built anew in {seconds:.1f} s: {why}")


def _built(engine: Engine, places: Places, progress: Progress) -> Opened:
    META.create_all(engine)
    if there_are := places.n_bytes:
        with engine.begin() as connection:
            connection.execute(text("PRAGMA synchronous = OFF"))
            fill(connection, places.ledger.lines(), lambda reached: progress(reached, there_are))
    return Opened(engine)


def _catch_up(engine: Engine, places: Places, progress: Progress) -> int:
    """Read the lines that are new; returns how many. Raises Misfit where the index does not fit what it has read."""
    with engine.begin() as connection:
        number, after = _end(connection, places)
        there_are = places.n_bytes
        return fill(connection, places.ledger.lines(after, index=number), lambda reached: progress(reached, there_are))


def _end(connection: Connection, places: Places) -> tuple[int, int]:
    """The number and the first byte of the line after the last one in the index; raises Misfit where it does not fit."""
    facts = {row.name: row.value for row in connection.execute(select(FACTS))}
    try:
        (last,) = places.at([(int(facts["number"]), int(facts["first_byte"]), int(facts["n_bytes"]))])
    except (KeyError, ValueError):
        raise Misfit from None
    n = connection.scalar(select(func.count()).select_from(ENTRIES))
    if facts.get("schema") != SCHEMA or last.leaf.hex() != facts.get("leaf") or n != last.index + 1:
        raise Misfit
    return last.index + 1, last.first_byte + len(last.content) + 1


def _why_not(path: Path) -> str:
    """Why the file must not be used: it is not there, or not as this program left it."""
    if not path.exists():
        return NONE
    try:
        stamp = json.loads(path.with_name(STAMP).read_bytes())
    except (OSError, ValueError, RecursionError):
        return "its stamp is gone or damaged"
    return "" if stamp == _stamp(path) else "its file was changed by something else, or its writer was stopped"


def _put_stamp(path: Path) -> None:
    write_whole(path.with_name(STAMP), json.dumps(_stamp(path)).encode())


def _stamp(path: Path) -> list[int | str]:
    """What changes when anybody writes the file: the system sets the time of its last change, and SQLite counts."""
    with path.open("rb") as file:
        header, known = file.read(100), os.fstat(file.fileno())
    return [known.st_ino, known.st_size, known.st_mtime_ns, known.st_ctime_ns, header[COUNTER].hex()]
