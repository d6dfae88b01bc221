"""Find what the points of a sweep continue: earlier releases and kept groups and draws, by the code of `sdcert certify`."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from flows.earlier.counted import CountedRelease, hand_to_attacks
from flows.earlier.counting import prepare_releases, refuse_denial, select_distinct_releases
from flows.earlier.search import EarlierSearch, Population
from flows.kinds.base import ReleaseJob
from flows.mask_stages import keep_earlier_parts
from flows.release import ReleaseSpec
from flows.run.kept_release import find_kept_release, list_released_tables, refuse_other_laws
from flows.run.run_entries import find_last_pseudonym_key
from flows.run.stage_runner import MaskingArtifacts, store_part
from flows.sweep.continuation import Continuation, KeptArtifacts
from flows.sweep.file import SweepDefinition
from flows.sweep.working_set import WorkingSet
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.series.past_releases import PastRelease, list_past_releases
from tasks.ingest.methods import IngestReport
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Masking, resolve_steps
from tasks.mask.outputs import Mechanisms
from tasks.mask.personal_laws import is_personal
from tasks.mask.task import Steps
from tasks.microdata.errors import InputError
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import list_person_columns
from tasks.runtime.artifacts import Damaged, Store
from tasks.runtime.draws import current_draw, current_pseudonym_key
from tasks.runtime.failures import StageFailure
from tasks.runtime.stages import StageCall
from tasks.score.measures.disclosure import VALUES_RECONSTRUCTED

Outputs = TypeVar("Outputs", bound=Mapping[str, object])
PER_PERSON = "per_person"


class DirectRunner:
    """Runs stages here and now, beside Prefect and its cache. InputErrors of stages come as they are."""

    def run(self, name: str, call: StageCall[Outputs]) -> Outputs:
        try:
            return call.compute()
        except StageFailure as failure:
            if isinstance(failure.cause, InputError):
                raise failure.cause from None
            raise

    def run_all(self, title: str, calls: Mapping[str, StageCall[Outputs]], *, each: int = 1) -> list[Outputs]:
        return [self.run(name, call) for name, call in calls.items()]

    def warn(self, notes: tuple[str, ...]) -> None:
        """What a step notes for the steward is told when a point is certified."""

    def recall_inputs(self, name: str) -> list[Any] | None:
        return None


@dataclass(frozen=True, slots=True)
class CountedForTable:
    """The releases that count for one table. past: those of this home. counted: with those that the release file names."""

    past: tuple[PastRelease, ...]
    counted: tuple[CountedRelease, ...]
    releases: tuple[RecordRef[Any], ...]


@dataclass(slots=True)
class ContinuationFinder:
    """Finds what the points of one sweep continue. What several of them ask is found once.

    source: the swept table. storage, base: where workers find copies. Where this home has released nothing and the release file
    names nothing, each answer is None, and nothing but the ledger is read.
    """

    source: Microdata
    storage: WorkingSet
    base: str
    _past: tuple[PastRelease, ...] | None = None
    _address: TableRef | None = None
    _schemas: dict[str, RecordRef[Schema]] = field(default_factory=dict)
    _steps: dict[str, Mechanisms | None] = field(default_factory=dict)
    _kept: dict[tuple[str, ...], tuple[TableRef, Steps]] = field(default_factory=dict)
    _counted: dict[tuple[str, str], CountedForTable] = field(default_factory=dict)

    def prepare(self, release: ReleaseSpec, schema: Schema) -> tuple[tuple[Masking, ...], Continuation | None]:
        """The steps of a point with what they keep of their series, and what the point continues; None: nothing.

        Raises InputError for steps that the series cannot be continued by, and as `count_releases`.
        """
        steps, table, key = self._keep_parts(release, schema)
        found = self.count(release, schema, table)
        if not found.releases and table is None and key is None:
            return steps, None
        continuation = Continuation(
            releases=found.releases,
            own=tuple(one.run for one in found.past),
            known=tuple(one.run for one in found.past if self._is_same_draw(one, release, schema, table)),
            series=release.series_name,
            lines=tuple(line for line in release.policy if line.measure == VALUES_RECONSTRUCTED.name),
            table=table,
            key=key,
        )
        return steps, continuation

    def count(self, release: ReleaseSpec, schema: Schema, table: TableRef | None = None) -> CountedForTable:
        """The earlier releases that count for a table of the sweep, copied for the workers.

        table: what is masked in place of the source. Raises InputError as `count_releases`.
        """
        if not self._list_past() and not release.context.prior_releases:
            if any(omission.release is not None for omission in release.omit):
                hand_to_attacks((), release.omit)  # which refuses them
            return CountedForTable((), (), ())
        if (asked := (self._store_schema(release, schema), table or "")) not in self._counted:
            self._counted[asked] = self._count(release, schema, table)
        return self._counted[asked]

    def refuse_draws_in_cluster(self, sweep: SweepDefinition) -> None:
        """InputError for a sweep that draws by the key of its series where workers cannot read that key."""
        if not self._list_past() or not list_released_tables(sweep.base.series_name):
            return
        for space, template in zip(sweep.spaces, sweep.templates, strict=True):
            drawn = any(isinstance(step, Mapping) and step.get("draw") == PER_PERSON for step in template.content["masking"])
            if drawn or any(PER_PERSON in axis.choices for axis in space.axes if axis.path.endswith(".draw")):
                what = "workers of a cluster cannot read the key by which the series draws per person"
                remedy = f"sweep over the pipeline {space.pipeline} on this machine, with `--runner local`"
                raise InputError("key-not-shared", "--runner", what, "pipelines without `draw: per_person`", remedy)

    def _list_past(self) -> tuple[PastRelease, ...]:
        if self._past is None:
            self._past = list_past_releases() if Ledger.current().exists() else ()
        return self._past

    def _find_address(self) -> TableRef:
        if self._address is None:
            self._address = Store().compute_table_address(self.source)
        return self._address

    def _store_schema(self, release: ReleaseSpec, schema: Schema) -> RecordRef[Schema]:
        plan = release.classify_plan.model_dump_json()
        if plan not in self._schemas:
            self._schemas[plan] = store_part(schema)
        return self._schemas[plan]

    def _count(self, release: ReleaseSpec, schema: Schema, table: TableRef | None) -> CountedForTable:
        source, classified = self._find_address(), self._store_schema(release, schema)
        data = self.source if table is None else Store().table(table)
        columns = list_person_columns(schema, release.key)[::-1]
        found = EarlierSearch(run="").find_releases(Population(source, data, columns, release.series_name))
        past = tuple(select_distinct_releases(found).values())
        refuse_denial(release, past)
        if not past and not release.context.prior_releases:
            return CountedForTable((), (), hand_to_attacks((), release.omit).to_attack)
        Store().put_table(self.source)
        counted = tuple(prepare_releases(_create_job(release, source, table or source, classified), past))
        given = hand_to_attacks(counted, release.omit).to_attack
        copies = KeptArtifacts(self.storage, self.base)
        for one in given:
            copies.copy_release(Store(), one)
        return CountedForTable(past, counted, given)

    def _keep_parts(self, release: ReleaseSpec, schema: Schema) -> tuple[tuple[Masking, ...], TableRef | None, str | None]:
        """The steps with the groups and laws of the series, the table that is masked in place of the source, and the key.

        Nothing is kept of a series that released nothing yet: its draws per person are new, and there are no groups.
        """
        steps = release.masking or ()
        frozen = any(isinstance(step, Microaggregation) and step.frozen for step in steps)
        personal = any(is_personal(step) for step in steps)
        if not frozen and not personal:
            return steps, None, None
        is_continued = bool(self._list_past() and list_released_tables(release.series_name))
        if frozen and not is_continued:
            raise _create_nothing_frozen_error(steps)
        if not is_continued or not (frozen or self._has_drawn(release, schema)):
            refuse_other_laws(release, self.source, schema)
            return steps, None, None
        asked = (self._store_schema(release, schema), *(step.model_dump_json(by_alias=True) for step in steps))
        if asked not in self._kept:
            self._kept[asked] = self._keep(release, schema)
        table, kept = self._kept[asked]
        key = _find_key(release.series_name) if personal and self._has_drawn(release, schema) else None
        return kept, None if table == self._find_address() else table, key

    def _keep(self, release: ReleaseSpec, schema: Schema) -> tuple[TableRef, Steps]:
        data = Store().put_table(self.source)
        table, steps = keep_earlier_parts(
            DirectRunner(), release, data, self._store_schema(release, schema), store_part(release.masking or (), Steps)
        )
        if table != data:
            KeptArtifacts(self.storage, self.base).copy_table(Store(), table)
        return table, Store().record(steps, Steps)

    def _has_drawn(self, release: ReleaseSpec, schema: Schema) -> bool:
        drawn: Steps = Store().record(find_kept_release(release, schema).drawn, Steps)
        return bool(drawn)

    def _is_same_draw(self, past: PastRelease, release: ReleaseSpec, schema: Schema, table: TableRef | None) -> bool:
        """Would certifying the point give the masked table of a past release: by the same steps with the same draw?"""
        tables, classified = past.tables, self._store_schema(release, schema)
        same = past.series == release.series_name and past.draw is not None and past.draw == current_draw(past.series)
        if not same or tables.get("data") != (table or self._find_address()) or tables.get("schema") != classified:
            return False
        return self._read_steps(past) == resolve_steps(release.masking or (), schema, "masking")

    def _read_steps(self, past: PastRelease) -> Mechanisms | None:
        """The masking steps of a past release; None where they are gone."""
        if past.run not in self._steps:
            try:
                self._steps[past.run] = Store().record(RecordRef[Mechanisms](past.tables["mechanisms"]), Mechanisms)
            except (Damaged, KeyError, ValueError):
                self._steps[past.run] = None
        return self._steps[past.run]


def _create_job(release: ReleaseSpec, source: TableRef, data: TableRef, schema: RecordRef[Schema]) -> ReleaseJob:
    """A release that is not masked yet, as far as earlier ones are looked for."""
    nothing = MaskingArtifacts("", data, None, schema, None, RecordRef[Mechanisms](""))
    return ReleaseJob(DirectRunner(), release, {"data": source, "report": RecordRef[IngestReport]("")}, nothing, (), None)


def _find_key(series: str) -> str | None:
    return current_pseudonym_key(series) or find_last_pseudonym_key(series)


def _create_nothing_frozen_error(steps: tuple[Masking, ...]) -> InputError:
    i = next(i for i, step in enumerate(steps) if isinstance(step, Microaggregation) and step.frozen)
    what = "the series has released no groups that could be kept: there is nothing to search"
    remedy = "take `frozen` out of the sweep; certify the release file that freezes its groups first"
    return InputError("frozen-in-sweep", f"masking[{i}].frozen", what, "steps that are carried out afresh", remedy)
