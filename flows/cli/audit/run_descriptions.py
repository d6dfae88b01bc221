"""What the look-ups in the audit trail share: the open index, the filters, and a run in a few words."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from flows.cli.timestamps import parse_day, parse_timestamp
from tasks.audit.ledger.entries import Entry, ReleasedTable
from tasks.audit.ledger.ledger import LedgerLine
from tasks.audit.lookup.index import Index
from tasks.audit.lookup.index_rows import RunEntries, find_signer
from tasks.audit.lookup.query import VERDICTS, Query
from tasks.audit.lookup.trust import Trust, format_entry_notes
from tasks.audit.signing.keyring import Keyring
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.regular_files import LARGEST_NOTE, read_file
from tasks.microdata.suggestion import did_you_mean
from tasks.runtime.settings import Home
from tasks.score.verdict_word import capitalise_verdict, verdict_word

PATIENCE_SECONDS = 1.0
_BY_HAND = ("KeyboardInterrupt",)  # `interrupted` says it
A_MOMENT = timedelta(microseconds=1)
UNENDED = ("killed", "never ended")  # said of some that are `running`, by their private manifests: the index does not know them


@contextmanager
def open_trail_index() -> Iterator[Index]:
    """The index of this home; says on stderr how far it is where that takes long, and what happened when it was opened."""
    watch = _Watch()
    with Index.current(watch) as index:
        try:
            yield index
        finally:
            watch.end_line()
            sys.stderr.writelines(f"note: {note}\n" for note in index.notes)


class _Watch:
    """One line on stderr that counts up, where reading takes longer than a moment; on a terminal alone."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._told = False

    def __call__(self, read: int, there_are: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - self._began > PATIENCE_SECONDS:
            self._told = True
            sys.stderr.write(f"\rreading the ledger for its index: {read / there_are:.0%}")
            sys.stderr.flush()

    def end_line(self) -> None:
        if self._told:
            sys.stderr.write("\n")
            self._told = False


def create_query(where: str, **asked: Any) -> Query:
    """The query of a command line; raises InputError for a date or a verdict that is none."""
    verdict = asked["verdict"]
    if verdict is not None and verdict not in VERDICTS:
        remedy = did_you_mean(verdict, VERDICTS, "choose one of these")
        if verdict in UNENDED:
            remedy = "`running` finds every run that never said how it ended"
        raise InputError("no-such-verdict", f"{where} --verdict", "no such verdict", ", ".join(VERDICTS), remedy, verdict)
    since = None if asked["since"] is None else _since(asked["since"], "--since")
    until = None if asked["until"] is None else _compute_exclusive_end(parse_timestamp(asked["until"], "--until"))
    if since is not None and until is not None and since >= until:
        what, allowed = "nothing lies between the two dates", "--since before --until"
        raise InputError("dates", f"{where} --since --until", what, allowed, "exchange them")
    return Query(**(asked | {"since": since, "until": until}))


def _since(text: str, option: str) -> datetime:
    """A date means its beginning here, in UTC."""
    day = parse_day(text)
    return parse_timestamp(text if day is None else f"{day}T00:00:00Z", option)


def _compute_exclusive_end(last: datetime) -> datetime:
    """The first moment that is left out; the end of time stays what it is."""
    return min(last, datetime.max.replace(tzinfo=UTC) - A_MOMENT) + A_MOMENT


def hint(index: Index, query: Query) -> str:
    """Why nothing was found, if a name is none of those that there are."""
    for option, value in (("release", query.release), ("series", query.series), ("dataset", query.dataset),
                          ("attribute", query.touching)):  # fmt: skip
        known = index.names(option) if value is not None else []
        if value is not None and value not in known:
            near = escape_terminal(did_you_mean(value, known, ""))
            none = "run masked or published an attribute" if option == "attribute" else f"entry in the ledger has a {option}"
            return f"no {none} of this name{'; ' + near if near else ''}"
    return "no run of this home's ledger is like this" if index.size else "the ledger of this home has no entries yet"


def describe_verdict(found: RunEntries) -> str:
    """What became of a run: its outcome; or that it is running, was killed, or that nothing tells which (`never ended`)."""
    return found.ending.outcome if found.ending is not None else _find_unended_status(found.run)


def _find_unended_status(run: str) -> str:
    from flows.run.history import compute_run_status, read_manifest

    try:
        status = compute_run_status(read_manifest(run))
    except (OSError, ValueError, KeyError, TypeError):
        return "never ended"
    return status if status in ("killed", "running") else "never ended"


def summarise_verdict(found: RunEntries, *, capitals: bool = False) -> str:
    """`certified`, `certified, revoked`, `refused (rehearsal)`, `failed at ingest: unknown-column`.

    capitals: but for what the verdict excepts, and for the code: `CERTIFIED EXCEPT membership; REVOKED`.
    """
    ended, word = found.ending, describe_verdict(found)
    if ended is None:
        return word.upper() if capitals else word
    where = f" at {ended.stage}" if ended.stage else ""
    code = f": {ended.code}" if ended.code and ended.code not in _BY_HAND else ""
    rehearsal = " (rehearsal)" if ended.not_for_publication else ""
    word = verdict_word(word, ended.exceptions)
    stop = ";" if ended.exceptions else ","
    revoked = f"{stop} revoked" if found.revocations else ""
    if capitals:
        word, where, rehearsal, revoked = capitalise_verdict(word), where.upper(), rehearsal.upper(), revoked.upper()
    return f"{word}{where}{code}{rehearsal}{revoked}"


def describe_asker(found: RunEntries) -> str:
    """`steward at office`, or the deployment that asked."""
    if found.began is None:
        return ""
    asked = found.began.asked_by
    return f"deployment {asked.deployment}" if asked.deployment else f"{asked.user} at {asked.host}"


def find_release_name(found: RunEntries) -> tuple[str, str]:
    """The release and the series of a run; empty where no entry says."""
    assessment = found.ending or found.began
    return (assessment.release, assessment.series) if assessment is not None else ("", "")


def when(at: datetime | None) -> str:
    """`2026-11-21 09:30:00`, in UTC."""
    return "" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


@dataclass(frozen=True, slots=True)
class EntryAssessment:
    """Of the entries of a run: what speaks against them, and what is good to know.

    doubtful, noted: of how many entries.
    """

    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    doubtful: int = 0
    noted: int = 0

    def lines(self) -> Iterator[str]:
        """For a person."""
        yield from (f"NOT TO BE BELIEVED: {assessment}" for assessment in self.doubts)
        yield from (f"note: {assessment}" for assessment in self.notes)


def assess_entries(lines: Iterable[tuple[LedgerLine, Entry | None]], trust: Trust) -> EntryAssessment:
    """What is to be said of lines: each one's form and signature, and what became of the key that signed it."""
    doubts, notes = {}, {}
    for line, entry in lines:
        if why := trust.doubt(line, entry):
            doubts[line.index] = why
        elif note := trust.note(line, entry, find_signer(line.content)):
            notes[line.index] = note
    shown_doubts, noted = (tuple(map(escape_terminal, format_entry_notes(assessment))) for assessment in (doubts, notes))
    return EntryAssessment(shown_doubts, noted, len(doubts), len(notes))


def trust_in(index: Index) -> Trust:
    """The keys of this home, and what its ledger says became of them."""
    return Trust.from_keyring(keyring(), index.key_changes())


def find_store_key() -> bytes | None:
    """The key of the store's digests; None in a home that has none. It is never made here."""
    try:
        return read_file(Home.current().root / "keys" / "store.key", LARGEST_NOTE)
    except OSError:
        return None


def keyring() -> Keyring:
    """The public keys of this home; where they are damaged, none: then no entry is believed, and all are shown."""
    try:
        return Keyring.from_home(Home.current())
    except InputError as error:
        sys.stderr.write(f"warning: no signature can be checked: {error.what} ({escape_terminal(error.where)})\n")
        return Keyring()


def is_model(released: ReleasedTable) -> bool:
    """Is a released file a model? Its content has one form: the address of the content is that of the bytes."""
    return released.content_address == released.sha256


def summarise_run(found: RunEntries, assessment: EntryAssessment) -> dict[str, Any]:
    """A run as one flat object, for `--json` and CSV."""
    release, series = find_release_name(found)
    ended, began = found.ending, found.began
    table = None if ended is None else ended.released
    return {
        "run": found.run,
        "release": release,
        "series": series,
        "began_at": found.began_at.isoformat(),
        "ended_at": None if found.end_time is None else found.end_time.isoformat(),
        "verdict": describe_verdict(found),
        "stage": None if ended is None else ended.stage,
        "code": None if ended is None else ended.code,
        "not_for_publication": None if ended is None else ended.not_for_publication,
        "dataset": None if began is None else began.dataset,
        "user": None if began is None else began.asked_by.user,
        "host": None if began is None else began.asked_by.host,
        "deployment": None if began is None else began.asked_by.deployment,
        "attempts": max((one.attempts for one in found.attempts), default=0),
        "released_file": None if table is None else table.name,
        "released_sha256": None if table is None else table.sha256,
        "content_address": None if table is None else table.content_address,
        "rows": None if table is None else table.rows,
        "certificate": None if ended is None else ended.certificate,
        "review_by": None if ended is None or ended.review_by is None else ended.review_by.isoformat(),
        "approvals": len(found.approvals),
        "revoked": bool(found.revocations),
        "replays": len(found.replays),
        "entries": [number for number, _ in found.entries],
        "doubts": list(assessment.doubts),
        "notes": list(assessment.notes),
    }
