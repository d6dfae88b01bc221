"""A sweep that is killed goes on where it stopped, and ends with the table of one that was not."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import time
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from sweep_files import MASKED, table_of, untimed, write_sweep

from flows.sweep.basis import prepare_basis
from flows.sweep.blocks import block_name
from flows.sweep.execution import SweepExecution
from flows.sweep.record import SweepRecord, sweep_id
from flows.sweep.spec import load_sweep
from flows.sweep.work import run_block
from flows.sweep.working_set import open_default_working_set

SMALL_BLOCKS = """
import sys
import flows.sweep.blocks
flows.sweep.blocks.MOST_GROUPS = 4
from flows.cli import run
sys.exit(run(sys.argv[1:]))
"""
STEPS, SEEDS = 24, 3
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
SEARCHED = [
    {
        "name": "swap",
        "masking": [{"method": "rank_swapping", "attributes": MASKED}],
        "axes": {"masking[0].window_percent": {"range": [1, 60]}},
    }
]


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


def kill(process, home, *, workers_first: bool) -> None:
    """End it as a power cut would: nothing may be caught. The workers at the same time, or left to end by themselves."""
    for worker in workers_of(home) if workers_first else []:
        with contextlib.suppress(psutil.Error):
            worker.kill()
    process.send_signal(signal.SIGKILL)
    process.communicate()


SEARCH = SWEEP | {"strategy": {"method": "frontier", "points": 48, "generation": 12}}


@pytest.mark.long
@pytest.mark.parametrize(
    ("sweep", "blocks", "workers_first"),
    [
        pytest.param(SWEEP, BLOCKS, False, id="grid"),
        pytest.param(SEARCH, 48 * SEEDS // 4, True, id="search"),
    ],
)
def test_three_kills_at_random_moments_and_the_table_is_that_of_an_unbroken_run(
    process, tmp_path, home, sweep, blocks, workers_first
):
    path = write_sweep(tmp_path / "project", sweep)
    words = ("-c", SMALL_BLOCKS, "sweep", str(path), "--workers", "2")
    unbroken = tmp_path / "unbroken"
    whole = process(*words, SDCERT_HOME=str(unbroken))
    told = whole.communicate(timeout=300)
    assert whole.returncode == 0, told
    seed = random.SystemRandom().randrange(2**32)
    chance = random.Random(seed)
    seen = []
    for stop in sorted(chance.sample(range(3, blocks - 8), 3)):
        killed = process(*words)
        deadline = time.monotonic() + 200
        while files_in(home) < stop and killed.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.1))  # else it would always die just after a file was written
        kill(killed, home, workers_first=workers_first)
        assert killed.returncode == -signal.SIGKILL
        psutil.wait_procs(workers_of(home), timeout=60)
        assert workers_of(home) == [], f"workers outlive the sweep (seed {seed})"
        seen.append(files_in(home))
    assert seen == sorted(seen), f"every start goes on from the last (seed {seed})"
    assert 0 < seen[0] < seen[-1] < files_in(unbroken)
    last = process("-m", "flows.cli", "sweep", "--resume", name_in(home), "--workers", "2")
    told = last.communicate(timeout=300)
    assert last.returncode == 0, (seed, told)
    assert "trials whose results are there already" in told[1]
    resumed, straight = table_of(home, name_in(home)), table_of(unbroken, name_in(unbroken))
    assert untimed(resumed).equals(untimed(straight)), f"seed {seed}"
    assert len(set(resumed.column("point").to_pylist())) == sweep.get("strategy", {"points": 2 * STEPS})["points"]


class Unheard:
    def report_trials(self, done: int, of: int) -> None: ...


def course_of(path) -> SweepExecution:
    """A sweep as `sdcert sweep` begins it."""
    sweep = load_sweep(path)
    basis = prepare_basis(sweep.base, open_default_working_set())
    record = SweepRecord(basis.storage, sweep_id(sweep, basis))
    record.begin(sweep, basis)
    return SweepExecution(sweep, basis, record)


def computing(execution: SweepExecution, lost: set[int]):
    """Computes blocks in this process, but for those whose point is lost with its worker, as often as it is tried."""

    def submit(numbers):
        gone = {
            key for one in (*execution.candidates, *(execution._next or ())) if one.point.number in lost for key in one.keys
        }
        for number in numbers:
            block = execution.basis.storage.json(block_name(execution.record.id, number))
            keys = {trial["key"] for job in block["jobs"] for trial in job["group"]["trials"]}
            if keys & gone:
                yield number, "sweep-block: BrokenProcessPool"
            else:
                run_block(execution.basis.storage.url, execution.record.id, number)
                yield number, None

    return submit


@pytest.mark.long
def test_a_search_stops_at_what_was_lost_and_goes_on_as_if_nothing_had_been(tmp_path, home, monkeypatch):
    path = write_sweep(tmp_path, {"strategy": {"method": "frontier", "points": 12, "generation": 4}, "pipelines": SEARCHED})
    broken = course_of(path)
    broken.follow(computing(broken, {5, 6}), Unheard())
    assert broken.is_stopped
    assert [one.point.number for one in broken.candidates] == list(range(8))  # two generations: the second lost some
    assert set(broken.lost.values()) == {"sweep-block: BrokenProcessPool"}
    assert len(broken.lost) == 2 * 2  # the others of their blocks were tried again alone
    resumed = course_of(path)
    resumed.follow(computing(resumed, set()), Unheard())
    assert not resumed.is_stopped
    monkeypatch.setenv("SDCERT_HOME", str(tmp_path / "other"))
    straight = course_of(path)
    straight.follow(computing(straight, set()), Unheard())
    assert resumed.table().num_rows == 24
    assert untimed(resumed.table()).equals(untimed(straight.table()))


@pytest.mark.slow
def test_a_grid_goes_on_without_what_was_lost(tmp_path, home):
    path = write_sweep(tmp_path)
    execution = course_of(path)
    execution.follow(computing(execution, {1}), Unheard())
    assert not execution.is_stopped
    table = execution.table()
    status = dict(zip(table.column("point").to_pylist(), table.column("status").to_pylist(), strict=True))
    assert status == {0: "ok", 1: "failed", 2: "skipped", 3: "ok", 4: "ok"}


@pytest.mark.slow
def test_results_that_are_gone_or_another_file_of_their_name_do_not_pass_for_figures(tmp_path, home):
    path = write_sweep(tmp_path)
    first = course_of(path)
    first.follow(computing(first, set()), Unheard())
    whole = first.table()
    folder = Path(first.basis.storage.url) / first.basis.key / "results"
    for file in folder.iterdir():
        pq.write_table(pq.read_table(file).append_column("x", pq.read_table(file).column("key")), file)
    assert first.table().column("status").to_pylist() == ["failed"] * whole.num_rows
    again = course_of(path)
    again.follow(computing(again, set()), Unheard())
    assert untimed(again.table()).equals(untimed(whole))


def in_the_middle(process, path, home, files):
    """A real sweep that has kept the results of so many blocks."""
    running = process("-c", SMALL_BLOCKS, "sweep", str(path), "--workers", "2")
    deadline = time.monotonic() + 200
    while files_in(home) < files and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return running


@pytest.mark.slow
def test_interrupted_it_says_how_to_go_on_and_what_is_done_is_kept(process, tmp_path, home):
    path = write_sweep(tmp_path / "project", SWEEP)
    stopped = in_the_middle(process, path, home, 8)
    stopped.send_signal(signal.SIGINT)
    _, err = stopped.communicate(timeout=180)
    assert stopped.returncode == 130, err
    assert f"to go on: sdcert sweep {path}" in err
    assert "Traceback" not in err
    assert json.loads((home / "sweeps" / name_in(home) / "sweep.json").read_text())["status"] == "interrupted"
    assert files_in(home) >= 8


@pytest.mark.long
def test_a_worker_that_dies_costs_no_trial(process, tmp_path, home):
    path = write_sweep(tmp_path / "project", SWEEP)
    running = in_the_middle(process, path, home, 8)
    leaves = [one for one in workers_of(home) if not one.children()]
    leaves[0].kill()
    assert files_in(home) < BLOCKS
    _, err = running.communicate(timeout=300)
    assert running.returncode == 0, err
    table = table_of(home, name_in(home))
    assert table.num_rows == 2 * STEPS * SEEDS
    assert "were lost" not in err
    assert "failed" not in set(table.column("status").to_pylist())
