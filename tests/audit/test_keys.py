"""Private keys: who may sign, what is refused and how it is told, and what a broken-off change leaves."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as curve_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from tasks.audit.ledger.verification import verify_ledger
from tasks.audit.signing import changes as changes_module
from tasks.audit.signing import keys as keys_module
from tasks.audit.signing import pem
from tasks.audit.signing.changes import KeyChanges
from tasks.audit.signing.envelope import ENTRY, open_envelope, seal
from tasks.audit.signing.keyring import Keyring
from tasks.audit.signing.keys import create_key, current_id, open_key, pem_path, record_of, signing, signing_key, unnamed
from tasks.microdata.errors import InputError
from tasks.runtime.settings import Home

ROOT = Path(__file__).resolve().parents[2]
PASSPHRASE = "some words that nobody guesses"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in (pem.PEM_VARIABLE, pem.PASSPHRASE_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pem, "_opened", {})


@pytest.fixture
def own(home):
    return Home(home)


def text_of(private) -> str:
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def refused(code: str, *arguments: object, **options: object) -> InputError:
    with pytest.raises(InputError) as error:
        signing_key(*arguments, **options)
    assert error.value.code == code
    return error.value


def events(home: Home) -> list[tuple[str, str, str, str]]:
    """Signer, kind, change and key of each entry, the keys by the beginnings of their ids."""
    found = []
    for line in KeyChanges(home).ledger.lines():
        envelope = json.loads(line.content)
        event = json.loads(b64decode(envelope["payload"]))["event"]
        signer = envelope["signatures"][0]["keyid"]
        found.append((signer[:8], event["kind"], event.get("change", ""), event["key"]["key_id"][:8]))
    return found


def opens_ledger(home: Home) -> str:
    """Append something, so that the ledger names the current key; its id."""
    KeyChanges(home).create("approvals", name="Somebody")
    return str(current_id(home))


class TestOpening:
    def test_the_first_key_is_made_and_found_again(self, own):
        key = signing_key()
        assert signing_key().claim == key.claim == record_of(own, key.key_id).claim
        assert current_id(own) == key.key_id
        assert (key.claim.purpose, key.claim.name) == ("certificates", unnamed(key.key_id))

    def test_what_it_signs_the_keyring_of_the_home_accepts(self, own):
        sealed = open_envelope(seal({"a": 1}, ENTRY, signing_key().signer), ENTRY)
        assert (
            Keyring.of_home(own).checked(sealed, purpose="certificates", signed_at=datetime.now(UTC)).claim
            == signing_key().claim
        )

    def test_the_files_are_private(self, own):
        key = signing_key()
        folder = own.root / "keys" / "signing"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(pem_path(own, key.key_id).stat().st_mode) == 0o400
        assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in folder.iterdir()} == {0}

    def test_none_is_made_where_none_is_wanted(self, own):
        assert "sdcert keys create" in refused("no-signing-key", create=False).remedy
        assert not own.root.exists()

    def test_with_a_passphrase(self, own, monkeypatch):
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, PASSPHRASE)
        key = signing_key()
        content = pem_path(own, key.key_id).read_bytes()
        assert pem.id_of(load_pem_private_key(content, PASSPHRASE.encode())) == key.key_id
        pem._opened.clear()
        assert signing_key().claim == key.claim
        pem._opened.clear()
        monkeypatch.delenv(pem.PASSPHRASE_VARIABLE)
        assert pem.PASSPHRASE_VARIABLE in refused("no-passphrase").remedy
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, "another long passphrase")
        assert "another long" not in str(refused("wrong-passphrase"))

    def test_a_passphrase_is_asked_for_once_in_a_process(self, own):
        create_key("certificates", passphrase=PASSPHRASE, home=own)
        pem._opened.clear()
        questions = []

        def ask(question: str) -> str:
            questions.append(question)
            return PASSPHRASE

        key = signing_key(ask=ask)
        assert signing_key().claim == key.claim
        assert questions == [f"passphrase of key {key.key_id[:16]}"]

    def test_where_the_passphrase_of_the_environment_is_another_one_the_person_is_asked(self, own, monkeypatch):
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, "that of another key")
        create_key("certificates", passphrase=PASSPHRASE, home=own)
        pem._opened.clear()
        assert signing_key(ask=lambda _: PASSPHRASE).key_id == current_id(own)
        pem._opened.clear()
        refused("wrong-passphrase", ask=lambda _: "a third one, as wrong")

    def test_a_short_passphrase_locks_nothing(self, own, monkeypatch):
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, "short")
        assert "at least 12" in refused("short-passphrase").allowed
        assert current_id(own) is None

    @pytest.mark.parametrize("mode", [0o440, 0o404, 0o420, 0o401, 0o644])
    def test_an_open_key_does_not_sign(self, mode, own):
        path = pem_path(own, signing_key().key_id)
        path.chmod(mode)
        error = refused("open-key")
        assert (error.remedy, error.value) == (f"chmod 400 {path}", f"{mode:04o}")
        path.chmod(0o400)
        assert signing_key()

    def test_a_lost_key(self, own):
        pem_path(own, signing_key().key_id).unlink()
        assert "backup" in refused("no-private-key").remedy

    @pytest.mark.parametrize(
        "content", [b"", b"canary", b"-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----\n"], ids=["1", "2", "3"]
    )
    def test_a_damaged_key(self, content, own):
        path = pem_path(own, signing_key().key_id)
        path.unlink()
        path.write_bytes(content)
        path.chmod(0o400)
        assert "canary" not in str(refused("damaged-key"))

    def test_every_cut_of_a_key_is_refused(self, own):
        path = pem_path(own, signing_key().key_id)
        content = path.read_bytes().rstrip()
        for length in range(len(content)):
            path.unlink()
            path.write_bytes(content[:length])
            path.chmod(0o400)
            refused("damaged-key")

    def test_a_key_of_another_kind(self, own):
        path = pem_path(own, signing_key().key_id)
        path.unlink()
        path.write_text(text_of(curve_key(SECP256R1())))
        path.chmod(0o400)
        assert "Ed25519" in refused("other-kind-of-key").allowed
        path.unlink()

    def test_a_record_of_another_key(self, own):
        key = signing_key()
        path = pem_path(own, key.key_id)
        path.unlink()
        path.write_text(text_of(Ed25519PrivateKey.generate()))
        path.chmod(0o400)
        refused("pair-of-keys")

    @pytest.mark.parametrize("content", ["", "{}", '{"schema_version": "1", "claim": 1}', "\xff"])
    def test_a_damaged_record(self, content, own):
        record = pem_path(own, signing_key().key_id).with_suffix(".json")
        record.write_text(content)
        assert str(record) in refused("damaged-key-record").where
        record.unlink()
        assert "backup" in refused("no-key-record").remedy

    def test_neither_folder_nor_lock_is_left_by_looking(self, own):
        assert Keyring.of_home(own) == Keyring()
        assert not own.root.exists()


class TestFirstKey:
    def test_eight_makers_agree_on_one(self, own):
        code = "from tasks.audit.signing.keys import signing_key; print(signing_key().key_id)"
        started = [
            subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(8)
        ]
        ids = {maker.communicate(timeout=120)[0].strip() for maker in started}
        assert ids == {current_id(own)}
        assert len(list((own.root / "keys" / "signing").glob("*.pem"))) == 1

    def test_its_making_is_light(self):
        heavy = ("numpy", "pandas", "pyarrow", "prefect", "mlflow", "tasks.runtime.artifacts")
        code = f"import sys, tasks.audit.signing.changes; print([name for name in {heavy} if name in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"

    def test_a_maker_that_died_before_the_mark_is_taken_over(self, own):
        left = create_key("certificates", home=own)
        assert current_id(own) is None
        assert signing_key().key_id == left.claim.key_id == current_id(own)

    def test_a_maker_that_died_before_the_record_leaves_nothing_that_signs(self, own):
        left = create_key("certificates", home=own)
        pem_path(own, left.claim.key_id).with_suffix(".json").unlink()
        assert signing_key().key_id != left.claim.key_id

    def test_a_ledger_whose_key_is_lost_gets_no_new_one(self, own):
        opens_ledger(own)
        mark = own.root / "keys" / "signing" / "current-certificates"
        key_id = mark.read_text().strip()
        mark.unlink()
        assert signing_key().key_id == key_id == current_id(own)
        for path in (mark, pem_path(own, key_id)):
            path.unlink()
        assert "backup" in refused("lost-signing-key").remedy

    def test_which_of_two_keys_signs_is_not_guessed(self, own):
        opens_ledger(own)
        create_key("certificates", home=own)
        (own.root / "keys" / "signing" / "current-certificates").unlink()
        refused("lost-signing-key")


class TestEnvironment:
    def test_it_wins_and_its_record_is_kept(self, own, monkeypatch):
        private = Ed25519PrivateKey.generate()
        monkeypatch.setenv(pem.PEM_VARIABLE, text_of(private))
        key = signing_key()
        assert (key.key_id, current_id(own)) == (pem.id_of(private), pem.id_of(private))
        assert record_of(own, key.key_id).claim == key.claim == signing_key().claim
        assert not pem_path(own, key.key_id).exists()

    def test_a_key_of_the_files_that_signed_nothing_makes_way(self, own, monkeypatch):
        before = signing_key().key_id
        monkeypatch.setenv(pem.PEM_VARIABLE, text_of(Ed25519PrivateKey.generate()))
        assert signing_key().key_id != before
        assert record_of(own, before).retired_at is not None

    def test_once_there_is_a_ledger_only_its_key_signs(self, own, monkeypatch):
        current = opens_ledger(own)
        monkeypatch.setenv(pem.PEM_VARIABLE, text_of(Ed25519PrivateKey.generate()))
        assert "sdcert keys rotate" in refused("unknown-signing-key").remedy
        assert current_id(own) == current
        monkeypatch.setenv(pem.PEM_VARIABLE, pem_path(own, current).read_text())
        assert signing_key().key_id == current

    def test_a_rotation_takes_it_and_the_old_key_names_it(self, own, monkeypatch):
        old = opens_ledger(own)
        private = Ed25519PrivateKey.generate()
        monkeypatch.setenv(pem.PEM_VARIABLE, text_of(private))
        new = KeyChanges(own).rotate().claim.key_id
        assert new == pem.id_of(private) == signing_key().key_id
        assert events(own)[-2:] == [(old[:8], "key", "created", new[:8]), (new[:8], "key", "retired", old[:8])]
        assert not pem_path(own, new).exists()

    def test_a_rotation_away_from_it(self, own, monkeypatch):
        private = Ed25519PrivateKey.generate()
        monkeypatch.setenv(pem.PEM_VARIABLE, text_of(private))
        old, new = signing_key().key_id, KeyChanges(own).rotate().claim.key_id
        assert pem_path(own, new).exists()
        assert events(own)[-1] == (new[:8], "key", "retired", old[:8])
        refused("unknown-signing-key")
        with pytest.raises(InputError, match="nobody could trace"):
            KeyChanges(own).rotate()

    def test_it_does_not_sign_for_a_person(self, own, monkeypatch):
        opens_ledger(own)
        person = signing_key("approvals").key_id
        monkeypatch.setenv(pem.PEM_VARIABLE, text_of(Ed25519PrivateKey.generate()))
        assert signing_key("approvals").key_id == person
        monkeypatch.setenv(pem.PEM_VARIABLE, "no key at all")
        assert signing_key("approvals").key_id == person

    @pytest.mark.parametrize(
        ("content", "code"), [("canary", "damaged-key"), (text_of(curve_key(SECP256R1())), "other-kind-of-key")]
    )
    def test_what_is_no_key_is_not_shown(self, content, code, own, monkeypatch):
        monkeypatch.setenv(pem.PEM_VARIABLE, content)
        error = refused(code)
        assert error.where == pem.PEM_VARIABLE
        assert content not in str(error)

    def test_locked(self, own, monkeypatch):
        content = pem.written(Ed25519PrivateKey.generate(), PASSPHRASE).decode()
        pem._opened.clear()
        monkeypatch.setenv(pem.PEM_VARIABLE, content)
        refused("no-passphrase")
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, PASSPHRASE)
        assert signing_key()


class TestApprovals:
    def test_they_are_never_made_by_themselves(self, own):
        assert "--for approvals" in refused("no-approval-key", "approvals").remedy

    def test_named_by_name_or_id_or_alone(self, own):
        ana = KeyChanges(own).create("approvals", name="Ana").claim
        assert signing_key("approvals").claim == ana
        ben = KeyChanges(own).create("approvals", name="Ben").claim
        assert "Ana, Ben" in refused("no-approval-key", "approvals").allowed
        assert signing_key("approvals", name="Ben").claim == signing_key("approvals", name=ben.key_id[:10]).claim == ben
        refused("no-approval-key", "approvals", name="Cleo")

    def test_each_is_announced_by_the_machine(self, own):
        ana = KeyChanges(own).create("approvals", name="Ana").claim.key_id
        machine = current_id(own)[:8]
        assert events(own) == [(machine, "opened", "", machine), (machine, "key", "created", ana[:8])]

    def test_a_name_is_had_by_one_key_in_use(self, own):
        ana = KeyChanges(own).create("approvals", name="Ana").claim.key_id
        with pytest.raises(InputError, match="already"):
            KeyChanges(own).create("approvals", name="Ana")
        assert KeyChanges(own).revoke(ana, reason="left the office") is None
        assert KeyChanges(own).create("approvals", name="Ana").claim.key_id != ana


class TestChanges:
    def test_the_first_one_needs_no_entry(self, own):
        key = KeyChanges(own).create("certificates", name="Office").claim
        assert signing_key().claim == key
        assert events(own) == []
        with pytest.raises(InputError, match="already"):
            KeyChanges(own).create("certificates")

    def test_rotation(self, own):
        old = KeyChanges(own).create("certificates", name="Office").claim.key_id
        new = KeyChanges(own).rotate()
        assert (new.claim.key_id, new.claim.name) == (signing_key().key_id, "Office")
        assert events(own) == [
            (old[:8], "opened", "", old[:8]),
            (old[:8], "key", "created", new.claim.key_id[:8]),
            (new.claim.key_id[:8], "key", "retired", old[:8]),
        ]
        with pytest.raises(InputError, match="retired or revoked"):
            open_key(own, record_of(own, old))
        assert verify_ledger(KeyChanges(own).ledger, Keyring.of_home(own)).findings == ()

    def test_what_the_old_key_signed_is_never_later_than_its_retirement(self, own):
        signing_key()
        KeyChanges(own).rotate()
        ring = Keyring.of_home(own)
        opened = [open_envelope(line.content, ENTRY) for line in KeyChanges(own).ledger.lines()]
        assert len(opened) == 3
        for sealed in opened:
            assert ring.checked(sealed, purpose="certificates", signed_at=datetime.fromisoformat(sealed.value["at"]))

    def test_nobody_rotates_while_another_signs(self, own):
        signing_key()
        code = "from tasks.audit.signing.changes import *; KeyChanges(Home.current()).rotate(); print('rotated')"
        with signing() as key:
            other = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
            with pytest.raises(subprocess.TimeoutExpired):
                other.wait(timeout=1.5)
            assert current_id(own) == key.key_id
        assert other.communicate(timeout=60)[0] == "rotated\n"
        with signing() as later:
            assert later.key_id == current_id(own) != key.key_id

    def test_revoking_the_current_key_makes_a_new_one(self, own):
        old = signing_key().key_id
        since = datetime.now(UTC) - timedelta(days=3)
        new = KeyChanges(own).revoke(old, reason="stolen", since=since)
        assert new is not None
        record = record_of(own, old)
        assert (record.revoked_since, record.reason) == (since, "stolen")
        assert signing_key().key_id == new.claim.key_id
        assert events(own)[-1] == (new.claim.key_id[:8], "key", "revoked", old[:8])

    def test_a_retired_key_can_be_revoked_and_nothing_is_made(self, own):
        old = signing_key().key_id
        KeyChanges(own).rotate()
        current = current_id(own)
        assert KeyChanges(own).revoke(old, reason="stolen") is None
        assert current_id(own) == current

    def test_a_revocation_is_made_stricter_and_never_weaker(self, own):
        old = signing_key().key_id
        changes, now = KeyChanges(own), datetime.now(UTC)
        changes.revoke(old, reason="stolen", since=now - timedelta(days=1))
        with pytest.raises(InputError, match="revoked already"):
            changes.revoke(old, reason="stolen", since=now - timedelta(hours=1))
        changes.revoke(old, reason="stolen", since=now - timedelta(days=2))
        changes.revoke(old, reason="stolen")
        with pytest.raises(InputError, match="revoked already"):
            changes.revoke(old, reason="stolen")
        assert record_of(own, old).revoked_since is None

    def test_a_revocation_is_not_for_later(self, own):
        old = signing_key().key_id
        with pytest.raises(InputError, match="later than now"):
            KeyChanges(own).revoke(old, reason="stolen", since=datetime.now(UTC) + timedelta(days=1))
        assert current_id(own) == old

    def test_an_unknown_key_is_not_revoked(self, own):
        signing_key()
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
    [("_begin", 1), ("store_key", 1), ("_announce", 1), ("make_current", 1), ("keep_record", 1), ("_announce", 2)],
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

    with signing() as key:  # whatever happened, the key that signs now is one that the ledger names
        named = {old[:8]} | {key_id for _, _, made, key_id in events(own) if made == "created"}
        assert key.key_id[:8] in named

    KeyChanges(own).finish()
    assert KeyChanges(own).pending() is None
    new = current_id(own)
    ending = [(old[:8], "key", "created", new[:8]), (new[:8], "key", "retired" if what == "rotate" else "revoked", old[:8])]
    nothing_begun = (step == "_begin") or (step == "store_key" and not after)
    assert (new == old) == nothing_begun
    assert events(own)[n_before:] == ([] if nothing_begun else ending)
    assert verify_ledger(KeyChanges(own).ledger, Keyring.of_home(own)).findings == ()
    record = record_of(own, old)
    assert bool(record.retired_at or record.revoked_at) != nothing_begun
    assert {path.stem for path in (own.root / "keys" / "signing").glob("*.pem")} == {
        found.key_id for found in Keyring.of_home(own).keys
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
    assert KeyChanges(own).rotate().claim.key_id == current_id(own) != old
    assert len(list(folder.glob("*.pem"))) == len(list(folder.glob("*.json"))) == 3


def test_a_damaged_note_is_told(own):
    opens_ledger(own)
    (own.root / "keys" / "signing" / "pending.json").write_text("{")
    with pytest.raises(InputError, match="note of a change"):
        KeyChanges(own).rotate()


def test_eight_rotations_at_once_leave_one_chain(own):
    signing_key()
    code = (
        "from tasks.audit.signing.changes import *\n"
        "try: KeyChanges(Home.current()).rotate()\n"
        "except InputError as error: print(error.code)"
    )
    started = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    said = [one.communicate(timeout=120)[0].strip() for one in started]
    assert set(said) <= {"", "keys-changed", "key-not-in-use"}
    made = [(signer, key_id) for signer, _, change, key_id in events(own) if change == "created"]
    assert len(made) == said.count("") >= 1
    assert [signer for signer, _ in made[1:]] == [key_id for _, key_id in made[:-1]]
    assert made[-1][1] == current_id(own)[:8]
    assert verify_ledger(KeyChanges(own).ledger, Keyring.of_home(own)).findings == ()


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
    assert changes.signed("k", "ended") == 2
    assert changes.signed("k", "ended", datetime(2026, 11, 22, tzinfo=UTC)) == 1
    assert (changes.signed("p", "approved"), changes.signed("k", "approved")) == (1, 0)


def test_nothing_secret_is_shown_by_accident(own):
    key = signing_key()
    secret = pem_path(own, key.key_id).read_text().splitlines()[1]
    assert secret not in repr(key) + str(key) + repr(key.signer)
