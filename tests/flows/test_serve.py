"""`sdcert serve` with a real server, worker and schedule, on SQLite and on PostgreSQL, and what is killed in its midst."""

import json
import os
import subprocess
import time
from datetime import UTC, datetime

import psutil
import pytest
from leaks import leaks_of_test
from release_files import survey, write_release
from serving import SLOW_VARIABLE, Serving, deployment, every_minute, served, until, write_database, write_slow
from watches import drop, write_watch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
SLOW_STEPS = 50_000_000  # some seconds, and on a busy machine half a minute


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def serving(request, tmp_path_factory):
    """A served home with deployments that end in every way, on SQLite or on PostgreSQL."""
    folder = tmp_path_factory.mktemp("served")
    environment = {SLOW_VARIABLE: write_database(folder / "source.db")}
    if request.param == "postgresql":
        server = request.getfixturevalue("postgres")
        for name in ("prefect", "mlflow", "audit"):
            server.create(name)
        environment["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = server.url("asyncpg", "prefect")
        environment["MLFLOW_TRACKING_URI"] = server.url(database="mlflow")
        environment["SDCERT_INDEX_URL"] = server.url(database="audit")
    write_release(folder / "good")
    write_release(folder / "strict", {"name": "strict", "policy": [{"measure": "reidentification", "at_most": 0.0001}]})
    write_slow(folder / "endless", "endless", None)
    write_slow(folder / "slow", "slow", SLOW_STEPS)
    write_watch(folder / "watched", release={"name": "watched"})
    drop(folder / "watched", "survey-1.csv", survey().replace("income", "wages", 1))
    certified = [
        deployment(name, "certify_release", release=f"{name}/release.yaml", limit_minutes=15) for name in ("strict", "slow")
    ]
    with served(
        folder,
        every_minute(deployment("good", "certify_release", release="good/release.yaml", limit_minutes=15)),
        deployment("watched", "watch_series", watch="watched/params/watch.yaml", limit_minutes=15),
        deployment("endless", "certify_release", release="endless/release.yaml", limit_minutes=1.5),
        *certified,
        **environment,
    ) as one:
        one.on = request.param
        yield one
    assert leaks_of_test(folder) == []


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def certified_by_schedule(serving: Serving, since: datetime, seconds: float = 420) -> dict:
    """A run that the schedule, and nobody else, asked for after a moment, and that completed."""

    def found():
        runs = [run for run in serving.runs("good") if moment(run["expected_start_time"]) > since]
        return [run for run in runs if run["auto_scheduled"] and run["state_name"] == "Completed"]

    return until(found, seconds, every=2)[0]


def test_every_ending_is_on_the_server_in_the_audit_trail_and_in_mlflow(serving, monkeypatch):
    began = datetime.now(UTC)
    asked = {name: serving.begin(name) for name in ("strict", "watched", "endless")}
    waiting = until(lambda: [run for run in serving.runs("good") if run["state_type"] == "SCHEDULED"], 180)
    assert len(waiting) >= 3, "the scheduler inserts no runs"

    first = certified_by_schedule(serving, began)
    due, started = moment(first["expected_start_time"]), moment(first["start_time"])
    assert due.second == 0 and -1 < (started - due).total_seconds() < 90
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
    assert serving.sdcert("audit", "verify").returncode == 0
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
    from tasks.runtime.tracking import open_client

    client = open_client()
    ids = [one.experiment_id for one in client.search_experiments()]
    found = client.search_runs(ids, "tags.`sdcert.run` != ''", max_results=500)
    return {run.data.tags["sdcert.run"]: run.info.status for run in found}


def engine_of(serving: Serving, flow_run: str) -> psutil.Process:
    """The process in which the server's flow run runs."""
    return next(one for one in serving.processes("prefect.engine") if one.environ().get("PREFECT__FLOW_RUN_ID") == flow_run)


def the_next_schedule_goes_on(serving: Serving, since: datetime) -> None:
    certified_by_schedule(serving, since)
    assert serving.half_made() == []
    checked = serving.sdcert("audit", "verify", "--json")
    assert checked.returncode == 0, checked.stdout
    assert serving.sdcert("store", "verify").returncode == 0


def test_a_second_one_of_the_same_home_says_that_one_is_running(serving):
    second = serving.sdcert("serve", serving.folder / "prefect.yaml")
    assert second.returncode == 2
    assert f"process {serving.process.pid}, http://127.0.0.1:{serving.port}" in second.stderr
    assert serving.process.poll() is None


def test_doctor_finds_the_runs_that_the_scheduler_inserted(serving):
    told = serving.sdcert("doctor", "--json", PREFECT_API_URL=f"http://127.0.0.1:{serving.port}/api")
    found = [one for one in json.loads(told.stdout)["findings"] if one["topic"] == "schedules"]
    assert [one["status"] for one in found] == ["ok"], found
    assert "(1)" in found[0]["says"]


def test_a_run_cancelled_on_the_server_is_ended_with_its_command(serving):
    run = serving.begin("endless")
    child = serving.child_of(run)
    serving.ask("POST", f"flow_runs/{run}/set_state", {"state": {"type": "CANCELLING", "name": "Cancelling"}})
    assert serving.ended(run)[0] == "CANCELLED"
    until(lambda: not child.is_running(), 60)
    until(lambda: [one["verdict"] for one in serving.ledger_of(run)] == ["interrupted"], 180, every=3)


def test_a_worker_killed_in_mid_run_loses_no_run(serving):
    began, run = datetime.now(UTC), serving.begin("slow")
    serving.child_of(run)
    for worker in serving.processes("prefect worker start"):
        worker.kill()
    assert serving.ended(run)[:2] == ("COMPLETED", "Completed")
    assert [one["verdict"] for one in serving.ledger_of(run)] == ["certified"]
    assert "the worker-sdcert ended by itself; it is started again" in serving.log
    the_next_schedule_goes_on(serving, began)


def test_a_server_killed_in_mid_run_loses_no_run(serving):
    began, run = datetime.now(UTC), serving.begin("slow")
    serving.child_of(run)
    for server in serving.processes("prefect server start"):
        server.kill()
    assert serving.ended(run, 600)[:2] == ("COMPLETED", "Completed")
    verdicts = [one["verdict"] for one in serving.ledger_of(run)]
    assert verdicts[0] == "certified"
    assert set(verdicts) <= {"certified", "failed", "interrupted"}, "a run that never said how it ended"
    assert "the server ended by itself; it is started again" in serving.log
    the_next_schedule_goes_on(serving, began)


def test_a_flow_run_killed_in_mid_run_takes_its_command_with_it(serving):
    began, run = datetime.now(UTC), serving.begin("slow")
    child = serving.child_of(run)
    engine_of(serving, run).kill()
    until(lambda: not child.is_running(), 60)
    assert serving.ended(run)[0] == "CRASHED"
    until(lambda: [one["verdict"] for one in serving.ledger_of(run)] == ["interrupted"], 180, every=3)
    assert serving.ended(serving.begin("slow"))[1] == "Completed"
    the_next_schedule_goes_on(serving, began)


def test_a_database_stopped_for_a_minute_loses_no_run(serving, request):
    if serving.on == "sqlite":
        pytest.skip("SQLite has no server")
    began, run = datetime.now(UTC), serving.begin("slow")
    serving.child_of(run)
    database = request.getfixturevalue("postgres")
    database.stop()
    time.sleep(60)
    database.start()
    assert serving.ended(run, 600)[:2] == ("COMPLETED", "Completed")
    assert serving.ledger_of(run)[0]["verdict"] == "certified"
    the_next_schedule_goes_on(serving, began)


def test_ended_in_mid_run_it_leaves_no_process_and_goes_on_when_it_is_started_again(serving):
    run = serving.begin("slow")
    serving.child_of(run)
    assert serving.stop() == 0, serving.log
    assert serving.processes() == []
    began = datetime.now(UTC)
    serving.start()
    assert serving.ended(run)[0] == "CRASHED"
    assert [one["verdict"] for one in serving.ledger_of(run)] == ["interrupted"]
    the_next_schedule_goes_on(serving, began)


def test_killed_in_mid_run_it_leaves_no_process_and_goes_on_when_it_is_started_again(serving):
    run = serving.begin("slow")
    serving.child_of(run)
    serving.process.kill()
    serving.process.wait()
    until(lambda: not serving.processes(), 120)
    began = datetime.now(UTC)
    serving.start()
    assert "had been killed: it is shown as crashed now" in serving.log
    assert serving.ended(run)[0] == "CRASHED"
    assert [one["verdict"] for one in serving.ledger_of(run)] == ["interrupted"]
    the_next_schedule_goes_on(serving, began)


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of its own of 400 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", folder], check=False).returncode
    ):
        pytest.skip("only who may mount a small disk can fill one")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_loses_nothing_and_when_there_is_room_again_it_goes_on(small_disk):
    write_release(small_disk / "good")
    with served(small_disk, every_minute(deployment("good", "certify_release", release="good/release.yaml"))) as serving:
        certified_by_schedule(serving, datetime.now(UTC))
        until(lambda: serving.processes("flows.cli certify"), 180)
        with (small_disk / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space"):
            while True:
                filler.write(bytes(4096))
        time.sleep(100)
        assert serving.process.poll() is None
        began = datetime.now(UTC)
        (small_disk / "filler").unlink()
        the_next_schedule_goes_on(serving, began)
        assert serving.stop() == 0
        assert serving.processes() == []
