"""Runs that were killed together with the worker that took them: ended, told of as crashes are, and run again once."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from uuid import UUID, uuid4

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import ConcurrencyLimitConfig
from prefect.states import Cancelling, Pending, Running

from flows.scheduled import orphan_runs, workers
from flows.scheduled.command_requests import CommandRequest
from flows.scheduled.deployments import TAG

SLEEP = "import time; time.sleep(600)"


@pytest.fixture
def board(home, prefect, monkeypatch):
    """The module that looks, with this session's server; what is on it from other tests is no run of this home."""
    monkeypatch.setenv("PREFECT_API_URL", prefect)
    from flows.scheduled import server_client

    return server_client


@pytest.fixture
def client(board):
    with get_client(sync_client=True) as one:
        yield one


@pytest.fixture
def deployment(client) -> UUID:
    """A deployment that takes one run at a time and cancels what comes meanwhile."""
    name = f"monthly-{uuid4().hex[:8]}"
    limit = ConcurrencyLimitConfig(limit=1, collision_strategy="CANCEL_NEW")
    flow = client.create_flow_from_name(name)
    made = client.create_deployment(
        flow, name, concurrency_limit=1, concurrency_options={"collision_strategy": limit.collision_strategy}, tags=[TAG]
    )
    yield made
    client.delete_deployment(made)


def taken(client, deployment, *states, worker=None, **known):
    """A run that a worker has taken: pending, or as far as the states say; returns its id."""
    run = client.create_flow_run_from_deployment(deployment, tags=[TAG], **known).id
    take(client, run, *states, worker=worker)
    return run


def take(client, run, *states, worker=None):
    for state in (Pending(), *states):
        client.set_flow_run_state(run, state)
    client.update_flow_run_labels(run, {orphan_runs.TAKEN_BY: worker or workers.new_name()})


def look(board, looks=None, *, later=0.0):
    """Look once, or again so many seconds later; what the looker has to say."""
    looks = looks or orphan_runs.Looks()
    looks.since.update({state: since - later for state, since in looks.since.items()})
    return list(board.end_lost(looks))


def runs(client, deployment):
    """State, message and idempotency key of each run, oldest first."""
    wanted = FlowRunFilter.model_validate({"deployment_id": {"any_": [str(deployment)]}})
    return sorted(client.read_flow_runs(flow_run_filter=wanted), key=lambda run: run.created)


def states(client, deployment):
    return [run.state_type.value for run in runs(client, deployment)]


@contextmanager
def process(*words, **environment):
    with subprocess.Popen([sys.executable, "-S", "-c", SLEEP, *words], env={**os.environ, **environment}) as one:
        try:
            yield one
        finally:
            one.kill()


def test_a_run_killed_with_its_worker_while_pending_is_ended_and_runs_again_once(board, client, deployment):
    lost = taken(client, deployment)
    told = look(board)
    assert [text.partition(" was")[2] for text in told] == [" killed before it began: it is shown as crashed, and runs again"]
    assert states(client, deployment) == ["CRASHED", "SCHEDULED"]
    ended, again = runs(client, deployment)
    assert (ended.id, ended.state.name, ended.state.message) == (lost, "Crashed", orphan_runs.ONCE_MORE)
    assert again.parameters == ended.parameters
    for _ in range(2):  # another look, of another process too, finds nothing more to do
        assert look(board) == []
    assert states(client, deployment) == ["CRASHED", "SCHEDULED"]
    assert ended.tags == again.tags == [TAG]
    take(client, again.id)
    assert states(client, deployment) == ["CRASHED", "PENDING"], "the place of the lost run was not free"


def test_what_runs_again_and_vanishes_again_is_not_repeated_for_ever(board, client, deployment):
    taken(client, deployment)
    look(board)
    take(client, runs(client, deployment)[-1].id)
    (told,) = look(board)
    assert "does not run again" in told
    assert states(client, deployment) == ["CRASHED", "CRASHED"]
    assert runs(client, deployment)[-1].state.message == orphan_runs.NOT_AGAIN
    assert look(board) == []


def test_a_looker_who_dies_between_the_end_and_the_repetition_leaves_it_to_the_next(board, client, deployment, monkeypatch):
    taken(client, deployment)
    with monkeypatch.context() as patched:
        patched.setattr(orphan_runs, "_repeat", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            look(board)
    assert states(client, deployment) == ["CRASHED"]
    assert len(look(board)) == 1
    assert states(client, deployment) == ["CRASHED", "SCHEDULED"]


def test_a_looker_who_dies_after_the_repetition_makes_no_second_one(board, client, deployment, monkeypatch):
    lost = taken(client, deployment)
    look(board)
    client.update_flow_run(lost, tags=[TAG, orphan_runs.TO_REPEAT])  # as if the tag had not been taken off
    look(board)
    assert states(client, deployment) == ["CRASHED", "SCHEDULED"]


def test_a_run_whose_process_is_slow_to_begin_is_left_alone(board, client, deployment):
    run, looks = taken(client, deployment), orphan_runs.Looks()
    with process(PREFECT__FLOW_RUN_ID=str(run)):
        for _ in range(3):
            assert look(board, looks, later=3600) == []
    assert states(client, deployment) == ["PENDING"]


def test_a_worker_that_is_there_has_its_time_and_a_dead_one_has_none(board, client, deployment):
    name, looks = workers.new_name(), orphan_runs.Looks()
    taken(client, deployment, worker=name)
    with process("--name", name):
        assert look(board, looks) == []
        assert look(board, looks, later=orphan_runs.SECONDS_TO_START - 60) == []
        assert states(client, deployment) == ["PENDING"]
    with process("--name", workers.new_name()):  # it was started again
        assert len(look(board, looks)) == 1
    assert states(client, deployment) == ["CRASHED", "SCHEDULED"]


def test_a_run_that_its_worker_lost_sight_of_is_ended_in_the_end(board, client, deployment):
    name, looks = workers.new_name(), orphan_runs.Looks()
    taken(client, deployment, worker=name)
    with process("--name", name):
        assert look(board, looks) == []
        assert len(look(board, looks, later=orphan_runs.SECONDS_TO_START + 1)) == 1


def test_a_run_taken_anew_keeps_its_former_workers_name_for_a_moment(board, client, deployment):
    looks = orphan_runs.Looks()
    taken(client, deployment)
    with process("--name", workers.new_name()):
        assert look(board, looks) == []
        assert len(look(board, looks, later=orphan_runs.SECONDS_TO_SETTLE + 1)) == 1


@pytest.mark.parametrize("worker", ["sdcert-elsewhere-0123abcd-0123456789ab", "ProcessWorker 1"])
def test_runs_of_other_machines_and_homes_are_theirs(board, client, deployment, worker):
    looks = orphan_runs.Looks()
    taken(client, deployment, worker=worker)
    for _ in range(2):
        assert look(board, looks, later=36_000) == []
    assert states(client, deployment) == ["PENDING"]


def test_a_run_that_ran_without_having_asked_for_its_command_runs_again(board, client, deployment):
    taken(client, deployment, Running())
    assert len(look(board)) == 1
    assert states(client, deployment) == ["CRASHED", "SCHEDULED"]


def test_a_run_whose_command_is_in_the_ledger_is_not_repeated(board, client, deployment, monkeypatch):
    taken(client, deployment, Running())
    monkeypatch.setattr(orphan_runs.Ledger, "exists", lambda _: True)
    monkeypatch.setattr(orphan_runs, "find_runs_of_flow", lambda *_: ["a run"])
    monkeypatch.setattr(orphan_runs, "close_unfinished", lambda *_: [])
    look(board)
    look(board)
    assert states(client, deployment) == ["CRASHED"]


def test_a_ledger_that_cannot_be_read_holds_up_no_run(board, client, deployment, monkeypatch):
    taken(client, deployment)

    def damaged(*_):
        raise OSError("damaged")

    monkeypatch.setattr(orphan_runs.Ledger, "exists", damaged)
    with pytest.raises(OSError, match="damaged"):
        look(board)
    assert states(client, deployment) == ["CRASHED"]


def test_a_run_that_asked_is_ended_as_ever_and_not_repeated(board, client, deployment, home):
    run = taken(client, deployment, Running())
    (home / "scheduled" / "x").mkdir(parents=True)
    CommandRequest(str(run), "monthly", 2**22 + 1, "1", 1.0, "x").remember()
    (told,) = look(board)
    assert "had been killed: it is shown as crashed now" in told
    look(board)
    assert states(client, deployment) == ["CRASHED"]


def test_a_run_that_somebody_was_cancelling_is_cancelled(board, client, deployment):
    taken(client, deployment, Running(), Cancelling())
    look(board)
    assert states(client, deployment) == ["CANCELLED"]


def test_a_deployment_that_was_removed_is_not_run_again(board, client, deployment, monkeypatch):
    run, repeat, elsewhere = taken(client, deployment), orphan_runs._repeat, {"deployment_id": uuid4()}
    monkeypatch.setattr(orphan_runs, "_repeat", lambda client, run: repeat(client, run.model_copy(update=elsewhere)))
    (told,) = look(board)
    assert "cannot run again" in told
    assert client.read_flow_run(run).state_type.value == "CRASHED"
    assert states(client, deployment) == ["CRASHED"]
    assert look(board) == []


ODD = [
    "",
    "[]",
    "null",
    '{"flow_run": 1}',
    '{"flow_run": "x", "deployment": null, "process": 1, "started": "1", "at": 1.0, "folder": "x"}',
    '{"flow_run": "%s", "deployment": null, "process": 1e99, "started": "1", "at": 1.0, "folder": "x"}',
    '{"flow_run": "%s", "deployment": null, "process": -1, "started": "1", "at": 1.0, "folder": "x"}',
    '{"flow_run": "%s", "deployment": null, "process": 999999999999, "started": "1", "at": 1.0, "folder": "x"}',
    '{"flow_run": "%s", "deployment": null, "process": 1, "started": "1", "at": 1e300, "folder": "x"}',
    '{"flow_run": "%s", "deployment": null, "process": 1, "started": "1", "at": NaN, "folder": "x"}',
]


@pytest.mark.parametrize("text", ODD)
def test_an_odd_file_of_who_asked_stops_nobody(board, home, text):
    (home / "scheduled" / "odd").mkdir(parents=True)
    path = home / "scheduled" / "odd" / "asked-by.json"
    path.write_text(text.replace("%s", str(uuid4())))
    assert look(board) == []


def test_a_file_of_who_asked_names_no_other_folder(board, home):
    for name in ("here", "other"):
        (home / "scheduled" / name).mkdir(parents=True)
        (home / "scheduled" / name / "asked-by.json").write_text("kept")
    CommandRequest(str(uuid4()), None, 2**22 + 1, "1", 1.0, "here").remember()
    path = home / "scheduled" / "here" / "asked-by.json"
    path.write_text(path.read_text().replace('"here"', '"other"'))
    look(board)
    assert (home / "scheduled" / "other" / "asked-by.json").read_text() == "kept"
    assert not path.exists()
