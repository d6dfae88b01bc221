"""Show how far a release is: bars on a terminal, plain lines elsewhere, nothing where nobody listens."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

from rich.console import Console
from rich.status import Status
from rich.text import Text

EVERY_SECONDS = 30.0


class ProgressListener(Protocol):
    """Hears when a step of a flow begins and ends, and how far one of many parts is: `cached` of those done took no time."""

    def begin_step(self, step: str) -> None: ...

    def advance_step(self, step: str, done: int, of: int, seconds: float, *, cached: int = 0) -> None: ...

    def end_step(self, step: str, seconds: float, how: str) -> None: ...

    def tell(self, text: str) -> None:
        """Hear what came of a part of the work, in a sentence."""
        ...


class Silent:
    """Nobody listens (a worker, a test)."""

    def begin_step(self, step: str) -> None:
        return

    def advance_step(self, step: str, done: int, of: int, seconds: float, *, cached: int = 0) -> None:
        return

    def end_step(self, step: str, seconds: float, how: str) -> None:
        return

    def tell(self, text: str) -> None:
        return


class Lines:
    """One line per finished step; of a step of many parts, how long it will still take: on a terminal beside a spinner, else
    on a line each half minute.

    console: of `flows.cli.terminal`, so that a name is printed as it is.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._told_at = 0.0
        self._first: tuple[int, float] | None = None
        self._status = Status("starting Prefect", console=console) if console.is_terminal else None
        if self._status is not None:
            self._status.start()

    def begin_step(self, step: str) -> None:
        self._told_at, self._first = 0.0, None
        if self._status is not None:
            self._status.update(Text(step))

    def advance_step(self, step: str, done: int, of: int, seconds: float, *, cached: int = 0) -> None:
        text = f"{step}: {done} of {of}"
        if done > cached and (each := self._seconds_each(done - cached, seconds)) is not None:
            text += f", about {_format_duration(each * (of - done))} left"
        if self._status is not None:
            self._status.update(Text(text))
        elif seconds - self._told_at >= EVERY_SECONDS and done < of:
            self._told_at = seconds
            self._console.print(text)

    def _seconds_each(self, computed: int, seconds: float) -> float | None:
        """Seconds for each part after the first, which waited for what is made once (imports, machine code).

        None while fewer than two have ended after it: one may have run beside it, and have waited as long.
        """
        before, then = self._first = self._first or (computed, seconds)
        return (seconds - then) / (computed - before) if computed > before + 1 else None

    def end_step(self, step: str, seconds: float, how: str) -> None:
        self._console.print(f"{step:<34} {how:<9} {seconds:6.1f} s")

    def tell(self, text: str) -> None:
        self._console.print(text)

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()


def _format_duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


listener: ContextVar[ProgressListener] = ContextVar("listener", default=Silent())  # noqa: B039  # Silent holds no state
