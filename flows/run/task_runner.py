"""Where the attacks of a run, and the blocks of a sweep, are computed side by side."""

from __future__ import annotations

from typing import Any

from prefect.task_runners import ThreadPoolTaskRunner


class InterruptibleTaskRunner(ThreadPoolTaskRunner):  # type: ignore[type-arg]  # prefect's parameter is what tasks return
    """Threads that nobody waits for where a run is interrupted: compiled work cannot be told to stop, and may take minutes.

    What they compute is lost then, or kept if it ends before the process does, which `flows.cli.main` ends.
    """

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        is_interrupted = exc_type is not None and not issubclass(exc_type, Exception)
        if is_interrupted and self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None
        super().__exit__(exc_type, exc_value, traceback)
