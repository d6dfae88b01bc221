"""The stages that mask the source, or adopt a table that was masked elsewhere, and those that set a control aside."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from collections.abc import Callable
from functools import partial

from flows.kinds import find_kind
from flows.release import ReleaseSpec
from flows.run.kept_release import KeptRelease, find_kept_release
from flows.run.run_entries import find_last_pseudonym_key
from flows.run.stage_runner import MaskingArtifacts, StageRunner, assert_unchanged, store_part
from tasks.audit.series.past_releases import KEEP_RELEASED
from tasks.ingest.external_table import relocate_errors
from tasks.ingest.task import ingest_released, ingest_source, source_digest
from tasks.mask.control import refuse_small_control
from tasks.mask.external_release.adoption import AdoptionPlan
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.outputs import MaskOutputs, Mechanisms
from tasks.mask.personal_laws import is_personal
from tasks.mask.pseudonyms import Pseudonyms
from tasks.mask.task import RowOrder, Steps, adopt_table, fit_control, keep_released, mask_table, set_aside_control
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.units import find_units
from tasks.runtime.artifacts import Store
from tasks.runtime.draws import find_or_create_pseudonym_key

CONTROL_TABLE = "ingest control"
RELEASED_TABLE = "ingest released"
CountMasking = Callable[[str], str]  # what is attempted -> draw


def mask_source(
    runner: StageRunner, release: ReleaseSpec, data: TableRef, schema: RecordRef[Schema], count_attempt: CountMasking
) -> MaskingArtifacts:
    """Mask the table, or adopt the one that was masked elsewhere; the attempt is written down before it is made."""
    control = _ingest_control(runner, release, data, schema)
    if release.adoption_plan is not None:
        return _adopt(runner, release, release.adoption_plan, data, schema, control, count_attempt)
    share = release.control_share
    if share is not None:  # before the attempt is counted
        store = Store()
        refuse_small_control(find_units(store.table(data), store.record(schema, Schema)), share)
    steps = store_part(release.masking or (), Steps)
    data, steps = keep_earlier_parts(runner, release, data, schema, steps)
    aside = () if share is None else (str(share),)
    draw = count_attempt(_join_attempt(steps, *aside, control, *find_kind(release).list_attempt_parts(release)))
    if share is not None:
        parts = runner.run("control", set_aside_control.bind(data, schema, share, draw))
        data, control = parts["data"], parts["control"]
    if release.masking is None:
        mechanisms: RecordRef[Mechanisms] = RecordRef(steps)
        return MaskingArtifacts(draw, data, control, schema, None, mechanisms)
    key = _get_pseudonym_key(release, draw)
    table = runner.run("mask", mask_table.bind(data, schema, steps, draw, _get_row_order(release), key))
    return _collect(runner, draw, data, control, schema, table)


def keep_earlier_parts(
    runner: StageRunner, release: ReleaseSpec, data: TableRef, schema: RecordRef[Schema], steps: RecordRef[Steps]
) -> tuple[TableRef, RecordRef[Steps]]:
    """The table and the steps of a release that keeps groups or draws of earlier ones of its series; of others as they are.

    A replay keeps those that the run kept, whatever was released since.
    """
    if not any(is_personal(step) or (isinstance(step, Microaggregation) and step.frozen) for step in release.steps):
        return data, steps
    given = runner.recall_inputs(KEEP_RELEASED)
    earlier = find_kept_release(release, Store().record(schema, Schema)) if given is None else KeptRelease(*given[-5:])
    tables = (earlier.data, earlier.masked, earlier.alignment, earlier.history)
    call = keep_released.bind(data, schema, steps, release.key, earlier.drawn, *tables)
    made = runner.run(KEEP_RELEASED, call)
    runner.warn(Store().record(made["notes"], tuple[str, ...]))
    return made["data"], made["steps"]


def _adopt(
    runner: StageRunner,
    release: ReleaseSpec,
    plan: AdoptionPlan,
    data: TableRef,
    schema: RecordRef[Schema],
    control: TableRef | None,
    count_attempt: CountMasking,
) -> MaskingArtifacts:
    """Read a table that was masked elsewhere, and align it with the source."""
    wanted, digest = store_part(plan), assert_unchanged("released", source_digest(plan.released))
    draw = count_attempt(_join_attempt(wanted, digest, control))
    reading = store_part(plan.create_reading_plan(Store().record(schema, Schema)))
    given = runner.run(RELEASED_TABLE, ingest_released.bind(reading, digest))
    order = _get_row_order(release)
    table = runner.run("mask", adopt_table.bind(data, schema, wanted, digest, draw, order, given["data"], given["notes"]))
    return _collect(runner, draw, data, control, schema, table)


def _collect(
    runner: StageRunner,
    draw: str,
    data: TableRef,
    control: TableRef | None,
    schema: RecordRef[Schema],
    table: MaskOutputs,
) -> MaskingArtifacts:
    runner.warn(Store().record(table["notes"], tuple[str, ...]))
    return MaskingArtifacts(draw, data, control, schema, table, table["mechanisms"])


def _join_attempt(*parts: str | None) -> str:
    """What is attempted, as the ledger counts it: the parts that there are."""
    return ":".join(part for part in parts if part is not None)


def _get_row_order(release: ReleaseSpec) -> RowOrder:
    return "shuffled" if release.keep_row_order is None else "kept"


def _ingest_control(runner: StageRunner, release: ReleaseSpec, data: TableRef, schema: RecordRef[Schema]) -> TableRef | None:
    """The table of people who are not in the source, in its columns; None if none is named."""
    plan = release.control_plan
    if plan is None:
        return None
    with relocate_errors("control"):
        digest = assert_unchanged("control", source_digest(plan.source))
        read = runner.run(CONTROL_TABLE, ingest_source.bind(store_part(plan), digest))
    return runner.run("control", fit_control.bind(data, schema, read["data"], release.key))["control"]


def _get_pseudonym_key(release: ReleaseSpec, draw: str) -> str | None:
    """The id of the series' key where pseudonyms or draws stay the same in it; a chosen seed makes a key that is no secret."""
    if not any(is_personal(step) or (isinstance(step, Pseudonyms) and step.stable == "series") for step in release.steps):
        return None
    if release.seed is not None:
        return draw
    return find_or_create_pseudonym_key(release.series_name, earlier=partial(find_last_pseudonym_key, release.series_name))
