"""A sweep on a Dask cluster at an address: the identical table, and nothing lost with a worker."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import pytest
from sweep_files import MASKED, table_of, untimed, write_sweep

distributed = pytest.importorskip("distributed")
pytest.importorskip("prefect_dask")

MANY = {
    "pipelines": [
        {
            "name": "swap",
            "masking": [{"method": "rank_swapping", "attributes": MASKED, "window_percent": 5}],
            "axes": {"masking[0].window_percent": {"range": [10, 60], "steps": 20}},
        }
    ],
    "seeds": 3,
}


@pytest.fixture
def cluster(home, prefect, monkeypatch):
    """Two worker processes with one thread each."""
    monkeypatch.setenv("PREFECT_API_URL", prefect)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as found:
        yield found


@pytest.fixture
def on_both(sdcert, tmp_path, home, cluster, monkeypatch):
    """`on_both(meanwhile)` sweeps over the same file on this machine and on the cluster, each with a store of its own."""

    def call(change, meanwhile=lambda shared: None):
        path = write_sweep(tmp_path / "project", change)
        here = sdcert("sweep", path, "--workers", 2, "--json")
        assert here.code == 0, here.err
        shared = tmp_path / "home" / "sweeps" / "shared"
        threading.Thread(target=meanwhile, args=(shared,), daemon=True).start()
        address = cluster.scheduler_address
        there = sdcert("sweep", path, "--runner", "dask", "--address", address, "--store", shared, "--json")
        assert there.code == 0, there.err
        name = json.loads(here.out)["id"]
        assert json.loads(there.out)["id"] == name
        return untimed(table_of(home, name)), untimed(table_of(home, f"shared/{name}"))

    return call


@pytest.mark.slow
def test_a_cluster_gives_the_identical_table(on_both):
    here, there = on_both(None)
    assert there.equals(here)


@pytest.mark.long
def test_a_worker_killed_in_mid_run_loses_no_point(on_both, cluster, monkeypatch):
    monkeypatch.setattr("flows.sweep.blocks.MOST_GROUPS", 3)
    there_were = []

    def kill_one(shared):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and len(list(shared.glob("*/results/*.parquet"))) < 5:
            time.sleep(0.01)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        there_were.append(len(list(shared.glob("*/results/*.parquet"))))

    here, there = on_both(MANY, kill_one)
    assert 5 <= there_were[0] < 18
    assert set(there.column("status").to_pylist()) == {"ok"}
    assert there.num_rows == 60
    assert there.equals(here)


@pytest.mark.slow
def test_an_address_where_nobody_is_is_told_with_exit_code_2(sdcert, tmp_path, prefect, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", prefect)
    monkeypatch.setattr("flows.sweep.cluster.SECONDS_TO_CONNECT", 1)
    path = write_sweep(tmp_path / "project")
    ran = sdcert("sweep", path, "--runner", "dask", "--address", "tcp://127.0.0.1:9")
    assert ran.code == 2
    assert "no Dask scheduler answers" in ran.err


def test_without_a_prefect_server_that_workers_reach_a_cluster_is_refused(sdcert, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    ran = sdcert("sweep", "x.yaml", "--runner", "dask", "--address", "tcp://127.0.0.1:9")
    assert ran.code == 2
    assert "PREFECT_API_URL" in ran.err
