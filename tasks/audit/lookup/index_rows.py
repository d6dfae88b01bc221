"""What the index keeps of an entry of the ledger, and of the run that it belongs to. Pure."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tasks.audit.ledger.entries import (
    AttemptMade,
    CertificateRevoked,
    Entry,
    EntryEvent,
    MaskedAttribute,
    ReleaseApproved,
    RunBegan,
    RunEnded,
    RunReplayed,
)
from tasks.audit.ledger.ledger import LedgerLine
from tasks.microdata.canonical import canonical

UNREADABLE = "unreadable"
IndexRow = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunEntries:
    """A run: its entries with their numbers, oldest first."""

    run: str
    entries: tuple[tuple[int, Entry], ...]

    @property
    def began(self) -> RunBegan | None:
        return next((event for event in self.events if isinstance(event, RunBegan)), None)

    @property
    def ending(self) -> RunEnded | None:
        """The last word on how it ended; None: it never said."""
        return next((event for event in reversed(self.events) if isinstance(event, RunEnded)), None)

    @property
    def ending_number(self) -> int:
        """The number of the entry that says how it ended; -1: it never said."""
        return max((number for number, entry in self.entries if entry.event is self.ending), default=-1)

    @property
    def is_rehearsal(self) -> bool:
        """Did it end as one that is not for publication?"""
        return self.ending is not None and self.ending.not_for_publication

    @property
    def attempts(self) -> tuple[AttemptMade, ...]:
        return tuple(event for event in self.events if isinstance(event, AttemptMade))

    @property
    def approvals(self) -> tuple[ReleaseApproved, ...]:
        return tuple(event for event in self.events if isinstance(event, ReleaseApproved))

    @property
    def revocations(self) -> tuple[CertificateRevoked, ...]:
        return tuple(event for event in self.events if isinstance(event, CertificateRevoked))

    @property
    def replays(self) -> tuple[RunReplayed, ...]:
        return tuple(event for event in self.events if isinstance(event, RunReplayed))

    @property
    def events(self) -> tuple[EntryEvent, ...]:
        return tuple(entry.event for _, entry in self.entries)

    @property
    def began_at(self) -> datetime:
        """When its first entry was written."""
        return self.entries[0][1].at

    @property
    def end_time(self) -> datetime | None:
        return next((entry.at for _, entry in reversed(self.entries) if isinstance(entry.event, RunEnded)), None)


def parse_entry(content: bytes) -> Entry | None:
    """The entry in a line, its signature and form not checked; None where there is none that this version can read."""
    try:
        return Entry.model_validate_json(b64decode(json.loads(content)["payload"], validate=True))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def entry_row(line: LedgerLine, entry: Entry | None) -> IndexRow:
    """What the index keeps of a line, whether it can be read or not."""
    event = None if entry is None else entry.event
    return {
        "number": line.index,
        "first_byte": line.first_byte,
        "n_bytes": len(line.content),
        "leaf": line.leaf,
        "kind": UNREADABLE if event is None else event.kind,
        "run": find_run(event),
        "series": event.series if isinstance(event, AttemptMade) else None,
        "source_file": event.source_file if isinstance(event, AttemptMade) else None,
        "adopted": extract_adopted_digest(event) if isinstance(event, AttemptMade) else None,
        "signer": find_signer(line.content),
    }


def extract_adopted_digest(attempt: AttemptMade) -> str | None:
    """The keyed digest of the table that was adopted, masked elsewhere; None where steps were carried out."""
    return attempt.masking.split(":")[2] if attempt.masking.count(":") == 2 else None


def find_signer(content: bytes) -> str | None:
    """The id of the key that a line says it was signed with, not checked."""
    try:
        found = json.loads(content)["signatures"][0]["keyid"]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None
    return found if isinstance(found, str) else None


def find_run(event: EntryEvent | None) -> str | None:
    """The run that an event is about; None for what is about a key."""
    return getattr(event, "run", None)


def create_run_row(run: str, number: int, entry: Entry) -> IndexRow:
    """The row of a run at its first entry, before what that entry says."""
    nothing = ("release", "series", "dataset", "outcome", "ended", "certificate", "issued", "review_by", "catalogue",
               "revoked", "content_address", "alike", "attributes")  # fmt: skip
    return {"run": run, "first": number, "at": moment(entry.at), "publishable": False} | dict.fromkeys(nothing)


def update_run_row(row: IndexRow, number: int, entry: Entry) -> IndexRow:
    """The row of a run after one more of its entries."""
    event = entry.event
    if isinstance(event, RunBegan):
        return row | {"release": event.release, "series": event.series, "dataset": event.dataset}
    if isinstance(event, CertificateRevoked) and event.certificate == row["certificate"] and row["revoked"] is None:
        return row | {"revoked": moment(entry.at)}
    if not isinstance(event, RunEnded):
        return row
    table = event.released
    return row | {
        "release": event.release,
        "series": event.series,
        "outcome": event.outcome,
        "ended": number,
        "publishable": not event.not_for_publication,
        "certificate": event.certificate,
        "issued": moment(entry.at),
        "review_by": None if event.review_by is None else moment(event.review_by),
        "catalogue": event.attack_catalogue_version,
        "revoked": row["revoked"] if event.certificate == row["certificate"] else None,
        "content_address": None if table is None else table.content_address,
        "alike": None if table is None else alike(table.rows, (column.name for column in table.columns)),
        "attributes": join_attributes(event.attributes) if event.attributes else None,
    }


def run_row(found: RunEntries) -> IndexRow:
    """The row of a run from all its entries."""
    number, first = found.entries[0]
    row = create_run_row(found.run, number, first)
    for number, entry in found.entries:
        row = update_run_row(row, number, entry)
    return row


def file_rows(number: int, event: EntryEvent) -> list[IndexRow]:
    """The files whose bytes an event names by their SHA-256."""
    match event:
        case RunEnded():
            table = [] if event.released is None else [("released", event.released.name, event.released.sha256)]
            papers = [("document", document.name, document.sha256) for document in event.documents]
            named = {digest for _, _, digest in (*table, *papers)}
            statement = [("certificate", "certificate", event.certificate)] if event.certificate else []
            files = [*table, *papers, *(one for one in statement if one[2] not in named)]
        case ReleaseApproved():
            files = [("approval", "approval", event.approval)]
        case CertificateRevoked():
            files = [("revocation", "revocation", event.revocation)]
        case _:
            return []
    return [{"sha256": sha, "run": event.run, "number": number, "role": role, "name": name} for role, name, sha in files]


def list_touched_attributes(attributes: Iterable[MaskedAttribute]) -> tuple[str, ...]:
    """The attributes that a run masked or published, or taught a model with."""
    return tuple(one.name for one in attributes if one.masks or one.published or one.taught)


def join_attributes(attributes: Iterable[MaskedAttribute]) -> str:
    """A name for a set of touched attributes: runs of one release share it, so that it is kept once."""
    return hashlib.sha256(canonical(sorted(list_touched_attributes(attributes)))).hexdigest()[:32]


def alike(rows: int, names: Iterable[str]) -> str:
    """A name for tables of the same column names, in their order, and as many rows."""
    return hashlib.sha256(canonical([rows, *names])).hexdigest()[:32]


def moment(at: datetime) -> int:
    """Microseconds since 1970."""
    return round(at.timestamp() * 1_000_000)
