"""`sdcert revoke` where the same data was certified twice: which certificates stand, and how each of them is revoked."""

from __future__ import annotations

import hashlib

import pytest
from certified_runs import RUN, issue

from flows.cli import revoke as revoking
from flows.cli import run
from tasks.audit.lookup.index import Index
from tasks.audit.signing.keyring import Keyring, read_revoked_certificates
from tasks.microdata.errors import InputError
from tasks.runtime.settings import Home

OTHER = "20261121T093000Z-2f2e3d"


@pytest.fixture
def issued(tmp_path, home):
    return issue(tmp_path / "releases/survey" / RUN)


@pytest.fixture
def again(issued):
    """The same data, certified a second time."""
    return issue(issued.folder.parent / OTHER, run=OTHER)


@pytest.fixture
def sdcert(home, capsys):
    def call(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def revoke(sdcert, *words: object) -> tuple[int, str, str]:
    return sdcert("revoke", RUN, "--reason", "the source was wrong", *words)


def test_other_certificates_of_the_same_data_are_named_and_stand(sdcert, issued, again, tmp_path):
    code, out, _ = revoke(sdcert)
    assert code == 0
    assert "NOT revoked: another certificate of the same data" in out
    assert f"survey, run {OTHER}" in out
    assert f"sdcert revoke {RUN} --reason TEXT --all" in out
    assert not (again.folder / "revocation.json").exists()
    (noted,) = read_revoked_certificates(Home.current())
    assert noted.table == hashlib.sha256((issued.folder / "released.csv").read_bytes()).hexdigest()
    ring = Keyring.from_home(Home.current())
    assert ring.revocations_of_data("0" * 64, str(noted.content_address)) == (noted,)
    assert ring.revocation_of(again.sha256) is None
    code, out, _ = revoke(sdcert, "--all")
    assert (code, "revoked before" in out, "NOT revoked" in out) == (0, True, False)
    assert (again.folder / "revocation.json").is_file()
    assert {one.sha256 for one in read_revoked_certificates(Home.current())} == {issued.sha256, again.sha256}
    code, out, _ = sdcert("revoke", OTHER, "--reason", "another reason")
    assert (code, "NOT revoked" in out, "revoked before" in out) == (0, False, True)


def test_one_that_cannot_be_laid_keeps_none_of_the_others_from_being_revoked(sdcert, issued, again):
    (issued.folder / "revocation.json").mkdir()
    code, out, err = revoke(sdcert, "--all")
    assert (code, "could not be laid beside it" in err, out.count("This cannot be undone.")) == (2, True, 2)
    assert (again.folder / "revocation.json").is_file()
    assert len(read_revoked_certificates(Home.current())) == 2


def test_what_was_revoked_is_told_even_where_another_could_not_be(sdcert, issued, again, monkeypatch):
    record = revoking._record

    def fails_for_others(run, reason):
        if run.run == OTHER:
            raise InputError("no-passphrase", "key", "the key is locked", "a passphrase", "give it")
        record(run, reason)

    monkeypatch.setattr(revoking, "_record", fails_for_others)
    code, out, err = revoke(sdcert, "--all")
    assert (code, out.count("This cannot be undone."), "the key is locked" in err) == (2, 1, True)
    assert (issued.folder / "revocation.json").is_file() and not (again.folder / "revocation.json").exists()


def test_rehearsals_and_refusals_of_the_same_data_are_no_certificates(sdcert, issued):
    issue(issued.folder.parent / "rehearsal", run="20261121T093000Z-3f2e3d", rehearsal=True)
    issue(issued.folder.parent / "refused", run="20261121T093000Z-4f2e3d", outcome="refused")
    code, out, _ = revoke(sdcert, "--all")
    assert (code, out.count("This cannot be undone.")) == (0, 1)
    with Index.current() as index:
        assert len(index.run(RUN).revocations) == 1
