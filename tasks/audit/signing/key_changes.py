"""Changes of keys: made, rotated, revoked; each also an entry of the ledger.

What is to be done is written down first (`pending.json`), then the files, then the entries, and each step may be done twice:
whatever ends the process in between, the next change of keys finishes what was begun. Until then the old key signs, or the new
one that the ledger knows already; never one that it does not know.

An entry that names a new key is signed by the key before it, even one that is being revoked: there is no other way to go on
with the chain. Somebody with a stolen key can name a key of their own as well, so the public key that others trust must be
published anew after a revocation.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import AwareDatetime, ValidationError

from tasks.audit.ledger.entries import KeyChanged, KeyPurpose
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.signing.keyring import KeyRecord, format_default_key_name, key_records
from tasks.audit.signing.keys import (
    SigningKey,
    admit,
    create_key_record,
    current_id,
    first_key,
    keep_record,
    keys_locked,
    make_current,
    open_key,
    pem_path,
    read_key_record,
    retire_record,
    revoke_record,
    signing_key,
    stranger,
    usable,
    write_key_files,
)
from tasks.audit.signing.pem import AskPassphrase, compute_key_id, open_environment_key
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_file
from tasks.microdata.spec import Spec
from tasks.runtime.files import sync_folder, write_whole
from tasks.runtime.settings import Home


class Pending(Spec):
    """A change that was begun. key_id: the key that is retired or revoked; successor: the key that is made."""

    change: Literal["create", "rotate", "revoke"]
    key_id: str | None = None
    successor: str | None = None
    since: AwareDatetime | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class KeyChanges:
    """Changes of the keys of a home. ask: given a question, returns the passphrase of a key that must be opened."""

    home: Home
    ask: AskPassphrase | None = None

    def create(self, purpose: KeyPurpose, *, name: str | None = None, passphrase: str | None = None) -> KeyRecord:
        """Make the first key for certificates (the first entry of the ledger will name it), or a person's key for approvals.

        Raises InputError where there is one already.
        """
        if purpose == "certificates":
            return self._create_first(name, passphrase)
        signing_key(ask=self.ask, home=self.home)
        private = Ed25519PrivateKey.generate()
        record = create_key_record(private, purpose, name)
        with keys_locked(self.home):
            self._finish()
            self._refuse_namesake(record.claim.name)
            self._begin(Pending(change="create", successor=record.claim.key_id))
            write_key_files(self.home, record, private, passphrase)
            self._finish(again=False)
        return record

    def rotate(self, *, passphrase: str | None = None) -> KeyRecord:
        """Make a new key for certificates, or take that of the environment; the old one names it, and is retired.

        Returns the new one. Raises InputError where there is no key yet, or the old one cannot be opened.
        """
        old = self.current().key_id
        with keys_locked(self.home):
            self._finish()
            self._refuse_other(old)
            new = self._begin_with_successor(Pending(change="rotate", key_id=old), passphrase)
            self._finish(again=False)
        return read_key_record(self.home, str(new.successor))

    def revoke(
        self, key_id: str, *, reason: str, since: datetime | None = None, passphrase: str | None = None
    ) -> KeyRecord | None:
        """Let nothing be good that a key signed (since a date). Returns the new key, where it was the current one.

        Raises InputError where the key is unknown, revoked already, or the date is later than now.
        """
        current = self.current().key_id
        with keys_locked(self.home):
            self._finish()
            self._refuse_other(current)
            _refuse_weaker(read_key_record(self.home, key_id), since)
            pending = Pending(change="revoke", key_id=key_id, since=since, reason=reason)
            if key_id == current:
                pending = self._begin_with_successor(pending, passphrase)
            else:
                self._begin(pending)
            self._finish(again=False)
        return read_key_record(self.home, pending.successor) if pending.successor else None

    def current(self) -> SigningKey:
        """The key that signs now, opened while nothing is locked yet: it may have to ask for a passphrase."""
        key_id = current_id(self.home)
        if key_id is None:
            return signing_key(create=False, ask=self.ask, home=self.home)
        return open_key(self.home, read_key_record(self.home, key_id), self.ask)

    def finish(self) -> Pending | None:
        """Finish a change that was broken off; returns what it was, or None if there is none."""
        if self.pending() is None:
            return None
        with keys_locked(self.home):
            return self._finish()

    def pending(self) -> Pending | None:
        """A change that was begun and not finished. Raises InputError where the note of it is damaged."""
        try:
            return Pending.model_validate_json(read_file(self._path))
        except FileNotFoundError:
            return None
        except (ValidationError, OSError):
            what, remedy = "the note of a change of keys cannot be read", "restore keys/signing from a backup"
            raise InputError("damaged-note", str(self._path), what, "the file as `sdcert keys` wrote it", remedy) from None

    def count_signatures(self, key_id: str, kind: str, since: datetime | None = None) -> int:
        """How many certificates (kind `ended`) or approvals (`approved`) of the ledger a key signed, since a date.

        Cost: one reading of the ledger, 1 to 2 s for 100,000 entries.
        """
        return sum(_is_signed(line.content, key_id, kind, since) for line in self.ledger.lines())

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.home.root / "ledger")

    @property
    def _path(self) -> Path:
        return self.home.root / "keys" / "signing" / "pending.json"

    def _create_first(self, name: str | None, passphrase: str | None) -> KeyRecord:
        private = open_environment_key(self.ask)
        with keys_locked(self.home):
            found = current_id(self.home)
            if found is not None:
                what, remedy = "this home has a key for certificates already", "`sdcert keys rotate` makes a new one"
                raise InputError("key-exists", "sdcert keys create", what, "one current key", remedy, found[:16])
            if private is None:
                return first_key(self.home, name=name, passphrase=passphrase)
            admit(self.home, private, name)
            return read_key_record(self.home, compute_key_id(private))

    def _begin_with_successor(self, pending: Pending, passphrase: str | None) -> Pending:
        """Begin the change, and make the new key, which is called as the old one."""
        old = read_key_record(self.home, current_id(self.home) or "").claim
        name = None if old.name == format_default_key_name(old.key_id) else old.name
        given = open_environment_key(self.ask)
        if given is not None and compute_key_id(given) != current_id(self.home):
            record = self._never_used(given, name)
            pending = self._begin(pending.model_copy(update={"successor": record.claim.key_id}))
            keep_record(self.home, record)
            return pending
        private = Ed25519PrivateKey.generate()
        record = create_key_record(private, "certificates", name)
        pending = self._begin(pending.model_copy(update={"successor": record.claim.key_id}))
        write_key_files(self.home, record, private, passphrase)
        return pending

    def _never_used(self, given: Ed25519PrivateKey, name: str | None) -> KeyRecord:
        if any(record.claim.key_id == compute_key_id(given) for _, record in key_records(self.home)):
            raise stranger()
        return create_key_record(given, "certificates", name)

    def _begin(self, pending: Pending) -> Pending:
        write_whole(self._path, pending.model_dump_json().encode())
        return pending

    def _finish(self, *, again: bool = True) -> Pending | None:
        """Do what the note says, and remove it. again: some of it may have been done. Hold `keys_locked`."""
        pending = self.pending()
        if pending is None:
            return None
        if pending.successor is not None and not self._is_whole(pending.successor):
            pem_path(self.home, pending.successor).unlink(missing_ok=True)
        else:
            self._carry_out(pending, again=again)
        self._path.unlink()
        sync_folder(self._path.parent)
        return pending

    def _is_whole(self, key_id: str) -> bool:
        return pem_path(self.home, key_id).with_suffix(".json").exists()

    def _carry_out(self, pending: Pending, *, again: bool) -> None:
        if pending.successor is not None:
            made = read_key_record(self.home, pending.successor)
            self._announce(KeyChanged(change="created", key=made.claim), again=again)
            if made.claim.purpose == "certificates":
                make_current(self.home, made.claim.key_id)
        if pending.key_id is None:
            return
        record = _end_record(read_key_record(self.home, pending.key_id), pending)
        keep_record(self.home, record)
        change: Literal["retired", "revoked"] = "retired" if pending.change == "rotate" else "revoked"
        since = record.retired_at if pending.change == "rotate" else pending.since
        self._announce(KeyChanged(change=change, key=record.claim, since=since, reason=pending.reason), again=again)

    def _announce(self, event: KeyChanged, *, again: bool) -> None:
        content = event.model_dump(mode="json")
        if again and any(_entry(line.content)[1].get("event") == content for line in self.ledger.lines()):
            return
        self.ledger.append(event, self.current())

    def _refuse_other(self, key_id: str) -> None:
        if current_id(self.home) != key_id:
            what, remedy = (
                "the current key was changed at the same time",
                "look at `sdcert keys list`, and run again if need be",
            )
            raise InputError("keys-changed", "sdcert keys", what, "one change at a time", remedy)

    def _refuse_namesake(self, name: str) -> None:
        for _, record in key_records(self.home):
            if record.claim.purpose == "approvals" and usable(record) and record.claim.name == name:
                what, allowed = "somebody of this name has a key for approvals already", "a name that no key in use has"
                remedy = f"revoke the old one first: `sdcert keys revoke {record.claim.key_id[:8]} --reason ...`"
                raise InputError("key-exists", "--name", what, allowed, remedy, name)


def _end_record(record: KeyRecord, pending: Pending) -> KeyRecord:
    now = datetime.now(UTC)
    if pending.change == "rotate":
        return record if record.retired_at else retire_record(record, now)
    return revoke_record(record, record.revoked_at or now, pending.since, pending.reason or "")


def _refuse_weaker(record: KeyRecord, since: datetime | None) -> None:
    if since is not None and since > datetime.now(UTC):
        what, remedy = "this date is later than now", "leave it out (nothing is good), or say since when the key may be stolen"
        raise InputError("later-than-now", "--since", what, "a date in the past", remedy, since.isoformat())
    before = record.revoked_since
    if record.revoked_at is None or (before is not None and (since is None or since < before)):
        return
    what = "this key was revoked already" + ("" if before is None else f", since {before.isoformat()}")
    allowed = "a key that is not, or an earlier date: a revocation is never taken back"
    raise InputError("revoked-already", "KEY_ID", what, allowed, "nothing is to be done", record.claim.key_id[:16])


def _is_signed(line: bytes, key_id: str, kind: str, since: datetime | None) -> bool:
    signer, entry = _entry(line)
    event = entry.get("event", {})
    if event.get("kind") != kind or (event.get("key_id") if kind == "approved" else signer) != key_id:
        return False
    if kind == "ended" and event.get("outcome") != "certified":
        return False
    return since is None or datetime.fromisoformat(entry["at"]) >= since


def _entry(line: bytes) -> tuple[str, dict[str, Any]]:
    """The id of the key and the entry of a line. Nothing is verified: `sdcert audit verify` does that."""
    try:
        envelope = json.loads(line)
        return envelope["signatures"][0]["keyid"], json.loads(base64.b64decode(envelope["payload"]))
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return "", {}
