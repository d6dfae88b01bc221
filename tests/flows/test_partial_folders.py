"""What becomes of a release folder whose writer was killed before it appeared."""

from __future__ import annotations

import fcntl
import os

import pytest
from certified_runs import RUN, issue

from flows.run.publish import FolderDraft, Latest, clear_partial, draft_release_folder, settle_latest
from tasks.audit.lookup.index import Index

NOBODY = 2**22 + 1  # above every id of a process


@pytest.fixture
def left(tmp_path, home):
    """A complete draft, of which the ledger speaks already."""
    issued = issue(tmp_path / "survey" / RUN)
    return issued.folder.rename(issued.folder.with_name(f".partial-{NOBODY}-{RUN}"))


def test_one_that_the_ledger_speaks_of_appears(left):
    clear_partial(left.parent)
    assert [path.name for path in left.parent.iterdir()] == [RUN]
    assert {path.name for path in (left.parent / RUN).iterdir()} == {"certificate.json", "released.csv"}


def test_one_of_a_living_writer_is_left_alone(left):
    living = left.rename(left.with_name(f".partial-1-{RUN}"))
    clear_partial(left.parent)
    assert list(left.parent.iterdir()) == [living]


def test_one_that_was_not_finished_is_removed(left):
    (left / "certificate.json").unlink()
    left.with_name(f".partial-{NOBODY}-another").mkdir()
    clear_partial(left.parent)
    assert list(left.parent.iterdir()) == []


def test_one_with_another_certificate_or_a_revoked_one_is_removed(left, tmp_path):
    from flows.cli import run

    assert run(["revoke", RUN, "--reason", "the source was wrong"]) == 0
    clear_partial(left.parent)
    assert list(left.parent.iterdir()) == []
    other = issue(tmp_path / "other" / "later", run="20261121T093000Z-999999").folder
    other = other.rename(other.with_name(f".partial-{NOBODY}-20261121T093000Z-999999"))
    (other / "certificate.json").write_bytes(b"{}")
    clear_partial(other.parent)
    assert list(other.parent.iterdir()) == []


def test_a_look_at_latest_lets_it_appear(left):
    """After the kill a watch finds its version certified, and no run of the release ever comes by."""
    assert settle_latest(left.parent, "survey") == Latest(None, RUN)
    assert (left.parent / "latest" / "released.csv").is_file()


def test_one_whose_writer_holds_it_is_left_alone(left):
    """A writer in another container has an id that says nothing here."""
    descriptor = os.open(left, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    (left / "certificate.json").unlink()
    clear_partial(left.parent)
    assert left.is_dir()
    os.close(descriptor)
    clear_partial(left.parent)
    assert not left.exists()


def test_a_writer_holds_its_draft_and_adds_nothing_to_one_that_was_taken_away(home, tmp_path):
    with pytest.raises(FileNotFoundError), draft_release_folder(tmp_path, "survey", RUN) as draft:
        draft.folder.rename(draft.folder.with_name(f".partial-{NOBODY}-{RUN}"))
        clear_partial(tmp_path / "survey")
        assert (tmp_path / "survey" / f".partial-{NOBODY}-{RUN}").is_dir()
        draft.add("report.html", b"half a release")
    assert not draft.folder.exists()


def test_what_the_ledger_speaks_of_survives_a_rename_that_failed(certify, tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(FolderDraft, "appear", full)
        ran, manifest = certify()
    assert ran.code == 2
    assert "the disk is full" in ran.err
    parent = tmp_path / "releases" / "survey"
    (draft,) = parent.iterdir()
    with Index.current() as index:
        ends = [event.outcome for event in index.run(manifest["run"]).events if event.kind == "ended"]
    assert ends == ["certified"], "what broke off later does not take the verdict back"
    draft.rename(draft.with_name(f".partial-{NOBODY}-{manifest['run']}"))  # the process is gone
    assert settle_latest(parent, "survey").now == manifest["run"]
    assert (parent / "latest" / "certificate.json").is_file()
