"""`sdcert keys` and what `sdcert doctor` says of keys: what is printed, what is refused, and that nothing secret is shown."""

from __future__ import annotations

import json

import pytest
import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from signing_homes import PASSPHRASE

from flows.cli import keys, run
from flows.cli.doctor import keys as doctor_keys
from tasks.audit.signing import pem
from tasks.audit.signing.key_changes import KeyChanges, Pending
from tasks.audit.signing.keyring import Keyring
from tasks.audit.signing.keys import current_id, pem_path


@pytest.fixture
def call(own, capsys):
    """`call(*words)` runs `sdcert`; returns exit code, stdout and stderr. No line of a private key is ever in them."""

    def called(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(word) for word in words])
        out, err = capsys.readouterr()
        for path in (own.root / "keys" / "signing").glob("*.pem"):
            assert not any(line in out + err for line in path.read_text().splitlines()[1:-1])
        return code, out, err

    return called


@pytest.fixture
def terminal(monkeypatch):
    """`terminal(*answers)` sits somebody at a terminal who gives these answers; returns the questions."""

    def sit(*answers: str) -> list[str]:
        left, questions = list(answers), []

        def prompt(question: str, **how: object) -> str:
            assert how["hide_input"]
            questions.append(question)
            return left.pop(0)

        monkeypatch.setattr(keys.sys.stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(typer, "prompt", prompt)
        return questions

    return sit


def listed(call) -> dict[str, dict[str, object]]:
    code, out, _ = call("keys", "list", "--json")
    assert code == 0
    return {key["claim"]["key_id"]: key for key in json.loads(out)["keys"]}


def of_doctor(own) -> list[tuple[str, str]]:
    return [(finding.status, finding.says) for finding in doctor_keys.check_keys(own.root)]


class TestLooking:
    def test_nothing_there(self, call, own):
        code, out, _ = call("keys", "list")
        assert (code, "no key yet" in out) == (0, True)
        assert listed(call) == {}
        code, out, err = call("keys", "export")
        assert (code, out) == (2, "")
        assert "sdcert keys create" in err
        assert not own.root.exists()

    def test_a_hostile_name_is_harmless(self, call):
        call("keys", "create", "--name", "Office\n\x1b[31m\u202e")
        _, out, _ = call("keys", "list")
        assert "Office\\n\\x1b[31m\\u202e" in out

    def test_a_damaged_mark_of_the_current_key_is_told(self, call, own):
        call("keys", "create")
        for mark in ("", "../../x", "1" * 5000, "\0"):
            (own.root / "keys" / "signing" / "current-certificates").write_text(mark)
            code, _, err = call("keys", "rotate")
            assert (code, "the mark of the current key is damaged" in err) == (2, True)

    def test_a_date_where_the_calendar_ends(self, call, own):
        """No moment in UTC: a record from elsewhere may hold it."""
        call("keys", "create")
        path = own.root / "keys" / "signing" / f"{current_id(own)}.json"
        record = json.loads(path.read_bytes())
        record["claim"]["created_at"] = record["retired_at"] = "0001-01-01T00:00:00+14:00"
        path.write_text(json.dumps(record))
        code, out, _ = call("keys", "list")
        assert (code, "1-01-01 00:00 +14:00" in out) == (0, True)

    def test_states(self, call, own):
        call("keys", "create", "--name", "Office")
        first = current_id(own)
        call("keys", "rotate")
        second = current_id(own)
        call("keys", "revoke", second[:12], "--reason", "stolen", "--since", "2026-01-31")
        call("keys", "create", "--for", "approvals", "--name", "Ana")
        _, out, _ = call("keys", "list")
        told = {part.split()[0]: part for part in out.split("key ")[1:] if len(part.split()[0]) == 64}
        assert "retired" in told[first]
        assert "good before 2026-01-31 00:00 UTC" in told[second]
        assert "reason   stolen" in told[second]
        assert "current: signs" in told[current_id(own)]
        assert "approvals" in told[list(listed(call))[-1]]
        assert "in use" in told[list(listed(call))[-1]]
        assert all("Office" in told[key_id] for key_id in (first, second, current_id(own)))


class TestMaking:
    def test_the_first(self, call, own):
        code, out, _ = call("keys", "create")
        assert (code, f"made: key {current_id(own)}" in out, "without a passphrase" in out) == (0, True, True)
        code, out, err = call("keys", "create")
        assert (code, out) == (2, "")
        assert "sdcert keys rotate" in err
        assert list(listed(call)) == [current_id(own)]

    def test_a_person_has_a_name(self, call):
        code, _, err = call("keys", "create", "--for", "approvals")
        assert (code, "--name NAME" in err) == (2, True)
        assert call("keys", "create", "--for", "approvals", "--name", "x" * 301)[0] == 2
        assert listed(call) == {}

    def test_a_passphrase_from_the_terminal(self, call, own, terminal):
        questions = terminal(PASSPHRASE)
        code, out, _ = call("keys", "create", "--passphrase")
        assert (code, "locked with a passphrase" in out, len(questions)) == (0, True, 1)
        assert pem.has_passphrase(pem_path(own, current_id(own)).read_bytes())
        pem._opened.clear()
        questions = terminal(PASSPHRASE, "another good passphrase")
        assert call("keys", "rotate")[0] == 0  # the new key is locked as the old one is, which is opened first
        assert questions == [
            f"passphrase of the key for certificates (key {next(iter(listed(call)))[:16]})",
            "passphrase of the new key",
        ]
        assert [key["passphrase"] for key in listed(call).values()] == [True, True]

    def test_a_wrong_or_short_passphrase_changes_nothing(self, call, own, terminal):
        terminal(PASSPHRASE)
        call("keys", "create", "--passphrase")
        pem._opened.clear()
        terminal("not this one at all")
        code, _, err = call("keys", "rotate")
        assert (code, "another passphrase" in err, "not this one" in err) == (2, True, False)
        terminal(PASSPHRASE, "short")
        code, _, err = call("keys", "rotate")
        assert (code, "too short" in err) == (2, True)
        assert list(listed(call)) == [current_id(own)]

    def test_without_a_terminal_the_environment_is_asked(self, call, monkeypatch):
        code, _, err = call("keys", "create", "--passphrase")
        assert (code, "SDCERT_KEY_PASSPHRASE" in err) == (2, True)
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, PASSPHRASE)
        assert call("keys", "create")[0] == 0
        monkeypatch.delenv(pem.PASSPHRASE_VARIABLE)
        assert call("keys", "rotate")[0] == 2  # never a key without a passphrase after one with
        assert call("keys", "rotate", "--no-passphrase")[0] == 0
        assert [key["passphrase"] for key in listed(call).values()] == [True, False]

    def test_a_key_for_approvals_is_locked_with_the_passphrase_of_approvals(self, call, monkeypatch):
        code, _, err = call("keys", "create", "--for", "approvals", "--name", "Ana", "--passphrase")
        assert (code, "set SDCERT_APPROVAL_PASSPHRASE" in err) == (2, True)
        monkeypatch.setenv(pem.APPROVAL_VARIABLE, PASSPHRASE)
        assert call("keys", "create", "--for", "approvals", "--name", "Ana", "--passphrase")[0] == 0
        assert [key["passphrase"] for key in listed(call).values()] == [False, True]

    def test_the_key_of_the_environment(self, call, own, monkeypatch):
        private = Ed25519PrivateKey.generate()
        monkeypatch.setenv(pem.PEM_VARIABLE, pem.serialise_private_key(private, None).decode())
        code, out, _ = call("keys", "create", "--name", "Office")
        assert (code, "in SDCERT_SIGNING_KEY" in out) == (0, True)
        assert [key["private_key"] for key in listed(call).values()] == ["environment"]
        code, out, _ = call("keys", "rotate")
        assert (code, "unset SDCERT_SIGNING_KEY" in out) == (0, True)
        assert pem.serialise_private_key(private, None).decode().splitlines()[1] not in out

    def test_nothing_to_rotate(self, call):
        code, _, err = call("keys", "rotate")
        assert (code, "no signing key yet" in err) == (2, True)

    def test_a_rotation_that_was_broken_off_is_finished_and_not_repeated(self, call, own, monkeypatch):
        call("keys", "create")
        monkeypatch.setattr(KeyChanges, "_finish", lambda *_, **__: None)
        call("keys", "rotate")
        monkeypatch.undo()
        monkeypatch.setenv("SDCERT_HOME", str(own.root))
        old = current_id(own)
        assert "broken off" in call("keys", "list")[1]
        assert ("warn", "a change of keys (rotate) was broken off") in of_doctor(own)
        code, out, _ = call("keys", "rotate")
        assert (code, "finished: a change of keys (rotate)" in out) == (0, True)
        assert len(listed(call)) == 2
        assert current_id(own) != old


class TestRevoking:
    def test_the_current_one(self, call, own):
        call("keys", "create")
        old = current_id(own)
        code, out, _ = call("keys", "revoke", old[:8], "--reason", "the laptop was stolen")
        assert code == 0
        assert f"made: key {current_id(own)}" in out
        assert "affected 0 certificates" in out
        assert "export --trust" in out
        assert Keyring.from_home(own).find_key(old).reason == "the laptop was stolen"

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (("ffff" * 16, "--reason", "stolen"), "no key of this home begins like this"),
            (("", "--reason", "stolen"), "several keys begin|no key of this home"),
            (("CURRENT", "--reason", "x"), "too short"),
            (("CURRENT", "--reason", "stolen", "--since", "soon"), "no date"),
            (("CURRENT", "--reason", "stolen", "--since", "0001-01-01T00:00:00+14:00"), "no date"),
            (("CURRENT", "--reason", "stolen", "--since", "2999-01-01"), "later than now"),
            (("CURRENT",), "reason"),
        ],
    )
    def test_what_is_refused(self, words, told, call, own):
        call("keys", "create")
        words = [current_id(own) if word == "CURRENT" else word for word in words]
        code, out, err = call("keys", "revoke", *words)
        assert (code, out) == (2, "")
        assert any(piece in err for piece in told.split("|"))
        assert KeyChanges(own).ledger.exists() is False

    @pytest.mark.parametrize(("number", "told"), [(0, "0 certificates in"), (1, "1 certificate in"), (2, "2 certificates in")])
    def test_how_many_are_affected(self, number, told, call, own, monkeypatch):
        call("keys", "create")
        monkeypatch.setattr(KeyChanges, "count_signatures", lambda *_: number)
        assert told in call("keys", "revoke", current_id(own), "--reason", "stolen")[1]

    def test_an_approver(self, call, own):
        call("keys", "create", "--for", "approvals", "--name", "Ana")
        current = current_id(own)
        ana = next(key_id for key_id in listed(call) if key_id != current)
        code, out, _ = call("keys", "revoke", ana, "--reason", "left the office", "--since", "2026-11-01T12:00")
        assert (code, "before 2026-11-01 12:00 UTC stays good" in out, "affected 0 approvals" in out) == (0, True, True)
        assert current_id(own) == current


class TestExporting:
    def test_a_public_key(self, call, own, tmp_path):
        call("keys", "create")
        _, out, _ = call("keys", "export")
        assert load_pem_public_key(out.encode())
        assert call("keys", "export", current_id(own)[:8], "-o", tmp_path / "key.pem")[0] == 0
        assert (tmp_path / "key.pem").read_text() == out
        assert Keyring.from_files([tmp_path / "key.pem"]).keys[0].key_id == current_id(own)

    def test_no_file_is_written_over(self, call, tmp_path):
        call("keys", "create")
        (tmp_path / "key.pem").write_text("mine")
        code, _, err = call("keys", "export", "-o", tmp_path / "key.pem")
        assert (code, "exists already" in err, (tmp_path / "key.pem").read_text()) == (2, True, "mine")
        assert call("keys", "export", "-o", tmp_path / "absent" / "key.pem")[0] == 2

    @pytest.mark.parametrize("more", [(), ("--seal",)])
    def test_a_trust_file(self, more, call, own, tmp_path):
        call("keys", "create")
        call("keys", "rotate")
        assert call("keys", "export", "--trust", *more, "-o", tmp_path / "trust.json")[0] == 0
        exported, there = Keyring.from_files([tmp_path / "trust.json"]), Keyring.from_home(own)
        assert [(one.claim, one.retired_at) for one in exported.keys] == [(one.claim, one.retired_at) for one in there.keys]

    def test_what_does_not_go_together(self, call):
        call("keys", "create")
        assert call("keys", "export", "--seal")[0] == 2
        assert call("keys", "export", "abc", "--trust")[0] == 2


class TestDoctor:
    def test_no_key_yet(self, own):
        assert [status for status, _ in of_doctor(own)] == ["ok"]
        assert not own.root.exists()

    def test_a_key_without_a_passphrase_is_told_and_no_fault(self, call, own):
        call("keys", "create")
        ((status, says),) = of_doctor(own)
        assert (status, "no passphrase" in says) == ("ok", True)

    def test_a_locked_key(self, call, own, monkeypatch):
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, PASSPHRASE)
        call("keys", "create")
        assert of_doctor(own) == [("ok", f"key {current_id(own)[:16]} signs")]
        pem._opened.clear()
        monkeypatch.setenv(pem.PASSPHRASE_VARIABLE, "another long passphrase")
        assert of_doctor(own)[0][0] == "fail"
        monkeypatch.delenv(pem.PASSPHRASE_VARIABLE)
        assert of_doctor(own)[0][0] == "warn"

    @pytest.mark.parametrize("fault", ["lost", "open", "record lost", "record damaged", "mark lost"])
    def test_what_fails(self, fault, call, own):
        call("keys", "create", "--for", "approvals", "--name", "Ana")
        path = pem_path(own, current_id(own))
        record, mark = path.with_suffix(".json"), path.with_name("current-certificates")
        match fault:
            case "lost":
                path.unlink()
            case "open":
                path.chmod(0o440)
            case "record lost":
                record.unlink()
            case "record damaged":
                record.write_text("{}")
            case "mark lost":
                mark.unlink()
        found = list(doctor_keys.check_keys(own.root))
        assert "fail" in [finding.status for finding in found]
        assert all(finding.to_do for finding in found if finding.status != "ok")

    def test_keys_that_are_not_whole(self, call, own):
        call("keys", "create", "--for", "approvals", "--name", "Ana")
        ana = next(key_id for key_id in listed(call) if key_id != current_id(own))
        pem_path(own, ana).rename(pem_path(own, "0" * 64))
        told = [says for status, says in of_doctor(own) if status == "warn"]
        assert [f"key {ana[:16]} (approvals) is in use" in told[0], "no public record" in told[1]] == [True, True]

    def test_the_environment(self, call, own, monkeypatch):
        call("keys", "create", "--for", "approvals", "--name", "Ana")
        monkeypatch.setenv(pem.PEM_VARIABLE, pem.serialise_private_key(Ed25519PrivateKey.generate(), None).decode())
        assert of_doctor(own)[0][0] == "fail"
        monkeypatch.setenv(pem.PEM_VARIABLE, pem_path(own, current_id(own)).read_text())
        assert of_doctor(own)[0][0] == "ok"
        monkeypatch.setenv(pem.PEM_VARIABLE, "canary")
        ((status, says),) = of_doctor(own)
        assert (status, "canary" in says) == ("fail", False)

    def test_nothing_is_changed(self, call, own):
        call("keys", "create", "--for", "approvals", "--name", "Ana")
        (own.root / "keys" / "signing" / "pending.json").write_text(Pending(change="create").model_dump_json())
        before = {path: path.read_bytes() for path in own.root.rglob("*") if path.is_file()}
        of_doctor(own)
        assert {path: path.read_bytes() for path in own.root.rglob("*") if path.is_file()} == before
