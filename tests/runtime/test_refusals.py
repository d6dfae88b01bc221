"""What the operating system refuses is a sentence about one file, with exit code 2."""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
from collections import namedtuple
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from tasks.microdata.errors import InputError
from tasks.runtime import refusals
from tasks.runtime.failures import StageFailure, hide_exceptions
from tasks.runtime.files import append_line, write_whole
from tasks.runtime.refusals import DENIED, FULL, UNFIT, find_system_refusal

HOME = Path("/a/home")


@pytest.fixture(autouse=True)
def room(monkeypatch):
    """`room(bytes)` is what every disk has; plenty unless it is called."""
    usage = namedtuple("usage", "free")

    def set_to(free: int) -> None:
        monkeypatch.setattr(refusals.shutil, "disk_usage", lambda _: usage(free))

    set_to(10**9)
    return set_to


@pytest.mark.parametrize("number", sorted(FULL | DENIED | UNFIT))
def test_each_is_told_with_its_file(number):
    found = find_system_refusal(OSError(number, os.strerror(number), "/a/home/store/x"), HOME)
    assert found is not None
    assert (found.where, found.value) == ("SDCERT_HOME", "/a/home/store/x")
    assert "/a/home" not in found.public, "a path is for the terminal alone"
    assert found.remedy
    assert number not in FULL or ("disk" in found.what and found.code == "disk-full")


def test_what_is_our_own_fault_is_not_put_on_the_system():
    for error in (ValueError("x"), FileNotFoundError(2, "No such file", "/x"), OSError("no number"), KeyError("x")):
        assert find_system_refusal(error, HOME) is None


def test_it_is_found_behind_what_was_raised_from_it():
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    found = find_system_refusal(OperationalError("insert", {"secret": 1}, full), HOME)
    assert found is not None
    assert found.code == "disk-full"
    assert "secret" not in str(found)
    try:
        try:
            raise OSError(errno.EROFS, "x", "/etc/y")
        except OSError as error:
            raise RuntimeError("wrapped") from error
    except RuntimeError as error:
        assert find_system_refusal(error, HOME).where == "the file system"
    with pytest.raises(StageFailure) as failure:
        hide_exceptions("mask")(lambda: (_ for _ in ()).throw(OSError(errno.EACCES, "x", "/y")))()
    assert find_system_refusal(failure.value, HOME).code == "not-allowed"


def test_an_error_met_while_another_was_handled_is_not_its_cause():
    try:
        try:
            raise OSError(errno.EACCES, "x", "/y")
        except OSError:
            raise KeyError("a mistake of ours")  # noqa: B904  # that it is not raised from it is what is tried
    except KeyError as error:
        assert find_system_refusal(error, HOME) is None


def test_a_server_that_had_no_room_is_seen_by_the_disk(room):
    room(28_000)
    found = find_system_refusal(RuntimeError("the server answered 500"), HOME)
    assert found is not None
    assert (found.code, found.value) == ("disk-full", str(HOME))


def test_a_file_that_could_not_be_written_is_named_and_leaves_nothing(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError) as refused:
            write_whole(tmp_path / "file", b"x" * 5000)
        with pytest.raises(OSError):
            append_line(tmp_path / "lines", "x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert find_system_refusal(refused.value, tmp_path).value == str(tmp_path / "file")
    assert not list(tmp_path.glob("*file*"))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.ENAMETOOLONG])
def test_a_command_ends_with_a_sentence(home, monkeypatch, capfd, number):
    from flows.cli import run as sdcert

    def refused() -> None:
        raise OSError(number, os.strerror(number), str(home / "runs"))

    monkeypatch.setattr("flows.run.history.read_manifests", refused)
    assert sdcert(["runs"]) == 2
    told = capfd.readouterr().err
    assert told.count("error: ") == 1
    assert str(home / "runs") in told
    assert "Traceback" not in told
    assert "something broke" not in told


def test_a_name_that_is_too_long_is_told(tmp_path):
    with pytest.raises(OSError) as refused:
        write_whole(tmp_path / ("x" * 300), b"")
    assert find_system_refusal(refused.value, HOME).code == "unfit-file"


def test_a_user_without_a_name_and_a_home_folder_has_a_number_and_the_private_folder(home, monkeypatch):
    import pwd

    from tasks.runtime.processes import user_name
    from tasks.runtime.settings import prepare_environment

    for name in ("HOME", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "")  # put back afterwards
        monkeypatch.delenv(name)
    monkeypatch.setattr(pwd, "getpwuid", lambda number: (_ for _ in ()).throw(KeyError(number)))
    assert user_name() == f"uid {os.getuid()}"
    prepare_environment()
    assert Path.home() == home


@pytest.mark.parametrize("name", ["who?", "no#1"])
def test_a_home_whose_path_would_end_early_in_an_address_is_refused_before_it_is_made(tmp_path, monkeypatch, name):
    from tasks.runtime.settings import prepare_environment

    monkeypatch.setenv("SDCERT_HOME", str(tmp_path / name))
    with pytest.raises(InputError) as refused:
        prepare_environment()
    assert (refused.value.code, refused.value.value) == ("home", str(tmp_path / name))
    assert not list(tmp_path.iterdir())
