"""The chain of a release: ingest, classify, mask, attack, score, report, run as a course runs them."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from collections.abc import Callable
from functools import partial

from flows.course import Course, Made, Masked, kept, seen
from flows.models import model_carried_out
from flows.release import ReleaseSpec, known_of
from flows.trail import last_pseudonym_key
from tasks.attack.insiders import compute_rate
from tasks.attack.linkage.external import names_of, plan_of
from tasks.attack.linkage.whose import refuse_unfit_file
from tasks.attack.membership.inference import scores_of
from tasks.attack.membership.methods import TableAttack, attack_name
from tasks.attack.task import attack_release, choose_people, infer_membership
from tasks.attack.threat import Intruder, attack_id, find_larger_insiders, holders, intruders
from tasks.classify.task import classify_attributes
from tasks.ingest.external import relocate_errors
from tasks.ingest.methods import IngestReport
from tasks.ingest.task import file_digest, ingest_file, ingest_source, source_digest
from tasks.mask.control import refuse_small_control
from tasks.mask.pseudonyms import Pseudonyms
from tasks.mask.task import Steps, adopt_table, fit_control, mask_table, set_aside_control
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.microdata.units import units_of
from tasks.report.task import write_report
from tasks.runtime.artifacts import Ref, Store
from tasks.runtime.draws import pseudonym_key_of
from tasks.runtime.records import Produced
from tasks.score.local_privacy import refuse_limit_without_pram
from tasks.score.policy import check_policy
from tasks.score.task import score_release
from tasks.train.task import model_digest

CONTROL_TABLE = "ingest control"
Attempted = Callable[[str, str, str], str]  # source, source file, masking -> draw
Examined = Callable[[Schema, str], None]


def carried_out(course: Course, release: ReleaseSpec, attempted: Attempted, examined: Examined | None = None) -> Made:
    """The six stages of a release, run as a course runs them: by a journal, or by a replay that records nothing.

    examined: called before the attempt with the schema and the address of the source; what is asked of a new release alone.
    """
    digest = seen("source", source_digest(release.source))
    source = course.stage(ingest_source, "ingest", kept(release.ingest_plan), digest)
    schema = course.stage(classify_attributes, "classify", source["data"], kept(release.classify_plan))["schema"]
    course.warn(Store().record(Ref(source["report"]), IngestReport).notes)
    attributes = Store().record(Ref(schema), Schema)
    check_policy(release.policy, known_of(release, attributes))
    refuse_limit_without_pram(release.policy, attributes, release.steps)
    if examined is not None:
        examined(attributes, source["data"])
    files = _files(course, release, source["data"], schema)
    masked = _mask(course, release, source["data"], schema, partial(attempted, source["data"], digest))
    people: Produced = {}
    if release.membership_attacks:
        data, shown, alignment, schema, mechanisms = masked.aligned
        whence = "source" if release.control_plan is None else "another table"
        told = (data, masked.control, whence, shown, alignment, schema, mechanisms, masked.draw)
        people = course.stage(choose_people, "people", *told)
    if release.model is not None:
        return model_carried_out(course, release, release.model, source, masked, people)
    results = _attack(course, release, masked, files)
    members = _membership(course, release, masked, people)
    wanted = (kept(release.measures, tuple), kept(release.policy, tuple))
    scores = course.stage(score_release, "score", *masked.aligned, results, *wanted, members, people, kept(release.omit, tuple))
    page = course.stage(
        write_report,
        "report",
        *(kept(release.report_plan), masked.data, source["report"], schema, masked.table["masked"], masked.table["released"]),
        *(masked.table["alignment"], masked.table["mechanisms"], results, scores["score"], members, people, masked.control),
    )
    return Made(source["data"], masked.table["released"], scores["score"], page, masked.draw)


def _mask(course: Course, release: ReleaseSpec, data: str, schema: str, attempted: Callable[[str], str]) -> Masked:
    """Mask the table, or adopt the one that was masked elsewhere; the attempt is written down before it is made."""
    row_order = "shuffled" if release.keep_row_order is None else "kept"
    outside = _people_outside(course, release, data, schema)
    share, plan = release.control_share, release.adoption_plan
    if plan is not None:
        wanted, digest = kept(plan), seen("released", source_digest(plan.released))
        draw = attempted(":".join([wanted, digest, *([outside] if outside else [])]))
        table = course.stage(adopt_table, "mask", data, schema, wanted, digest, draw, row_order)
        if source_digest(plan.released) != digest:
            what, remedy = "the released table changed while it was read", "run again when it is complete"
            raise InputError("released-changed", "released", what, "a table at rest", remedy)
        course.warn(Store().record(Ref(table["notes"]), tuple[str, ...]))
        return Masked(draw, data, outside, schema, table)
    if share is not None:  # before the attempt is counted
        store = Store()
        refuse_small_control(units_of(store.table(Ref(data)), store.record(Ref(schema), Schema)), share)
    steps = kept(release.masking or (), Steps)
    aside = [] if share is None else [str(share)]
    draw = attempted(":".join([steps, *aside, *([outside] if outside else []), *_of_model(release)]))
    if share is not None:
        made = course.stage(set_aside_control, "control", data, schema, str(share), draw)
        data, outside = made["data"], made["control"]
    if release.masking is None:
        nothing = {"masked": data, "released": data, "alignment": "", "mechanisms": steps}
        return Masked(draw, data, outside, schema, nothing)
    table = course.stage(mask_table, "mask", data, schema, steps, draw, row_order, _pseudonym_key(release, draw))
    course.warn(Store().record(Ref(table["notes"]), tuple[str, ...]))
    return Masked(draw, data, outside, schema, table)


def _of_model(release: ReleaseSpec) -> tuple[str, ...]:
    """What is attempted of a model besides masking what it is trained on."""
    if release.model is None:
        return ()
    return (kept(release.model), *([] if release.model.file is None else [model_digest(release.model)]))


def _people_outside(course: Course, release: ReleaseSpec, data: str, schema: str) -> str:
    """The table of people who are not in the source, in its columns; empty: none is named."""
    plan = release.control_plan
    if plan is None:
        return ""
    with relocate_errors("control"):
        read = course.stage(ingest_source, CONTROL_TABLE, kept(plan), seen("control", source_digest(plan.source)))
    return course.stage(fit_control, "control", data, schema, read["data"], release.key or "")["control"]


def _pseudonym_key(release: ReleaseSpec, draw: str) -> str:
    """The id of the series' key where pseudonyms are to stay the same in it; a chosen seed makes a key that is no secret."""
    if not any(isinstance(step, Pseudonyms) and step.stable == "series" for step in release.steps):
        return ""
    if release.seed is not None:
        return draw
    return pseudonym_key_of(release.lineage, earlier=partial(last_pseudonym_key, release.lineage))


def _attack(course: Course, release: ReleaseSpec, masked: Masked, files: tuple[tuple[Intruder, str], ...]) -> list[Produced]:
    """Every attack by every intruder, side by side; the order of the results is the order of the plan.

    Where insiders know so much that not all sets of columns are tried, those with the worst set so far attack in rounds after.
    """
    store = Store()
    schema = store.record(Ref(masked.schema), Schema)
    shown = None if release.of_nobody else store.table(Ref(masked.table["released"]))  # no knowledge curve of rows of nobody
    attackers: list[tuple[Intruder, tuple[str, ...]]] = [(one, ()) for one in intruders(release.intruder, schema, shown)]
    attackers += [(holder, (address,)) for holder, address in files]
    results: list[Produced] = []
    rates: dict[str, float] = {}
    while attackers:
        jobs = {
            f"attack {attack_id(attack)} ({intruder.name})": (
                *masked.aligned,
                *(kept(attack), kept(intruder), str(release.intruder.targets), masked.draw, *file),
            )
            for intruder, file in attackers
            for attack in release.attacks_to_run
        }
        made = course.together(attack_release, "attack", jobs)
        results += made
        whose = [intruder.name for intruder, _ in attackers for _ in release.attacks_to_run]
        if release.intruder.insiders is not None:
            for name, one in zip(whose, made, strict=True):
                rate = compute_rate(store.table(Ref(one["outcomes"])) if "outcomes" in one else None)
                rates[name] = max(rate, rates.get(name, 0.0))
        attackers = [(one, ()) for one in find_larger_insiders(release.intruder, schema, rates)]
    return results


def _membership(course: Course, release: ReleaseSpec, masked: Masked, people: Produced) -> list[Produced]:
    """What every attack that tells who is in the file says of the people, side by side."""
    jobs = {}
    for spec in release.membership_attacks:
        linkage = scores_of(spec, release.attacks_to_run)
        told = (kept(spec, TableAttack), "" if linkage is None else kept(linkage))
        jobs[f"membership {attack_name(spec)}"] = (people, masked.schema, *told)
    return course.together(infer_membership, "membership", jobs) if jobs else []


def _files(course: Course, release: ReleaseSpec, data: str, schema: str) -> tuple[tuple[Intruder, str], ...]:
    """Who holds an external file, each with the address of what he holds; a file that does not fit is told before masking."""
    store, specs = Store(), release.intruder.files
    if not specs:
        return ()
    original, attributes = store.table(Ref(data)), store.record(Ref(schema), Schema)
    plans = [plan_of(file, i, original, attributes, release.attributes) for i, file in enumerate(specs)]
    names = names_of(specs)
    made = [
        course.stage(ingest_file, f"ingest {name}", kept(plan), file_digest(plan))
        for name, plan in zip(names, plans, strict=True)
    ]
    for produced in made:
        course.warn(store.record(Ref(produced["notes"]), tuple[str, ...]))
    tables = [store.table(Ref(produced["data"])) for produced in made]
    found = holders(release.intruder, attributes, tuple(table.names for table in tables))
    for holder, table in zip(found, tables, strict=True):
        if holder.file is not None:
            refuse_unfit_file(original, attributes, table, holder.file)
    return tuple((holder, produced["data"]) for holder, produced in zip(found, made, strict=True))
