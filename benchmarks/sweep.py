"""What orchestration and tracking add to a sweep of cheap points: `python benchmarks/sweep.py [--most N]`.

The twin is a bare loop over the same function (`evaluate`) on the same points, in the same run and on one thread, before the
sweep and after it, because others may slow the machine. The sweep has one worker, so that both do one thing at a time. What a
sweep costs whatever its size (Prefect's server, imports, the tracking store) is told apart. Only differences and ratios are to
be compared between machines.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import psutil
import typer
from threadpoolctl import threadpool_limits

ROWS = 40
LIMIT_MS = 5.0
RELEASE: dict[str, Any] = {
    "name": "cheap",
    "source": {"table": "cheap.csv"},
    "attributes": {name: {"role": "quasi_identifier", "scale": "numeric"} for name in "ab"},
    "masking": [{"method": "noise", "kind": "correlated", "attributes": ["a", "b"], "sd_percent": 10}],
    "policy": [{"measure": "reidentification", "at_most": 0.4}],
}


def write_sweep(folder: Path, points: int) -> Path:
    rng = np.random.default_rng(1)
    pd.DataFrame(rng.normal(size=(ROWS, 2)).round(3), columns=list("ab")).to_csv(folder / "cheap.csv", index=False)
    (folder / "release.yaml").write_text(json.dumps(RELEASE))
    axis = {"masking[0].sd_percent": {"range": [1, 100], "steps": points}}
    sweep = {"name": f"cheap-{points}", "base": "release.yaml", "pipelines": [{"name": "noise", "axes": axis}]}
    path = folder / f"sweep-{points}.yaml"
    path.write_text(json.dumps(sweep))
    return path


def bare_loop(path: Path) -> tuple[float, int]:
    """CPU seconds for all points of a sweep file, one after another, and how many there are."""
    from flows.sweep.spec import load_sweep
    from flows.sweep.variants import create_release_spec
    from tasks.classify.methods import classify
    from tasks.ingest.methods import ingest
    from tasks.runtime.artifacts import content_address
    from tasks.sweep.evaluation import Trial, TrialGroup, drop_curve_and_files, evaluate

    threadpool_limits(limits=1)
    sweep = load_sweep(path)
    table = ingest(sweep.base.ingest_plan).data
    schema, source = classify(table, sweep.base.classify_plan), content_address(table)
    releases = [create_release_spec(sweep, point) for point in sweep.points()]
    groups = [
        TrialGroup(one.masking or (), 0, (Trial("", one.attacks_to_run, drop_curve_and_files(one.intruder), one.measures),))
        for one in releases
    ]
    evaluate(table, schema, groups[0], source=source)
    started = time.process_time()
    for group in groups:
        evaluate(table, schema, group, source=source)
    return time.process_time() - started, len(groups)


@dataclass
class Watch:
    """What this process and all it started used: CPU seconds of each, and the most memory that this one had."""

    cpu: dict[int, float]
    largest: int = 0

    def look(self) -> None:
        me = psutil.Process()
        self.largest = max(self.largest, me.memory_info().rss)
        for process in (me, *me.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                self.cpu[process.pid] = times.user + times.system

    @property
    def seconds(self) -> float:
        return sum(self.cpu.values())


@contextlib.contextmanager
def watched() -> Iterator[Watch]:
    watch, over = Watch({}), threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            watch.look()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        over.set()
        thread.join()
        watch.look()


def swept(path: Path) -> dict[str, float]:
    """What a sweep with one worker took."""
    from flows.cli.sweep.run import sweep_over
    from flows.sweep.compute_backend import ComputeBackend

    memory, wall, own = psutil.Process().memory_info().rss, time.perf_counter(), time.process_time()
    before = Watch({})
    before.look()
    with watched() as watch, contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = sweep_over(path, None, None, ComputeBackend(1), yes=True, as_json=True)
    assert code == 0
    return {
        "sweep s": time.perf_counter() - wall,
        "sweep CPU s": watch.seconds - before.seconds,
        "of these the driver's": time.process_time() - own,
        "driver grew by MB": (watch.largest - memory) / 2**20,
    }


def overhead(most: int) -> pd.DataFrame:
    """Sweeps of few and many points with one worker, beside a bare loop over `evaluate`.

    CPU seconds are those of all processes: driver, worker and Prefect's server. `marginal`: per point beyond the column before.
    """
    import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

    # isort: split
    from prefect.testing.utilities import prefect_test_harness

    rows: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder, prefect_test_harness(server_startup_timeout=120):
        swept(write_sweep(Path(folder), 20))  # imports, compiles, makes the tracking store
        for n in (most // 10, 4 * most // 10, most):
            path = write_sweep(Path(folder), n)
            before, points = bare_loop(path)
            measured = swept(path)
            rows.append({"points": points, "bare CPU s": (before + bare_loop(path)[0]) / 2, **measured})
    table = pd.DataFrame(rows)
    added = 1e3 * (table["sweep CPU s"] - table["bare CPU s"])
    table["bare CPU ms a point"] = 1e3 * table["bare CPU s"] / table["points"]
    table["driver CPU ms a point, marginal"] = 1e3 * table["of these the driver's"].diff() / table["points"].diff()
    table["added CPU ms a point"] = added / table["points"]
    table["added CPU ms a point, marginal"] = added.diff() / table["points"].diff()
    table["driver grew by kB a point, marginal"] = 2**10 * table["driver grew by MB"].diff() / table["points"].diff()
    table["limit ms"] = LIMIT_MS
    return table


CLAIMS: dict[str, Callable[[int], pd.DataFrame]] = {claim.__name__: claim for claim in (overhead,)}


def main(
    only: Annotated[list[str] | None, typer.Option(help=f"Claims to measure, of {', '.join(CLAIMS)}; default: all.")] = None,
    most: Annotated[int, typer.Option(help="Points of the largest sweep.", min=100)] = 10_000,
) -> None:
    """Measure the claims and print a table for each."""
    for name in only or CLAIMS:
        if name not in CLAIMS:
            raise typer.BadParameter(f"{name} is not one of {', '.join(CLAIMS)}", param_hint="--only")
        print(f"\n{name}: {CLAIMS[name].__doc__}")
        print(CLAIMS[name](most).T.to_string(float_format="{:.3f}".format, na_rep="", header=False), flush=True)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    print(f"\npeak of this process: {grown:,.0f} MB")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ["SDCERT_HOME"] = home
        typer.run(main)
