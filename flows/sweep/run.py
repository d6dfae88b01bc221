"""The Prefect flow of a sweep over many candidates for a release: one task a block of trials, named by ids alone."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from prefect import flow, tags, task
from prefect.cache_policies import NO_CACHE
from prefect.futures import as_completed

from flows.run.task_runner import InterruptibleTaskRunner
from flows.sweep.compute_backend import ComputeBackend
from flows.sweep.execution import NothingComputed, SweepExecution, TrialListener
from flows.sweep.pool import BlockPool
from flows.sweep.work import run_block
from tasks.microdata.errors import InputError
from tasks.runtime.failures import StageFailure, hide_exceptions

RETRIES = 2
OTHER_CODE = "other-code"
_following: dict[str, tuple[SweepExecution, TrialListener, Callable[[], None]]] = {}
_pools: list[BlockPool] = []  # the pool of this process, which is reused from block to block; a worker of a cluster has none


def _is_retry_useful(task: Any, run: Any, state: Any) -> bool:
    """Another attempt is of use unless the pool was closed on purpose."""
    return not (_pools and _pools[-1].closed)


@task(
    name="sweep block",
    retries=RETRIES,
    retry_delay_seconds=1,
    retry_condition_fn=_is_retry_useful,
    cache_policy=NO_CACHE,
    persist_result=False,
    log_prints=False,
)
@hide_exceptions("sweep-block")
def compute_block(storage: str, sweep: str, number: int) -> int:
    """Compute one block of a sweep; returns how many trials it has."""
    return _dispatch_block(storage, sweep, number)


@flow(name="sweep", persist_result=False)
@hide_exceptions("sweep")
def compute_remaining_trials(sweep: str) -> None:
    """Compute what is left of a sweep that this process has planned."""
    _compute_batches(sweep)


# a cluster is sent flow and task by value, with all they name: these two are named, and what they know stays here
def _dispatch_block(storage: str, sweep: str, number: int) -> int:
    return _pools[-1].run(storage, sweep, number) if _pools else run_block(storage, sweep, number)


def _compute_batches(sweep: str) -> None:
    execution, listener, finish = _following[sweep]
    execution.follow(_create_submitter(execution), listener)
    finish()


def run_sweep(
    execution: SweepExecution, listener: TrialListener, backend: ComputeBackend, pool: BlockPool, finish: Callable[[], None]
) -> None:
    """Run the flow until every trial of the sweep has a result, and finish inside it.

    Raises InputError where the workers run other code, StageFailure where nothing could be computed at all.
    """
    name, code = execution.record.id, ""
    with ExitStack() as stack:
        _following[name] = (execution, listener, finish)
        stack.callback(_following.pop, name)
        if backend.runner == "local":
            _pools.append(pool)
            stack.callback(_pools.pop)
        stack.enter_context(tags(f"sweep:{execution.sweep.spec.name}"))
        try:
            compute_remaining_trials.with_options(task_runner=_create_runner(backend), flow_run_name=name)(name)
        except StageFailure as failure:
            if not isinstance(failure.cause, NothingComputed):
                raise
            code = failure.cause.code
    if OTHER_CODE in code:
        what, remedy = "the workers have other code or other versions than this process", "install the same on all machines"
        raise InputError(OTHER_CODE, "--address", what, "the same checkout and lock everywhere", remedy)
    if code:
        raise StageFailure("sweep", code, code.rpartition("(")[2].rstrip(")"))


def _create_runner(backend: ComputeBackend) -> Any:
    if backend.runner == "dask":
        from flows.sweep.cluster import create_cluster_runner

        return create_cluster_runner(backend.address or "")
    return InterruptibleTaskRunner(max_workers=backend.workers)


def _create_submitter(execution: SweepExecution) -> Callable[[Sequence[int]], Iterator[tuple[int, str | None]]]:
    def submit(numbers: Sequence[int]) -> Iterator[tuple[int, str | None]]:
        url = execution.basis.storage.url
        running = {compute_block.submit(url, execution.record.id, number): number for number in numbers}
        try:
            for future in as_completed(list(running)):
                future.wait()
                state = future.state
                yield running[future], None if state.is_completed() else _code(state.message)
        except BaseException:
            for pool in _pools:
                pool.kill()  # else whoever interrupts would wait for the end of every block that has begun
            raise

    return submit


def _code(message: str | None) -> str:
    """What a failed task says of itself: `StageFailure` holds a code and a place alone."""
    return (message or "no reason was given").rpartition("StageFailure: ")[2].strip()
