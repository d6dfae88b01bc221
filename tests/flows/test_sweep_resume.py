"""A sweep that is killed goes on where it stopped, and ends with the table of one that was not."""

from __future__ import annotations

import json
import random
import signal
import time

import psutil
import pytest
from sweep_files import MASKED, table_of, untimed, write_sweep

SMALL_BLOCKS = """
import sys
import flows.sweep.blocks
flows.sweep.blocks.MOST_GROUPS = 4
from flows.cli import run
sys.exit(run(sys.argv[1:]))
"""
STEPS, SEEDS = 100, 3
BLOCKS = 2 * STEPS * SEEDS // 4
SWEEP = {
    "pipelines": [
        {
            "name": "swap",
            "masking": [{"method": "rank_swapping", "attributes": MASKED, "window_percent": 5}],
            "axes": {"masking[0].window_percent": {"range": [1, 60], "steps": STEPS}},
        },
        {
            "name": "noise",
            "masking": [{"method": "noise", "kind": "correlated", "attributes": MASKED, "sd_percent": 5}],
            "axes": {"masking[0].sd_percent": {"range": [1, 60], "steps": STEPS}},
        },
    ],
    "seeds": SEEDS,
}


def files_in(home) -> int:
    return len(list((home / "sweeps").glob("*/results/*.parquet")))


def workers_of(home) -> list[psutil.Process]:
    """The processes that were started for this home and still are."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("SDCERT_HOME") == str(home) and process.pid != psutil.Process().pid:
                found.append(process)
        except psutil.Error:
            continue
    return [process for process in found if "forkserver" in " ".join(process.cmdline())]


def name_in(home) -> str:
    (record,) = (home / "sweeps").glob("*/sweep.json")
    return json.loads(record.read_text())["id"]


@pytest.mark.slow
def test_three_kills_at_random_moments_and_the_table_is_that_of_an_unbroken_run(process, tmp_path, home):
    path = write_sweep(tmp_path / "project", SWEEP)
    words = ("-c", SMALL_BLOCKS, "sweep", str(path), "--workers", "2")
    unbroken = tmp_path / "unbroken"
    whole = process(*words, SDCERT_HOME=str(unbroken))
    told = whole.communicate(timeout=300)
    assert whole.returncode == 0, told
    seed = random.SystemRandom().randrange(2**32)
    stops = sorted(random.Random(seed).sample(range(8, BLOCKS - 8), 3))
    seen = []
    for stop in stops:
        killed = process(*words)
        deadline = time.monotonic() + 200
        while files_in(home) < stop and killed.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        seen.append(files_in(home))
        psutil.wait_procs(workers_of(home), timeout=10)
        assert workers_of(home) == [], f"workers outlive the sweep (seed {seed})"
    assert seen == sorted(set(seen)), f"every start goes on from the last (seed {seed})"
    assert seen[-1] < files_in(unbroken)
    last = process("-m", "flows.cli", "sweep", "--resume", name_in(home), "--workers", "2")
    told = last.communicate(timeout=300)
    assert last.returncode == 0, (seed, told)
    assert "trials whose results are there already" in told[1]
    resumed, straight = table_of(home, name_in(home)), table_of(unbroken, name_in(unbroken))
    assert untimed(resumed).equals(untimed(straight)), f"seed {seed}"
    assert resumed.num_rows == 2 * STEPS * SEEDS


@pytest.mark.slow
def test_interrupted_it_says_how_to_go_on_and_what_is_done_is_kept(process, tmp_path, home):
    path = write_sweep(tmp_path / "project", SWEEP)
    words = ("-c", SMALL_BLOCKS, "sweep", str(path), "--workers", "2")
    stopped = process(*words)
    deadline = time.monotonic() + 200
    while files_in(home) < 15 and stopped.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    stopped.send_signal(signal.SIGINT)
    _, err = stopped.communicate(timeout=60)
    assert stopped.returncode == 130, err
    assert f"to go on: sdcert sweep {path}" in err
    assert "Traceback" not in err
    assert json.loads((home / "sweeps" / name_in(home) / "sweep.json").read_text())["status"] == "interrupted"
    assert files_in(home) >= 15


@pytest.mark.slow
def test_a_worker_that_dies_costs_no_trial(process, tmp_path, home):
    path = write_sweep(tmp_path / "project", SWEEP)
    words = ("-c", SMALL_BLOCKS, "sweep", str(path), "--workers", "2")
    running = process(*words)
    deadline = time.monotonic() + 200
    while files_in(home) < 20 and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    leaves = [one for one in workers_of(home) if not one.children()]
    leaves[0].kill()
    assert files_in(home) < BLOCKS
    _, err = running.communicate(timeout=300)
    assert running.returncode == 0, err
    table = table_of(home, name_in(home))
    assert table.num_rows == 2 * STEPS * SEEDS
    assert "were lost" not in err
    assert "failed" not in set(table.column("status").to_pylist())
