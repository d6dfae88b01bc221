"""`latest` beside the release folders: it points to the newest certified run that stands, and to nothing else."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest
from certified_runs import issue

from flows.run.publish import Latest, _point, settle_latest

FIRST, SECOND, THIRD, REFUSED, FOURTH = (f"20261121T09300{n}Z-1f2e3d" for n in range(5))
NOBODY = 2**22 + 1  # above every id of a process


@pytest.fixture
def parent(own, tmp_path):
    return tmp_path / "releases" / "survey"


def settle(parent: Path) -> str | None:
    """Where it points afterwards: a run in the same folder, by a relative link."""
    settle_latest(parent, "survey")
    link = parent / "latest"
    assert link.is_symlink() or not link.exists()
    return str(link.readlink()) if link.is_symlink() else None


def revoke(run: str) -> int:
    from flows.cli import run as sdcert

    return sdcert(["revoke", run, "--reason", "the source was wrong"])


def test_it_follows_the_newest_certified_run(parent):
    assert settle_latest(parent, "survey") == Latest(None, None)
    assert not parent.exists(), "nothing is made where nothing was released"
    issue(parent / FIRST, run=FIRST)
    assert settle(parent) == FIRST
    issue(parent / SECOND, run=SECOND)
    assert settle_latest(parent, "survey") == Latest(FIRST, SECOND)
    assert settle_latest(parent, "survey") == Latest(SECOND, SECOND)
    assert (parent / "latest" / "released.csv").read_bytes() == (parent / SECOND / "released.csv").read_bytes()
    shutil.move(parent, parent.with_name("moved"))
    assert (parent.with_name("moved") / "latest" / "released.csv").exists()


@pytest.mark.parametrize(("outcome", "rehearsal"), [("refused", False), ("undecided", False), ("certified", True)])
def test_it_stays_where_it_is_when_the_next_is_not_certified_or_a_rehearsal(parent, outcome, rehearsal):
    issue(parent / FIRST, run=FIRST)
    issue(parent / SECOND, run=SECOND, outcome=outcome, rehearsal=rehearsal)
    assert settle(parent) == FIRST


def test_the_order_is_that_of_the_ledger_and_not_of_the_names(parent):
    issue(parent / SECOND, run=SECOND)
    assert settle(parent) == SECOND
    issue(parent / FIRST, run=FIRST)  # it began earlier, and ended later
    assert settle(parent) == FIRST


def test_it_never_moves_back_when_a_folder_is_taken_away(parent):
    for run in (FIRST, SECOND):
        issue(parent / run, run=run)
    assert settle(parent) == SECOND
    shutil.rmtree(parent / SECOND)
    assert settle(parent) == SECOND, "who follows it meets an error, and not older data"
    issue(parent / THIRD, run=THIRD)
    assert settle(parent) == THIRD


def test_it_is_not_led_to_a_folder_whose_certificate_is_another(parent):
    for run in (FIRST, SECOND):
        issue(parent / run, run=run)
    (parent / SECOND / "certificate.json").write_bytes((parent / FIRST / "certificate.json").read_bytes())
    assert settle(parent) == FIRST


def test_what_a_killed_run_left_is_mended_by_the_next(parent):
    issue(parent / FIRST, run=FIRST)
    assert settle(parent) == FIRST
    issue(parent / SECOND, run=SECOND)  # killed before it moved the link, or while it did
    (parent / f".latest-{NOBODY}-{SECOND}").symlink_to(SECOND)
    mine = parent / f".latest-{os.getpid()}-{SECOND}"
    mine.symlink_to(SECOND)
    issue(parent / THIRD, run=THIRD, outcome="refused")
    assert settle(parent) == SECOND
    assert not list(parent.glob(".latest-*"))


def test_what_is_no_link_is_left_as_it_is(parent):
    issue(parent / FIRST, run=FIRST)
    (parent / "latest").mkdir()
    settle_latest(parent, "survey")
    assert not (parent / "latest").is_symlink()


def test_a_release_of_another_home_is_not_hidden_by_an_older_one(parent):
    issue(parent / SECOND, run=SECOND)
    (parent / THIRD).mkdir()
    (parent / "latest").symlink_to(THIRD)
    assert settle(parent) == THIRD
    (parent / "latest").unlink()
    (parent / FIRST).mkdir()
    (parent / "latest").symlink_to(FIRST)
    assert settle(parent) == SECOND


@pytest.mark.parametrize("target", ["../elsewhere", "zzz", "/etc", SECOND])
def test_a_link_to_something_else_is_put_right(parent, target):
    issue(parent / FIRST, run=FIRST)
    (parent / "zzz").mkdir()
    (parent.parent / "elsewhere").mkdir()
    (parent / "latest").symlink_to(target)
    assert settle(parent) == FIRST
    (parent / "latest").unlink()
    (parent / "latest").symlink_to(parent / FIRST)
    assert settle(parent) == FIRST, "a relative link, whatever it was"


def test_a_revoked_certificate_lets_it_go_until_something_is_certified_again(parent, capfd):
    for run in (FIRST, SECOND, THIRD):
        issue(parent / run, run=run)
    assert settle(parent) == THIRD
    assert revoke(SECOND) == 0
    assert f"{parent / 'latest'} points to run {THIRD}\n" in capfd.readouterr().out
    assert revoke(THIRD) == 0
    told = capfd.readouterr().out
    assert f"{parent / 'latest'} is gone: it comes back with the next run of survey that is certified" in told
    assert not (parent / "latest").is_symlink()
    assert settle(parent) is None, "the run of FIRST stands, and nobody chose it again"
    issue(parent / REFUSED, run=REFUSED, outcome="refused")
    assert settle(parent) is None
    issue(parent / FOURTH, run=FOURTH)
    assert settle(parent) == FOURTH
    assert revoke(FIRST) == 0
    assert settle(parent) == FOURTH


def test_a_link_that_names_an_older_run_stays_when_a_newer_one_is_revoked_that_it_never_named(parent):
    """The newer one was made in another folder, for example."""
    issue(parent / FIRST, run=FIRST)
    assert settle(parent) == FIRST
    issue(parent.parent / "elsewhere" / "survey" / SECOND, run=SECOND)
    assert revoke(SECOND) == 0
    assert settle(parent) == FIRST


def test_it_goes_from_a_revoked_release_whose_folder_was_moved(parent, capfd):
    for run in (FIRST, SECOND):
        issue(parent / run, run=run)
    assert settle(parent) == SECOND
    (parent / SECOND).rename(parent.parent / "moved")
    assert revoke(SECOND) == 0
    assert not (parent / "latest").is_symlink()


def test_a_kill_between_entry_and_link_of_a_revocation_is_mended_by_the_same_command(parent, monkeypatch, capfd):
    for run in (FIRST, SECOND):
        issue(parent / run, run=run)
    assert settle(parent) == SECOND
    with monkeypatch.context() as killed:
        killed.setattr("flows.run.publish.settle_latest", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert revoke(SECOND) == 130
    assert str((parent / "latest").readlink()) == SECOND
    assert revoke(SECOND) == 0
    assert not (parent / "latest").is_symlink()


def test_a_link_that_cannot_be_moved_is_told_after_the_revocation(parent, monkeypatch, capfd):
    issue(parent / FIRST, run=FIRST)
    settle(parent)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("flows.run.publish.settle_latest", full)
    assert revoke(FIRST) == 2
    told = capfd.readouterr()
    assert "the certificate is revoked" in told.out
    assert "`latest` may still point to it (No space left on device)" in told.err


def test_whoever_follows_it_meanwhile_meets_a_whole_folder(parent):
    for run in (FIRST, SECOND):
        issue(parent / run, run=run)
    settle(parent)
    moving = threading.Thread(target=lambda: [_point(parent / "latest", (FIRST, SECOND)[n % 2]) for n in range(100)])
    moving.start()
    seen = set()
    while moving.is_alive():
        folder = (parent / "latest").resolve(strict=True)  # follow it once, then read what belongs together
        assert (folder / "released.csv").exists()
        assert (folder / "certificate.json").exists()
        seen.add(folder.name)
    moving.join()
    assert seen == {FIRST, SECOND}
