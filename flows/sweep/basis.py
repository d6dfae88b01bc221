"""What all points of a sweep share: the table, read once, and what its attributes are, decided once per classification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from flows.release import ReleaseSpec
from flows.sweep.keep import Place
from flows.sweep.made_by import made_by
from tasks.classify.methods import ClassifyPlan, classify
from tasks.ingest.methods import ingest
from tasks.mask.methods import resolved_steps
from tasks.microdata.canonical import canonical
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store, content_address


@dataclass(frozen=True, slots=True)
class Basis:
    """The table under its key in a place, and the classifications that were asked for."""

    key: str
    table: Microdata
    place: Place
    digest: Callable[[bytes], str]
    schemas: dict[str, str | InputError] = field(default_factory=dict)

    def schema_of(self, plan: ClassifyPlan) -> str:
        """The digest under which the place keeps what this plan makes of the table.

        Raises InputError as `classify`, each time for the same plan.
        """
        asked = plan.model_dump_json()
        if asked not in self.schemas:
            self.schemas[asked] = self._classified(plan)
        found = self.schemas[asked]
        if isinstance(found, InputError):
            raise found
        return found

    def refuse_unfit(self, release: ReleaseSpec) -> None:
        """InputError for a release whose steps name what the table does not have, or cannot mask."""
        content = self.place.read(schema_name(self.key, self.schema_of(release.classify_plan)))
        resolved_steps(release.masking or (), TypeAdapter(Schema).validate_json(content), "masking")

    def _classified(self, plan: ClassifyPlan) -> str | InputError:
        try:
            content = TypeAdapter(Schema).dump_json(classify(self.table, plan), by_alias=True)
        except InputError as error:
            return error
        digest = self.digest(content)[:32]
        self.place.write(schema_name(self.key, digest), content)
        return digest


def basis_of(release: ReleaseSpec, place: Place) -> Basis:
    """Read the source of a release, unless the place holds what it was when it was read.

    Raises InputError as `ingest`, and where the source changes while it is read.
    """
    store, read = Store(), f"ingested/{_as_it_is(release)}.json"
    if place.exists(read):
        key = place.json(read)["base"]
        if place.exists(f"{key}/table.arrow"):
            return Basis(key, place.table(key), place, store.digest)
    table = ingest(release.ingest_plan).data
    if read != f"ingested/{_as_it_is(release)}.json":
        what, remedy = "the source changed while it was read", "run again when it is complete"
        raise InputError("source-changed", "source", what, "a source at rest", remedy)
    key = store.digest(canonical({"table": content_address(table), "made_by": made_by()}))
    if not place.exists(f"{key}/table.arrow"):
        place.put_table(key, table)
    place.put_json(read, {"base": key})
    return Basis(key, place.table(key), place, store.digest)


def schema_name(base: str, digest: str) -> str:
    return f"{base}/schemas/{digest}.json"


def _as_it_is(release: ReleaseSpec) -> str:
    """The keyed digest of the source as it is now, with the plan by which it is read and the program that reads it."""
    from tasks.ingest.task import source_digest  # imports Prefect

    plan = release.ingest_plan.model_dump_json(by_alias=True)
    return Store().digest(canonical({"plan": plan, "source": source_digest(release.source), "made_by": made_by()}))
