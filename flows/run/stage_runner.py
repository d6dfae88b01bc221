"""What the stages of every release share: the interface that runs them, and the addresses of what they made."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tasks.mask.categories.promise import Epsilon
from tasks.mask.outputs import MaskOutputs, Mechanisms
from tasks.microdata.errors import InputError
from tasks.microdata.refs import FileRef, RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.report.outputs import ReportOutputs
from tasks.report.predicate import EarlierReleaseClaim
from tasks.runtime.artifacts import Store
from tasks.runtime.stages import StageCall
from tasks.score.release_figures import Score
from tasks.train.card import ModelCard

T = TypeVar("T")
Outputs = TypeVar("Outputs", bound=Mapping[str, object])

expected_digests: ContextVar[Mapping[str, str]] = ContextVar("expected_digests", default={})  # noqa: B039  # never changed in place
"""Keyed digests of `source` and `released` as a watch saw them: what came in their place since then is not certified."""


class StageRunner(Protocol):
    """Who runs the stages: a `RunRecorder` caches and records them, a replay computes them and compares."""

    def run(self, name: str, call: StageCall[Outputs]) -> Outputs:
        """Run one stage and wait for it."""
        ...

    def run_all(self, title: str, calls: Mapping[str, StageCall[Outputs]], *, each: int = 1) -> list[Outputs]:
        """Run several stages side by side; results in the order of the calls.

        each: how many of what the title names one call makes; progress counts them.
        """
        ...

    def warn(self, notes: tuple[str, ...]) -> None: ...

    def recall_inputs(self, name: str) -> list[Any] | None:
        """What a stage was given in the run that is computed again; None: nothing is computed again."""
        ...


@dataclass(frozen=True, slots=True)
class ReleaseArtifacts:
    """What the stages of one release made. released: a table, or the file of a model, which has a card.

    earlier: what the certificate says of the earlier releases that count. epsilon_over_releases: as of `ReleaseJob`.
    """

    source: TableRef
    released: TableRef | FileRef
    score: RecordRef[Score]
    page: ReportOutputs
    draw: str
    card: RecordRef[ModelCard] | None = None
    earlier: tuple[EarlierReleaseClaim, ...] = ()
    epsilon_over_releases: Epsilon | None = None

    @property
    def described_by(self) -> str:
        """What the report is given of what is released: a table itself, or the card of a model."""
        return self.released if self.card is None else self.card


@dataclass(frozen=True, slots=True)
class MaskingArtifacts:
    """What is released of the source, or what a model is trained on.

    data: the records that were masked. control: people who are known not to be among these, if there are any. table: what the
    masking made; None: nothing is masked, because a model is trained on the records as they are.
    """

    draw: str
    data: TableRef
    control: TableRef | None
    schema: RecordRef[Schema]
    table: MaskOutputs | None
    mechanisms: RecordRef[Mechanisms]

    @property
    def masked(self) -> TableRef:
        """The masked table, rows aligned with the original; the original where nothing is masked."""
        return self.data if self.table is None else self.table["masked"]

    def require_table(self) -> MaskOutputs:
        """What the masking made of a table that is to be released."""
        if self.table is None:
            raise RuntimeError("a release without a model has a masked table")
        return self.table

    @property
    def alignment(self) -> TableRef | None:
        """Whose row each is; None: each is that of its record."""
        return None if self.table is None else self.table["alignment"]


def assert_unchanged(name: str, digest: str) -> str:
    """The digest of a file that is read; InputError where a watch saw another one."""
    if expected_digests.get().get(name, digest) != digest:
        what, remedy = "the table changed after it was looked at", "nothing: the next look sees what is there then"
        raise InputError(f"{name}-changed", name, what, "a table at rest", remedy)
    return digest


def store_part(part: T, kind: Any = None) -> RecordRef[T]:
    """Store a part of the release file and return its address."""
    return Store().put_record(part, kind)
