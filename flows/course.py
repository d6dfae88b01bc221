"""What the stages of a release share: how they are run, what the masking made, and what came of it all."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from prefect import Task

from tasks.microdata.errors import InputError
from tasks.runtime.artifacts import Store
from tasks.runtime.records import Produced

looked_at: ContextVar[Mapping[str, str]] = ContextVar("looked_at", default={})  # noqa: B039  # never changed in place
"""Keyed digests of `source` and `released` as a watch saw them: what came in their place since then is not certified."""


class Course(Protocol):
    """How stages are run: a `Journal` caches and records them, a replay computes them and compares.

    each: how many of what the title names a job makes; they are counted for who waits.
    """

    def stage(self, task: Task[..., Produced], name: str, *arguments: Any) -> Produced: ...

    def together(
        self, task: Task[..., Produced], title: str, jobs: dict[str, tuple[Any, ...]], *, each: int = 1
    ) -> list[Produced]: ...

    def warn(self, notes: tuple[str, ...]) -> None: ...


@dataclass(frozen=True, slots=True)
class Made:
    """What the stages of one release made, by address. released: a table, or the file of a model, which has a card."""

    source: str
    released: str
    score: str
    page: Produced
    draw: str
    card: str | None = None


@dataclass(frozen=True, slots=True)
class Masked:
    """What is released of the source, or what a model is trained on.

    data: the records that were masked. control: those of whom it is known that they are not among these; empty: there are none.
    table: what the masking made; without masking `masked` and `released` are the source, and the alignment is empty.
    """

    draw: str
    data: str
    control: str
    schema: str
    table: Produced

    @property
    def aligned(self) -> tuple[str, ...]:
        """Original, masked table, whose row is whose, attributes, mechanisms."""
        return (self.data, self.table["masked"], self.table["alignment"], self.schema, self.table["mechanisms"])


def seen(name: str, digest: str) -> str:
    """The digest of a file that is read; InputError where a watch saw another one."""
    if looked_at.get().get(name, digest) != digest:
        what, remedy = "the table changed after it was looked at", "nothing: the next look sees what is there then"
        raise InputError(f"{name}-changed", name, what, "a table at rest", remedy)
    return digest


def kept(part: object, kind: object = None) -> str:
    """The address of a part of the release file."""
    return Store().put_record(part, kind)
