"""Decide whether single lines of the ledger can be believed, by the rule of `tasks.audit.ledger.signers`.

A line must not be believed where its form, number or signature is wrong, or where its key had ended before it was signed: where
an entry before it says so. What a key signed before its revocation was written down stays as it was signed; that is a note, and
so is that the certificates that it signed are worth nothing any more. `sdcert audit verify` proves the whole ledger.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from tasks.audit.ledger.entries import Entry, KeyChanged
from tasks.audit.ledger.ledger import LedgerLine
from tasks.audit.signing.envelope import ENTRY_TYPE, NotAnEnvelope, SignedEnvelope, open_envelope
from tasks.audit.signing.keyring import KeyRefused, Keyring, convert_to_utc


@dataclass(frozen=True, slots=True)
class KeyEnd:
    """A key was retired or revoked. number, at: of the entry that says so; None: only the record of the key does.

    since: what it signed before then stays good; None: nothing does.
    """

    change: str
    number: int | None = None
    at: datetime | None = None
    since: datetime | None = None
    reason: str | None = None

    def covers(self, signed_at: datetime) -> bool:
        """Whether a certificate of that moment is worth nothing by this end."""
        return self.change == "revoked" and (self.since is None or signed_at >= self.since)

    def describe(self) -> str:
        """`revoked on 2026-11-21 (it was stolen)`"""
        when = "" if self.at is None else f" on {convert_to_utc(self.at):%Y-%m-%d}"
        return f"{self.change}{when}{f' ({self.reason})' if self.reason else ''}"


@dataclass(slots=True)
class Trust:
    """The keys that are known, and when each of them ended."""

    keyring: Keyring
    ends: dict[str, list[KeyEnd]] = field(default_factory=dict)

    @classmethod
    def from_keyring(cls, keyring: Keyring, key_changes: Iterable[tuple[LedgerLine, Entry]]) -> Trust:
        """key_changes: the lines of the ledger about keys, oldest first; those that must not be believed end no key."""
        trust = cls(keyring)
        for line, entry in key_changes:
            event = entry.event
            if isinstance(event, KeyChanged) and event.change != "created" and not trust.doubt(line, entry):
                end = KeyEnd(event.change, line.index, entry.at, event.since, event.reason)
                trust.ends.setdefault(event.key.key_id, []).append(end)
        for known in keyring.keys:
            if known.revoked and trust.find_revocation(known.key_id) is None:
                end = KeyEnd("revoked", since=known.revoked_since, reason=known.reason)
                trust.ends.setdefault(known.key_id, []).append(end)
        return trust

    def find_revocation(self, key_id: str | None) -> KeyEnd | None:
        """The revocation of a key, if there is one."""
        ends = () if key_id is None else self.ends.get(key_id, ())
        return next((end for end in ends if end.change == "revoked"), None)

    def doubt(self, line: LedgerLine, entry: Entry | None) -> str:
        """Why a line must not be believed; "" where it has its one form and number, and a key signed it that might then."""
        try:
            envelope = open_envelope(line.content, ENTRY_TYPE)
            if entry is None:
                return "what is signed is no entry that this version knows"
            if entry.index != line.index:
                return f"it says that it is entry {entry.index}"
            return self._explain_ended_key(envelope, line, entry)
        except NotAnEnvelope as error:
            return f"it is not as it was written: {error}"
        except KeyRefused as refused:
            return refused.reason

    def _explain_ended_key(self, envelope: SignedEnvelope, line: LedgerLine, entry: Entry) -> str:
        known = self.keyring.signer_of(envelope, purpose="certificates")
        for end in self.ends.get(known.key_id, ()):
            if end.number is not None and end.number < line.index:
                return f"it is signed by key {known.key_id[:16]}, which was {end.describe()} before, by entry {end.number}"
        retired = any(end.change == "retired" for end in self.ends.get(known.key_id, ()))
        if not retired and known.retired_at is not None and entry.at > known.retired_at:
            return f"it is signed by key {known.key_id[:16]}, which was retired before, though no entry says so"
        return ""

    def note(self, line: LedgerLine, entry: Entry | None, signer: str | None) -> str:
        """What to know of a line that may be believed: that its key was revoked later. signer: the id of the key."""
        end = self.find_revocation(signer)
        if entry is None or signer is None or end is None or not end.covers(entry.at):
            return ""
        since = "" if end.since is None else f" since {convert_to_utc(end.since).isoformat(timespec='seconds')}"
        untold = "" if end.number is not None else ", though no entry says so"
        return (
            f"signed by key {signer[:16]}, which was {end.describe()}{untold}: the entry is as it was signed; the certificates "
            f"that the key signed{since} no longer stand"
        )


def format_entry_notes(doubts: dict[int, str]) -> list[str]:
    """One sentence for each text, with the numbers of the entries that it holds for."""
    numbers: dict[str, list[int]] = {}
    for number, text in doubts.items():
        numbers.setdefault(text, []).append(number)
    return [f"{'entry' if len(of) == 1 else 'entries'} {', '.join(map(str, of))}: {text}" for text, of in numbers.items()]
