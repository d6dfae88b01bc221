"""Waiting for something no longer than it is worth."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context


def run_with_timeout(seconds: float, action: Callable[[], None]) -> None:
    """Do something in a thread of its own, which dies with the process, and raise TimeoutError if it takes longer.

    For waiting for others (a mail server, a tracking server). What must stop when its time is over needs a process.
    """
    errors: list[BaseException] = []

    def run_action() -> None:
        try:
            action()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(run_action,), daemon=True, name="within")
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"no answer in {seconds:g} seconds")
    if errors:
        raise errors[0]
