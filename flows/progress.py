"""Telling who waits how far a release is: bars on a terminal, plain lines elsewhere, nothing where nobody listens."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

from rich.console import Console
from rich.status import Status


class Listener(Protocol):
    """Hears when a step of a flow begins and ends."""

    def began(self, step: str) -> None: ...

    def ended(self, step: str, seconds: float, how: str) -> None: ...


class Silent:
    """Nobody listens (a worker, a test)."""

    def began(self, step: str) -> None:
        return

    def ended(self, step: str, seconds: float, how: str) -> None:
        return


class Lines:
    """One line per finished step, and on a terminal a spinner while it runs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = Status("starting Prefect", console=console) if console.is_terminal else None
        if self._status is not None:
            self._status.start()

    def began(self, step: str) -> None:
        if self._status is not None:
            self._status.update(step)

    def ended(self, step: str, seconds: float, how: str) -> None:
        self._console.print(f"{step:<34} {how:<9} {seconds:6.1f} s", highlight=False, markup=False)

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()


listener: ContextVar[Listener] = ContextVar("listener", default=Silent())  # noqa: B039  # Silent holds no state
