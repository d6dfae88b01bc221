"""Keys that are made, rotated and revoked, and what a broken-off change leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from signing_homes import events, opens_ledger

from tasks.audit.ledger.ledger_verification import verify_ledger
from tasks.audit.signing import key_changes as changes_module
from tasks.audit.signing import keys as keys_module
from tasks.audit.signing.envelope import ENTRY_TYPE, open_envelope
from tasks.audit.signing.key_changes import KeyChanges
from tasks.audit.signing.keyring import Keyring
from tasks.audit.signing.keys import hold_signing_key, open_key, open_signing_key, pem_path, read_current_id, read_key_record
from tasks.microdata.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


class TestChanges:
    def test_the_first_one_needs_no_entry(self, own):
        key = KeyChanges(own).create("certificates", name="Office").claim
        assert open_signing_key().claim == key
        assert events(own) == []
        with pytest.raises(InputError, match="already"):
            KeyChanges(own).create("certificates")

    def test_rotation(self, own):
        old = KeyChanges(own).create("certificates", name="Office").claim.key_id
        new = KeyChanges(own).rotate()
        assert (new.claim.key_id, new.claim.name) == (open_signing_key().key_id, "Office")
        assert events(own) == [
            (old[:8], "opened", "", old[:8]),
            (old[:8], "key", "created", new.claim.key_id[:8]),
            (new.claim.key_id[:8], "key", "retired", old[:8]),
        ]
        with pytest.raises(InputError, match="retired or revoked"):
            open_key(own, read_key_record(own, old))
        assert verify_ledger(KeyChanges(own).ledger, Keyring.from_home(own)).findings == ()

    def test_what_the_old_key_signed_is_never_later_than_its_retirement(self, own):
        open_signing_key()
        KeyChanges(own).rotate()
        ring = Keyring.from_home(own)
        opened = [open_envelope(line.content, ENTRY_TYPE) for line in KeyChanges(own).ledger.lines()]
        assert len(opened) == 3
        for envelope in opened:
            assert ring.require_valid_signer(
                envelope, purpose="certificates", signed_at=datetime.fromisoformat(envelope.value["at"])
            )

    def test_nobody_rotates_while_another_signs(self, own):
        open_signing_key()
        code = "from tasks.audit.signing.key_changes import *; KeyChanges(Home.current()).rotate(); print('rotated')"
        with hold_signing_key() as key:
            other = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
            with pytest.raises(subprocess.TimeoutExpired):
                other.wait(timeout=1.5)
            assert read_current_id(own) == key.key_id
        assert other.communicate(timeout=60)[0] == "rotated\n"
        with hold_signing_key() as later:
            assert later.key_id == read_current_id(own) != key.key_id

    def test_revoking_the_current_key_makes_a_new_one(self, own):
        old = open_signing_key().key_id
        since = datetime.now(UTC) - timedelta(days=3)
        new = KeyChanges(own).revoke(old, reason="stolen", since=since)
        assert new is not None
        record = read_key_record(own, old)
        assert (record.revoked_since, record.reason) == (since, "stolen")
        assert open_signing_key().key_id == new.claim.key_id
        assert events(own)[-1] == (new.claim.key_id[:8], "key", "revoked", old[:8])

    def test_a_retired_key_can_be_revoked_and_nothing_is_made(self, own):
        old = open_signing_key().key_id
        KeyChanges(own).rotate()
        current = read_current_id(own)
        assert KeyChanges(own).revoke(old, reason="stolen") is None
        assert read_current_id(own) == current

    def test_a_revocation_is_made_stricter_and_never_weaker(self, own):
        old = open_signing_key().key_id
        changes, now = KeyChanges(own), datetime.now(UTC)
        changes.revoke(old, reason="stolen", since=now - timedelta(days=1))
        with pytest.raises(InputError, match="revoked already"):
            changes.revoke(old, reason="stolen", since=now - timedelta(hours=1))
        changes.revoke(old, reason="stolen", since=now - timedelta(days=2))
        changes.revoke(old, reason="stolen")
        with pytest.raises(InputError, match="revoked already"):
            changes.revoke(old, reason="stolen")
        assert read_key_record(own, old).revoked_since is None

    def test_a_revocation_is_not_for_later(self, own):
        old = open_signing_key().key_id
        with pytest.raises(InputError, match="later than now"):
            KeyChanges(own).revoke(old, reason="stolen", since=datetime.now(UTC) + timedelta(days=1))
        assert read_current_id(own) == old

    def test_an_unknown_key_is_not_revoked(self, own):
        open_signing_key()
        with pytest.raises(InputError, match="record of the signing key is gone"):
            KeyChanges(own).revoke("0" * 64, reason="stolen")

    def test_without_the_old_key_there_is_no_rotation(self, own):
        old = opens_ledger(own)
        pem_path(own, old).unlink()
        with pytest.raises(InputError, match="not here"):
            KeyChanges(own).rotate()
        assert KeyChanges(own).pending() is None


class Died(BaseException):
    """The process ended here."""


@pytest.fixture
def dies(monkeypatch):
    """`dies(step, n, after)` ends the process at the n-th call of a step, before or after it."""

    def set_up(step: str, n: int, *, after: bool) -> None:
        where = KeyChanges if step.startswith("_") else changes_module
        real, calls = getattr(where, step), []

        def stand_in(*arguments, **options):
            calls.append(step)
            if len(calls) == n and not after:
                raise Died
            found = real(*arguments, **options)
            if len(calls) == n:
                raise Died
            return found

        monkeypatch.setattr(where, step, stand_in)

    return set_up


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("step", "n"),
    [("_begin", 1), ("write_key_files", 1), ("_announce", 1), ("make_current", 1), ("keep_record", 1), ("_announce", 2)],
)
@pytest.mark.parametrize("what", ["rotate", "revoke"])
def test_a_change_that_was_broken_off_is_finished_by_the_next(what, step, n, after, own, dies, monkeypatch):
    old = opens_ledger(own)
    n_before = len(events(own))

    def change(changes: KeyChanges) -> None:
        changes.rotate() if what == "rotate" else changes.revoke(old, reason="stolen")

    dies(step, n, after=after)
    with pytest.raises(Died):
        change(KeyChanges(own))
    monkeypatch.undo()
    monkeypatch.setenv("SDCERT_HOME", str(own.root))

    with hold_signing_key() as key:  # whatever happened, the key that signs now is one that the ledger names
        named = {old[:8]} | {key_id for _, _, made, key_id in events(own) if made == "created"}
        assert key.key_id[:8] in named

    KeyChanges(own).finish()
    assert KeyChanges(own).pending() is None
    new = read_current_id(own)
    ending = [(old[:8], "key", "created", new[:8]), (new[:8], "key", "retired" if what == "rotate" else "revoked", old[:8])]
    nothing_begun = (step == "_begin") or (step == "write_key_files" and not after)
    assert (new == old) == nothing_begun
    assert events(own)[n_before:] == ([] if nothing_begun else ending)
    assert verify_ledger(KeyChanges(own).ledger, Keyring.from_home(own)).findings == ()
    record = read_key_record(own, old)
    assert bool(record.retired_at or record.revoked_at) != nothing_begun
    assert {path.stem for path in (own.root / "keys" / "signing").glob("*.pem")} == {
        found.key_id for found in Keyring.from_home(own).keys
    }


def test_a_maker_that_died_between_the_files_of_a_new_key_leaves_none(own, monkeypatch):
    old = opens_ledger(own)

    def died(*_: object) -> None:
        raise Died

    with monkeypatch.context() as broken:
        broken.setattr(keys_module, "keep_record", died)
        with pytest.raises(Died):
            KeyChanges(own).rotate()
    folder = own.root / "keys" / "signing"
    assert len(list(folder.glob("*.pem"))) == 3
    assert KeyChanges(own).rotate().claim.key_id == read_current_id(own) != old
    assert len(list(folder.glob("*.pem"))) == len(list(folder.glob("*.json"))) == 3


def test_a_damaged_note_is_told(own):
    opens_ledger(own)
    (own.root / "keys" / "signing" / "pending.json").write_text("{")
    with pytest.raises(InputError, match="note of a change"):
        KeyChanges(own).rotate()


@pytest.mark.slow
def test_rotations_at_once_leave_one_chain(own):
    open_signing_key()
    code = (
        "from tasks.audit.signing.key_changes import *\n"
        "try: KeyChanges(Home.current()).rotate()\n"
        "except InputError as error: print(error.code)"
    )
    started = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [one.communicate(timeout=120)[0].strip() for one in started]
    assert set(said) <= {"", "keys-changed", "key-not-in-use"}
    made = [(signer, key_id) for signer, _, change, key_id in events(own) if change == "created"]
    assert len(made) == said.count("") >= 1
    assert [signer for signer, _ in made[1:]] == [key_id for _, key_id in made[:-1]]
    assert made[-1][1] == read_current_id(own)[:8]
    assert verify_ledger(KeyChanges(own).ledger, Keyring.from_home(own)).findings == ()


def test_who_signed_what_is_counted(own, monkeypatch):
    def line(signer: str, event: dict[str, object], day: int = 21) -> SimpleNamespace:
        payload = json.dumps({"at": f"2026-11-{day}T00:00:00Z", "event": event}).encode()
        envelope = {"payload": b64encode(payload).decode(), "signatures": [{"keyid": signer}]}
        return SimpleNamespace(content=json.dumps(envelope).encode())

    lines = [
        line("k", {"kind": "ended", "outcome": "certified"}),
        line("k", {"kind": "ended", "outcome": "certified"}, 23),
        line("k", {"kind": "ended", "outcome": "refused"}),
        line("other", {"kind": "ended", "outcome": "certified"}),
        line("k", {"kind": "approved", "key_id": "p"}),
        SimpleNamespace(content=b"damaged"),
    ]
    monkeypatch.setattr(changes_module, "Ledger", lambda _: SimpleNamespace(lines=lambda: lines))
    changes = KeyChanges(own)
    assert changes.count_signatures("k", "ended") == 2
    assert changes.count_signatures("k", "ended", datetime(2026, 11, 22, tzinfo=UTC)) == 1
    assert (changes.count_signatures("p", "approved"), changes.count_signatures("k", "approved")) == (1, 0)
