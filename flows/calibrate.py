"""A calibration: every check carried out, several at once, in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from threadpoolctl import threadpool_limits

from flows.sweep.work import begin_worker
from tasks.sweep.calibration.calibration_findings import CalibrationFinding, Effort
from tasks.sweep.calibration.checks import CalibrationCheck, carry_out

PRELOADED = ["flows.calibrate"]


def run_checks(
    checks: Sequence[CalibrationCheck], effort: Effort, workers: int
) -> Iterator[tuple[int, tuple[CalibrationFinding, ...]]]:
    """The place of each check and what it found, in the order in which they end. One worker: in this process.

    The findings depend on the effort alone, not on the number of workers. Whoever stops listening ends what still runs.
    """
    if workers == 1:
        for position, check in enumerate(checks):
            yield position, _run_check(check, effort)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=begin_worker, initargs=(dict(os.environ),))
    try:
        positions = {pool.submit(_run_check, check, effort): position for position, check in enumerate(checks)}
        for done in as_completed(positions):
            yield positions[done], done.result()
    finally:
        for process in list((getattr(pool, "_processes", None) or {}).values()):  # a public way comes with Python 3.14
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _run_check(check: CalibrationCheck, effort: Effort) -> tuple[CalibrationFinding, ...]:
    with threadpool_limits(limits=1):  # sums of products come out otherwise on two threads than on one
        return carry_out(check, effort)
