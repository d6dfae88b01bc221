"""What the points of a sweep share with earlier releases about the same persons, as workers are told of it.

Light: it is imported by every worker process, and knows neither Prefect nor MLflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter

from flows.sweep.working_set import WorkingSet
from tasks.attack.together.earlier_release import EarlierRelease, EarlierTables
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store, create_adapter
from tasks.score.policy import PolicyLine

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """What a point is attacked together with, and what it keeps of its series.

    releases: addresses of the earlier releases that count. own: names of those that this home released. known: names of those
    whose table a point is itself, because steps and draw are the same. series: of the release. lines: of the policy, on
    values that follow from several releases.
    table: what is masked in place of the source, where groups are kept; None: the source. key: id of the key of the series'
    draws per person; None: nothing is drawn by it.
    """

    releases: tuple[RecordRef[EarlierRelease], ...]
    own: tuple[str, ...]
    known: tuple[str, ...]
    series: str
    lines: tuple[PolicyLine, ...] = ()
    table: TableRef | None = None
    key: str | None = None


CONTINUATION: TypeAdapter[Continuation] = TypeAdapter(Continuation)


@dataclass(frozen=True, slots=True)
class KeptArtifacts:
    """Copies of artifacts of the private store in a working set, under the same addresses: workers need not reach the store."""

    storage: WorkingSet
    base: str

    def table(self, address: TableRef) -> Microdata:
        return self.storage.table(self._name(address))

    def record(self, address: RecordRef[T], kind: type[T]) -> T:
        found: T = create_adapter(kind).validate_json(self.storage.read(self._name(address)))
        return found

    def copy_release(self, store: Store, address: RecordRef[EarlierRelease]) -> None:
        """Copy an earlier release with its tables, unless they are there."""
        release = store.record(address, EarlierRelease)
        tables = release.tables
        if tables is not None:
            self._copy_tables(store, tables)
        self._copy_record(store, address)

    def copy_table(self, store: Store, address: TableRef) -> None:
        if not self.storage.exists(f"{self._name(address)}/table.arrow"):
            self.storage.put_table(self._name(address), store.table(address))

    def _copy_tables(self, store: Store, tables: EarlierTables) -> None:
        for table in (tables.data, tables.masked, tables.alignment, tables.persons):
            self.copy_table(store, table)
        self._copy_record(store, tables.schema)
        self._copy_record(store, tables.mechanisms)

    def _copy_record(self, store: Store, address: RecordRef[Any]) -> None:
        if not self.storage.exists(self._name(address)):
            self.storage.write(self._name(address), store.content(address))

    def _name(self, address: str) -> str:
        return f"{self.base}/earlier/{address.replace(':', '-')}"
