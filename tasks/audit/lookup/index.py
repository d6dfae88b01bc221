"""The index of the ledger: says where things stand in it, and is built again whenever it does not fit.

The ledger is what counts; the index is a convenience that may be deleted. Whatever is answered is read from the ledger's own
lines and compared with what the index says of them, so that an index that somebody changed can name nothing that is not there.
That it leaves nothing out rests on its file being as this program left it (`opening.py`): one that anything else wrote is
built anew. Whoever forges its stamp as well, for which they need the key of the store, can hide an entry from look-ups, but not
from `sdcert audit verify`, which reads the ledger alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from types import TracebackType
from typing import Any, TypeVar

from sqlalchemy import Select, distinct, func, select
from sqlalchemy.exc import SQLAlchemyError

from tasks.audit.ledger.entries import AttemptMade, ClockSetBack, Entry
from tasks.audit.ledger.ledger import Ledger, LedgerLine
from tasks.audit.lookup.index_rows import IndexRow, RunEntries, entry_row, find_run, parse_entry, run_row
from tasks.audit.lookup.index_update import Progress
from tasks.audit.lookup.ledger_lines import IndexMismatch, LedgerLineReader
from tasks.audit.lookup.opening import Opened, open_index
from tasks.audit.lookup.query import Query, select_runs
from tasks.audit.lookup.tables import ATTRIBUTES, ENTRIES, FILES, RUNS
from tasks.microdata.errors import InputError
from tasks.microdata.suggestion import did_you_mean
from tasks.runtime.settings import Home

T = TypeVar("T")
LinesWithEntries = list[tuple[LedgerLine, Entry]]
_SHOWN, _AT_ONCE = 5, 2000
_NEAR = 1000  # so many of the newest runs are looked through for a name that is near


def ignore_progress(_read: int, _there_are: int) -> None:
    """Tells nobody how far the reading is."""


class Index:
    """What is where in one ledger. Use as a context, or `close` it.

    notes: what a person should know of how it was opened (that it was built, why, how long it took).
    """

    def __init__(self, reader: LedgerLineReader, progress: Progress = ignore_progress) -> None:
        self.notes: list[str] = []
        self._places = reader
        self._progress = progress
        self._use(open_index(reader, progress))

    @classmethod
    def current(cls, progress: Progress = ignore_progress) -> Index:
        """The index of this home's ledger, caught up; nothing is made in a home that has no ledger.

        progress: called with the bytes read and the bytes there are, while many are read.
        Cost: the lines that are new; the whole ledger where the index must be built.
        """
        return cls(LedgerLineReader(Ledger(Home.current().root / "ledger")), progress)

    def __enter__(self) -> Index:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()

    @property
    def size(self) -> int:
        """How many entries the index has."""
        return self._number(select(func.count()).select_from(ENTRIES))

    def attempts_of(self, series: str) -> tuple[AttemptMade, ...]:
        """Every attempt of a series, oldest first."""
        reader = select(ENTRIES).where(ENTRIES.c.kind == "attempt", ENTRIES.c.series == series).order_by(ENTRIES.c.number)
        events = (entry.event for _, entry in self._entries(reader))
        return tuple(event for event in events if isinstance(event, AttemptMade))

    def clock_set_back(self) -> tuple[tuple[ClockSetBack, datetime], ...]:
        """Each note of a clock that was set back, oldest first, with the time that the clock said then."""
        reader = select(ENTRIES).where(ENTRIES.c.kind == "clock").order_by(ENTRIES.c.number)
        found = ((entry.event, entry.at) for _, entry in self._entries(reader))
        return tuple((event, at) for event, at in found if isinstance(event, ClockSetBack))

    def last_release_of(self, series: str) -> RunEntries | None:
        """The run of the last certificate that a series issued for publication, revoked or not."""
        good = (RUNS.c.series == series, RUNS.c.outcome == "certified", RUNS.c.publishable, RUNS.c.certificate.is_not(None))
        found = self._find_runs(select(RUNS.c.run).where(*good).order_by(RUNS.c.ended.desc()).limit(1))
        return found[0] if found else None

    def find(self, query: Query) -> list[RunEntries]:
        """The runs that a query asks for, newest first."""
        return [found for found, _ in self.each(query)]

    def each(self, query: Query) -> Iterator[tuple[RunEntries, LinesWithEntries]]:
        """The same one by one, each with its lines: for very many."""
        given: set[str] = set()
        some = self._sure(lambda: self._runs(self._not_in(given, query)))
        while some:
            yield from some
            given.update(found.run for found, _ in some)
            some = self._sure(lambda: self._runs(self._not_in(given, query))) if len(some) == _AT_ONCE else []

    def count(self, query: Query) -> int:
        """How many runs a query asks for, however few of them `last` shows."""
        wanted = select_runs(query).limit(None).order_by(None).subquery()
        return self._number(select(func.count()).select_from(wanted))

    def run(self, beginning: str) -> RunEntries:
        """The run of an id, or the only one whose id begins so; InputError where there is none, or more than one."""
        (found,) = self._find_runs(select(RUNS.c.run).where(RUNS.c.run == self._only(beginning)))
        return found

    def key_changes(self) -> LinesWithEntries:
        """The lines about keys, oldest first."""
        return self._entries(select(ENTRIES).where(ENTRIES.c.kind == "key").order_by(ENTRIES.c.number))

    def list_certified_runs(self) -> list[tuple[IndexRow, str | None]]:
        """The rows of all runs that were certified for publication, and who signed each; no entry is read."""
        good = (RUNS.c.outcome == "certified", RUNS.c.publishable)
        wanted = select(RUNS, ENTRIES.c.signer).join(ENTRIES, ENTRIES.c.number == RUNS.c.ended).where(*good)
        return self._sure(lambda: [(dict(row._mapping), row.signer) for row in self._connection.execute(wanted)])

    def fits(self, runs: list[str]) -> bool:
        """Whether the entries of these runs say what the index says of them; if not, it is built anew."""
        before = self._engine
        for start in range(0, len(runs), _AT_ONCE):
            self._find_runs(select(RUNS.c.run).where(RUNS.c.run.in_(runs[start : start + _AT_ONCE])))
        return self._engine is before

    def begin_so(self, beginning: str) -> list[str]:
        """The ids of runs that begin so, newest first; a whole id is alone."""
        begins = RUNS.c.run.startswith(beginning, autoescape=True)
        found = self._texts(select(RUNS.c.run).where(begins).order_by(RUNS.c.first.desc())) if beginning else []
        return [beginning] if beginning in found else found

    def entry(self, number: int) -> tuple[LedgerLine, Entry | None]:
        """The line of a number, and its entry unless it cannot be read; InputError where there is no such number."""
        size = self.size
        if not 0 <= number < size:
            what, remedy = f"the ledger has {size} entries, numbered from 0", "`sdcert audit find` lists runs"
            raise InputError("no-such-entry", "sdcert audit show ID", what, "a number below that", remedy, number)
        ((line, entry),) = self._sure(lambda: self._read(select(ENTRIES).where(ENTRIES.c.number == number)))
        return line, entry

    def lines_of(self, found: RunEntries) -> list[tuple[LedgerLine, Entry | None]]:
        """The lines of a run's entries, oldest first."""
        of_run = select(ENTRIES).where(ENTRIES.c.run == found.run).order_by(ENTRIES.c.number)
        return self._sure(lambda: self._read(of_run))

    def find_issued_files(self, sha256: str) -> list[tuple[str, str, str]]:
        """Run, role (released, document, certificate, approval, revocation) and name of every file of these bytes."""
        columns = (FILES.c.run, FILES.c.role, FILES.c.name)
        wanted = select(*columns).where(FILES.c.sha256 == sha256).order_by(FILES.c.number.desc())
        return self._sure(lambda: [(run, role, name) for run, role, name in self._connection.execute(wanted)])

    def contents_of_shape(self, alike: str) -> list[tuple[str, str]]:
        """The newest run and the content address of every released content of this shape (see `index_rows.alike`), newest
        first.
        """
        newest = func.max(RUNS.c.first)
        wanted = select(func.max(RUNS.c.run), RUNS.c.content_address).where(RUNS.c.alike == alike)
        wanted = wanted.group_by(RUNS.c.content_address).order_by(newest.desc())
        return self._sure(lambda: [(run, address) for run, address in self._connection.execute(wanted)])

    def names(self, what: str) -> list[str]:
        """The names there are of a `release`, `series`, `dataset` or `attribute`, sorted."""
        column = ATTRIBUTES.c.name if what == "attribute" else RUNS.c[what]
        return self._texts(select(distinct(column)).where(column.is_not(None)).order_by(column))

    def _only(self, beginning: str) -> str:
        found = self.begin_so(beginning)
        if len(found) > 1:
            text = ", ".join(filter(str.isprintable, found[:_SHOWN]))
            raise InputError("ambiguous-run", "sdcert audit show ID", f"{len(found)} runs begin so", text,
                             "write more of the id", beginning)  # fmt: skip
        if not found:
            known = filter(str.isprintable, self._texts(select_runs(Query(last=_NEAR))))
            raise InputError("no-such-run", "sdcert audit show ID", "no run of this home's ledger has this id",
                             "a run's id or its beginning", did_you_mean(beginning, known, "`sdcert audit find` lists runs"),
                             beginning)  # fmt: skip
        return found[0]

    def _find_runs(self, ids: Select[tuple[str]]) -> list[RunEntries]:
        return self._sure(lambda: [found for found, _ in self._runs(list(self._connection.scalars(ids)))])

    def _not_in(self, given: set[str], query: Query) -> list[str]:
        return [run for run in self._connection.scalars(select_runs(query)) if run not in given][:_AT_ONCE]

    def _runs(self, ids: list[str]) -> list[tuple[RunEntries, LinesWithEntries]]:
        """Runs from their own lines; raises IndexMismatch where those do not say what the index says."""
        rows = {row.run: dict(row._mapping) for row in self._connection.execute(select(RUNS).where(RUNS.c.run.in_(ids)))}
        lines: dict[str, LinesWithEntries] = {run: [] for run in ids}
        for line, entry in self._read(select(ENTRIES).where(ENTRIES.c.run.in_(ids)).order_by(ENTRIES.c.number)):
            if entry is not None:
                lines[find_run(entry.event) or ""].append((line, entry))
        found = [RunEntries(run, tuple((line.index, entry) for line, entry in lines[run])) for run in ids]
        if any(not one.entries or rows.get(one.run) != run_row(one) for one in found):
            raise IndexMismatch
        return [(one, lines[one.run]) for one in found]

    def _entries(self, reader: Select[Any]) -> list[tuple[LedgerLine, Entry]]:
        return [(line, entry) for line, entry in self._sure(lambda: self._read(reader)) if entry is not None]

    def _read(self, reader: Select[Any]) -> list[tuple[LedgerLine, Entry | None]]:
        """The lines at these places; raises IndexMismatch where one is not what the index says."""
        found, rows = [], self._connection.execute(reader).all()
        for row, line in zip(
            rows, self._places.read_lines([(row.number, row.first_byte, row.n_bytes) for row in rows]), strict=True
        ):
            entry = parse_entry(line.content)
            if entry_row(line, entry) != dict(row._mapping):
                raise IndexMismatch
            found.append((line, entry))
        return found

    def _texts(self, wanted: Select[tuple[str]]) -> list[str]:
        return self._sure(lambda: list(self._connection.scalars(wanted)))

    def _number(self, wanted: Select[tuple[int]]) -> int:
        return self._sure(lambda: self._connection.scalar(wanted)) or 0

    def _sure(self, ask: Callable[[], T]) -> T:
        """The answer; of an index built anew where the one in use turns out not to fit the ledger, or to be damaged.

        It is opened once more before that: another process may have written between two questions, or its server be back.
        """
        for doubt in ("", "it said what the ledger does not say, or was damaged"):
            try:
                return ask()
            except (IndexMismatch, SQLAlchemyError):
                self.close()
                self._use(open_index(self._places, self._progress, doubt=doubt))
        return ask()

    def _use(self, opened: Opened) -> None:
        self._engine = opened.engine
        self._connection = opened.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        self.notes += [opened.note] if opened.note else []
