"""The index of the ledger: right, caught up, built anew where it does not fit, never saying what the ledger does not say."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from trails import attempt, began, digest, ended, last_certificate, runs, write_trail

from tasks.audit.ledger.entries import RunBegan, RunEnded
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.lookup import index_update, opening
from tasks.audit.lookup.index import Index
from tasks.audit.lookup.ledger_lines import IndexMismatch, LedgerLineReader
from tasks.audit.lookup.query import Query
from tasks.audit.signing.keys import open_signing_key
from tasks.microdata.errors import InputError

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def trail(home):
    """Thirty runs in a home of this test; the ledger's file."""
    return write_trail(home, runs(30))


def answers(index: Index) -> tuple[object, ...]:
    """What an index says of a trail: enough to tell a wrong one."""
    found = index.find(Query())
    return (index.size, [one.run for one in found], [one.ending for one in found], index.attempts_of("series-3"),
            last_certificate(index, "series-0"), index.names("attribute"), index.count(Query(touching="age")))  # fmt: skip


def changed(path: Path, statement: str, *, stamped: bool = False) -> None:
    """Change the index as somebody with a tool for databases would; stamped: who also forges the stamp."""
    connection = sqlite3.connect(path)
    assert connection.execute(statement).rowcount != 0
    connection.commit()
    connection.close()
    if stamped:
        opening._put_stamp(path)


def test_it_says_where_a_run_stands(home):
    write_trail(home, [began("r1"), attempt("r1"), ended("r1"), began("r2", release="other", series="others")])
    with Index.current() as index:
        newest, oldest = index.find(Query())
        assert [number for number, _ in oldest.entries] == [1, 2, 3]
        assert oldest.ending is not None
        assert oldest.ending.certificate == digest("r1", "certificate")
        assert newest.run == "r2"
        assert newest.ending is None
        assert newest.began is not None
        assert newest.began.release == "other"
        assert index.size == 5


def test_attempts_are_those_of_the_series_in_order(home):
    write_trail(home, [attempt("r1", attempts=1), attempt("r2", series="other"), attempt("r3", attempts=2, draw="d2")])
    with Index.current() as index:
        assert [(one.run, one.attempts, one.draw) for one in index.attempts_of("anes")] == [
            ("r1", 1, digest("draw")[:32]),
            ("r3", 2, "d2"),
        ]
        assert index.attempts_of("nobody's") == ()


def test_the_last_certificate_is_of_a_certified_release_for_publication(home):
    events = [
        ended("r1"),
        ended("r2"),
        ended("r3", outcome="refused"),
        ended("r4", not_for_publication=True),
        ended("r5", series="other"),
    ]
    write_trail(home, events)
    with Index.current() as index:
        assert last_certificate(index, "anes") == digest("r2", "certificate")
        assert last_certificate(index, "other") == digest("r5", "certificate")
        assert last_certificate(index, "nobody's") is None


def test_the_last_certificate_is_the_one_that_ended_last(home):
    write_trail(home, [began("r1"), began("r2"), ended("r2"), ended("r1")])
    with Index.current() as index:
        assert last_certificate(index, "anes") == digest("r1", "certificate")


def test_it_catches_up_and_reads_only_what_is_new(home, monkeypatch):
    key = open_signing_key()
    Ledger.current().append(RunBegan.model_validate_json(_json(began("r1"))), key)
    read: list[int] = []
    fill = index_update.parse_entry
    monkeypatch.setattr(index_update, "parse_entry", lambda content: read.append(1) or fill(content))
    with Index.current() as index:
        assert index.size == 2
    assert len(read) == 2
    Ledger.current().append(RunEnded.model_validate_json(_json(ended("r1"))), key)
    with Index.current() as index:
        assert index.notes == []
        assert index.find(Query())[0].ending is not None
    assert len(read) == 3


def test_nothing_is_made_where_there_is_no_ledger(home):
    with Index.current() as index:
        assert index.find(Query()) == []
        assert index.size == 0
        assert last_certificate(index, "anes") is None
    assert not home.exists()


def test_its_files_are_private(trail):
    os.umask(0)
    try:
        Index.current().close()
    finally:
        os.umask(0o077)
    for name in ("index.db", "index.stamp", ".index.lock"):
        assert (trail.parent / name).stat().st_mode & 0o777 == 0o600


DAMAGES = {
    "stamp is gone": lambda path: path.with_name("index.stamp").unlink(),
    "changed by something else": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "changed by something": lambda path: changed(path, "DELETE FROM runs"),
    "by something else": lambda path: changed(path, "UPDATE runs SET outcome = 'certified'"),
    "damaged": lambda path: (path.write_bytes(b"no database"), opening._put_stamp(path)),
    "or was damaged": lambda path: changed(path, "DROP TABLE runs", stamped=True),
    "did not fit": lambda path: changed(path, "UPDATE facts SET value = '0' WHERE name = 'schema'", stamped=True),
    "not fit the ledger": lambda path: changed(path, "DELETE FROM entries WHERE number = 7", stamped=True),
    "stamp is gone or damaged": lambda path: path.with_name("index.stamp").write_bytes(b"{"),
}


@pytest.mark.parametrize("why", DAMAGES)
def test_a_damaged_one_is_built_anew_and_told(trail, why):
    with Index.current() as index:
        right = answers(index)
    DAMAGES[why](trail.parent / "index.db")
    with Index.current() as index:
        assert answers(index) == right
        assert why in " ".join(index.notes)
    with Index.current() as index:
        assert index.notes == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs SET outcome = 'certified', certificate = 'ff', publishable = 1 WHERE outcome = 'refused'",
        "UPDATE runs SET ended = 9999 WHERE outcome = 'certified' AND series = 'series-0'",
        "UPDATE runs SET release = 'release-1'",
        "UPDATE entries SET run = 'somebody' WHERE kind = 'ended'",
        "UPDATE entries SET first_byte = first_byte + 1",
        "UPDATE entries SET first_byte = -5",
        "UPDATE entries SET n_bytes = 1000000000000000",
        "UPDATE entries SET leaf = x'00'",
        "INSERT INTO runs (run, first, at, publishable) VALUES ('invented', 999, 0, 1)",
    ],
)
def test_one_with_a_forged_stamp_cannot_say_what_the_ledger_does_not(trail, statement):
    with Index.current() as index:
        right = answers(index)
    changed(trail.parent / "index.db", statement, stamped=True)
    with Index.current() as index:
        assert answers(index) == right
        assert "what the ledger does not say" in " ".join(index.notes)


def test_one_of_another_ledger_is_built_anew(home, trail, tmp_path):
    Index.current().close()
    write_trail(home, [began("other")], ledger="2" * 32)
    with Index.current() as index:
        assert [one.run for one in index.find(Query())] == ["other"]
        assert "did not fit the ledger" in index.notes[0]


def test_one_of_a_ledger_that_was_cut_is_built_anew(trail):
    Index.current().close()
    lines = trail.read_bytes().splitlines(keepends=True)
    trail.write_bytes(b"".join(lines[:10]))
    with Index.current() as index:
        assert index.size == 10
        assert index.notes


def test_a_line_changed_since_is_read_as_it_is_now(trail):
    with Index.current() as index:
        last = index.find(Query(verdict="certified"))[0].run
    lines = trail.read_bytes().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if n > 5)
    lines[place] = b"x" * (len(lines[place]) - 1) + b"\n"
    trail.write_bytes(b"".join(lines))
    with Index.current() as index:
        assert index.find(Query(verdict="certified"))[0].run == last
        index.find(Query())
        line, entry = index.entry(place)
        assert entry is None
        assert line.content == lines[place][:-1]


def test_a_line_that_is_no_entry_is_counted_and_hides_no_other(home):
    path = write_trail(home, [began("r1"), began("r2")])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b'{"payload":"AAAA"}\n', lines[2], b'{"torn']))
    with Index.current() as index:
        assert index.size == 3
        assert [one.run for one in index.find(Query())] == ["r2"]
        assert index.entry(1)[1] is None
        with pytest.raises(InputError, match="3 entries"):
            index.entry(3)


def test_where_nothing_may_be_written_it_is_built_in_memory(trail, monkeypatch):
    with Index.current() as index:
        right = answers(index)
    (trail.parent / "index.db").unlink()
    monkeypatch.setattr(opening, "hold_file_lock", _refused)
    with Index.current() as index:
        assert answers(index) == right
        assert "in memory" in index.notes[0]
    assert not (trail.parent / "index.db").exists()


def test_where_nothing_may_be_written_one_that_fits_is_used(trail, monkeypatch):
    with Index.current() as index:
        right = answers(index)
    monkeypatch.setattr(opening, "hold_file_lock", _refused)
    with Index.current() as index:
        assert answers(index) == right
        assert index.notes == []
    with trail.open("ab") as file:
        file.write(b"{}\n")
    with Index.current() as index:
        assert index.size == right[0] + 1
        assert "in memory" in index.notes[0]


@pytest.mark.parametrize(("worth_telling_seconds", "told"), [(math.inf, False), (0.0, True)])
def test_the_first_one_is_built_without_a_word_unless_it_takes_long(trail, monkeypatch, worth_telling_seconds, told):
    monkeypatch.setattr(opening, "WORTH_TELLING_SECONDS", worth_telling_seconds)
    for _ in range(2):
        with Index.current() as index:
            assert index.size > 60
            assert [note.endswith("there was none") for note in index.notes] == [True] * told
        (trail.parent / "index.db").unlink()


@pytest.mark.slow
def test_several_processes_at_once_all_answer_right(trail):
    (trail.parent / "index.db").write_bytes(b"damaged")
    code = (
        "from tasks.audit.lookup.index import Index; from tasks.audit.lookup.query import Query; index = Index.current();"
        "print(index.size, index.count(Query(verdict='certified')), len(index.notes))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [one.communicate(timeout=120)[0].split() for one in started]
    with Index.current() as index:
        assert {tuple(words[:2]) for words in said} == {(str(index.size), str(index.count(Query(verdict="certified"))))}
    assert sorted(words[2] for words in said) == ["0", "1"]  # one built it for all


def test_a_beginning_means_a_run_only_if_it_is_alone(home):
    write_trail(home, [began("20260101T0900-aa"), began("20260101T0900-ab"), began("20260101T0900-a")])
    with Index.current() as index:
        assert index.run("20260101T0900-aa").run == "20260101T0900-aa"
        assert index.run("20260101T0900-a").run == "20260101T0900-a"  # a whole id, though others begin so
        with pytest.raises(InputError, match="3 runs begin so"):
            index.run("2026")
        with pytest.raises(InputError, match="no run"):
            index.run("20260101T0900-%")
        with pytest.raises(InputError, match="no run"):
            index.run("")


def test_a_place_holds_a_line_or_none(trail):
    places = LedgerLineReader(Ledger(trail.parent))
    lines = trail.read_bytes().splitlines()
    second = len(lines[0]) + 1
    assert places.read_lines([(1, second, len(lines[1]))])[0].content == lines[1]
    shifted, short, long = (second - 1, len(lines[1])), (second, len(lines[1]) - 1), (second, len(lines[1]) + len(lines[2]) + 1)
    for wrong in (shifted, short, long, (1, len(lines[0]) - 1), (10**15, 5), (second, 10**15)):
        with pytest.raises(IndexMismatch):
            places.read_lines([(1, *wrong)])


def _refused(*_: object, **__: object):
    raise PermissionError(13, "Permission denied")


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def test_a_planted_journal_is_not_rolled_into_it(trail):
    with Index.current() as index:
        before = len(index.attempts_of("series-0"))
    assert before
    path = trail.parent / "index.db"
    forged = path.with_name("forged.db")
    forged.write_bytes(path.read_bytes())
    changed(forged, "update entries set series = 'other' where kind = 'attempt'")
    (trail.parent / "index.db-journal").write_bytes(_journal_that_restores(forged.read_bytes()))
    forged.unlink()
    with Index.current() as index:
        assert len(index.attempts_of("series-0")) == before
    assert not (trail.parent / "index.db-journal").exists()


def _journal_that_restores(content: bytes) -> bytes:
    """A rollback journal by which SQLite writes these pages into the database beside it (fileformat2.html, section 3)."""
    size = int.from_bytes(content[16:18], "big")
    pages = [content[start : start + size] for start in range(0, len(content), size)]
    nonce = 1
    header = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", len(pages), nonce, len(pages), 512, size)
    records = (
        struct.pack(">I", number) + page + struct.pack(">I", (nonce + sum(page[i] for i in range(size - 200, 0, -200))) % 2**32)
        for number, page in enumerate(pages, 1)
    )
    return header.ljust(512, b"\0") + b"".join(records)
