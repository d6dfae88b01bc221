"""The stages of a table whose rows belong to people: attacks by linkage and membership, scores, report."""

from __future__ import annotations

from functools import partial

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from flows.kinds.base import AttackResults, KindFlow, MadeRelease, ReleaseJob
from flows.release import ReleaseSpec
from flows.run.certificate import ReleasedFile
from flows.run.looks import describe_look, name_look
from flows.run.progress import listener
from flows.run.publish import AddFile
from flows.run.stage_runner import ReleaseArtifacts, store_part
from tasks.attack.inference.experiment import list_secrets
from tasks.attack.inference.model_based_disclosure import ModelBasedDisclosure
from tasks.attack.inference.outcomes import InferenceOutputs
from tasks.attack.inference.task import infer_confidential_values
from tasks.attack.insiders import compute_rate
from tasks.attack.membership.inference import find_scored_linkage
from tasks.attack.membership.law_ratio import LawRatio
from tasks.attack.membership.methods import AnyTableAttack, OfDeclaredIntruder, attack_name
from tasks.attack.outputs import AttackOutputs, MembershipOutputs
from tasks.attack.singling_out.outcomes import SinglingOutOutputs
from tasks.attack.singling_out.task import single_people_out
from tasks.attack.target_looks import TargetLook, find_largest_share, plan_looks
from tasks.attack.task import attack_release, infer_membership
from tasks.attack.threat import (
    Intruder,
    find_larger_insiders,
    intruders,
    is_on_knowledge_curve,
    list_membership_intruders,
)
from tasks.attack.together.earlier_release import EarlierRelease
from tasks.attack.together.earlier_releases import EarlierReleases
from tasks.attack.together.task import attack_with_earlier_releases, reconstruct_from_releases
from tasks.attack.together.value_reconstruction import ReconstructionResult
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.report.kinds.masked_table import MASKED_TABLE_REPORT
from tasks.report.outputs import ReportOutputs
from tasks.report.publication import name_released_file, write_released
from tasks.report.statement import create_column_claims
from tasks.report.task import write_report
from tasks.runtime.artifacts import Store, content_address
from tasks.runtime.stages import StageCall
from tasks.score.look_decisions import LookOutcome
from tasks.score.policy import DECLARED
from tasks.score.release_figures import Score
from tasks.score.task import decide_at_look, score_release


def list_attempt_parts(_: ReleaseSpec) -> tuple[str, ...]:
    """Nothing but the masking is attempted."""
    return ()


def make_table(job: ReleaseJob) -> MadeRelease:
    return MadeRelease(job.masked.require_table()["released"])


def attack_table(job: ReleaseJob, _: MadeRelease) -> AttackResults:
    """What linkage finds, what the attacks say that infer who is in the file, and what follows with earlier releases."""
    found, look = attack_in_looks(job)
    members, inferred, isolated = run_membership_attacks(job), run_inference_attacks(job), run_singling_out(job)
    return AttackResults(found, members, reconstruction=reconstruct(job), inferred=inferred, isolated=isolated, look=look)


def attack_in_looks(job: ReleaseJob) -> tuple[list[AttackOutputs], TargetLook | None]:
    """What linkage finds: at the first planned look after which more targets cannot decide more; where no looks are planned,
    of the share of the targets.

    Every look attacks its targets anew, those of the look before among them, so that its results are those of a plain share.
    Attacks in which all records take part are carried out in full at each look.
    """
    planned = plan_looks(job.release.intruder.targets)
    if not planned:
        return run_attacks(job), None
    for look in planned:
        results = run_attacks(job, look)
        outcome = decide_after_look(job, results, look)
        listener.get().tell(describe_look(outcome))
        if outcome.state != "open":
            return results, look
    raise RuntimeError("the last look leaves nothing open")


def decide_after_look(job: ReleaseJob, results: list[AttackOutputs], look: TargetLook) -> LookOutcome:
    """What the figures of a look decide, and whether the next one can decide more."""
    table = job.masked.require_table()
    call = decide_at_look.bind(
        data=job.masked.data,
        masked=table["masked"],
        alignment=table["alignment"],
        schema=job.masked.schema,
        mechanisms=job.masked.mechanisms,
        results=results,
        policy=store_part(job.release.policy, tuple),
        omit=store_part(job.release.omit, tuple),
        earlier=list(job.earlier),
        look=store_part(look),
        held=job.release.intruder.records,
    )
    return Store().record(job.runner.run(look.name, call)["outcome"], LookOutcome)


def run_attacks(job: ReleaseJob, look: TargetLook | None = None) -> list[AttackOutputs]:
    """Every attack by every intruder, side by side; the order of the results is the order of the plan.

    look: the planned look whose targets are attacked; None: those of the release's one share.
    Where insiders know so much that not all sets of columns are tried, those with the worst set so far attack in rounds after.
    """
    store, release, masked, table = Store(), job.release, job.masked, job.masked.require_table()
    schema = store.record(masked.schema, Schema)
    shared = [store.table(one) for one in (masked.data, table["masked"], table["alignment"])]  # no attack reads them anew
    released = store.table(table["released"]) if release.kind.has_owners else None  # no knowledge curve of rows of nobody
    attackers: list[tuple[Intruder, TableRef | None]] = [(one, None) for one in intruders(release.intruder, schema, released)]
    attackers += job.files
    results: list[AttackOutputs] = []
    share, at_look = find_share(job, look), name_look(look)
    rates: dict[str, float] = {}
    while attackers:
        jobs = [(intruder, file, attack) for intruder, file in attackers for attack in release.attacks_to_run]
        calls = {
            f"attack {attack.attack_id} ({intruder.name}){at_look}": attack_release.bind(
                data=masked.data,
                masked=table["masked"],
                alignment=table["alignment"],
                schema=masked.schema,
                mechanisms=masked.mechanisms,
                plan=store_part(attack),
                intruder=store_part(intruder),
                share=share,
                draw=masked.draw,
                file=file,
            )
            for intruder, file, attack in jobs
        }
        calls |= bind_earlier_attacks(job, [one for one, file in attackers if file is None], look)
        outputs = job.runner.run_all(f"attack{at_look}", calls)
        results += outputs
        if release.intruder.insiders is not None:
            for (intruder, _, _), one in zip(
                jobs, outputs, strict=False
            ):  # insiders are chosen by what this release tells alone
                rate = compute_rate(store.table(one["outcomes"]) if "outcomes" in one else None)
                rates[intruder.name] = max(rate, rates.get(intruder.name, 0.0))
        attackers = [(one, None) for one in find_larger_insiders(release.intruder, schema, rates)]
    shared.clear()
    return results


def find_share(job: ReleaseJob, look: TargetLook | None) -> float:
    """The share of the records that is attacked: of a look, or of the release."""
    return find_largest_share(job.release.intruder.targets) if look is None else look.share


def bind_earlier_attacks(
    job: ReleaseJob, intruders: list[Intruder], look: TargetLook | None = None
) -> dict[str, StageCall[AttackOutputs]]:
    """The attacks that join the release with the earlier ones that count: on its own rows, and on those of each of these.

    Who knows only some of the declared intruder's attributes finds less, and is not asked.
    """
    if not job.earlier or not job.release.kind.has_owners:
        return {}
    store, table, method = Store(), job.masked.require_table(), EarlierReleases.get_method()
    releases = [(one, store.record(one, EarlierRelease)) for one in job.earlier]
    usable = any(release.tables is not None for _, release in releases)
    attacked = [(None, method)] if usable else []
    return {
        f"attack {name} ({intruder.name}){name_look(look)}": attack_with_earlier_releases.bind(
            data=job.masked.data,
            masked=table["masked"],
            alignment=table["alignment"],
            schema=job.masked.schema,
            mechanisms=job.masked.mechanisms,
            intruder=store_part(intruder),
            share=find_share(job, look),
            draw=job.masked.draw,
            series=job.release.series_name,
            earlier=list(job.earlier),
            of=of,
        )
        for intruder in intruders
        if not is_on_knowledge_curve(intruder.name)
        for of, name in (*attacked, *((one, f"{method}:{release.name}") for one, release in releases))
    }


def run_membership_attacks(job: ReleaseJob) -> list[MembershipOutputs]:
    """What every attack that infers who is in the file says of the people, side by side."""
    if job.people is None:
        return []
    calls = {}
    schema = Store().record(job.masked.schema, Schema)
    for attack in job.release.membership_attacks:
        if isinstance(attack, AnyTableAttack):
            linkage = find_scored_linkage(attack, job.release.attacks_to_run)
            by_declared = isinstance(attack, OfDeclaredIntruder)
            who = list_membership_intruders(job.release.intruder, schema) if by_declared else ()
            calls[f"membership {attack_name(attack)}"] = infer_membership.bind(
                people=job.people,
                schema=job.masked.schema,
                plan=store_part(attack),
                linkage=None if linkage is None else store_part(linkage),
                intruders=[store_part(one) for one in who],
                mechanisms=job.masked.mechanisms if isinstance(attack, LawRatio) else None,
            )
    return job.runner.run_all("membership", calls)


def run_inference_attacks(job: ReleaseJob) -> list[InferenceOutputs]:
    """What every attack that infers confidential values finds, by each intruder who is to infer: of this release, and where
    nobody is known not to be in it, of a rehearsal as well. An intruder who knows all of them has nothing to infer.
    """
    table, masked, release = job.masked.require_table(), job.masked, job.release
    schema = Store().record(masked.schema, Schema)
    everybody = (*intruders(release.intruder, schema), *(holder for holder, _ in job.files))
    calls = {
        _name_inference(attack, who, is_rehearsal=is_rehearsal): infer_confidential_values.bind(
            data=masked.data,
            control=masked.control,
            masked=table["masked"],
            alignment=table["alignment"],
            schema=masked.schema,
            mechanisms=masked.mechanisms,
            plan=store_part(attack),
            intruder=store_part(who),
            is_rehearsal=is_rehearsal,
            can_be_rehearsed=release.released is None,
            draw=masked.draw,
        )
        for attack in release.inference_attacks
        for who in everybody
        if attack.is_by(who.name) and list_secrets(schema, who.knows)
        for is_rehearsal in ((False,) if masked.control is not None else (False, True))
    }
    return job.runner.run_all("inference", calls) if calls else []


def _name_inference(attack: ModelBasedDisclosure, who: Intruder, *, is_rehearsal: bool) -> str:
    by = "" if who.name == DECLARED else f" ({who.name})"
    return f"inference {attack.attack_id}{by}{' (rehearsal)' if is_rehearsal else ''}"


def run_singling_out(job: ReleaseJob) -> list[SinglingOutOutputs]:
    """Whom the released rows single out, where a policy line asks: of this release, and where nobody is known not to be in it,
    of a rehearsal as well.
    """
    if not job.release.limits_singling_out:
        return []
    masked = job.masked
    calls = {
        f"singling out{' (rehearsal)' if is_rehearsal else ''}": single_people_out.bind(
            data=masked.data,
            control=masked.control,
            masked=masked.require_table()["masked"],
            schema=masked.schema,
            mechanisms=masked.mechanisms,
            is_rehearsal=is_rehearsal,
            can_be_rehearsed=job.release.released is None,
            draw=masked.draw,
        )
        for is_rehearsal in ((False,) if masked.control is not None else (False, True))
    }
    return job.runner.run_all("singling out", calls)


def reconstruct(job: ReleaseJob) -> RecordRef[ReconstructionResult] | None:
    """The values that follow from the group means of this release and earlier ones; None where no earlier release counts, or
    the rows belong to nobody.
    """
    if not job.earlier or not job.release.kind.has_owners:
        return None
    table = job.masked.require_table()
    call = reconstruct_from_releases.bind(
        data=job.masked.data,
        masked=table["masked"],
        alignment=table["alignment"],
        schema=job.masked.schema,
        mechanisms=job.masked.mechanisms,
        earlier=list(job.earlier),
    )
    return job.runner.run("reconstruction", call)["reconstruction"]


def score_table(job: ReleaseJob, found: AttackResults) -> RecordRef[Score]:
    """Risk and loss of the released table, and the verdict of the policy."""
    release, table = job.release, job.masked.require_table()
    call = score_release.bind(
        data=job.masked.data,
        masked=table["masked"],
        alignment=table["alignment"],
        schema=job.masked.schema,
        mechanisms=job.masked.mechanisms,
        results=found.results,
        measures=store_part(release.measures_to_compute, tuple),
        policy=store_part(release.policy, tuple),
        members=found.members,
        people=job.people,
        omit=store_part(release.omit, tuple),
        earlier=list(job.earlier),
        reconstruction=found.reconstruction,
        inferred=found.inferred,
        isolated=found.isolated,
        look=None if found.look is None else store_part(found.look),
    )
    return job.runner.run("score", call)["score"]


def report_table(job: ReleaseJob, _: MadeRelease, found: AttackResults, score: RecordRef[Score]) -> ReportOutputs:
    """The report for the public, and the one for the steward."""
    table = job.masked.require_table()
    call = write_report.bind(
        plan=store_part(job.release.report_plan.model_copy(update={"epsilon_over_releases": job.epsilon_over_releases})),
        data=job.masked.data,
        validation=job.source["report"],
        schema=job.masked.schema,
        masked=table["masked"],
        released=table["released"],
        alignment=table["alignment"],
        mechanisms=job.masked.mechanisms,
        results=found.results,
        score=score,
        members=found.members,
        people=job.people,
        control=job.masked.control,
        inferred=found.inferred,
        isolated=found.isolated,
    )
    return job.runner.run("report", call)


def write_table_file(made: ReleaseArtifacts, release: ReleaseSpec, add_file: AddFile) -> ReleasedFile:
    table, how = Store().table(TableRef(made.released)), release.publish.format
    name = name_released_file(how)
    digest = add_file(name, partial(write_released, table, how))
    return ReleasedFile(name, digest, content_address(table), table.n, create_column_claims(table))


MASKED_TABLE_FLOW = KindFlow(
    wording=MASKED_TABLE_REPORT,
    list_attempt_parts=list_attempt_parts,
    make=make_table,
    made_by=("mask",),
    attack=attack_table,
    score=score_table,
    report=report_table,
    write_file=write_table_file,
)
