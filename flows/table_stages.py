"""The stages that every kind of release shares: each binds a task to its inputs and checks what it made."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from flows.release import ReleaseSpec, collect_policy_names
from flows.run.stage_runner import MaskingArtifacts, StageRunner, store_part
from tasks.attack.file_holders import hold_files
from tasks.attack.linkage.external_files import name_files, plan_file
from tasks.attack.outputs import PeopleOutputs
from tasks.attack.task import choose_people
from tasks.attack.threat import Intruder
from tasks.ingest.methods import IngestReport
from tasks.ingest.task import file_digest, ingest_file
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.runtime.artifacts import Store
from tasks.score.hidden_results import check_hidden_results
from tasks.score.local_privacy import refuse_limit_without_pram
from tasks.score.policy import check_policy

FileHolders = tuple[tuple[Intruder, TableRef], ...]


def check_source(
    runner: StageRunner, release: ReleaseSpec, data: TableRef, report: RecordRef[IngestReport], schema: RecordRef[Schema]
) -> None:
    """Pass on what ingest noted, and refuse a policy and rules that this source cannot be held to."""
    store = Store()
    runner.warn(store.record(report, IngestReport).notes)
    attributes = store.record(schema, Schema)
    check_policy(release.policy, collect_policy_names(release, attributes))
    refuse_limit_without_pram(release.policy, attributes, release.steps)
    check_hidden_results(release.measures, store.table(data), attributes)


def select_people(runner: StageRunner, release: ReleaseSpec, masked: MaskingArtifacts) -> PeopleOutputs:
    """The people about whom membership attacks are asked."""
    call = choose_people.bind(
        data=masked.data,
        control=masked.control,
        control_origin="source" if release.control_plan is None else "another table",
        masked=masked.masked,
        alignment=masked.alignment,
        schema=masked.schema,
        mechanisms=masked.mechanisms,
        draw=masked.draw,
    )
    return runner.run("people", call)


def ingest_files(runner: StageRunner, release: ReleaseSpec, data: TableRef, schema: RecordRef[Schema]) -> FileHolders:
    """The intruders who have an external file, each with its address; a file that does not fit is refused before masking."""
    store, specs = Store(), release.intruder.files
    if not specs:
        return ()
    original, attributes = store.table(data), store.record(schema, Schema)
    plans = [plan_file(file, i, original, attributes, release.attributes) for i, file in enumerate(specs)]
    read = [
        runner.run(f"ingest {name}", ingest_file.bind(store_part(plan), file_digest(plan)))
        for name, plan in zip(name_files(specs), plans, strict=True)
    ]
    for outputs in read:
        runner.warn(store.record(outputs["notes"], tuple[str, ...]))
    tables = [store.table(outputs["data"]) for outputs in read]
    held = hold_files(release.intruder, original, attributes, tuple(tables))
    combined = (store.put_table(one.table) for one in held[len(read) :])
    addresses = (*(outputs["data"] for outputs in read), *combined)
    return tuple((one.holder, address) for one, address in zip(held, addresses, strict=True))
