"""The index of the ledger on a PostgreSQL server: right whoever else writes, built anew where it is not, no password told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import NullPool, create_engine, text
from trails import attempt, began, digest, ended, last_certificate, runs, write_trail

from tasks.audit.ledger.entries import AttemptMade
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.lookup.index import Index
from tasks.audit.lookup.ledger_lines import LedgerLineReader
from tasks.audit.lookup.query import Query
from tasks.audit.lookup.server import name_schema
from tasks.audit.signing.keys import open_signing_key
from tasks.microdata.errors import InputError

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def database(home, postgres, monkeypatch):
    """The name of an empty database in which the index of this home goes."""
    name = postgres.new("index")
    monkeypatch.setenv("SDCERT_INDEX_URL", postgres.url(database=name))
    return name


@pytest.fixture
def trail(home, database):
    """Thirty runs in a home of this test; the ledger's file."""
    return write_trail(home, runs(30))


@pytest.fixture
def changed(postgres, database, trail):
    """`changed(statement)` changes the index as somebody with a tool for databases would."""

    def call(statement: str) -> None:
        engine = create_engine(postgres.socket_url(database), poolclass=NullPool)
        with engine.begin() as connection:
            connection.execute(text(f'set search_path to "{name_schema(places())}"'))
            connection.execute(text(statement))

    return call


def places() -> LedgerLineReader:
    return LedgerLineReader(Ledger.current())


def answers(index: Index) -> tuple[object, ...]:
    found = index.find(Query())
    return (index.size, [one.run for one in found], [one.ending for one in found], index.attempts_of("series-3"),
            last_certificate(index, "series-0"), index.names("attribute"), index.names("release"), index.key_changes(),
            index.count(Query(touching="age")), index.find(Query(certificate=digest("x")[:1], last=3)),
            [index.contents_of_shape(row["alike"]) for row, _ in index.list_certified_runs()[:3]])  # fmt: skip


def in_a_file(monkeypatch) -> tuple[object, ...]:
    """The slow twin: what the index in a file says."""
    with monkeypatch.context() as patch:
        patch.delenv("SDCERT_INDEX_URL")
        with Index.current() as index:
            return answers(index)


def test_it_says_what_the_one_in_a_file_says(trail, monkeypatch):
    monkeypatch.setattr("tasks.audit.lookup.opening.WORTH_TELLING_SECONDS", np.inf)
    right = in_a_file(monkeypatch)
    (trail.parent / "index.db").unlink()
    for _ in range(2):
        with Index.current() as index:
            assert answers(index) == right
            assert index.notes == []
    assert not (trail.parent / "index.db").exists()
    assert (trail.parent / "index.stamp").stat().st_mode & 0o777 == 0o600


def test_it_catches_up(home, database, monkeypatch):
    key = open_signing_key()
    Ledger.current().append(AttemptMade.model_validate(attempt("r1")), key)
    with Index.current() as index:
        assert len(index.attempts_of("anes")) == 1
    Ledger.current().append(AttemptMade.model_validate(attempt("r2", attempts=2)), key)
    monkeypatch.setattr("tasks.audit.lookup.server._build", None)
    with Index.current() as index:
        assert [one.attempts for one in index.attempts_of("anes")] == [1, 2]


DAMAGES = {
    "DELETE FROM runs": "changed by something else",
    "DELETE FROM runs WHERE series = 'series-3'": "changed by something else",
    "UPDATE runs SET series = 'series-1' WHERE series = 'series-3'": "changed by something else",
    "UPDATE entries SET series = 'none' WHERE kind = 'attempt'": "changed by something else",
    "UPDATE facts SET value = '0' WHERE name = 'schema'": "changed by something else",
    "DELETE FROM entries WHERE number = 7": "changed by something else",
    "DROP TABLE runs": "was damaged",
    "ALTER TABLE runs DROP COLUMN series": "changed by something else",
    "ALTER TABLE entries DROP COLUMN series": "it",
}


@pytest.mark.parametrize("statement", DAMAGES)
def test_one_that_somebody_changed_is_built_anew_and_told(trail, changed, statement, monkeypatch):
    right = in_a_file(monkeypatch)
    Index.current().close()
    changed(statement)
    with Index.current() as index:
        assert answers(index) == right
        assert DAMAGES[statement] in " ".join(index.notes) or "DROP COLUMN" in statement
    with Index.current() as index:
        assert answers(index) == right
        assert index.notes == []


def test_one_that_is_changed_while_it_is_open_cannot_say_what_the_ledger_does_not(trail, changed, monkeypatch):
    right = in_a_file(monkeypatch)
    with Index.current() as index:
        assert answers(index) == right
        changed("UPDATE runs SET outcome = 'certified', certificate = 'ff' WHERE outcome = 'refused'")
        assert answers(index) == right


def test_a_ledger_that_was_cut_or_replaced_has_its_own(home, trail, database, postgres):
    Index.current().close()
    lines = trail.read_bytes().splitlines(keepends=True)
    trail.write_bytes(b"".join(lines[:10]))
    with Index.current() as index:
        assert index.size == 10
        assert "did not fit the ledger" in index.notes[0]
    write_trail(home, [began("other")], ledger="2" * 32)
    with Index.current() as index:
        assert [one.run for one in index.find(Query())] == ["other"]
    assert len(schemas(postgres, database)) == 2


def test_two_homes_and_a_copy_of_one_live_side_by_side(home, trail, database, postgres, tmp_path, monkeypatch):
    with Index.current() as index:
        right = answers(index)
    shutil.copytree(home, tmp_path / "copy")
    write_trail(tmp_path / "other", [began("r1"), ended("r1")], ledger="2" * 32)
    for _ in range(2):
        for place, size in (("home", right[0]), ("copy", right[0]), ("other", 3)):
            monkeypatch.setenv("SDCERT_HOME", str(tmp_path / place))
            with Index.current() as index:
                assert index.size == size
                if place != "other":
                    assert answers(index) == right
    assert len(schemas(postgres, database)) == 3
    monkeypatch.setenv("SDCERT_HOME", str(home))
    with Index.current() as index:
        assert index.notes == []


def schemas(postgres, database: str) -> list[str]:
    found = "select nspname from pg_namespace where nspname like 'sdcert_index%' order by 1"
    return [name for (name,) in postgres.rows(database, found)]


WRITER = """
import sys
from tasks.audit.ledger.entries import AttemptMade
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.lookup.index import Index
from tasks.audit.signing.keys import open_signing_key
import json
key, events = open_signing_key(), json.loads(sys.argv[1])
for event in events:
    Ledger.current().append(AttemptMade.model_validate(event), key)
    with Index.current() as index:
        found = index.attempts_of(event["series"])
        assert any(one.run == event["run"] for one in found), "its own entry is missing"
        if index.notes:
            print(index.notes)
"""


def test_several_processes_that_write_miss_nothing(home, database, tmp_path):
    import json

    open_signing_key()
    with Index.current() as index:
        assert index.size in (0, 1)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    of = {who: [attempt(f"r{who}-{i}", series="shared", attempts=i + 1) for i in range(12)] for who in range(3)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, json.dumps(events)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for events in of.values()
    ]
    for one in started:
        out, err = one.communicate(timeout=240)
        assert one.returncode == 0, err
        assert not out or "there was none" in out  # told if building it takes more than a second
    with Index.current() as index:
        assert {one.run for one in index.attempts_of("shared")} == {event["run"] for some in of.values() for event in some}
        assert index.notes == []


def test_who_reads_while_it_is_built_anew_goes_on_reading(trail, changed, monkeypatch):
    with Index.current() as reader:
        right = answers(reader)
        engine = reader._engine
        done = threading.Event()

        def rebuild() -> None:
            for _ in range(5):
                (trail.parent / "index.stamp").unlink()
                Index.current().close()
            done.set()

        builder = threading.Thread(target=rebuild)
        builder.start()
        while not done.is_set():
            assert reader.count(Query()) == 30
        builder.join()
        assert answers(reader) == right
        assert reader._engine is engine


def test_a_server_that_is_away_costs_no_answer(trail, postgres, monkeypatch):
    right = in_a_file(monkeypatch)
    with Index.current() as index:
        assert answers(index) == right
        postgres.stop()
        try:
            assert answers(index) == right
            assert "in memory" in index.notes[-1]
            with Index.current() as another:
                assert answers(another) == right
                assert "its database cannot be used (OperationalError)" in another.notes[0]
        finally:
            postgres.start()
    with Index.current() as index:
        assert answers(index) == right
        assert index.notes == []


def test_a_text_that_the_server_cannot_hold_costs_no_answer(home, database):
    write_trail(home, [began("r1", release="a\0b")])
    with Index.current() as index:
        assert index.find(Query())[0].began.release == "a\0b"
        assert "in memory" in index.notes[0]


def test_a_wrong_password_is_told_without_it(trail, postgres, monkeypatch):
    monkeypatch.setenv("SDCERT_INDEX_URL", postgres.url().replace(postgres.password, "canary-4711"))
    with Index.current() as index:
        assert index.size > 60
        assert "its database cannot be used (OperationalError)" in index.notes[0]
        assert "canary" not in " ".join(index.notes)
        assert "canary" not in repr(index._engine)


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("canary-4711", "index-url"),
        ("sqlite:////tmp/canary-4711", "index-url"),
        ("postgresql+asyncpg://u:canary-4711@h/d", "index-url"),
        ("postgresql+psycopg2://u:canary-4711@h:port/d", "index-url"),
    ],
)
def test_an_address_that_is_none_is_refused_and_not_told(trail, monkeypatch, address, code):
    monkeypatch.setenv("SDCERT_INDEX_URL", address)
    with pytest.raises(InputError, match="SDCERT_INDEX_URL") as caught:
        Index.current()
    assert caught.value.code == code
    assert "canary" not in f"{caught.value} {caught.value!r}"
