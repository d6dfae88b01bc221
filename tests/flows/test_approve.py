"""`sdcert approve` and `sdcert revoke`: what they sign, record and lay beside the certificate, and what a crash leaves."""

from __future__ import annotations

import hashlib
import json
import os
import threading

import pytest
from certified_runs import RUN, issue

from flows.cli import approve as approving
from flows.cli import revoke as revoking
from flows.cli import run
from tasks.audit.certificates.approval import read_approval
from tasks.audit.certificates.certificate_statements import NotValid
from tasks.audit.certificates.revocation import read_revocation
from tasks.audit.lookup.index import Index
from tasks.audit.signing.keyring import Keyring, read_revoked_certificates
from tasks.audit.signing.keys import create_key, open_signing_key
from tasks.runtime.settings import Home

REASON = "the board met and agreed"


class KilledError(BaseException):
    """The process ends here."""


@pytest.fixture
def issued(tmp_path, home):
    return issue(tmp_path / "releases/survey" / RUN)


@pytest.fixture
def bob(issued):
    return create_key("approvals", name="Bob Board").claim


@pytest.fixture
def sdcert(home, capsys):
    def call(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def approve(sdcert, *words: object) -> tuple[int, str, str]:
    return sdcert("approve", RUN, "--as", "review board", "--reason", REASON, *words)


def revoke(sdcert, *words: object) -> tuple[int, str, str]:
    return sdcert("revoke", RUN, "--reason", "the source was wrong", *words)


def recorded():
    with Index.current() as index:
        return index.run(RUN)


def read(issued, name: str = "approval-1.json"):
    return read_approval((issued.folder / name).read_bytes(), issued.sha256, Keyring.from_home(Home.current()))


def test_a_person_approves(sdcert, issued, bob):
    code, out, err = approve(sdcert)
    assert (code, err) == (0, "")
    assert "approved by Bob Board as review board (another person than who wrote the policy)" in out
    said = read(issued).predicate
    assert (said.by, said.role, said.reason, said.run, said.independent, said.flags) == (
        "Bob Board", "review board", REASON, RUN, True, ())  # fmt: skip
    (entry,) = recorded().approvals
    assert entry.approval == hashlib.sha256((issued.folder / "approval-1.json").read_bytes()).hexdigest()
    assert (entry.certificate, entry.key_id, entry.independent) == (issued.sha256, bob.key_id, True)


def test_the_envelope_is_bound_to_the_certificate(sdcert, issued, bob):
    from tasks.audit.certificates.certificate_statements import open_certificate

    approve(sdcert)
    statement = open_certificate((issued.folder / "approval-1.json").read_bytes()).statement
    assert statement["subject"] == open_certificate(issued.certificate).statement["subject"]
    assert statement["predicateType"] == "urn:sdcert:predicate:approval:1"
    assert statement["predicate"]["certificate"] == issued.sha256


@pytest.mark.parametrize(
    ("facts", "by", "independent", "flags"),
    [
        ({"author": "bob  BOARD"}, None, False, ["the approver wrote the policy"]),
        ({"author": "Carl"}, "carl", False, ["the approver wrote the policy", "signed with the key of Bob Board"]),
        ({"asked_by": "bobboard"}, None, True, ["the approver asked for the run"]),
        ({"author": "not assessed"}, None, "not assessed", ["does not say who wrote the policy"]),
        (
            {"author": "not assessed", "asked_by": "bobboard"},
            None,
            False,
            ["the approver wrote the policy", "asked for the run", "does not say who"],
        ),
    ],
)
def test_what_is_flagged(tmp_path, home, sdcert, facts, by, independent, flags):
    issued = issue(tmp_path / "releases/survey" / RUN, **facts)
    create_key("approvals", name="Bob Board")
    code, out, _ = approve(sdcert, *(["--by", by] if by else []))
    said = read(issued).predicate
    assert (code, said.independent, len(said.flags)) == (0, independent, len(flags))
    assert all(any(words in flag for flag in said.flags) for words in flags)
    assert out.count("flagged: ") == len(flags)
    assert recorded().approvals[0].flags == said.flags


def test_two_persons_approve_each_in_a_file_of_their_own(sdcert, issued, bob):
    create_key("approvals", name="Cleo Control")
    assert approve(sdcert, "--key", "Bob Board")[0] == 0
    assert approve(sdcert, "--key", "Cleo Control")[0] == 0
    assert [read(issued, f"approval-{n}.json").predicate.by for n in (1, 2)] == ["Bob Board", "Cleo Control"]
    code, _, err = approve(sdcert)
    assert code == 2
    assert "Bob Board, Cleo Control" in err


def test_the_machines_key_is_no_persons(sdcert, issued, bob):
    code, _, err = approve(sdcert, "--key", open_signing_key().key_id)
    assert code == 2
    assert "sdcert keys create --for approvals --name" in err
    assert not list(issued.folder.glob("approval-*"))


def test_without_a_key_of_ones_own_nothing_is_approved(sdcert, issued):
    code, _, err = approve(sdcert)
    assert code == 2
    assert "sdcert keys create --for approvals --name" in err


@pytest.mark.parametrize(
    "facts", [{"outcome": "refused"}, {"outcome": "undecided"}, {"outcome": "failed"}, {"rehearsal": True}]
)
@pytest.mark.parametrize("act", [approve, revoke])
def test_what_has_no_certificate_is_neither_approved_nor_revoked(tmp_path, home, sdcert, facts, act):
    issued = issue(tmp_path / "releases/survey" / RUN, **facts)
    create_key("approvals", name="Bob Board")
    code, _, err = act(sdcert)
    assert code == 2
    assert "sdcert audit find --verdict certified" in err
    assert not recorded().approvals and not recorded().revocations
    assert {path.name for path in issued.folder.iterdir()} == {"released.csv", "certificate.json"}


def test_an_unknown_run_is_told(sdcert, issued, bob):
    assert sdcert("approve", "20991231", "--as", "board", "--reason", REASON)[0] == 2
    assert sdcert("revoke", "20991231", "--reason", REASON)[0] == 2


def test_the_same_key_twice_is_told_and_signs_once(sdcert, issued, bob):
    approve(sdcert)
    first = (issued.folder / "approval-1.json").read_bytes()
    code, out, _ = approve(sdcert)
    assert (code, "nothing was signed again" in out) == (0, True)
    code, _, err = sdcert("approve", RUN, "--as", "review board", "--reason", "on second thoughts")
    assert (code, "approved this certificate already" in err) == (2, True)
    assert [path.read_bytes() for path in issued.folder.glob("approval-*")] == [first]
    assert len(recorded().approvals) == 1


def test_a_lost_file_is_laid_again(sdcert, issued, bob):
    approve(sdcert)
    first = (issued.folder / "approval-1.json").read_bytes()
    (issued.folder / "approval-1.json").unlink()
    (issued.folder / "approval-1.json").write_text("something else that somebody put there")
    assert approve(sdcert)[0] == 0
    assert (issued.folder / "approval-2.json").read_bytes() == first


def test_what_only_has_the_name_of_an_approval_is_passed_over(sdcert, issued, bob):
    (issued.folder / "approval-1.json").mkdir()
    os.mkfifo(issued.folder / "approval-2.json")
    assert approve(sdcert)[0] == 0
    assert (issued.folder / "approval-3.json").is_file()


def test_a_crash_between_entry_and_file_loses_nothing(sdcert, issued, bob, monkeypatch):
    def killed(*_: object) -> None:
        raise KilledError

    monkeypatch.setattr(approving, "_place_approval_file", killed)
    with pytest.raises(KilledError):
        approve(sdcert)
    monkeypatch.undo()
    monkeypatch.setenv("SDCERT_HOME", str(issued.folder.parents[2] / "home"))
    assert len(recorded().approvals) == 1
    assert approve(sdcert)[0] == 0
    assert read(issued).sha256 == recorded().approvals[0].approval


def test_a_crash_before_the_entry_leaves_nothing_to_rely_on(sdcert, issued, bob, monkeypatch):
    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(approving, "_create_entry", killed)
        with pytest.raises(KilledError):
            approve(sdcert)
    assert not list(issued.folder.glob("*approval*"))
    assert recorded().approvals == ()
    assert approve(sdcert)[0] == 0
    assert len(recorded().approvals) == 1


@pytest.mark.parametrize("quicker", [approve, revoke])
def test_who_is_a_moment_too_late_is_told_and_appends_nothing(sdcert, issued, bob, quicker, monkeypatch):
    """Another process approves, or revokes, after this one has looked and before it appends."""
    signed = approving._create_approval_predicate

    def slow(*arguments):
        with monkeypatch.context() as patch:
            patch.setattr(approving, "_create_approval_predicate", signed)
            assert quicker(sdcert)[0] == 0
        return signed(*arguments)

    monkeypatch.setattr(approving, "_create_approval_predicate", slow)
    code, _, err = approve(sdcert)
    assert code == 2
    assert ("a moment ago" if quicker is approve else "was revoked") in err
    assert len(recorded().approvals) == (1 if quicker is approve else 0)
    assert len(list(issued.folder.glob("approval-*"))) == (1 if quicker is approve else 0)


def test_many_at_once_get_a_file_each(issued):
    folder, made = issued.folder, []
    threads = [
        threading.Thread(target=lambda n=n: made.append(approving._write_new_file(folder, b"%d" % n))) for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {path.name for path in made} == {f"approval-{n}.json" for n in range(1, 13)}
    assert {path.read_bytes() for path in made} == {b"%d" % n for n in range(12)}
    assert not list(folder.glob(".*"))


def test_a_changed_or_foreign_certificate_is_not_approved(sdcert, issued, bob, tmp_path):
    path = issued.folder / "certificate.json"
    path.write_bytes(issued.certificate + b" ")
    assert approve(sdcert)[0] == 2
    path.unlink()
    code, _, err = approve(sdcert)
    assert (code, "--folder" in err) == (2, True)
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / "certificate.json").write_bytes(issued.certificate)
    assert approve(sdcert, "--folder", moved)[0] == 0
    assert (moved / "approval-1.json").is_file()


def test_words_that_are_too_long_or_empty_are_told(sdcert, issued, bob):
    assert sdcert("approve", RUN, "--as", "", "--reason", REASON)[0] == 2
    assert sdcert("approve", RUN, "--as", "board", "--reason", "x" * 2001)[0] == 2
    assert sdcert("revoke", RUN, "--reason", "no")[0] == 2
    assert not recorded().approvals and not recorded().revocations


def test_hostile_words_are_shown_harmless(sdcert, issued, bob):
    _, out, _ = sdcert("approve", RUN, "--as", "board\x1b[2J", "--reason", REASON, "--by", "B\u202eob")
    assert "\x1b" not in out and "\u202e" not in out
    assert read(issued).predicate.role == "board\x1b[2J"


def test_a_revocation_is_told_everywhere(sdcert, issued, bob, tmp_path):
    approve(sdcert)
    code, out, _ = revoke(sdcert)
    assert (code, "cannot be undone" in out) == (0, True)
    found = read_revocation((issued.folder / "revocation.json").read_bytes(), issued.sha256, Keyring.from_home(Home.current()))
    assert (found.predicate.reason, found.predicate.certificate) == ("the source was wrong", issued.sha256)
    (entry,) = recorded().revocations
    assert (entry.certificate, entry.revocation) == (issued.sha256, found.sha256)
    (noted,) = read_revoked_certificates(Home.current())
    assert (noted.sha256, noted.reason) == (issued.sha256, "the source was wrong")
    assert sdcert("keys", "export", "--trust", "--output", tmp_path / "trust.json")[0] == 0
    assert Keyring.from_files([tmp_path / "trust.json"]).revocation_of(issued.sha256) == noted


def test_a_revoked_certificate_is_not_approved(sdcert, issued, bob):
    revoke(sdcert)
    code, _, err = approve(sdcert)
    assert (code, "the source was wrong" in err) == (2, True)
    assert not list(issued.folder.glob("approval-*"))


def test_revoking_twice_is_told_and_the_first_reason_stands(sdcert, issued):
    revoke(sdcert)
    first = (issued.folder / "revocation.json").read_bytes()
    code, out, _ = sdcert("revoke", RUN, "--reason", "another reason")
    assert (code, "revoked before" in out, "the source was wrong" in out) == (0, True, True)
    assert (issued.folder / "revocation.json").read_bytes() == first
    assert len(recorded().revocations) == 1


def test_moving_the_folder_away_keeps_no_certificate_alive(sdcert, issued, tmp_path):
    issued.folder.rename(tmp_path / "moved")
    code, out, _ = revoke(sdcert)
    assert (code, "beside the certificate" in out) == (0, True)
    assert read_revoked_certificates(Home.current())
    assert revoke(sdcert, "--folder", tmp_path / "moved")[0] == 0
    assert (tmp_path / "moved" / "revocation.json").is_file()


def test_a_crash_after_the_entry_is_finished_by_the_same_command(sdcert, issued, monkeypatch):
    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(revoking, "_spread", killed)
        with pytest.raises(KilledError):
            revoke(sdcert)
    assert len(recorded().revocations) == 1
    assert not (issued.folder / "revocation.json").exists()
    (issued.folder / "revocation.json").write_text("{}")  # of somebody else
    assert revoke(sdcert)[0] == 0
    assert json.loads((issued.folder / "revocation.json").read_bytes())["payload"]
    assert read_revoked_certificates(Home.current())


@pytest.mark.parametrize("act", [approve, revoke])
def test_a_reader_who_is_gone_stops_nothing(sdcert, issued, bob, act, monkeypatch):
    def gone(*_: object) -> None:
        raise BrokenPipeError

    module = approving if act is approve else revoking
    with monkeypatch.context() as patch:
        patch.setattr(module, "tell", gone)
        assert act(sdcert)[0] == 0
    assert len(recorded().approvals if act is approve else recorded().revocations) == 1
    assert (issued.folder / ("approval-1.json" if act is approve else "revocation.json")).is_file()
    assert len(read_revoked_certificates(Home.current())) == (act is revoke)


@pytest.mark.parametrize("act", [approve, revoke])
def test_an_id_that_is_not_whole_is_told_of_this_command(sdcert, issued, act):
    issue(issued.folder.parent / "again", run="20261121T093000Z-2f2e3d")
    code, _, err = sdcert("approve", "2026", "--as", "board", "--reason", REASON) if act is approve else sdcert(
        "revoke", "2026", "--reason", REASON)  # fmt: skip
    assert (code, "2 runs begin so" in err, "where:   RUN" in err) == (2, True, True)


def test_a_bad_certificate_is_told_where_it_is(sdcert, issued, bob):
    (issued.folder / "certificate.json").write_bytes(issued.certificate + b" ")
    code, _, err = approve(sdcert)
    assert (code, "where:   the release folder" in err) == (2, True)
    assert "where:   --folder" in approve(sdcert, "--folder", issued.folder)[2]


@pytest.mark.parametrize("command", ["approve", "revoke"])
def test_words_are_looked_at_before_a_passphrase_is_asked_for(sdcert, issued, bob, command, monkeypatch):
    monkeypatch.setattr("tasks.audit.signing.keys.open_key", lambda *_: pytest.fail("a key was opened"))
    code, _, err = sdcert(command, RUN, *(["--as", "board"] if command == "approve" else []), "--reason", "ok")
    assert code == 2
    assert "this is too short: it has 2 characters\n  where:   --reason\n" in err
    assert "allowed: 3 to 2,000 characters" in err


def test_the_subject_is_that_of_the_certificate(sdcert, issued):
    from tasks.audit.certificates.certificate_statements import open_certificate

    revoke(sdcert)
    statement = open_certificate((issued.folder / "revocation.json").read_bytes()).statement
    assert statement["subject"] == open_certificate(issued.certificate).statement["subject"]


def test_it_says_at_once_by_which_keys_an_approval_counts(sdcert, issued, bob, tmp_path):
    """The steps of somebody who checks: with the public key alone, and with the trust file that the message names."""
    out = approve(sdcert)[1]
    assert "By the public key of the certificates alone (sdcert.pem) it does NOT count" in out
    assert "sdcert keys export --trust -o trust.json" in out
    for words, counts in ((["export"], False), (["export", "--trust"], True)):
        path = tmp_path / f"{len(words)}.keys"
        assert sdcert("keys", *words, "-o", path)[0] == 0
        keyring = Keyring.from_files([path])
        approval = (issued.folder / "approval-1.json").read_bytes()
        if counts:
            assert read_approval(approval, issued.sha256, keyring).predicate.by == "Bob Board"
        else:
            with pytest.raises(NotValid, match="not known"):
                read_approval(approval, issued.sha256, keyring)
