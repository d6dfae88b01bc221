"""A pool of processes that is used again for every block; one that died is replaced."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType

from flows.sweep.work import begin_worker, run_block

PRELOADED = ["flows.sweep.work"]  # imported once by the server from which workers are forked, before it has a thread


class BlockPool:
    """Computes blocks in processes of their own, forked from a server without threads. Use as a context."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._guard = threading.Lock()
        self._executor: ProcessPoolExecutor | None = None
        self.closed = False

    def __enter__(self) -> BlockPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:
            self.kill()
        self.closed = True
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def kill(self) -> None:
        """End all workers at once, in the middle of their blocks; the pool is closed."""
        self.closed = True
        processes = getattr(self._executor, "_processes", None) or {}  # a public way comes with Python 3.14
        for process in list(processes.values()):
            process.kill()

    def run(self, url: str, sweep: str, number: int) -> int:
        """Compute one block and wait for it. Raises BrokenProcessPool where a worker died of it, or of another."""
        executor = self._ready()
        try:
            return executor.submit(run_block, url, sweep, number).result()
        except BrokenProcessPool:
            self._replace(executor)
            raise

    def _ready(self) -> ProcessPoolExecutor:
        with self._guard:
            if self.closed:
                raise RuntimeError("the pool is closed")
            if self._executor is None:
                self._executor = ProcessPoolExecutor(
                    self.workers, mp_context=self._context, initializer=begin_worker, initargs=(dict(os.environ),)
                )
            return self._executor

    def _replace(self, broken: ProcessPoolExecutor) -> None:
        with self._guard:
            if self._executor is broken:
                self._executor = None
        broken.shutdown(wait=False, cancel_futures=True)
