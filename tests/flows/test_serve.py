"""`sdcert serve` with a real server, worker and schedule, on SQLite, and what is killed in its midst."""

import json
from datetime import UTC, datetime

import psutil
import pytest
from served_home import (
    a_server_killed_in_mid_run_loses_no_run,
    every_ending_is_on_the_server_in_the_audit_trail_and_in_mlflow,
    served_with_every_ending,
    the_next_schedule_goes_on,
)
from serving import Serving, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    with served_with_every_ending(tmp_path_factory.mktemp("served")) as one:
        yield one


def test_every_ending_is_on_the_server_in_the_audit_trail_and_in_mlflow(serving, monkeypatch):
    every_ending_is_on_the_server_in_the_audit_trail_and_in_mlflow(serving, monkeypatch)


def engine_of(serving: Serving, flow_run: str) -> psutil.Process:
    """The process in which the server's flow run runs."""
    return next(one for one in serving.processes("prefect.engine") if one.environ().get("PREFECT__FLOW_RUN_ID") == flow_run)


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


@pytest.mark.long
def test_a_run_cancelled_on_the_server_is_ended_with_its_command(serving):
    run = serving.begin("endless", limit_minutes=15)
    child = serving.child_of(run)
    serving.ask("POST", f"flow_runs/{run}/set_state", {"state": {"type": "CANCELLING", "name": "Cancelling"}})
    assert serving.ended(run)[0] == "CANCELLED"
    until(lambda: not child.is_running(), 60)
    until(lambda: serving.verdicts_of(run) == ["interrupted"], 180, every=1)


@pytest.mark.long
def test_a_worker_killed_in_mid_run_loses_no_run(serving):
    began, run = datetime.now(UTC), serving.begin("slow")
    serving.child_of(run)
    for worker in serving.processes("prefect worker start"):
        worker.kill()
    assert serving.ended(run)[:2] == ("COMPLETED", "Completed")
    assert serving.verdicts_of(run) == ["certified"]
    assert "the worker-sdcert ended by itself; it is started again" in serving.log
    the_next_schedule_goes_on(serving, began)


def test_a_server_killed_in_mid_run_loses_no_run(serving):
    a_server_killed_in_mid_run_loses_no_run(serving)


@pytest.mark.long
def test_a_flow_run_killed_in_mid_run_takes_its_command_with_it(serving):
    began, run = datetime.now(UTC), serving.begin("slow")
    child = serving.child_of(run)
    engine_of(serving, run).kill()
    until(lambda: not child.is_running(), 60)
    assert serving.ended(run)[0] == "CRASHED"
    until(lambda: serving.verdicts_of(run) == ["interrupted"], 180, every=1)
    assert serving.ended(serving.begin("slow"))[1] == "Completed"
    the_next_schedule_goes_on(serving, began)


@pytest.mark.long
def test_ended_in_mid_run_it_leaves_no_process_and_goes_on_when_it_is_started_again(serving):
    run = serving.begin("slow")
    serving.child_of(run)
    assert serving.stop() == 0, serving.log
    assert serving.processes() == []
    began = datetime.now(UTC)
    serving.start()
    assert serving.ended(run)[0] == "CRASHED"
    assert serving.verdicts_of(run) == ["interrupted"]
    the_next_schedule_goes_on(serving, began)


@pytest.mark.long
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
    assert serving.verdicts_of(run) == ["interrupted"]
    the_next_schedule_goes_on(serving, began)
