"""`sdcert sweep`: show the plan of a sweep, its progress, and its results."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows.cli.sweep.group import RUN, StoreOption, group
from flows.cli.terminal import terminal
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.runtime.files import try_lock
from tasks.runtime.settings import Home, prepare_environment

if TYPE_CHECKING:
    from rich.console import Console

    from flows.sweep.compute_backend import ComputeBackend
    from flows.sweep.execution import SweepExecution
    from flows.sweep.file import SweepDefinition
    from flows.sweep.finish import SweepResult
    from flows.sweep.sweep_plan import Plan
    from flows.sweep.track import SweepTracking, TrackedPoint

ASK_BEYOND_SECONDS = 120.0
LINES_EVERY_SECONDS = 15.0
STOPPED = 3  # as for what broke: it was no result that ended it
_NAMED = 10
Say = Callable[[str], None]
Show = Callable[["SweepExecution", "SweepResult", str | None], None]


@group.command(RUN)
def run(
    file: Annotated[
        Path | None, typer.Argument(help="the sweep file (YAML)", metavar="[FILE.yaml]", show_default=False)
    ] = None,
    workers: Annotated[int | None, typer.Option(help="processes; default: one per core", min=1, show_default=False)] = None,
    resume: Annotated[
        str | None, typer.Option(help="go on with this sweep (`sdcert sweeps` lists them)", metavar="ID", show_default=False)
    ] = None,
    runner: Annotated[Literal["local", "dask"], typer.Option(help="where blocks are computed")] = "local",
    address: Annotated[
        str | None,
        typer.Option(help="of the Dask scheduler: tcp://host:8786", metavar="ADDRESS", show_default=False),
    ] = None,
    store: StoreOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="begin without asking, however long it takes")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the result on stdout; messages stay on stderr")] = False,
) -> int:
    """Mask and attack every point of a sweep file, under every seed, and show the frontier of risk and loss.

    What has been computed is not computed again: started again, a sweep goes on where it stopped. Nothing is published.
    """
    from flows.sweep.compute_backend import ComputeBackend

    backend = ComputeBackend.from_options(workers=workers, runner=runner, address=address)
    return sweep_over(file, resume, store, backend, yes=yes, as_json=as_json)


def sweep_over(
    file: Path | None, resume: str | None, store: str | None, backend: ComputeBackend, *, yes: bool, as_json: bool
) -> int:
    """Plan, compute, show. Returns as `compute_sweep_file`."""
    from flows.cli.sweep.result import as_dict, print_sweep_result

    def show(execution: SweepExecution, found: SweepResult, problem: str | None) -> None:
        say = terminal(stderr=True, soft_wrap=True) if as_json else terminal(soft_wrap=True)
        print_sweep_result(lambda text: say.print(escape_terminal(text)), execution, found, problem)
        if as_json:
            sys.stdout.write(json.dumps(as_dict(execution, found), indent=1, sort_keys=True, ensure_ascii=False) + "\n")

    return compute_sweep_file(file, resume, store, backend, show, yes=yes)


def compute_sweep_file(
    file: Path | None, resume: str | None, store: str | None, backend: ComputeBackend, show: Show, *, yes: bool
) -> int:
    """Plan and compute a sweep, and hand over what came of it, with what went wrong with its tracking, to `show`.

    Returns 0, 1 where no point has both figures, 3 where a search stopped early. Interrupted, it says how to go on.
    """
    from flows.sweep.compute_backend import find_storage_url

    prepare_environment()
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    console = terminal(stderr=True, soft_wrap=True)

    def say(text: str) -> None:
        console.print(escape_terminal(text))

    from flows.sweep.working_set import WorkingSet
    from tasks.audit.maintenance.use import use_store

    storage = WorkingSet(find_storage_url(store)).usable()
    path = _find_sweep_file(storage, file, resume)
    with use_store():
        sweep = _load_reachable_sweep(path)
        say(f"sdcert: sweep {sweep.spec.name} ({path})")
        with _open_sweep(sweep, storage, resume, say) as execution:
            return _plan_and_run(execution, path, backend, console, say, show, yes=yes)


def _plan_and_run(
    execution: SweepExecution, path: Path, backend: ComputeBackend, console: Console, say: Say, show: Show, *, yes: bool
) -> int:
    from flows.cli.earlier_text import describe_joined_releases
    from flows.sweep.pool import BlockPool

    storage = execution.basis.storage
    if backend.runner == "dask":
        from flows.sweep.cluster import prepare_cluster

        execution.basis.finder.refuse_draws_in_cluster(execution.sweep)
        backend = replace(backend, workers=prepare_cluster(backend.address or "", storage.url, execution.basis.key))
    with BlockPool(backend.workers) as pool:
        say("planning: a few trials are timed where nothing is known of them")
        plan = execution.plan(backend.workers, lambda number: pool.run(storage.url, execution.record.id, number))
        execution.record.note(points=plan.points, trials=plan.trials)
        for sentence in (*plan_in_words(plan), *describe_joined_releases(execution.earlier)):
            say(sentence)
        if not execution.complete and not (yes or _confirm_plan(plan, console)):
            say("nothing was begun; what was timed is kept")
            execution.record.end("not begun", done=execution.n_done)
            return 0
        found, problem = _compute_sweep(execution, backend, pool, console, say, path)
    show(execution, found, problem)
    return STOPPED if execution.is_stopped else int(found.on_the_map == 0)


def _compute_sweep(
    execution: SweepExecution, backend: ComputeBackend, pool: Any, console: Console, say: Say, path: Path
) -> tuple[SweepResult, str | None]:
    """What came of the sweep, and what went wrong with its tracking, if anything did."""
    from flows.sweep.finish import finish_sweep, render_public_page
    from flows.sweep.track import SweepTracking, list_points, round_table
    from tasks.runtime.tracking import MOST_CHILDREN

    tracking = SweepTracking(execution.sweep, execution.record.id)

    def finish() -> _Finished:
        found = finish_sweep(execution)
        public = round_table(found.table, execution.basis.table.n)
        return _Finished(found, public, list_points(public, found, execution.sweep.spec))

    try:
        finished = finish() if execution.complete else _run(execution, backend, pool, _Progress(console, tracking), finish)
        page = render_public_page(execution, finished.public, finished.found.policy)
    except BaseException as error:
        tracking.close_early("FAILED" if isinstance(error, Exception) else "KILLED")
        say(f"{execution.n_done:,} of {execution.n_trials:,} trials are kept; to go on: sdcert sweep {path}")
        raise
    found = finished.found
    if len(finished.points) > MOST_CHILDREN:
        first = "first the frontier and those that keep the policy"
        say(f"MLflow shows {MOST_CHILDREN:,} of {len(finished.points):,} points, {first}")
    frontier = sorted(one.point for one in found.frontier)
    counts = {f"trials {status}": count for status, count in found.counts.items()} | {"frontier": len(frontier)}
    problem = tracking.log_result(finished.public, page, counts, finished.points)
    report = {"counts": dict(found.counts), "points": found.points, "frontier": frontier, "tracking": problem}
    execution.record.end("stopped" if execution.is_stopped else "finished", done=execution.n_done, **report)
    return found, problem


def _run(
    execution: SweepExecution, backend: ComputeBackend, pool: Any, progress: _Progress, finish: Callable[[], _Finished]
) -> _Finished:
    """Compute what is left, and show in Prefect what came of it, while its server is in use."""
    from flows.home_server.connection import use_prefect_server

    with progress, use_prefect_server() as wait_until_it_answers:
        from flows.sweep.artifact import show_sweep
        from flows.sweep.run import run_sweep  # imports Prefect

        finished: list[_Finished] = []

        def finish_and_show() -> None:
            finished.append(finish())
            show_sweep(execution.sweep.spec.name, execution.record.id, finished[0].points)

        wait_until_it_answers()
        run_sweep(execution, progress, backend, pool, finish_and_show)
    return finished[0]


def _find_sweep_file(storage: Any, file: Path | None, resume: str | None) -> Path:
    from flows.sweep.record import read_sweep_record

    if (file is None) == (resume is None):
        what = "a sweep is named by its file, or by its id"
        raise InputError("sweep", "sdcert sweep", what, "FILE.yaml, or --resume ID", "give one of them")
    return file if file is not None else Path(read_sweep_record(storage, resume or "")["files"]["file_path"])


def _load_reachable_sweep(path: Path) -> SweepDefinition:
    from flows.sweep.spec import load_sweep
    from tasks.ingest.sources import reachable

    sweep = load_sweep(path)
    reachable(sweep.base.source)
    return sweep


@contextmanager
def _open_sweep(sweep: SweepDefinition, storage: Any, resume: str | None, say: Say) -> Iterator[SweepExecution]:
    """The execution of a sweep, which no other process executes at the same time."""
    from flows.release_file import locate_error
    from flows.sweep.basis import prepare_basis
    from flows.sweep.execution import SweepExecution
    from flows.sweep.record import SweepRecord, read_sweep_record, sweep_id
    from flows.sweep.spec import refuse_pipelines

    basis = prepare_basis(sweep.base, storage)
    try:
        basis.count_earlier(sweep.base)
    except InputError as error:
        raise locate_error(error, sweep.base_document) from None
    refuse_pipelines(sweep, basis.refuse_unfit)
    name = sweep_id(sweep, basis)
    if resume is not None and read_sweep_record(storage, resume)["id"] != name:
        what = "its files, its source, the program or what was released before changed since: it would be another sweep"
        remedy = "start the changed one by its file; what the two have in common is not computed again"
        raise InputError("sweep-changed", "--resume", what, "a sweep whose files are as they were", remedy, resume)
    with ExitStack() as stack:
        lock = try_lock(Home.current().locks / f"sweep-{name}.lock")
        if lock is None:
            what, remedy = "another process is computing this very sweep", "wait for it; `sdcert sweeps` shows how far it is"
            raise InputError("sweep-running", name, what, "one process for each sweep", remedy)
        stack.callback(os.close, lock)
        record = SweepRecord(storage, name)
        record.begin(sweep, basis)
        say(f"id {name}")
        execution = SweepExecution(sweep, basis, record)
        try:
            yield execution
        except BaseException as error:
            record.end("failed" if isinstance(error, Exception) else "interrupted", done=execution.n_done)
            raise


def plan_in_words(plan: Plan) -> Iterator[str]:
    """What the plan says, line by line."""
    search = "" if plan.first_generation is None else f", at most; {plan.first_generation:,} of them are known so far"
    yield f"  points   {plan.points:>9,}{search}"
    yield f"  trials   {plan.trials:>9,}  a point under each of its seeds"
    if plan.skipped:
        yield f"  skipped  {sum(plan.skipped.values()):>9,}  points that are wrong in themselves:"
        for reason, count in list(plan.skipped.items())[:_NAMED]:
            yield f"             {count:>9,}  {reason}"
    if plan.held:
        yield f"  held     {plan.held:>9,}  trials whose results are there already, those just timed among them"
    shared = f", {plan.shared:,} of them on a masked table that another shares" if plan.shared else ""
    yield f"  left     {plan.left:>9,}  trials to compute{shared}"
    yield f"  time     {describe_duration(plan):>9}"


def describe_duration(plan: Plan) -> str:
    """How long it will take, and on what that rests."""
    if not plan.left:
        return "nothing is left to compute"
    if plan.seconds is None:
        return f"not known: too few to time them first ({plan.workers} at once)"
    low, high = (_format_duration(one) for one in plan.seconds)
    each = " to ".join(dict.fromkeys(_format_duration(one) for one in plan.spread))
    trials = f"{plan.timed:,} trials that took {each}" if plan.timed > 1 else f"one trial that took {each}"
    return f"{low} to {high} with {plan.workers} at once, judged by {trials}; longer where others use the machine"


def _confirm_plan(plan: Plan, console: Console) -> bool:
    """Ask whoever sits at the terminal, if it takes long."""
    if not (sys.stdin.isatty() and console.is_terminal) or (plan.seconds or (0.0, 0.0))[1] < ASK_BEYOND_SECONDS:
        return True
    return console.input("Begin? [y/N] ").strip().lower() in ("y", "yes")


@dataclass(frozen=True, slots=True)
class _Finished:
    """What came of a sweep. public: its table, rounded; points: what may be shown of them."""

    found: SweepResult
    public: Any
    points: tuple[TrackedPoint, ...]


class _Progress:
    """A bar with the time left on a terminal, now and then a line elsewhere."""

    def __init__(self, console: Console, tracking: SweepTracking) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("trials"))
        times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
        self._console, self._tracking = console, tracking
        self._bar = Progress(*columns, *times, console=console, disable=not console.is_terminal)
        self._task = self._bar.add_task("starting Prefect", total=None)
        self._first: int | None = None
        self._began: tuple[float, int] | None = None
        self._said = 0.0

    def __enter__(self) -> _Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def report_trials(self, done: int, of: int) -> None:
        self._tracking.log_progress(done)
        if self._first is None:
            self._first = done
            self._bar.reset(self._task, total=of, completed=done, description="sweeping")
        if self._began is None and done > self._first:
            self._began = (time.monotonic(), done)  # before, Prefect starts, and workers load and compile
        self._bar.update(self._task, completed=done, total=of)
        if not self._console.is_terminal:
            self._line(done, of)

    def _line(self, done: int, of: int) -> None:
        now = time.monotonic()
        if done < of and now - self._said < LINES_EVERY_SECONDS:
            return
        self._said = now
        began, first = self._began or (now, done)
        known = now - began > LINES_EVERY_SECONDS / 2 and first < done < of
        left = f", about {_format_duration((now - began) / (done - first) * (of - done))} left" if known else ""
        self._console.print(f"{done:,} of {of:,} trials{left}")


def _format_duration(seconds: float) -> str:
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= 2 * size or unit == "s":
            return f"{seconds / size:.2g} {unit}" if seconds < 10 * size else f"{seconds / size:,.0f} {unit}"
    return ""
