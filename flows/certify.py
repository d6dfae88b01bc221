"""The first use: certify one release. Ingest, classify, mask, attack, score, report; then the folder."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from pathlib import Path

from prefect import flow, tags
from prefect.task_runners import ThreadPoolTaskRunner

from flows.issue import issue
from flows.record import Journal
from flows.release import ReleaseSpec, known_of, load_release
from tasks.attack.task import attack_release
from tasks.attack.threat import attack_id, intruders
from tasks.classify.task import classify_attributes
from tasks.ingest.methods import IngestReport
from tasks.ingest.task import ingest_source, source_digest
from tasks.mask.pseudonyms import Pseudonyms
from tasks.mask.task import Steps, adopt_table, mask_table
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.report.task import write_report
from tasks.runtime.artifacts import Ref, Store
from tasks.runtime.caching import Produced
from tasks.runtime.draws import Attempt, chosen_draw, draw_of, pseudonym_key_of, record_attempt
from tasks.runtime.failures import guarded
from tasks.score.policy import check_policy
from tasks.score.task import score_release

ATTACKS_AT_ONCE = 2


@flow(name="certify", task_runner=ThreadPoolTaskRunner(max_workers=ATTACKS_AT_ONCE), persist_result=False)  # type: ignore[arg-type]  # prefect's stub wants TaskRunner[PrefectFuture[Any]]
@guarded("certify")
def certify(spec: str, output: str = "releases", refresh: bool = False, new_draw: bool = False) -> dict[str, str]:
    """Certify the release whose spec is stored under an address; returns the run, its verdict and its folder."""
    release = Store().record(Ref(spec), ReleaseSpec)
    with Journal(release, refresh=refresh) as journal:
        source = journal.stage(ingest_source, "ingest", _kept(release.ingest_plan), source_digest(release.source))
        schema = journal.stage(classify_attributes, "classify", source["data"], _kept(release.classify_plan))["schema"]
        journal.warn(Store().record(Ref(source["report"]), IngestReport).notes)
        check_policy(release.policy, known_of(release, Store().record(Ref(schema), Schema)))
        draw, attempts, table = _mask(journal, release, source["data"], schema, new_draw=new_draw)
        masked = (source["data"], table["masked"], table["alignment"], schema, table["mechanisms"])
        results = _attack(journal, release, schema, table, masked, draw)
        scores = journal.stage(
            score_release, "score", *masked, results, *(_kept(release.measures, tuple), _kept(release.policy, tuple))
        )
        page = journal.stage(
            write_report,
            "report",
            *(_kept(release.report_plan), source["data"], source["report"], schema, table["masked"], table["released"]),
            *(table["alignment"], table["mechanisms"], results, scores["score"]),
        )
        return issue(journal, release, table["released"], source["data"], scores["score"], page, draw, attempts, Path(output))


@flow(name="certify-file", persist_result=False)
@guarded("certify")
def certify_file(release: str, output: str = "releases", new_draw: bool = False) -> dict[str, str]:
    """Certify the release that a file describes: what a deployment runs."""
    return certify_tagged(load_release(Path(release)), output=output, new_draw=new_draw)


def certify_tagged(release: ReleaseSpec, *, output: str, refresh: bool = False, new_draw: bool = False) -> dict[str, str]:
    """Store the spec and run the flow on its address, its runs tagged with the release and its series."""
    with tags(f"release:{release.name}", f"series:{release.lineage}"):
        return certify(Store().put_record(release), output=output, refresh=refresh, new_draw=new_draw)


def _mask(journal: Journal, release: ReleaseSpec, data: str, schema: str, *, new_draw: bool) -> tuple[str, int, Produced]:
    """Mask the table, or adopt the one that was masked elsewhere; the attempt is written down before it is made."""
    row_order = "shuffled" if release.keep_row_order is None else "kept"
    draw = chosen_draw(release.seed) if release.seed is not None else draw_of(release.lineage, new=new_draw)
    plan = release.adoption_plan
    if plan is None:
        steps = _kept(release.masking, Steps)
        attempts = _attempt(journal, release, data, steps, draw)
        key = _pseudonym_key(release, draw)
        table = journal.stage(mask_table, "mask", data, schema, steps, draw, row_order, key)
        journal.warn(Store().record(Ref(table["notes"]), tuple[str, ...]))
        return draw, attempts, table
    kept, digest = _kept(plan), source_digest(plan.released)
    attempts = _attempt(journal, release, data, f"{kept}:{digest}", draw)
    table = journal.stage(adopt_table, "mask", data, schema, kept, digest, draw, row_order)
    if source_digest(plan.released) != digest:
        what, remedy = "the released table changed while it was read", "run again when it is complete"
        raise InputError("released-changed", "released", what, "a table at rest", remedy)
    journal.warn(Store().record(Ref(table["notes"]), tuple[str, ...]))
    return draw, attempts, table


def _pseudonym_key(release: ReleaseSpec, draw: str) -> str:
    """The id of the series' key where pseudonyms are to stay the same in it; a chosen seed makes a key that is no secret."""
    if not any(isinstance(step, Pseudonyms) and step.stable == "series" for step in release.steps):
        return ""
    return pseudonym_key_of(release.lineage) if release.seed is None else draw


def _attempt(journal: Journal, release: ReleaseSpec, source: str, masking: str, draw: str) -> int:
    attempt = Attempt(journal.run, journal.started.isoformat(), source, masking, draw, _kept(release.policy, tuple))
    made = record_attempt(release.lineage, attempt)
    journal.note(draw=draw, attempts=made)
    return made


def _attack(
    journal: Journal, release: ReleaseSpec, schema: str, table: Produced, masked: tuple[str, ...], draw: str
) -> list[Produced]:
    """Every attack by every intruder, side by side; the order of the results is the order of the plan."""
    store = Store()
    found = intruders(release.intruder, store.record(Ref(schema), Schema), store.table(Ref(table["released"])))
    jobs = {
        f"attack {attack_id(attack)} ({intruder.name})": (
            *masked,
            *(_kept(attack), _kept(intruder), str(release.intruder.targets), draw),
        )
        for intruder in found
        for attack in release.attacks_to_run
    }
    return journal.together(attack_release, "attack", jobs)


def _kept(part: object, kind: object = None) -> str:
    return Store().put_record(part, kind)
