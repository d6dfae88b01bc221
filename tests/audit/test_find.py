"""Finding runs: every filter against a plain reading of the ledger, files by their digests, and what is not believed."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trails import VERDICTS, attempt, attribute, began, digest, ended, last_certificate, released, runs, write_trail

from tasks.audit.ledger.entries import RunBegan, RunEnded
from tasks.audit.ledger.ledger import Ledger, open_entry
from tasks.audit.lookup.index import Index
from tasks.audit.lookup.index_rows import alike, list_touched_attributes
from tasks.audit.lookup.query import Query
from tasks.audit.lookup.trust import Trust, format_entry_notes
from tasks.audit.signing.keyring import Keyring
from tasks.runtime.settings import Home

START = datetime(2026, 1, 1, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def trail(tmp_path_factory):
    """120 runs whose attributes differ: as a plain reading says them, and their index."""
    home = tmp_path_factory.mktemp("trail") / "home"
    events = []
    for number, event in enumerate(runs(120)):
        if event["kind"] == "ended":
            event["attributes"] = [attribute(f"a{number % 7}"), attribute("hidden", masks=[], published=False)]
        events.append(event)
    write_trail(home, events)
    before = os.environ["SDCERT_HOME"]
    os.environ["SDCERT_HOME"] = str(home)
    with Index.current() as index:
        os.environ["SDCERT_HOME"] = before
        yield read_plainly(home), index


def read_plainly(home: Path) -> dict[str, dict[str, object]]:
    """The slow twin: every line of the ledger is read, and what it says of its run noted."""
    said: dict[str, dict[str, object]] = {}
    for line in Ledger(home / "ledger").lines():
        entry = open_entry(line.content)
        event, run = entry.event, getattr(entry.event, "run", None)
        if run is None:
            continue
        known = said.setdefault(run, {"at": entry.at, "outcome": "running", "touched": ()})
        if isinstance(event, RunBegan | RunEnded):
            known |= {"release": event.release, "series": event.series}
        if isinstance(event, RunBegan):
            known["dataset"] = event.dataset
        if isinstance(event, RunEnded):
            known |= {"outcome": event.outcome, "touched": list_touched_attributes(event.attributes)}
    return said


def plainly(said: dict[str, dict[str, object]], query: Query) -> list[str]:
    """The runs that a query asks for, newest first, by asking each."""

    def fits(known) -> bool:
        wanted = {"release": query.release, "series": query.series, "dataset": query.dataset, "outcome": query.verdict}
        return (
            all(value is None or known[name] == value for name, value in wanted.items())
            and (query.touching is None or query.touching in known["touched"])
            and (query.since is None or known["at"] >= query.since)
            and (query.until is None or known["at"] < query.until)
        )

    return [run for run, known in said.items() if fits(known)][::-1][: query.last]


def maybe(values):
    return st.none() | st.sampled_from(list(values))


MOMENTS = maybe(START + timedelta(minutes=minutes) for minutes in (0, 1, 50, 199, 200, 300, 1000))
QUERIES = st.builds(
    Query,
    release=maybe(["release-0", "release-7", "release-49", "RELEASE-7", "release-%"]),
    series=maybe(["series-0", "series-24", "none"]),
    dataset=maybe(["data-0", "data-9", ""]),
    verdict=maybe([*filter(None, set(VERDICTS)), "running"]),
    touching=maybe(["a0", "a6", "hidden", "a%"]),
    since=MOMENTS,
    until=MOMENTS,
    last=maybe([1, 3, 1000]),
)


@settings(max_examples=80, deadline=None)
@given(query=QUERIES)
def test_every_filter_says_what_a_plain_reading_says(trail, query):
    said, index = trail
    found = [one.run for one in index.find(query)]
    assert found == plainly(said, query)
    assert [one.run for one, _ in index.each(query)] == found
    assert index.count(query) == len(plainly(said, replace(query, last=None)))


def test_a_query_by_digest_finds_its_run_alone(trail):
    _, index = trail
    some = next(one for one in index.find(Query(verdict="certified")) if one.ending is not None)
    assert some.ending is not None
    assert some.ending.released is not None
    for query in (
        Query(sha256=some.ending.released.sha256),
        Query(sha256=some.ending.documents[0].sha256),
        Query(content_address=some.ending.released.content_address),
        Query(certificate=some.ending.certificate),
        Query(certificate=some.ending.certificate[:9]),
    ):
        assert [one.run for one in index.find(query)] == [some.run]
    assert index.count(Query(source_file=digest("file", 3))) == 12
    assert index.count(Query(source_file=digest("nothing"))) == 0


def test_issued_files_have_their_roles(home):
    approved = {"kind": "approved", "run": "r1", "certificate": digest("r1", "certificate"), "approval": digest("approval"),
                "by": "a", "role": "b", "reason": "c", "key_id": digest("key"), "independent": True}  # fmt: skip
    write_trail(
        home, [ended("r1"), approved, ended("r2", documents=[{"name": "report.html", "sha256": digest("r1", "report.html")}])]
    )
    with Index.current() as index:
        assert index.find_issued_files(digest("r1", "released")) == [("r1", "released", "released.csv")]
        assert index.find_issued_files(digest("approval")) == [("r1", "approval", "approval")]
        assert index.find_issued_files(digest("r1", "certificate")) == [("r1", "certificate", "certificate")]
        assert index.find_issued_files(digest("r1", "report.html")) == [
            ("r2", "document", "report.html"),
            ("r1", "document", "report.html"),
        ]
        assert index.find_issued_files(digest("nothing")) == []


def test_a_shape_is_names_in_their_order_and_rows(home):
    one, other = released("r1"), released("r2", rows=945)
    write_trail(home, [ended("r1", released=one), ended("r2", released=other), ended("r3", released=one)])
    names = [column["name"] for column in one["columns"]]
    with Index.current() as index:
        assert index.contents_of_shape(alike(944, names)) == [("r3", one["content_address"])]
        assert index.contents_of_shape(alike(945, names)) == [("r2", other["content_address"])]
        assert index.contents_of_shape(alike(944, names[::-1])) == []


def test_what_is_neither_masked_nor_published_is_not_touched(home):
    attributes = [
        attribute("masked", published=False),
        attribute("published", masks=[]),
        attribute("left", masks=[], published=False),
    ]
    write_trail(home, [ended("r1", attributes=attributes)])
    with Index.current() as index:
        assert index.names("attribute") == ["masked", "published"]
        assert index.count(Query(touching="left")) == 0


def test_a_run_is_dated_by_its_first_entry_and_a_failed_one_has_no_certificate(home):
    write_trail(home, [attempt("r1"), began("r1"), ended("r1", outcome="failed", certificate=None, released=None)])
    with Index.current() as index:
        (found,) = index.find(Query(verdict="failed"))
        assert found.began_at == START + timedelta(minutes=1)
        assert found.end_time == START + timedelta(minutes=3)
        assert last_certificate(index, "anes") is None


def test_doubts_name_what_was_done_to_a_line(home):
    path = write_trail(home, [began("r1"), began("r2"), began("r3")])
    lines = path.read_bytes().splitlines()
    foreign = write_trail(home.parent / "foreign", [began("r1"), began("r2")]).read_bytes().splitlines()
    lines[2] = foreign[2]  # signed by a key that this home does not know
    lines[3] = lines[1]  # signed, and of another place
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    keyring = Keyring.from_home(Home.current())
    with Index.current() as index:
        said = [Trust(keyring).doubt(*index.entry(number)) for number in range(4)]
    assert said[:2] == ["", ""]
    assert "not known here" in said[2]
    assert said[3] == "it says that it is entry 1"


def test_a_changed_letter_of_a_line_is_doubted(home):
    path = write_trail(home, [began("r1")])
    content = path.read_bytes()
    place = content.index(b'"sig":"') + 10
    path.write_bytes(content[:place] + (b"A" if content[place : place + 1] != b"A" else b"B") + content[place + 1 :])
    with Index.current() as index:
        line, entry = index.entry(0)
        assert entry is not None
        assert "not one of key" in Trust(Keyring.from_home(Home.current())).doubt(line, entry)


def test_doubts_of_one_reason_are_one_sentence():
    assert format_entry_notes({3: "a", 5: "b", 9: "a"}) == ["entries 3, 9: a", "entry 5: b"]
    assert format_entry_notes({}) == []
