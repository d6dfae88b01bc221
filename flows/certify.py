"""The first use: certify one release. Ingest, classify, mask, attack, score, report; then the folder."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from pathlib import Path

from prefect import flow, tags
from prefect.task_runners import ThreadPoolTaskRunner

from flows.issue import issue
from flows.record import Journal
from flows.release import ReleaseSpec, intruders_of, known_of, load_release
from tasks.attack.task import attack_release
from tasks.attack.threat import attack_id
from tasks.classify.task import classify_attributes
from tasks.ingest.methods import IngestReport
from tasks.ingest.task import ingest_source, source_digest
from tasks.mask.task import Steps, mask_table
from tasks.microdata.schema import Schema
from tasks.report.task import write_report
from tasks.runtime.artifacts import Ref, Store
from tasks.runtime.caching import Produced
from tasks.runtime.draws import Attempt, chosen_draw, draw_of, record_attempt
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
        source = journal.stage(ingest_source, "ingest", _kept(release.ingest_plan), source_digest(release.ingest_plan))
        schema = journal.stage(classify_attributes, "classify", source["data"], _kept(release.classify_plan))["schema"]
        journal.note(notes=Store().record(Ref(source["report"]), IngestReport).notes)
        check_policy(release.policy, known_of(release, Store().record(Ref(schema), Schema)))
        draw, attempts = _attempt(journal, release, source["data"], new_draw=new_draw)
        table = journal.stage(mask_table, "mask", source["data"], schema, _kept(release.masking, Steps), draw)
        results = _attack(journal, release, source["data"], schema, table, draw)
        scores = journal.stage(
            score_release,
            "score",
            *(source["data"], table["masked"], schema, table["mechanisms"], results),
            *(_kept(release.measures, tuple), _kept(release.policy, tuple)),
        )
        page = journal.stage(
            write_report,
            "report",
            *(_kept(release.report_plan), source["data"], source["report"], schema),
            *(table["released"], table["mechanisms"], results, scores["score"]),
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


def _attempt(journal: Journal, release: ReleaseSpec, source: str, *, new_draw: bool) -> tuple[str, int]:
    """Choose the draw and write the attempt down before it is made."""
    draw = chosen_draw(release.seed) if release.seed is not None else draw_of(release.lineage, new=new_draw)
    masking, policy = (_kept(part, tuple) for part in (release.masking, release.policy))
    attempt = Attempt(journal.run, journal.started.isoformat(), source, masking, draw, policy)
    made = record_attempt(release.lineage, attempt)
    journal.note(draw=draw, attempts=made)
    return draw, made


def _attack(journal: Journal, release: ReleaseSpec, source: str, schema: str, table: Produced, draw: str) -> list[Produced]:
    """Every attack by every intruder, side by side; the order of the results is the order of the plan."""
    jobs = {
        f"attack {attack_id(attack)} ({intruder.name})": (
            *(source, table["masked"], schema, table["mechanisms"]),
            *(_kept(attack), _kept(intruder), str(release.intruder.targets), draw),
        )
        for intruder in intruders_of(release, Store().record(Ref(schema), Schema))
        for attack in release.attacks_to_run
    }
    return journal.together(attack_release, "attack", jobs)


def _kept(part: object, kind: object = None) -> str:
    return Store().put_record(part, kind)
