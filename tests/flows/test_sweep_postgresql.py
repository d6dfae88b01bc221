"""A sweep with MLflow and Prefect on PostgreSQL: the table that it has on SQLite, and no trace of the password."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from leaks import Secrets, leaks_in, writings_of_text
from outcomes import ROOT
from prefect_servers import prefect_server
from sweep_files import table_of, untimed, write_sweep

pytest.importorskip("asyncpg")
SECONDS = 300
OWN = ("folder", "seconds")  # what two runs of a sweep do not have in common


@pytest.fixture
def databases(postgres):
    """Those of Prefect and of MLflow."""
    return {name: postgres.new(name) for name in ("prefect", "mlflow")}


@pytest.fixture
def on_postgresql(home, postgres, databases, tmp_path):
    """`on_postgresql(*words)` runs `sdcert` in a process whose Prefect and MLflow are on PostgreSQL, one database each."""
    with prefect_server(tmp_path / "server", postgres.url("asyncpg", databases["prefect"])) as api:
        environment = {"PREFECT_API_URL": api, "MLFLOW_TRACKING_URI": postgres.url("psycopg2", databases["mlflow"])}

        def call(*words: object) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "flows.cli", *map(str, words)]
            private = {"SDCERT_HOME": str(home), "PREFECT_HOME": str(home / "prefect"), "PYTHONPATH": str(ROOT)}
            where = tmp_path / "elsewhere"
            where.mkdir(exist_ok=True)
            env = {**os.environ, **private, **environment}
            return subprocess.run(command, check=False, cwd=where, env=env, capture_output=True, text=True, timeout=SECONDS)

        yield call


@pytest.mark.long
def test_a_sweep_on_postgresql_gives_the_table_of_one_on_sqlite(
    sdcert, on_postgresql, databases, postgres, home, tmp_path, monkeypatch
):
    path = write_sweep(tmp_path / "project")
    here = sdcert("sweep", path, "--workers", 2, "--json")
    assert here.code == 0, here.err
    shared = home / "sweeps" / "shared"
    there = on_postgresql("sweep", path, "--workers", 2, "--json", "--store", shared)
    assert there.returncode == 0, there.stderr
    assert "tracking" not in there.stderr
    found = json.loads(there.stdout)
    name = found["id"]
    assert {**json.loads(here.out), **dict.fromkeys(OWN)} == {**found, **dict.fromkeys(OWN)}
    table = table_of(home, f"shared/{name}")
    assert untimed(table).equals(untimed(table_of(home, name)))

    monkeypatch.setenv("MLFLOW_TRACKING_URI", postgres.url("psycopg2", databases["mlflow"]))
    tracked_as_a_run_with_children(name, found, table.num_rows, tmp_path / "mlflow")
    assert sorted(postgres.rows(databases["prefect"], "select name, state_type, state_name from flow_run")) == [
        (name, "COMPLETED", "Completed")
    ]
    states = postgres.rows(databases["prefect"], "select distinct state_type from task_run")
    assert states == [("COMPLETED",)]

    assert not list((tmp_path / "elsewhere").iterdir())
    password = Secrets()
    password.add("the password", writings_of_text(postgres.password))
    for file, content in (("stdout", there.stdout), ("stderr", there.stderr)):
        (tmp_path / file).write_text(content)
    for database in databases.values():
        (tmp_path / f"{database}.sql").write_text(postgres.dump(database))
        assert name in (tmp_path / f"{database}.sql").read_text()
    assert leaks_in(tmp_path, password) == []


def tracked_as_a_run_with_children(name: str, found: dict, rows: int, folder: Path) -> None:
    from tasks.runtime.tracking_calls import PARENT
    from tasks.runtime.tracking_store import open_client

    client = open_client()
    (experiment,) = [one for one in client.search_experiments() if one.name == "sweep-survey-sweep"]
    runs = client.search_runs([experiment.experiment_id])
    (parent,) = [run for run in runs if PARENT not in run.data.tags]
    children = [run for run in runs if run.data.tags.get(PARENT) == parent.info.run_id]
    assert parent.info.status == "FINISHED"
    assert parent.data.tags["sdcert.run"] == name
    assert {run.data.tags["sdcert.run"] for run in children} >= {f"point-{one['point']}" for one in found["frontier"]}
    assert len(children) == found["points"]
    assert all(run.data.metrics for run in children if run.data.tags["sdcert.frontier"] == "true")
    folder.mkdir()
    logged = client.download_artifacts(parent.info.run_id, "table.parquet", str(folder))
    assert pq.read_table(logged).num_rows == rows
