"""The server of a home writes to MLflow for the commands of the home, and for nobody else."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from flows.home_server import connection, tracker
from flows.home_server.state import HomeServer

COMMANDS = """
import json, os, shutil, signal, sys
from pathlib import Path
import httpx
from flows.home_server import connection, tracker
from flows.home_server.state import HomeServer
from flows.home_server.state import read_state
from tasks.runtime.processes import parse_identity
from tasks.runtime.settings import Home
from tasks.runtime.tracking import Tracking

def record(run):
    one = Tracking(series="survey", run=run, kept=connection.find_kept_tracker())
    one.parameters({"k": 3})
    return [one.close("FINISHED"), "mlflow" in sys.modules]

home, told = Home.current(), {}
with connection.use_prefect_server() as wait:
    wait()
    server = read_state(home)
    told["stranger"] = httpx.post(server.api + tracker.PATH, json={}).status_code
    told["kept"] = record("run-1")
    database = home.root / "mlflow.db"
    shutil.copy(database, home.root / "backup")
    os.replace(home.root / "backup", database)
    told["restored"] = record("run-2")
    os.kill(parse_identity(server.process)[0], signal.SIGKILL)
    told["killed"] = record("run-3")
print(json.dumps(told))
"""


@pytest.mark.long
def test_the_server_records_where_it_can_and_the_command_where_it_cannot(own):
    without = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "PREFECT_API"))}
    command = [sys.executable, "-c", COMMANDS]
    done = subprocess.run(command, env=without | {connection.IDLE: "0"}, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "stranger": 403,
        "kept": [None, False],
        "restored": [None, True],
        "killed": [None, True],
    }
    with closing(sqlite3.connect(own.root / "mlflow.db")) as database:
        found = database.execute(
            "select name, status, (select count(*) from params p where p.run_uuid = r.run_uuid) from runs r"
        )
        assert sorted(found) == [(f"run-{number}", "FINISHED", 1) for number in (1, 2, 3)]


@pytest.fixture
def used(own, monkeypatch):
    """The server of this home is in use."""
    server = HomeServer("1:1", "http://127.0.0.1:9", "word", "")
    monkeypatch.setattr(connection, "_in_use", connection.ContextVar("used", default=(own, server)))
    for name in list(os.environ):
        if name.startswith("MLFLOW_") or name in tracker.ELSEWHERE:
            monkeypatch.delenv(name)


@pytest.mark.parametrize(
    "name", [*tracker.ELSEWHERE, "MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI", "MLFLOW_HTTP_REQUEST_TIMEOUT"]
)
def test_what_the_server_does_not_know_the_command_does_itself(used, monkeypatch, name):
    assert connection.find_kept_tracker() is not None
    monkeypatch.setenv(name, "elsewhere")
    assert connection.find_kept_tracker() is None


def test_the_server_of_another_home_records_nothing(used, monkeypatch, tmp_path):
    monkeypatch.setenv("SDCERT_HOME", str(tmp_path / "other"))
    assert connection.find_kept_tracker() is None


def test_a_server_that_is_gone_is_not_waited_for(used):
    with pytest.raises(ConnectionError):
        connection.find_kept_tracker().perform("open", None, {})
