"""`sdcert revoke RUN --never-published`: signed for a file that nobody outside was given, and refused for an approved one."""

from __future__ import annotations

import pytest
from certified_runs import RUN, issue

from flows.cli import run
from tasks.audit.certificates.revocation import read_revocation
from tasks.audit.lookup.index import Index
from tasks.audit.series.past_releases import list_past_releases
from tasks.audit.signing.keyring import Keyring
from tasks.audit.signing.keys import create_key
from tasks.runtime.settings import Home

REASON = "it never left the office"


@pytest.fixture
def issued(tmp_path, home):
    return issue(tmp_path / "releases/survey" / RUN)


@pytest.fixture
def sdcert(home, capsys):
    def call(*words: object) -> tuple[int, str]:
        code = run([str(word) for word in words])
        return code, capsys.readouterr().err

    return call


def revocations():
    with Index.current() as index:
        return index.run(RUN).revocations


def test_it_is_signed_and_written_down(sdcert, issued):
    assert [one.never_published for one in list_past_releases()] == [False]
    assert sdcert("revoke", RUN, "--never-published", REASON)[0] == 0
    (entry,) = revocations()
    assert (entry.never_published, entry.reason) == (True, REASON)
    content = (issued.folder / "revocation.json").read_bytes()
    signed = read_revocation(content, issued.sha256, Keyring.from_home(Home.current())).predicate
    assert (signed.never_published, signed.reason) == (True, REASON)
    assert [one.never_published for one in list_past_releases()] == [True]
    assert sdcert("revoke", RUN, "--never-published", REASON)[0] == 0  # once more, for what a crash left out
    assert len(revocations()) == 1


def test_an_approved_release_was_published(sdcert, issued):
    create_key("approvals", name="Bob Board")
    assert sdcert("approve", RUN, "--as", "review board", "--reason", "the board met and agreed")[0] == 0
    code, err = sdcert("revoke", RUN, "--never-published", REASON)
    assert (code, revocations()) == (2, ())
    assert "--never-published" in err and RUN in err
    assert sdcert("revoke", RUN, "--reason", "the source was wrong")[0] == 0
    assert [one.never_published for one in list_past_releases()] == [False]


def test_a_revoked_release_cannot_be_taken_out_later(sdcert, issued):
    assert sdcert("revoke", RUN, "--reason", "the source was wrong")[0] == 0
    assert sdcert("revoke", RUN, "--never-published", REASON)[0] == 2
    assert [one.never_published for one in revocations()] == [False]


@pytest.mark.parametrize("words", [(), ("--reason", REASON, "--never-published", REASON), ("--never-published", "no")])
def test_one_reason_is_asked_for(sdcert, issued, words):
    assert sdcert("revoke", RUN, *words)[0] == 2
    assert revocations() == ()
