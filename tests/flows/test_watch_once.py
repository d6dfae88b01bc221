"""One look after another: what is run, what is remembered, and what is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from release_files import RELEASE, survey
from watches import Certifier, drop, failure, never, watch_of, write_watch

from flows.certify import run_stages
from flows.run.stage_runner import expected_digests
from flows.watch import once, quarantine
from flows.watch.identity import release_key
from flows.watch.once import poll_once
from flows.watch.spec import load_watch
from tasks.ingest.task import ingest_source, source_digest
from tasks.microdata.errors import InputError
from tasks.runtime.artifacts import Store
from tasks.runtime.draws import find_or_create_draw
from tasks.runtime.failures import StageFailure, hide_exceptions
from tasks.runtime.files import hold_file_lock
from tasks.runtime.settings import Home

THREE_YEARS = timedelta(days=3 * 365)


@pytest.fixture
def watch(own, tmp_path, monkeypatch):
    """A watch in a home of its own; tables get their address without Prefect."""

    def address(release, digest):
        with suppress(StageFailure):
            return ingest_source.bind(Store().put_record(release.ingest_plan), digest).compute()["data"]

    monkeypatch.setattr(once, "_find_address", address)
    return watch_of(tmp_path)


def test_a_version_is_certified_once(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    certify = Certifier(["certified"])
    first = poll_once(watch, certify)
    assert (first.action, first.verdict, first.events, first.exit_code) == ("certify", "certified", ("certified",), 0)
    assert certify.ran[0].source.table == str(tmp_path / "drop" / "survey-1.csv")
    again = poll_once(watch, never)
    assert (again.action, again.run, again.verdict, again.events, again.exit_code) == ("unchanged", first.run, None, (), 0)
    drop(tmp_path, "survey-2.csv", hour=1)
    assert poll_once(watch, never).action == "unchanged", "the same bytes under a newer name"


def test_the_same_table_in_other_bytes_is_the_same_version(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    first = poll_once(watch, Certifier(["certified"], table=lambda one: once._find_address(one, source_digest(one.source))))
    drop(tmp_path, "survey-2.csv", survey().replace("\n", "\r\n"), hour=1)
    again = poll_once(watch, never)
    assert (again.action, again.run) == ("unchanged", first.run)


@pytest.mark.parametrize("outcome", ["refused", "undecided"])
def test_what_is_not_certified_is_never_tried_again_by_itself_nor_with_another_draw(watch, tmp_path, outcome):
    drop(tmp_path, "survey-1.csv")
    first = poll_once(watch, Certifier([outcome]))
    assert (first.verdict, first.events, first.exit_code) == (outcome, (outcome,), 1)
    draw = find_or_create_draw("survey")
    again = poll_once(watch, never)
    assert (again.action, again.run, again.exit_code) == ("refused_before", first.run, 0)
    asked = poll_once(watch, Certifier(["certified"]), again=True)
    assert (asked.action, asked.verdict) == ("certify", "certified")
    assert find_or_create_draw("survey") == draw


def test_a_changed_release_file_is_a_persons_decision(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    poll_once(watch, Certifier(["refused"]))
    text = (tmp_path / "params" / "release.yaml").read_text()
    (tmp_path / "params" / "release.yaml").write_text(f"# a comment\n{text}")
    assert poll_once(load_watch(tmp_path / "params" / "watch.yaml"), never).action == "refused_before"
    changed = watch_of(tmp_path, release={"policy": [{"measure": "reidentification", "at_most": 0.5}]})
    certify = Certifier(["refused"])
    assert poll_once(changed, certify).reason == "the release file was changed since it was tried"
    assert len(certify.ran) == 1
    assert poll_once(changed, never).action == "refused_before"
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for path in (tmp_path / "params", tmp_path / "drop"):
        path.rename(moved / path.name)
    assert poll_once(load_watch(moved / "params" / "watch.yaml"), never).action == "refused_before"


def test_the_release_file_is_certified_as_it_is_whatever_was_released_before(own, tmp_path, monkeypatch):
    """The run asks the ledger which other versions count."""
    monkeypatch.setattr(once, "_find_address", lambda *_: None)
    watch = watch_of(tmp_path, release={"context": {"prior_releases": ["census 2020"]}})
    certify = Certifier(["certified", "certified"])
    for number in range(2):
        drop(tmp_path, f"survey-{number}.csv", survey(80 + number), hour=number)
        poll_once(watch, certify)
    assert [release.context for release in certify.ran] == [watch.release.context] * 2
    assert poll_once(watch, never).action == "unchanged"
    none, other = (watch_of(tmp_path, release={"context": {"prior_releases": given}}) for given in ([], None))
    assert len({release_key(one.release) for one in (watch, none, other)}) == 3


@pytest.mark.parametrize(("declared", "more"), [(None, "; others are not assessed"), (("census 2020",), "")])
def test_what_earlier_versions_named_of_other_versions_makes_no_other_release(watch, declared, more):
    def name_earlier(*texts):
        context = watch.release.context.model_copy(update={"prior_releases": texts or None})
        return release_key(watch.release.model_copy(update={"context": context}))

    added = f"series survey: one other version, the last certified in run 20261121T093000Z-1f2e3d{more}"
    assert name_earlier(*(declared or ()), added) == name_earlier(*(declared or ()))


def test_older_files_that_came_meanwhile_are_named_and_not_certified(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    poll_once(watch, Certifier(["certified"]))
    for number in (2, 3, 4):
        drop(tmp_path, f"survey-{number}.csv", survey(80 + number), hour=number)
    found = poll_once(watch, Certifier(["certified"]))
    assert (found.version, found.passed_over) == ("survey-4.csv", ("survey-2.csv", "survey-3.csv"))
    assert poll_once(watch, never).passed_over == ()


def test_a_source_that_fails_validation_is_quarantined_until_it_changes(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    poll_once(watch, Certifier(["certified"]))
    drop(tmp_path, "survey-2.csv", "age\nx\n", hour=1)
    found = poll_once(watch, Certifier([failure("ingest", "not-numeric")]))
    assert (found.events, found.code, found.exit_code) == (("quarantined",), "not-numeric at survey.csv: column age", 2)
    assert "zanzibar" not in repr({name: getattr(found, name) for name in found.__slots__ if name != "error"})
    (record,) = quarantine.read_quarantine_records()
    assert (record.id, record.run, record.label, record.times) == (found.quarantine, found.run, "survey-2.csv", 1)
    assert "zanzibar-quux" in record.reason
    path = Home.current().root / "quarantine" / "survey" / f"{record.id}.json"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    before = poll_once(watch, never)
    assert (before.action, before.exit_code) == ("quarantined_before", 0)
    drop(tmp_path, "survey-3.csv", "age\ny\n", hour=2)
    assert poll_once(watch, Certifier(["certified"])).verdict == "certified"
    assert quarantine.read_quarantine_records() == [], "a later version was certified: nobody has to do anything about it"
    assert quarantine.is_quarantined("survey", record.id), "what lies in the folder still is not tried again"


def test_a_person_lets_a_version_out_of_quarantine(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    first = poll_once(watch, Certifier([failure("classify", "nothing-to-mask")]))
    quarantine.retry(quarantine.record(first.quarantine[:6]))
    assert quarantine.read_quarantine_records() == []
    second = poll_once(watch, Certifier([failure("classify", "nothing-to-mask")]))
    assert second.quarantine == first.quarantine
    assert [record.times for record in quarantine.read_quarantine_records()] == [2]
    assert poll_once(watch, Certifier(["certified"]), again=True).verdict == "certified"
    assert quarantine.read_quarantine_records() == []


def test_a_changed_release_file_tries_what_is_in_quarantine_again(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    poll_once(watch, Certifier([failure("ingest", "expectation-failed")]))
    changed = watch_of(tmp_path, release={"expect": [{"expect": "not_missing", "attribute": "vote"}]})
    assert poll_once(changed, Certifier(["certified"])).verdict == "certified"


def test_a_record_that_was_damaged_lets_nothing_out(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    found = poll_once(watch, Certifier([failure("ingest", "not-numeric")]))
    (Home.current().root / "quarantine" / "survey" / f"{found.quarantine}.json").write_text("{")
    assert poll_once(watch, never).action == "quarantined_before"
    assert [record.code for record in quarantine.read_quarantine_records()] == ["damaged-record"]


@pytest.mark.parametrize(
    "error",
    [
        failure("ingest", "source-changed"),
        failure("certify", "no-connection"),
        failure("ingest", "no-such-source"),
        InputError("no-server", "PREFECT_API_URL", "no server answers", "", ""),
    ],
    ids=lambda error: getattr(error, "code", None),
)
def test_what_is_away_is_no_quarantine_and_is_seen_by_a_later_look(watch, tmp_path, error):
    drop(tmp_path, "survey-1.csv")
    found = poll_once(watch, Certifier([error]))
    assert (found.action, found.events, found.exit_code) == ("away", (), 3)
    assert quarantine.read_quarantine_records() == []
    assert poll_once(watch, Certifier(["certified"])).verdict == "certified"


@pytest.mark.parametrize(
    "error",
    [
        failure("mask", "lost-seed", "SDCERT_HOME"),
        failure("certify", "ledger-damaged", "ledger"),
        StageFailure("mask", "x", "0"),
    ],
    ids=["the seed is lost", "the ledger is damaged", "something broke"],
)
def test_what_is_not_about_the_source_is_passed_on(watch, tmp_path, error):
    drop(tmp_path, "survey-1.csv")
    with pytest.raises(StageFailure):
        poll_once(watch, Certifier([error]))
    assert quarantine.read_quarantine_records() == []
    assert poll_once(watch, Certifier(["certified"])).verdict == "certified"


def test_a_version_with_a_hostile_name_is_quarantined_without_a_run(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    (tmp_path / "drop" / os.fsdecode(b"survey-\xff\n.csv")).write_text("age\n1\n")
    found = poll_once(watch, never)
    assert (found.events, found.run, found.exit_code) == (("quarantined",), None, 2)
    (record,) = quarantine.read_quarantine_records()
    assert record.label.isprintable()
    assert poll_once(watch, never).action == "quarantined_before"


def test_a_version_whose_runs_are_killed_is_quarantined(watch, tmp_path, monkeypatch):
    drop(tmp_path, "survey-1.csv")
    with monkeypatch.context() as killed:
        killed.setattr(quarantine, "clear_starts", lambda *_: None)
        for _ in range(quarantine.DEATHS):
            assert quarantine.read_quarantine_records() == []
            with pytest.raises(StageFailure):
                poll_once(watch, Certifier([StageFailure("mask", "killed", "0")]))
    assert poll_once(watch, never).code == "runs-killed at source"


def test_runs_that_break_off_with_a_word_are_not_counted(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    for _ in range(quarantine.DEATHS + 1):
        with pytest.raises(StageFailure):
            poll_once(watch, Certifier([StageFailure("mask", "the disk is full", "0")]))
    assert poll_once(watch, Certifier(["certified"])).verdict == "certified"


@pytest.mark.long
def test_processes_that_are_killed_in_their_run(own, tmp_path):
    """Three processes die in the run, without a word; the fourth look runs nothing."""
    write_watch(tmp_path)
    drop(tmp_path, "survey-1.csv")
    code = (
        "import os, signal, sys; from pathlib import Path; from flows.watch.once import poll_once\n"
        "from flows.watch.spec import load_watch\n"
        "poll_once(load_watch(Path(sys.argv[1])), lambda _: os.kill(os.getpid(), signal.SIGKILL))"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "params" / "watch.yaml")]
    watch = load_watch(tmp_path / "params" / "watch.yaml")
    for _ in range(quarantine.DEATHS):
        assert quarantine.read_quarantine_records() == []
        assert subprocess.run(words, check=False).returncode == -9
    found = poll_once(watch, never)
    assert (found.events, found.code, found.run) == (("quarantined",), "runs-killed at source", None)
    quarantine.retry(quarantine.read_quarantine_records()[0])
    assert poll_once(watch, Certifier(["certified"])).verdict == "certified"


def test_one_look_of_a_series_at_a_time(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    with hold_file_lock(Home.current().locks / "watch-survey.lock"):
        found = poll_once(watch, never)
    assert (found.action, found.exit_code) == ("busy", 0)
    assert poll_once(watch, Certifier(["certified"])).verdict == "certified"


def test_an_overdue_review_measures_the_same_draw_again_and_is_told_once(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    first = poll_once(watch, Certifier(["certified"]))
    draw, later = find_or_create_draw("survey"), datetime.now(UTC) + THREE_YEARS
    found = poll_once(watch, Certifier(["refused"]), now=later)
    assert (found.action, found.review_due, found.events) == ("review_due", first.run, ("review_due", "refused"))
    assert find_or_create_draw("survey") == draw
    after = poll_once(watch, never, now=later)
    assert (after.action, after.review_due, after.events) == ("refused_before", first.run, ())


def test_an_overdue_review_is_an_event_of_each_scheduled_look(watch, tmp_path, monkeypatch):
    """A look by hand, or one that was killed, took the message with it; who tells knows what was told."""
    drop(tmp_path, "survey-1.csv")
    poll_once(watch, Certifier(["certified"]))
    later = datetime.now(UTC) + THREE_YEARS
    assert poll_once(watch, Certifier(["refused"]), now=later).events == ("review_due", "refused")
    monkeypatch.setenv("SDCERT_ASKED_BY_FLOW_RUN", "0199-f")
    for _ in range(2):
        assert poll_once(watch, never, now=later).events == ("review_due",)


def test_an_overdue_review_is_told_by_the_first_look_that_comes_to_its_end(watch, tmp_path):
    drop(tmp_path, "survey-1.csv")
    first, later = poll_once(watch, Certifier(["certified"])), datetime.now(UTC) + THREE_YEARS
    assert poll_once(watch, Certifier([failure("certify", "no-connection")]), now=later).events == ()
    found = poll_once(watch, Certifier(["certified"], review_years=9), now=later)
    assert (found.review_due, found.events) == (first.run, ("review_due", "certified"))
    assert poll_once(watch, never, now=later).action == "unchanged"


def test_an_output_folder_that_is_away(watch, tmp_path, monkeypatch):
    def denied(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(once, "settle_latest", denied)
    found = poll_once(watch, never)
    assert (found.action, found.code, found.exit_code) == ("away", "output at output", 3)


def test_an_overdue_review_is_only_told_where_the_watch_says_so(own, tmp_path):
    watch = watch_of(tmp_path, review="tell")
    drop(tmp_path, "survey-1.csv")
    first, later = poll_once(watch, Certifier(["certified"])), datetime.now(UTC) + THREE_YEARS
    found = poll_once(watch, never, now=later)
    assert (found.action, found.review_due, found.events, found.exit_code) == ("review_due", first.run, ("review_due",), 0)
    assert poll_once(watch, never, now=later).events == ()


def test_an_overdue_review_is_told_though_its_source_is_gone(watch, tmp_path):
    path = drop(tmp_path, "survey-1.csv")
    first = poll_once(watch, Certifier(["certified"]))
    path.unlink()
    found = poll_once(watch, never, now=datetime.now(UTC) + THREE_YEARS)
    assert (found.action, found.review_due, found.events) == ("nothing", first.run, ("review_due",))


def test_a_drop_folder_needs_a_release_with_a_file(home, tmp_path):
    path = write_watch(tmp_path, release={"source": {"dataset": "anes96"}})
    with pytest.raises(InputError, match="no file, so that no file of a folder"):
        load_watch(path)


@pytest.mark.parametrize(
    ("look_at", "said"),
    [
        ({"source": "release"}, "exactly one of"),
        ({"pattern": "../*"}, "not of paths"),
        ({"settled": 3}, "unknown field `settled`"),
        ({"settled_seconds": -1}, "greater than or equal to 0"),
    ],
)
def test_a_wrong_watch_file_is_told_with_its_place(home, tmp_path, look_at, said):
    with pytest.raises(InputError, match=said) as caught:
        load_watch(write_watch(tmp_path, look_at=look_at))
    assert "watch.yaml, line 1: look_at" in caught.value.where
    assert "release.json" not in str(caught.value)


def test_a_release_file_that_is_not_there(home, tmp_path):
    path = write_watch(tmp_path)
    (tmp_path / "params" / "release.yaml").unlink()
    with pytest.raises(InputError, match="there is no such release file"):
        load_watch(path)
    assert RELEASE["name"] == "survey"


def test_two_releases_of_one_series_do_not_undo_each_other(watch, tmp_path):
    """Each is certified once: the other one's run is no change of its release file."""
    other = watch_of(tmp_path, release={"name": "survey-for-science", "series": "survey"})
    assert {watch.release.series_name, other.release.series_name} == {"survey"}
    drop(tmp_path, "survey-1.csv")
    for one in (watch, other):
        assert poll_once(one, Certifier(["certified"])).verdict == "certified"
    for one in (watch, other, watch, other):
        assert poll_once(one, never).action == "unchanged"


def test_what_comes_in_the_place_of_a_version_before_it_is_read_is_not_certified(watch, tmp_path):
    """Neither a half-written file nor another one: the course compares what it reads with what was looked at."""
    dropped = drop(tmp_path, "survey-1.csv")

    def certify(release):
        dropped.write_text(survey(99))
        return hide_exceptions("certify")(run_stages)(None, release, None)

    found = poll_once(watch, certify)
    assert (found.action, found.code, quarantine.read_quarantine_records()) == ("away", "source-changed at source", [])
    assert not expected_digests.get()
    assert poll_once(watch, Certifier(["certified"])).verdict == "certified"
