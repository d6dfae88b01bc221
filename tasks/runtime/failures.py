"""Reduce an error to what may leave a task: a code and a place, never a value.

Prefect writes a task's exception into its database, its logs and its events. So the real exception is kept in this process
under a token, and a `StageFailure` that holds no value travels instead; who called the flow gets the real one back.
"""

from __future__ import annotations

import functools
import re
import secrets
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import ParamSpec, TypeVar

from tasks.microdata.errors import SdcertError
from tasks.runtime.files import append_line
from tasks.runtime.settings import Home

P = ParamSpec("P")
R = TypeVar("R")

CREDENTIALS = re.compile(r"://[^\s/'\"]*@")

_kept: dict[str, Exception] = {}


class StageFailure(Exception):
    """A stage ended with an error: `code` and `stage` are public, `token` finds the real exception in the same process."""

    def __init__(self, stage: str, code: str, token: str) -> None:
        super().__init__(f"{stage}: {code}")
        self.stage = stage
        self.code = code
        self.token = token

    @property
    def cause(self) -> Exception | None:
        """The real exception, where it happened in this process."""
        return _kept.get(self.token)


def hide_exceptions(stage: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let nothing but a `StageFailure` leave the decorated function."""

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            failure: StageFailure
            try:
                return function(*args, **kwargs)
            except StageFailure:
                raise
            except Exception as error:
                failure = _store_exception(stage, error)
            raise failure  # outside the handler: the real exception is not chained to it

        return call

    return wrap


def _store_exception(stage: str, error: Exception) -> StageFailure:
    token = secrets.token_hex(8)
    _kept[token] = error
    if isinstance(error, SdcertError):
        return StageFailure(stage, error.public, token)
    with suppress(OSError):  # no room for details
        write_private_trace(stage, token, error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return StageFailure(stage, f"{type(error).__name__} in {frame.name}, line {frame.lineno} ({token})", token)


def write_private_trace(stage: str, token: str, error: BaseException) -> None:
    """Keep the whole traceback of something that broke in the private folder, for who has to mend it.

    The user and password of an address in it are left out: libraries write an address that they cannot use into the message.
    """
    text = CREDENTIALS.sub("://***@", "".join(traceback.format_exception(error)))
    append_line(Home.current().folder("failures") / f"{token}.txt", f"{datetime.now(UTC).isoformat()} {stage}\n{text}")
