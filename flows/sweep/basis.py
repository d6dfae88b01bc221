"""What all points of a sweep share: the table, read once, and what its attributes are, decided once per classification."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from flows.release import ReleaseSpec
from flows.sweep.program_digest import compute_program_digest
from flows.sweep.working_set import WorkingSet
from tasks.attack.file_holders import hold_files
from tasks.attack.linkage.external_files import plan_file
from tasks.classify.methods import ClassifyPlan, classify
from tasks.ingest.external_table import FilePlan, read_external, read_external_table
from tasks.ingest.methods import ingest
from tasks.mask.methods import resolve_steps
from tasks.microdata.canonical import canonical
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store, content_address
from tasks.sweep.evaluation import FileHolder

if TYPE_CHECKING:
    from flows.sweep.continuation_finder import ContinuationFinder, CountedForTable


@dataclass(frozen=True, slots=True)
class SweepBasis:
    """The table under its key in a place, and the classifications and holders of external files that were asked for.

    finder: finds what points share with earlier releases about the same persons.
    """

    key: str
    table: Microdata
    storage: WorkingSet
    digest: Callable[[bytes], str]
    finder: ContinuationFinder
    schemas: dict[str, str | InputError] = field(default_factory=dict)
    classified: dict[str, Schema] = field(default_factory=dict)
    files: dict[str, Microdata] = field(default_factory=dict)
    holders: dict[str, tuple[FileHolder, ...]] = field(default_factory=dict)

    def schema_of(self, plan: ClassifyPlan) -> str:
        """The digest under which the place keeps what this plan makes of the table.

        Raises InputError as `classify`, each time for the same plan.
        """
        asked = plan.model_dump_json()
        if asked not in self.schemas:
            self.schemas[asked] = self._store_schema(plan)
        found = self.schemas[asked]
        if isinstance(found, InputError):
            raise found
        return found

    def refuse_unfit(self, release: ReleaseSpec) -> None:
        """InputError for a release whose steps name what the table does not have, cannot mask, or drew otherwise before."""
        resolve_steps(release.masking or (), self.read_schema(release), "masking")
        self.finder.prepare(release, self.read_schema(release))
        self.holders_of(release)

    def holders_of(self, release: ReleaseSpec) -> tuple[FileHolder, ...]:
        """Somebody who has the external files of a release; each file is read once, and kept in the storage.

        Raises InputError for a file that cannot be read, or does not fit the table.
        """
        asked = f"{self.schema_of(release.classify_plan)}:{release.intruder.model_dump_json(by_alias=True)}"
        if asked not in self.holders:
            self.holders[asked] = tuple(self._holders(release)) if release.intruder.files else ()
        return self.holders[asked]

    def _holders(self, release: ReleaseSpec) -> Iterator[FileHolder]:
        schema, files = self.read_schema(release), release.intruder.files
        plans = (plan_file(file, i, self.table, schema, release.attributes) for i, file in enumerate(files))
        tables = [self._read(plan) for plan in plans]
        for one in hold_files(release.intruder, self.table, schema, tuple(tables)):
            name = self.digest(content_address(one.table).encode())[:32]
            if not self.storage.exists(f"{name_external_file(self.key, name)}/table.arrow"):
                self.storage.put_table(name_external_file(self.key, name), one.table)
            yield FileHolder(one.holder, name)

    def _read(self, plan: FilePlan) -> Microdata:
        asked = plan.model_dump_json(by_alias=True)
        if asked not in self.files:
            self.files[asked] = read_external(read_external_table(plan), plan).data
        return self.files[asked]

    def read_schema(self, release: ReleaseSpec) -> Schema:
        """The classification of a release. Raises InputError as `schema_of`."""
        digest = self.schema_of(release.classify_plan)
        if digest not in self.classified:
            content = self.storage.read(schema_name(self.key, digest))
            self.classified[digest] = TypeAdapter(Schema).validate_json(content)
        return self.classified[digest]

    def count_earlier(self, release: ReleaseSpec) -> CountedForTable | None:
        """The earlier releases that count for the table as the base release classifies it; None where that cannot be done.

        Raises InputError as `count_releases`.
        """
        try:
            schema = self.read_schema(release)
        except InputError:  # of the base release's own classification, which no point need have
            return None
        return self.finder.count(release, schema)

    def _store_schema(self, plan: ClassifyPlan) -> str | InputError:
        try:
            content = TypeAdapter(Schema).dump_json(classify(self.table, plan), by_alias=True)
        except InputError as error:
            return error
        digest = self.digest(content)[:32]
        self.storage.write(schema_name(self.key, digest), content)
        return digest


def prepare_basis(release: ReleaseSpec, storage: WorkingSet) -> SweepBasis:
    """Read the source of a release, unless the place holds what it was when it was read.

    Raises InputError as `ingest`, and where the source changes while it is read.
    """
    store, read = Store(), f"ingested/{_as_it_is(release)}.json"
    if storage.exists(read):
        key = storage.json(read)["base"]
        if storage.exists(f"{key}/table.arrow"):
            return _create_basis(key, storage)
    table = ingest(release.ingest_plan).data
    if read != f"ingested/{_as_it_is(release)}.json":
        what, remedy = "the source changed while it was read", "run again when it is complete"
        raise InputError("source-changed", "source", what, "a source at rest", remedy)
    key = store.digest(canonical({"table": content_address(table), "made_by": compute_program_digest()}))
    if not storage.exists(f"{key}/table.arrow"):
        storage.put_table(key, table)
    storage.put_json(read, {"base": key})
    return _create_basis(key, storage)


def _create_basis(key: str, storage: WorkingSet) -> SweepBasis:
    from flows.sweep.continuation_finder import ContinuationFinder  # imports Prefect

    table = storage.table(key)
    return SweepBasis(key, table, storage, Store().digest, ContinuationFinder(table, storage, key))


def schema_name(base: str, digest: str) -> str:
    return f"{base}/schemas/{digest}.json"


def name_external_file(base: str, name: str) -> str:
    return f"{base}/files/{name}"


def _as_it_is(release: ReleaseSpec) -> str:
    """The keyed digest of the source as it is now, with the plan by which it is read and the program that reads it."""
    from tasks.ingest.task import source_digest  # imports Prefect

    plan = release.ingest_plan.model_dump_json(by_alias=True)
    return Store().digest(
        canonical({"plan": plan, "source": source_digest(release.source), "made_by": compute_program_digest()})
    )
