"""The stages of a released table, as `run_stages` calls them: each binds a task to its inputs and checks what it made."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from flows.release import ReleaseSpec, collect_policy_names
from flows.run.stage_runner import MaskingArtifacts, StageRunner, store_part
from tasks.attack.insiders import compute_rate
from tasks.attack.linkage.external import names_of, plan_of
from tasks.attack.linkage.file_alignment import refuse_unfit_file
from tasks.attack.membership.inference import scores_of
from tasks.attack.membership.law_ratio import LawRatio
from tasks.attack.membership.methods import AnyTableAttack, OfDeclaredIntruder, attack_name
from tasks.attack.outputs import AttackOutputs, MembershipOutputs, PeopleOutputs
from tasks.attack.task import attack_release, choose_people, infer_membership
from tasks.attack.threat import Intruder, find_larger_insiders, holders, intruders, list_membership_intruders
from tasks.ingest.methods import IngestReport
from tasks.ingest.task import file_digest, ingest_file
from tasks.mask.outputs import MaskOutputs
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.report.outputs import ReportOutputs
from tasks.report.task import write_report
from tasks.runtime.artifacts import Store
from tasks.score.estimates import Score
from tasks.score.local_privacy import refuse_limit_without_pram
from tasks.score.policy import check_policy
from tasks.score.task import score_release

FileHolders = tuple[tuple[Intruder, TableRef], ...]


def check_source(runner: StageRunner, release: ReleaseSpec, report: RecordRef[IngestReport], schema: RecordRef[Schema]) -> None:
    """Pass on what ingest noted, and refuse a policy that this source cannot be held to."""
    store = Store()
    runner.warn(store.record(report, IngestReport).notes)
    attributes = store.record(schema, Schema)
    check_policy(release.policy, collect_policy_names(release, attributes))
    refuse_limit_without_pram(release.policy, attributes, release.steps)


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


def run_attacks(
    runner: StageRunner, release: ReleaseSpec, masked: MaskingArtifacts, table: MaskOutputs, files: FileHolders
) -> list[AttackOutputs]:
    """Every attack by every intruder, side by side; the order of the results is the order of the plan.

    Where insiders know so much that not all sets of columns are tried, those with the worst set so far attack in rounds after.
    """
    store = Store()
    schema = store.record(masked.schema, Schema)
    released = None if release.is_fully_synthetic else store.table(table["released"])  # no knowledge curve of rows of nobody
    attackers: list[tuple[Intruder, TableRef | None]] = [(one, None) for one in intruders(release.intruder, schema, released)]
    attackers += files
    results: list[AttackOutputs] = []
    rates: dict[str, float] = {}
    while attackers:
        jobs = [(intruder, file, attack) for intruder, file in attackers for attack in release.attacks_to_run]
        calls = {
            f"attack {attack.attack_id} ({intruder.name})": attack_release.bind(
                data=masked.data,
                masked=table["masked"],
                alignment=table["alignment"],
                schema=masked.schema,
                mechanisms=masked.mechanisms,
                plan=store_part(attack),
                intruder=store_part(intruder),
                share=release.intruder.targets,
                draw=masked.draw,
                file=file,
            )
            for intruder, file, attack in jobs
        }
        outputs = runner.run_all("attack", calls)
        results += outputs
        if release.intruder.insiders is not None:
            for (intruder, _, _), one in zip(jobs, outputs, strict=True):
                rate = compute_rate(store.table(one["outcomes"]) if "outcomes" in one else None)
                rates[intruder.name] = max(rate, rates.get(intruder.name, 0.0))
        attackers = [(one, None) for one in find_larger_insiders(release.intruder, schema, rates)]
    return results


def run_membership_attacks(
    runner: StageRunner, release: ReleaseSpec, masked: MaskingArtifacts, people: PeopleOutputs | None
) -> list[MembershipOutputs]:
    """What every attack that infers who is in the file says of the people, side by side."""
    if people is None:
        return []
    calls = {}
    schema = Store().record(masked.schema, Schema)
    for attack in release.membership_attacks:
        if isinstance(attack, AnyTableAttack):
            linkage = scores_of(attack, release.attacks_to_run)
            who = list_membership_intruders(release.intruder, schema) if isinstance(attack, OfDeclaredIntruder) else ()
            calls[f"membership {attack_name(attack)}"] = infer_membership.bind(
                people=people,
                schema=masked.schema,
                plan=store_part(attack),
                linkage=None if linkage is None else store_part(linkage),
                intruders=[store_part(one) for one in who],
                mechanisms=masked.mechanisms if isinstance(attack, LawRatio) else None,
            )
    return runner.run_all("membership", calls)


def ingest_files(runner: StageRunner, release: ReleaseSpec, data: TableRef, schema: RecordRef[Schema]) -> FileHolders:
    """The intruders who have an external file, each with its address; a file that does not fit is refused before masking."""
    store, specs = Store(), release.intruder.files
    if not specs:
        return ()
    original, attributes = store.table(data), store.record(schema, Schema)
    plans = [plan_of(file, i, original, attributes, release.attributes) for i, file in enumerate(specs)]
    read = [
        runner.run(f"ingest {name}", ingest_file.bind(store_part(plan), file_digest(plan)))
        for name, plan in zip(names_of(specs), plans, strict=True)
    ]
    for outputs in read:
        runner.warn(store.record(outputs["notes"], tuple[str, ...]))
    tables = [store.table(outputs["data"]) for outputs in read]
    found = holders(release.intruder, attributes, tuple(table.names for table in tables))
    for holder, table in zip(found, tables, strict=True):
        if holder.file is not None:
            refuse_unfit_file(original, attributes, table, holder.file)
    return tuple((holder, outputs["data"]) for holder, outputs in zip(found, read, strict=True))


def score_results(
    runner: StageRunner,
    release: ReleaseSpec,
    masked: MaskingArtifacts,
    table: MaskOutputs,
    results: list[AttackOutputs],
    members: list[MembershipOutputs],
    people: PeopleOutputs | None,
) -> RecordRef[Score]:
    """Risk and loss of the released table, and the verdict of the policy."""
    call = score_release.bind(
        data=masked.data,
        masked=table["masked"],
        alignment=table["alignment"],
        schema=masked.schema,
        mechanisms=masked.mechanisms,
        results=results,
        measures=store_part(release.measures, tuple),
        policy=store_part(release.policy, tuple),
        members=members,
        people=people,
        omit=store_part(release.omit, tuple),
    )
    return runner.run("score", call)["score"]


def report_results(
    runner: StageRunner,
    release: ReleaseSpec,
    masked: MaskingArtifacts,
    table: MaskOutputs,
    validation: RecordRef[IngestReport],
    schema: RecordRef[Schema],
    results: list[AttackOutputs],
    members: list[MembershipOutputs],
    people: PeopleOutputs | None,
    score: RecordRef[Score],
) -> ReportOutputs:
    """The report for the public, and the one for the steward."""
    call = write_report.bind(
        plan=store_part(release.report_plan),
        data=masked.data,
        validation=validation,
        schema=schema,
        masked=table["masked"],
        released=table["released"],
        alignment=table["alignment"],
        mechanisms=masked.mechanisms,
        results=results,
        score=score,
        members=members,
        people=people,
        control=masked.control,
    )
    return runner.run("report", call)
