"""Private keys: who may sign, what is refused and how it is told, and what a broken-off change leaves."""

from __future__ import annotations

import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as curve_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from signing_homes import PASSPHRASE, events, opens_ledger, text_of

from tasks.audit.signing import pem
from tasks.audit.signing.envelope import ENTRY_TYPE, open_envelope, sign_envelope
from tasks.audit.signing.key_changes import KeyChanges
from tasks.audit.signing.keyring import Keyring
from tasks.audit.signing.keys import (
    create_key,
    format_default_key_name,
    make_current,
    open_signing_key,
    pem_path,
    read_current_id,
    read_key_record,
)
from tasks.microdata.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def refused(code: str, *arguments: object, **options: object) -> InputError:
    with pytest.raises(InputError) as error:
        open_signing_key(*arguments, **options)
    assert error.value.code == code
    return error.value


class TestOpening:
    def test_the_first_key_is_made_and_found_again(self, own):
        key = open_signing_key()
        assert open_signing_key().claim == key.claim == read_key_record(own, key.key_id).claim
        assert read_current_id(own) == key.key_id
        assert (key.claim.purpose, key.claim.name) == ("certificates", format_default_key_name(key.key_id))

    def test_what_it_signs_the_keyring_of_the_home_accepts(self, own):
        envelope = open_envelope(sign_envelope({"a": 1}, ENTRY_TYPE, open_signing_key().signer), ENTRY_TYPE)
        assert (
            Keyring.from_home(own).require_valid_signer(envelope, purpose="certificates", signed_at=datetime.now(UTC)).claim
            == open_signing_key().claim
        )

    def test_the_files_are_private(self, own):
        key = open_signing_key()
        folder = own.root / "keys" / "signing"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(pem_path(own, key.key_id).stat().st_mode) == 0o400
        assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in folder.iterdir()} == {0}

    def test_none_is_made_where_none_is_wanted(self, own):
        assert "sdcert keys create" in refused("no-signing-key", create=False).remedy
        assert not own.root.exists()

    def test_with_a_passphrase(self, own, monkeypatch):
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, PASSPHRASE)
        key = open_signing_key()
        content = pem_path(own, key.key_id).read_bytes()
        assert pem.compute_key_id(load_pem_private_key(content, PASSPHRASE.encode())) == key.key_id
        pem._opened.clear()
        assert open_signing_key().claim == key.claim
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

        key = open_signing_key(ask=ask)
        assert open_signing_key().claim == key.claim
        assert questions == [f"passphrase of the key for certificates (key {key.key_id[:16]})"]

    def test_keys_for_approvals_have_a_passphrase_of_their_own(self, own, monkeypatch):
        other = "what the board alone knows"
        make_current(own, create_key("certificates", passphrase=PASSPHRASE, home=own).claim.key_id)
        create_key("approvals", name="Bo\x1bb Board", passphrase=other, home=own)
        pem._opened.clear()
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, PASSPHRASE)
        wrong = refused("wrong-passphrase", purpose="approvals")
        assert "the key for approvals ('Bo\\x1bb Board', key " in wrong.what
        assert pem.APPROVAL_VARIABLE in wrong.allowed
        monkeypatch.setenv(pem.APPROVAL_VARIABLE, other)
        assert open_signing_key("approvals", ask=lambda _: pytest.fail("nobody is asked")).claim.name == "Bo\x1bb Board"
        assert open_signing_key(create=False)
        pem._opened.clear()
        monkeypatch.setenv(pem.APPROVAL_VARIABLE, PASSPHRASE)  # wrong, and no other one is tried for it
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, other)
        refused("wrong-passphrase", purpose="approvals")
        assert "the key for certificates (key " in refused("wrong-passphrase", create=False).what

    def test_a_new_key_for_approvals_is_locked_with_theirs_else_with_the_one_for_all(self, own, monkeypatch):
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, PASSPHRASE)
        assert pem.choose_passphrase(purpose="approvals") == PASSPHRASE
        monkeypatch.setenv(pem.APPROVAL_VARIABLE, "what the board alone knows")
        assert pem.choose_passphrase(purpose="approvals") == "what the board alone knows"
        assert pem.choose_passphrase() == PASSPHRASE

    def test_where_the_passphrase_of_the_environment_is_another_one_the_person_is_asked(self, own, monkeypatch):
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, "that of another key")
        create_key("certificates", passphrase=PASSPHRASE, home=own)
        pem._opened.clear()
        assert open_signing_key(ask=lambda _: PASSPHRASE).key_id == read_current_id(own)
        pem._opened.clear()
        refused("wrong-passphrase", ask=lambda _: "a third one, as wrong")

    def test_a_short_passphrase_locks_nothing(self, own, monkeypatch):
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, "short")
        assert "at least 12" in refused("short-passphrase").allowed
        assert read_current_id(own) is None

    @pytest.mark.parametrize("mode", [0o440, 0o404, 0o420, 0o401, 0o644])
    def test_an_open_key_does_not_sign(self, mode, own):
        path = pem_path(own, open_signing_key().key_id)
        path.chmod(mode)
        error = refused("open-key")
        assert (error.remedy, error.value) == (f"chmod 400 {path}", f"{mode:04o}")
        path.chmod(0o400)
        assert open_signing_key()

    def test_a_lost_key(self, own):
        pem_path(own, open_signing_key().key_id).unlink()
        assert "backup" in refused("no-private-key").remedy

    @pytest.mark.parametrize(
        "content", [b"", b"canary", b"-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----\n"], ids=["1", "2", "3"]
    )
    def test_a_damaged_key(self, content, own):
        path = pem_path(own, open_signing_key().key_id)
        path.unlink()
        path.write_bytes(content)
        path.chmod(0o400)
        assert "canary" not in str(refused("damaged-key"))

    def test_every_cut_of_a_key_is_refused(self, own):
        path = pem_path(own, open_signing_key().key_id)
        content = path.read_bytes().rstrip()
        for length in range(len(content)):
            path.unlink()
            path.write_bytes(content[:length])
            path.chmod(0o400)
            refused("damaged-key")

    def test_a_key_of_another_kind(self, own):
        path = pem_path(own, open_signing_key().key_id)
        path.unlink()
        path.write_text(text_of(curve_key(SECP256R1())))
        path.chmod(0o400)
        assert "Ed25519" in refused("other-kind-of-key").allowed
        path.unlink()

    def test_a_record_of_another_key(self, own):
        key = open_signing_key()
        path = pem_path(own, key.key_id)
        path.unlink()
        path.write_text(text_of(Ed25519PrivateKey.generate()))
        path.chmod(0o400)
        refused("pair-of-keys")

    @pytest.mark.parametrize("content", ["", "{}", '{"schema_version": "1", "claim": 1}', "\xff"])
    def test_a_damaged_record(self, content, own):
        record = pem_path(own, open_signing_key().key_id).with_suffix(".json")
        record.write_text(content)
        assert str(record) in refused("damaged-key-record").where
        record.unlink()
        assert "backup" in refused("no-key-record").remedy

    def test_neither_folder_nor_lock_is_left_by_looking(self, own):
        assert Keyring.from_home(own) == Keyring()
        assert not own.root.exists()


class TestFirstKey:
    @pytest.mark.slow
    def test_makers_at_once_agree_on_one(self, own):
        code = "from tasks.audit.signing.keys import open_signing_key; print(open_signing_key().key_id)"
        started = [
            subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)
        ]
        ids = {maker.communicate(timeout=120)[0].strip() for maker in started}
        assert ids == {read_current_id(own)}
        assert len(list((own.root / "keys" / "signing").glob("*.pem"))) == 1

    def test_its_making_is_light(self):
        heavy = ("numpy", "pandas", "pyarrow", "prefect", "mlflow", "tasks.runtime.artifacts")
        code = f"import sys, tasks.audit.signing.key_changes; print([name for name in {heavy} if name in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"

    def test_a_maker_that_died_before_the_mark_is_taken_over(self, own):
        left = create_key("certificates", home=own)
        assert read_current_id(own) is None
        assert open_signing_key().key_id == left.claim.key_id == read_current_id(own)

    def test_a_maker_that_died_before_the_record_leaves_nothing_that_signs(self, own):
        left = create_key("certificates", home=own)
        pem_path(own, left.claim.key_id).with_suffix(".json").unlink()
        assert open_signing_key().key_id != left.claim.key_id

    def test_a_ledger_whose_key_is_lost_gets_no_new_one(self, own):
        opens_ledger(own)
        mark = own.root / "keys" / "signing" / "current-certificates"
        key_id = mark.read_text().strip()
        mark.unlink()
        assert open_signing_key().key_id == key_id == read_current_id(own)
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
        key = open_signing_key()
        assert (key.key_id, read_current_id(own)) == (pem.compute_key_id(private), pem.compute_key_id(private))
        assert read_key_record(own, key.key_id).claim == key.claim == open_signing_key().claim
        assert not pem_path(own, key.key_id).exists()

    def test_a_key_of_the_files_that_signed_nothing_makes_way(self, own, monkeypatch):
        before = open_signing_key().key_id
        monkeypatch.setenv(pem.PEM_VARIABLE, text_of(Ed25519PrivateKey.generate()))
        assert open_signing_key().key_id != before
        assert read_key_record(own, before).retired_at is not None

    def test_once_there_is_a_ledger_only_its_key_signs(self, own, monkeypatch):
        current = opens_ledger(own)
        monkeypatch.setenv(pem.PEM_VARIABLE, text_of(Ed25519PrivateKey.generate()))
        assert "sdcert keys rotate" in refused("unknown-signing-key").remedy
        assert read_current_id(own) == current
        monkeypatch.setenv(pem.PEM_VARIABLE, pem_path(own, current).read_text())
        assert open_signing_key().key_id == current

    def test_a_rotation_takes_it_and_the_old_key_names_it(self, own, monkeypatch):
        old = opens_ledger(own)
        private = Ed25519PrivateKey.generate()
        monkeypatch.setenv(pem.PEM_VARIABLE, text_of(private))
        new = KeyChanges(own).rotate().claim.key_id
        assert new == pem.compute_key_id(private) == open_signing_key().key_id
        assert events(own)[-2:] == [(old[:8], "key", "created", new[:8]), (new[:8], "key", "retired", old[:8])]
        assert not pem_path(own, new).exists()

    def test_a_rotation_away_from_it(self, own, monkeypatch):
        private = Ed25519PrivateKey.generate()
        monkeypatch.setenv(pem.PEM_VARIABLE, text_of(private))
        old, new = open_signing_key().key_id, KeyChanges(own).rotate().claim.key_id
        assert pem_path(own, new).exists()
        assert events(own)[-1] == (new[:8], "key", "retired", old[:8])
        refused("unknown-signing-key")
        with pytest.raises(InputError, match="nobody could trace"):
            KeyChanges(own).rotate()

    def test_it_does_not_sign_for_a_person(self, own, monkeypatch):
        opens_ledger(own)
        person = open_signing_key("approvals").key_id
        monkeypatch.setenv(pem.PEM_VARIABLE, text_of(Ed25519PrivateKey.generate()))
        assert open_signing_key("approvals").key_id == person
        monkeypatch.setenv(pem.PEM_VARIABLE, "no key at all")
        assert open_signing_key("approvals").key_id == person

    @pytest.mark.parametrize(
        ("content", "code"), [("canary", "damaged-key"), (text_of(curve_key(SECP256R1())), "other-kind-of-key")]
    )
    def test_what_is_no_key_is_not_shown(self, content, code, own, monkeypatch):
        monkeypatch.setenv(pem.PEM_VARIABLE, content)
        error = refused(code)
        assert error.where == pem.PEM_VARIABLE
        assert content not in str(error)

    def test_locked(self, own, monkeypatch):
        content = pem.serialise_private_key(Ed25519PrivateKey.generate(), PASSPHRASE).decode()
        pem._opened.clear()
        monkeypatch.setenv(pem.PEM_VARIABLE, content)
        refused("no-passphrase")
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, PASSPHRASE)
        assert open_signing_key()


class TestApprovals:
    def test_they_are_never_made_by_themselves(self, own):
        assert "--for approvals" in refused("no-approval-key", "approvals").remedy

    def test_named_by_name_or_id_or_alone(self, own):
        ana = KeyChanges(own).create("approvals", name="Ana").claim
        assert open_signing_key("approvals").claim == ana
        ben = KeyChanges(own).create("approvals", name="Ben").claim
        assert "Ana, Ben" in refused("no-approval-key", "approvals").allowed
        assert (
            open_signing_key("approvals", name="Ben").claim == open_signing_key("approvals", name=ben.key_id[:10]).claim == ben
        )
        refused("no-approval-key", "approvals", name="Cleo")

    def test_each_is_announced_by_the_machine(self, own):
        ana = KeyChanges(own).create("approvals", name="Ana").claim.key_id
        machine = read_current_id(own)[:8]
        assert events(own) == [(machine, "opened", "", machine), (machine, "key", "created", ana[:8])]

    def test_a_name_is_had_by_one_key_in_use(self, own):
        ana = KeyChanges(own).create("approvals", name="Ana").claim.key_id
        with pytest.raises(InputError, match="already"):
            KeyChanges(own).create("approvals", name="Ana")
        assert KeyChanges(own).revoke(ana, reason="left the office") is None
        assert KeyChanges(own).create("approvals", name="Ana").claim.key_id != ana


def test_nothing_secret_is_shown_by_accident(own):
    key = open_signing_key()
    secret = pem_path(own, key.key_id).read_text().splitlines()[1]
    assert secret not in repr(key) + str(key) + repr(key.signer)
