"""What a look finds in a drop folder: the newest settled plain file, whatever else lies there."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta

import pytest
from watches import drop, watch_of, write_watch

from flows.watch import source_poll
from flows.watch.source_poll import SourceUnavailable, poll_source
from flows.watch.spec import load_watch
from tasks.microdata.errors import InputError


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def watch(home, tmp_path):
    return watch_of(tmp_path)


def test_the_newest_file_is_the_version_and_older_ones_are_named(watch, tmp_path):
    for hour, name in enumerate(("survey-b.csv", "survey-c.csv", "survey-a.csv")):
        drop(tmp_path, name, hour=hour)
    drop(tmp_path, "other.csv", hour=9)
    drop(tmp_path, ".survey-d.csv", hour=9)
    found = poll_source(watch, now())
    assert found.version.label == "survey-a.csv"
    assert found.version.source.table == str(tmp_path / "drop" / "survey-a.csv")
    assert [name for name, _ in found.older] == ["survey-b.csv", "survey-c.csv"]
    assert found.waiting == found.ignored == ()


def test_the_last_by_name_where_the_watch_says_so(home, tmp_path):
    watch = watch_of(tmp_path, look_at={"newest_by": "name"})
    for hour, name in enumerate(("survey-2026-11.csv", "survey-2026-10.csv")):
        drop(tmp_path, name, hour=hour)
    assert poll_source(watch, now()).version.label == "survey-2026-11.csv"


def test_the_same_bytes_under_another_name_are_the_same_version(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    first = poll_source(watch, now()).version.source_file
    drop(tmp_path, "survey-2.csv", hour=1)
    assert poll_source(watch, now()).version.source_file == first
    drop(tmp_path, "survey-3.csv", "age\n1\n", hour=2)
    assert poll_source(watch, now()).version.source_file != first


def test_a_file_that_was_touched_a_moment_ago_is_waited_for(home, tmp_path):
    watch = watch_of(tmp_path, look_at={"settled_seconds": 60})
    drop(tmp_path, "survey-1.csv")  # dated back, but that does not help: the file system knows when it came
    assert poll_source(watch, now()).version is None
    found = poll_source(watch, now() + timedelta(seconds=61))
    assert found.version.label == "survey-1.csv"


def test_the_files_of_a_release_are_waited_for_too(home, tmp_path):
    path = write_watch(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "look_at": {"source": "release"}}))
    watch = load_watch(path)
    assert poll_source(watch, now()).waiting == ("survey.csv",)
    later = now() + timedelta(seconds=61)
    assert poll_source(watch, later).version.label == "survey.csv"
    (tmp_path / "params" / "survey.csv").unlink()
    with pytest.raises(SourceUnavailable):
        poll_source(watch, later)


def test_a_date_in_the_future_is_not_waited_for(watch, tmp_path):
    path = drop(tmp_path, "survey-1.csv")
    os.utime(path, (4e9, 4e9))
    assert poll_source(watch, now()).version.label == "survey-1.csv"


def test_the_settled_file_is_taken_while_a_newer_one_arrives(home, tmp_path):
    watch = watch_of(tmp_path, look_at={"settled_seconds": 60})
    drop(tmp_path, "survey-1.csv")
    later = now() + timedelta(seconds=61)
    stamp = os.lstat
    with pytest.MonkeyPatch.context() as patch:
        drop(tmp_path, "survey-2.csv", hour=5)
        came = later.timestamp() - 5

        def seen(path):
            found = stamp(path)
            if path.name != "survey-2.csv":
                return found
            facts = {name: getattr(found, name) for name in dir(found) if name.startswith("st_")} | {"st_ctime": came}
            return type("Seen", (), facts)()

        patch.setattr(source_poll.Path, "lstat", seen)
        found = poll_source(watch, later)
    assert (found.version.label, found.waiting) == ("survey-1.csv", ("survey-2.csv",))


@pytest.mark.parametrize("change", ["grown", "replaced", "gone"])
def test_a_file_that_changes_while_it_is_read_is_waited_for(watch, tmp_path, monkeypatch, change):
    path, read = drop(tmp_path, "survey-1.csv"), source_poll.source_digest

    def while_read(source):
        digest = read(source)
        if change == "grown":
            path.write_text(path.read_text() + "1,1,1,1,yes\n")
        else:
            path.unlink()
        if change == "replaced":
            drop(tmp_path, "survey-1.csv")
        return digest

    monkeypatch.setattr(source_poll, "source_digest", while_read)
    found = poll_source(watch, now())
    assert (found.version, found.waiting) == (None, ("survey-1.csv",))


def test_what_is_no_plain_file_is_named_and_never_followed(watch, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("age\n1\n")
    folder = tmp_path / "drop"
    (folder / "survey-link.csv").symlink_to(secret)
    (folder / "survey-gone.csv").symlink_to(tmp_path / "nowhere")
    (folder / "survey-folder.csv").mkdir()
    os.mkfifo(folder / "survey-pipe.csv")
    found = poll_source(watch, now())
    assert found.version is None
    assert found.ignored == ("survey-folder.csv", "survey-gone.csv", "survey-link.csv", "survey-pipe.csv")
    drop(tmp_path, "survey-1.csv")
    assert poll_source(watch, now()).version.label == "survey-1.csv"


@pytest.mark.parametrize(
    "name", ["survey-\n1.csv", "survey-\x1b[2J.csv", "survey-\u202ecsv.exe.csv", b"survey-\xff.csv", f"survey-{'x' * 200}.csv"]
)
def test_a_hostile_name_is_refused_before_a_byte_is_read(watch, tmp_path, monkeypatch, name):
    drop(tmp_path, "survey-1.csv")
    (tmp_path / "drop" / os.fsdecode(name)).write_text("age\n1\n")
    monkeypatch.setattr(source_poll, "source_digest", lambda _: pytest.fail("it was read"))
    version = poll_source(watch, now()).version
    assert version.refusal.code == "file-name"
    assert version.label == os.fsdecode(name)


def test_a_huge_file_is_refused_before_a_byte_is_read_and_is_known_again(home, tmp_path, monkeypatch):
    watch = watch_of(tmp_path, look_at={"largest_mb": 1})
    path = drop(tmp_path, "survey-1.csv")
    with path.open("r+b") as file:
        file.truncate(1_000_001)
    monkeypatch.setattr(source_poll, "source_digest", lambda _: pytest.fail("it was read"))
    first = poll_source(watch, now()).version
    assert first.refusal.code == "file-too-large"
    assert poll_source(watch, now()).version.source_file == first.source_file
    os.utime(path, (1, 1))
    assert poll_source(watch, now()).version.source_file != first.source_file


def test_an_empty_folder_is_nothing_and_a_vanished_one_is_away(watch, tmp_path):
    assert poll_source(watch, now()).version is None
    (tmp_path / "drop").rmdir()
    with pytest.raises(SourceUnavailable) as caught:
        poll_source(watch, now())
    assert caught.value.error.code == "no-drop-folder"


def test_a_file_that_may_not_be_read_is_away(watch, tmp_path, monkeypatch):
    drop(tmp_path, "survey-1.csv")

    def denied(_):
        raise InputError("unreadable-source", "source", "cannot be read", "a file", "check")

    monkeypatch.setattr(source_poll, "source_digest", denied)
    with pytest.raises(SourceUnavailable):
        poll_source(watch, now())


@pytest.mark.parametrize(
    ("code", "what", "away"),
    [
        ("no-connection", "No connection to the database: OperationalError.", True),
        ("query-failed", "The database refuses the query: OperationalError.", True),
        ("query-failed", "The database refuses the query: AdminShutdown.", True),
        ("query-failed", "The database refuses the query: UndefinedColumn.", False),
        ("query-failed", "The database refuses the query: there is no such table.", False),
        ("no-such-source", "The source file does not exist.", True),
        ("no-rows", "The query returns no rows.", False),
    ],
)
def test_a_silent_database_is_told_from_a_wrong_query(code, what, away):
    assert source_poll.is_away(InputError(code, "the query", what, "", "")) is away
