"""Which keys can sign entries: the first entry names the first key, and each later key is named by a signed entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tasks.audit.ledger.entries import Entry, KeyChanged, KeyClaim, LedgerOpened
from tasks.audit.ledger.ledger_findings import LedgerFindings
from tasks.audit.signing.envelope import NotAnEnvelope, NotSignedByGivenKeys, SignedEnvelope, verify_signature
from tasks.audit.signing.keyring import Keyring, parse_public_key
from tasks.audit.signing.library import SSlibKey
from tasks.microdata.spec import Spec

ED25519 = ("ed25519", "ed25519")  # kind and scheme: the only ones that sign here


class KeySoFar(Spec):
    """A key that some entry named, in hexadecimal, and whether an entry ended it (`retired`, `revoked`; empty: none did)."""

    public_key: str
    ended: str = ""


@dataclass(slots=True)
class _Signer:
    key: SSlibKey
    ended: str = ""

    @property
    def so_far(self) -> KeySoFar:
        return KeySoFar(public_key=self.key.keyval["public"], ended=self.ended)


@dataclass(slots=True)
class Signers:
    """The keys so far. trusted: those that whoever verifies knows from elsewhere; none: nothing to compare with."""

    found: LedgerFindings
    trusted: Keyring | None
    known: dict[str, _Signer] = field(default_factory=dict)
    signed: Counter[str] = field(default_factory=Counter)
    revoked: list[tuple[str, datetime | None, int]] = field(default_factory=list)

    @classmethod
    def resume(cls, found: LedgerFindings, keys: Mapping[str, KeySoFar]) -> Signers:
        """After the entries that named these keys."""
        known = {name: _Signer(SSlibKey(name, *ED25519, {"public": one.public_key}), one.ended) for name, one in keys.items()}
        return cls(found, None, known)

    def check(self, entry: Entry, envelope: SignedEnvelope, byte: int) -> None:
        """Raises NotAnEnvelope where no key signed the entry that may have; other faults of keys are findings."""
        if entry.index == 0 and not self.known and isinstance(entry.event, LedgerOpened):
            self._introduce(entry.event.key)
        signer = self.known.get(envelope.key_id) or self._from_elsewhere(entry, envelope, byte)
        try:
            verify_signature(envelope, [signer.key])
        except NotSignedByGivenKeys:
            raise NotAnEnvelope("its signature is not the one of its key") from None
        self.signed[envelope.key_id] += 1
        if signer.ended:
            says = f"entry {entry.index} is signed by key {envelope.key_id[:16]}, which was {signer.ended} before"
            self.found.add("key", says, entry.index, byte)

    def learn(self, entry: Entry, byte: int) -> None:
        """What a verified entry says of keys. Raises NotAnEnvelope where it names a key that is none."""
        match entry.event:
            case LedgerOpened(key=claim) if entry.index == 0:
                self._compare(claim, byte)
            case _ if entry.index == 0:
                self.found.add("changed", "entry 0 does not open the ledger", 0, byte)
            case LedgerOpened():
                self.found.add("inserted", f"entry {entry.index} opens the ledger a second time", entry.index, byte)
            case KeyChanged(key=claim) if claim.purpose == "certificates":
                self._change(entry.event, claim.key_id)

    def _change(self, event: KeyChanged, key_id: str) -> None:
        if event.change == "created":
            self._introduce(event.key)
        elif key_id in self.known:
            self.known[key_id].ended = event.change
        if event.change == "revoked":
            self.revoked.append((key_id, event.since, self.signed[key_id]))

    def compare(self) -> None:
        """Do those who are trusted know of the end of a key that no entry tells?"""
        for known in self.trusted.keys if self.trusted else ():
            signer = self.known.get(known.key_id)
            if signer is not None and not signer.ended and (known.revoked or known.retired_at is not None):
                status = "revoked" if known.revoked else "retired"
                says = (
                    f"key {known.key_id[:16]} was {status}, and no entry says so: entries are missing at the end, or "
                    f"a change of "
                    "keys was broken off (`sdcert keys list`)"
                )
                self.found.add("key", says)

    def notes(self) -> Iterator[str]:
        """What a revoked key signed before its revocation was written."""
        for key_id, since, entries in self.revoked:
            status = "was never to be relied on" if since is None else f"was not to be relied on since {since.isoformat()}"
            yield (
                f"key {key_id[:16]} {status}; it signed {entries:,} entries before that was written down: for them the chain "
                "and witnesses speak, not the signature"
            )

    def _introduce(self, claim: KeyClaim) -> None:
        if claim.purpose != "certificates":
            raise NotAnEnvelope("it names a key that is not for entries")
        try:
            key = parse_public_key(claim.public_key.encode())
        except ValueError as error:
            raise NotAnEnvelope(f"it names a key that is none: {error}") from None
        if key.keyid != claim.key_id:
            raise NotAnEnvelope("it names a key by an id that is not that of the key")
        self.known.setdefault(claim.key_id, _Signer(key))

    def _from_elsewhere(self, entry: Entry, envelope: SignedEnvelope, byte: int) -> _Signer:
        trusted = self.trusted.find_key(envelope.key_id) if self.trusted else None
        if trusted is None:
            raise NotAnEnvelope("it is signed by a key that no entry before it names")
        says = (
            f"entry {entry.index} is signed by key {envelope.key_id[:16]}, which is known, though no entry before it names it"
        )
        self.found.add("key", says, entry.index, byte)
        return self.known.setdefault(envelope.key_id, _Signer(trusted.key))

    def _compare(self, claim: KeyClaim, byte: int) -> None:
        if self.trusted is not None and self.trusted.find_key(claim.key_id) is None:
            says = f"the ledger was opened with key {claim.key_id[:16]}, which is none of those that are trusted"
            self.found.add("key", says, 0, byte)
