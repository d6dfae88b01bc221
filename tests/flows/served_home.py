"""What a served home must do on whatever database, and the deployments that it is tried with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from leaks import leaks_of_test
from release_files import survey, write_release
from serving import (
    LOCKED_VARIABLE,
    SLOW_VARIABLE,
    Serving,
    deployment,
    every_minute,
    locked_database,
    served,
    until,
    write_database,
    write_endless,
    write_slow,
)
from watches import drop, write_watch

SLOW_STEPS = 50_000_000  # some seconds, and on a busy machine half a minute


@contextmanager
def served_with_every_ending(folder: Path, **environment: str) -> Iterator[Serving]:
    """A served home with deployments that end in every way. environment: of the process that serves."""
    environment[SLOW_VARIABLE] = write_database(folder / "source.db")
    write_release(folder / "good")
    write_release(folder / "strict", {"name": "strict", "policy": [{"measure": "reidentification", "at_most": 0.0001}]})
    write_endless(folder / "endless", "endless")
    write_slow(folder / "slow", "slow", SLOW_STEPS)
    write_watch(folder / "watched", release={"name": "watched"})
    drop(folder / "watched", "survey-1.csv", survey().replace("income", "wages", 1))
    certified = [
        deployment(name, "certify_release", release=f"{name}/release.yaml", limit_minutes=15) for name in ("strict", "slow")
    ]
    with (
        locked_database(folder / "locked.db") as environment[LOCKED_VARIABLE],
        served(
            folder,
            every_minute(deployment("good", "certify_release", release="good/release.yaml", limit_minutes=15)),
            deployment("watched", "watch_series", watch="watched/params/watch.yaml", limit_minutes=15),
            deployment("endless", "certify_release", release="endless/release.yaml", limit_minutes=2.5),
            *certified,
            **environment,
        ) as one,
    ):
        yield one
        ledger_and_store_verify(one)
    assert leaks_of_test(folder) == []


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def certified_by_schedule(serving: Serving, since: datetime, seconds: float = 420) -> dict:
    """A run that the schedule, and nobody else, asked for after a moment, and that completed."""

    def found():
        runs = [run for run in serving.runs("good") if moment(run["expected_start_time"]) > since]
        return [run for run in runs if run["auto_scheduled"] and run["state_name"] == "Completed"]

    return until(found, seconds, every=2)[0]


def the_next_schedule_goes_on(serving: Serving, since: datetime) -> None:
    certified_by_schedule(serving, since)
    assert serving.half_made() == []


def ledger_and_store_verify(serving: Serving) -> None:
    """At the end of a home: whatever was killed in it before, both hold all of it."""
    checked = serving.sdcert("audit", "verify", "--json")
    assert checked.returncode == 0, checked.stdout
    stored = serving.sdcert("store", "verify")
    assert stored.returncode == 0, (stored.returncode, stored.stdout, stored.stderr)


def every_ending_is_on_the_server_in_the_audit_trail_and_in_mlflow(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    began = datetime.now(UTC)
    asked = {name: serving.begin(name) for name in ("strict", "watched", "endless")}
    waiting = until(lambda: [run for run in serving.runs("good") if run["state_type"] == "SCHEDULED"], 180)
    assert len(waiting) >= 3, "the scheduler inserts no runs"

    first = certified_by_schedule(serving, began)
    due, started = moment(first["expected_start_time"]), moment(first["start_time"])
    assert due.second == 0 and -1 < (started - due).total_seconds() < 300  # a busy machine
    ended = {"good": (first["state_type"], first["state_name"])}
    ended |= {name: serving.ended(run)[:2] for name, run in asked.items()}
    assert ended == {
        "good": ("COMPLETED", "Completed"),
        "strict": ("COMPLETED", "Refused"),
        "watched": ("FAILED", "Quarantined"),
        "endless": ("FAILED", "TimedOut"),
    }

    asked["good"] = first["id"]
    trail = {name: serving.ledger_of(run) for name, run in asked.items()}
    assert {name: [run["verdict"] for run in runs] for name, runs in trail.items()} == {
        "good": ["certified"],
        "strict": ["refused"],
        "watched": ["failed"],
        "endless": ["interrupted"],
    }
    assert {run["deployment"] for runs in trail.values() for run in runs} == set(asked)
    assert serving.processes("flows.cli certify endless") == []

    monkeypatch.setenv("SDCERT_HOME", str(serving.home))
    if "MLFLOW_TRACKING_URI" in serving.environment:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", serving.environment["MLFLOW_TRACKING_URI"])
    tracked = runs_in_mlflow()
    wanted = {run["run"]: name for name, runs in trail.items() for run in runs}
    assert {wanted[run]: status for run, status in tracked.items() if run in wanted} == {
        "good": "FINISHED",
        "strict": "FINISHED",
        "watched": "FAILED",
        "endless": "KILLED",
    }
    assert serving.half_made() == []


def runs_in_mlflow() -> dict[str, str]:
    from tasks.runtime.tracking_store import open_client

    client = open_client()
    ids = [one.experiment_id for one in client.search_experiments()]
    found = client.search_runs(ids, "tags.`sdcert.run` != ''", max_results=500)
    return {run.data.tags["sdcert.run"]: run.info.status for run in found}


def a_server_killed_in_mid_run_loses_no_run(serving: Serving) -> None:
    began, run = datetime.now(UTC), serving.begin("slow")
    serving.child_of(run)
    for server in serving.processes("flows.scheduled.listening"):
        server.kill()
    assert serving.ended(run, 600)[:2] == ("COMPLETED", "Completed")
    verdicts = serving.verdicts_of(run)
    assert verdicts[0] == "certified"
    assert set(verdicts) <= {"certified", "failed", "interrupted"}, "a run that never said how it ended"
    assert "the server ended by itself; it is started again" in serving.log
    the_next_schedule_goes_on(serving, began)
