"""What others write into the environment of their processes stops no run and ends no process."""

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from tasks.runtime.processes import OWNER, identity, is_taken, own_processes, parse_identity
from tasks.runtime.servers import orphans

GONE = f"{2**22 + 1}:01234567-89ab-cdef-0123-456789abcdef/123"
ODD = [
    "",
    "abc",
    "abc:def",
    "1",
    ":",
    "-1:1/1",
    "0:1/1",
    "1:",
    "1:x",
    f"{10**30}:1/1",
    f"{'9' * 5000}:1/1",
    "\u0661:1/1",
    "1:1/1\n",
    " 1:1/1",
    "\udcff:1/1",
]


@contextmanager
def process(home: Path, owner: str, **options: object):
    environment = {"SDCERT_HOME": str(home), OWNER: owner}
    with subprocess.Popen(["/bin/sleep", "60"], env=environment, **options) as one:
        try:
            yield one.pid
        finally:
            one.kill()


@pytest.mark.parametrize("owner", ODD)
def test_an_owner_that_nobody_here_wrote_is_passed_over(tmp_path, owner):
    with process(tmp_path, owner):
        assert orphans(str(tmp_path)) == []


def test_a_process_whose_owner_is_gone_is_found_and_one_with_a_living_owner_is_not(tmp_path):
    with process(tmp_path, GONE) as left, process(tmp_path, identity(os.getpid())):
        assert [one.pid for one in orphans(str(tmp_path))] == [left]


def test_processes_of_another_user_are_none_of_ours(tmp_path, monkeypatch):
    with process(tmp_path, GONE) as other:
        monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
        assert orphans(str(tmp_path)) == []
        assert other not in {one.pid for one, _ in own_processes()}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts processes of another user")
def test_root_ends_no_process_of_another_user(tmp_path):
    with process(tmp_path, GONE, user="nobody"):
        assert orphans(str(tmp_path)) == []


def test_an_identity_is_read_as_it_was_written():
    pid, since = parse_identity(identity(os.getpid()))
    assert f"{pid}:{since}" == identity(os.getpid())
    assert parse_identity("12:1700000000.25") == (12, "1700000000.25")


@pytest.mark.parametrize("process", [0, -1, 2**31, 2**40, 10**30, "abc", "1", None, 1.5, [1]])
def test_what_can_be_no_id_is_nobodys(process):
    assert not is_taken(process)


def test_the_id_of_this_process_is_taken():
    assert is_taken(os.getpid())
    assert not is_taken(2**22 + 1)


def test_a_draft_of_a_writer_that_cannot_be_stops_no_run(home, tmp_path):
    from flows.run.publish import PARTIAL, clear_partial

    (tmp_path / f"{PARTIAL}99999999999999-x").mkdir()
    (tmp_path / f"{PARTIAL}abc-x").mkdir()
    clear_partial(tmp_path)
    assert [path.name for path in tmp_path.glob(f"{PARTIAL}*")] == [f"{PARTIAL}abc-x"]
