"""The chain of a release: ingest, classify, mask, attack, score, report, run as a course runs them."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from prefect import Task

from flows.release import ReleaseSpec, known_of
from tasks.attack.linkage.external import names_of, plan_of
from tasks.attack.linkage.whose import refuse_unfit_file
from tasks.attack.task import attack_release
from tasks.attack.threat import Intruder, attack_id, holders, intruders
from tasks.classify.task import classify_attributes
from tasks.ingest.methods import IngestReport
from tasks.ingest.task import file_digest, ingest_file, ingest_source, source_digest
from tasks.mask.pseudonyms import Pseudonyms
from tasks.mask.task import Steps, adopt_table, mask_table
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.report.task import write_report
from tasks.runtime.artifacts import Ref, Store
from tasks.runtime.caching import Produced
from tasks.runtime.draws import pseudonym_key_of
from tasks.score.policy import check_policy
from tasks.score.task import score_release

Attempted = Callable[[str, str, str], str]  # source, source file, masking -> draw
looked_at: ContextVar[Mapping[str, str]] = ContextVar("looked_at", default={})  # noqa: B039  # never changed in place
"""Keyed digests of `source` and `released` as a watch saw them: what came in their place since then is not certified."""


class Course(Protocol):
    """How stages are run: a `Journal` caches and records them, a replay computes them and compares."""

    def stage(self, task: Task[..., Produced], name: str, *arguments: Any) -> Produced: ...

    def together(self, task: Task[..., Produced], title: str, jobs: dict[str, tuple[Any, ...]]) -> list[Produced]: ...

    def warn(self, notes: tuple[str, ...]) -> None: ...


@dataclass(frozen=True, slots=True)
class Made:
    """What the stages of one release made, by address."""

    source: str
    released: str
    score: str
    page: Produced
    draw: str


def carried_out(course: Course, release: ReleaseSpec, attempted: Attempted) -> Made:
    """The six stages of a release, run as a course runs them: by a journal, or by a replay that records nothing."""
    digest = _seen("source", source_digest(release.source))
    source = course.stage(ingest_source, "ingest", _kept(release.ingest_plan), digest)
    schema = course.stage(classify_attributes, "classify", source["data"], _kept(release.classify_plan))["schema"]
    course.warn(Store().record(Ref(source["report"]), IngestReport).notes)
    check_policy(release.policy, known_of(release, Store().record(Ref(schema), Schema)))
    files = _files(course, release, source["data"], schema)
    draw, table = _mask(course, release, source["data"], schema, partial(attempted, source["data"], digest))
    masked = (source["data"], table["masked"], table["alignment"], schema, table["mechanisms"])
    results = _attack(course, release, schema, table, masked, draw, files)
    scores = course.stage(
        score_release, "score", *masked, results, *(_kept(release.measures, tuple), _kept(release.policy, tuple))
    )
    page = course.stage(
        write_report,
        "report",
        *(_kept(release.report_plan), source["data"], source["report"], schema, table["masked"], table["released"]),
        *(table["alignment"], table["mechanisms"], results, scores["score"]),
    )
    return Made(source["data"], table["released"], scores["score"], page, draw)


def _mask(
    course: Course, release: ReleaseSpec, data: str, schema: str, attempted: Callable[[str], str]
) -> tuple[str, Produced]:
    """Mask the table, or adopt the one that was masked elsewhere; the attempt is written down before it is made."""
    row_order = "shuffled" if release.keep_row_order is None else "kept"
    plan = release.adoption_plan
    if plan is None:
        steps = _kept(release.masking, Steps)
        draw = attempted(steps)
        table = course.stage(mask_table, "mask", data, schema, steps, draw, row_order, _pseudonym_key(release, draw))
        course.warn(Store().record(Ref(table["notes"]), tuple[str, ...]))
        return draw, table
    kept, digest = _kept(plan), _seen("released", source_digest(plan.released))
    draw = attempted(f"{kept}:{digest}")
    table = course.stage(adopt_table, "mask", data, schema, kept, digest, draw, row_order)
    if source_digest(plan.released) != digest:
        what, remedy = "the released table changed while it was read", "run again when it is complete"
        raise InputError("released-changed", "released", what, "a table at rest", remedy)
    course.warn(Store().record(Ref(table["notes"]), tuple[str, ...]))
    return draw, table


def _pseudonym_key(release: ReleaseSpec, draw: str) -> str:
    """The id of the series' key where pseudonyms are to stay the same in it; a chosen seed makes a key that is no secret."""
    if not any(isinstance(step, Pseudonyms) and step.stable == "series" for step in release.steps):
        return ""
    return pseudonym_key_of(release.lineage) if release.seed is None else draw


def _attack(
    course: Course,
    release: ReleaseSpec,
    schema: str,
    table: Produced,
    masked: tuple[str, ...],
    draw: str,
    files: tuple[tuple[Intruder, str], ...],
) -> list[Produced]:
    """Every attack by every intruder, side by side; the order of the results is the order of the plan."""
    store = Store()
    found = intruders(release.intruder, store.record(Ref(schema), Schema), store.table(Ref(table["released"])))
    attackers: list[tuple[Intruder, tuple[str, ...]]] = [(one, ()) for one in found]
    attackers += [(holder, (address,)) for holder, address in files]
    jobs = {
        f"attack {attack_id(attack)} ({intruder.name})": (
            *masked,
            *(_kept(attack), _kept(intruder), str(release.intruder.targets), draw, *file),
        )
        for intruder, file in attackers
        for attack in release.attacks_to_run
    }
    return course.together(attack_release, "attack", jobs)


def _files(course: Course, release: ReleaseSpec, data: str, schema: str) -> tuple[tuple[Intruder, str], ...]:
    """Who holds an external file, each with the address of what he holds; a file that does not fit is told before masking."""
    store, specs = Store(), release.intruder.files
    if not specs:
        return ()
    original, attributes = store.table(Ref(data)), store.record(Ref(schema), Schema)
    plans = [plan_of(file, i, original, attributes, release.attributes) for i, file in enumerate(specs)]
    names = names_of(specs)
    made = [
        course.stage(ingest_file, f"ingest {name}", _kept(plan), file_digest(plan))
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


def _seen(name: str, digest: str) -> str:
    if looked_at.get().get(name, digest) != digest:
        what, remedy = "the table changed after it was looked at", "nothing: the next look sees what is there then"
        raise InputError(f"{name}-changed", name, what, "a table at rest", remedy)
    return digest


def _kept(part: object, kind: object = None) -> str:
    return Store().put_record(part, kind)
