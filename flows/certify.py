"""The flow of `sdcert certify`: ingest, classify, mask, attack, score, report; then the folder of the release."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import cast

from prefect import flow, tags
from prefect.client.schemas.objects import State
from prefect.states import Completed

from flows.earlier.counted import CountedReleases
from flows.earlier.counting import FindReleases, count_releases, find_population
from flows.earlier.search import EARLIER, EarlierSearch, Population, ReleasedMeanwhile
from flows.kinds import find_kind
from flows.kinds.base import ReleaseJob
from flows.limits import refuse_silence
from flows.mask_stages import mask_source
from flows.release import ReleaseSpec, collect_policy_names
from flows.run.issue import issue
from flows.run.recorder import RunRecorder
from flows.run.run_entries import ASKED_BY_FLOW_RUN
from flows.run.stage_runner import ReleaseArtifacts, StageRunner, assert_unchanged, store_part
from flows.run.task_runner import InterruptibleTaskRunner
from flows.table_stages import check_source, ingest_files, select_people
from tasks.attack.omissions import refuse_unknown_intruders
from tasks.audit.maintenance.use import use_store
from tasks.audit.series.past_releases import PERSONS, PastRelease
from tasks.classify.task import classify_attributes
from tasks.ingest.task import ingest_source, source_digest
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.runtime.artifacts import Store
from tasks.runtime.draws import find_or_create_draw, keep_chosen_seed
from tasks.runtime.failures import hide_exceptions
from tasks.runtime.memory_gate import ATTACKS_AT_ONCE
from tasks.score.release_figures import Score
from tasks.score.synthetic.propensity import refuse_limits_that_cannot_fail

NAMES = {"certified": "Completed", "refused": "Refused", "undecided": "Undecided"}
CountAttempt = Callable[[TableRef, str, str], str]  # source, digest of its file, masking -> draw
ExamineSource = Callable[[Schema, TableRef], None]


@dataclass(slots=True)
class AttemptOnce:
    """Counts each attempt of a run once: stages that run again because of another release mostly attempt nothing new."""

    count: CountAttempt
    draws: dict[tuple[str, ...], str] = field(default_factory=dict)

    def __call__(self, source: TableRef, source_file: str, masking: str) -> str:
        attempt = (source, source_file, masking)
        if attempt not in self.draws:
            self.draws[attempt] = self.count(source, source_file, masking)
        return self.draws[attempt]


@flow(name="certify", task_runner=InterruptibleTaskRunner(max_workers=ATTACKS_AT_ONCE), persist_result=False)  # type: ignore[arg-type]  # prefect's stub wants TaskRunner[PrefectFuture[Any]]
@hide_exceptions("certify")
def certify(spec: str, output: str = "releases", refresh: bool = False, new_draw: bool = False) -> State[dict[str, str]]:
    """Certify the release whose spec is stored under an address; returns the run, its verdict and its folder.

    A flow run of Prefect's ends in a state that is called like the verdict: nothing broke where a release was refused.
    """
    release = Store().record(RecordRef(spec), ReleaseSpec)
    with RunRecorder(release, refresh=refresh) as recorder:
        count_attempt = AttemptOnce(partial(_count_attempt, recorder, release, new_draw=new_draw))
        search = EarlierSearch(recorder.run_id)
        while True:
            made = run_stages(
                recorder, release, count_attempt, partial(_examine, release), partial(_find_and_note, recorder, search)
            )
            score = Store().record(made.score, Score)
            refuse_limits_that_cannot_fail(release.policy, score.estimates)
            is_release = score.verdict.verdict == "certified" and not release.not_for_publication
            if is_release:
                recorder.note(**{PERSONS: search.store_persons()})
            try:
                issued = issue(recorder, release, made, Path(output), search.refuse_new_releases if is_release else None)
                return Completed(name=NAMES[issued["verdict"]], message=issued.pop("says"), data=issued)
            except ReleasedMeanwhile:
                recorder.reopen()


def run_stages(
    runner: StageRunner,
    release: ReleaseSpec,
    count_attempt: CountAttempt,
    examine: ExamineSource | None = None,
    find_past: FindReleases | None = None,
) -> ReleaseArtifacts:
    """The six stages of a release, run by a recorder, or by a replay that records nothing.

    count_attempt: writes the attempt down before it is made, and returns its draw. examine: called before the attempt with the
    schema and the source; it asks what is asked of a new release alone. find_past: finds the earlier releases about
    some persons; None: none is asked for, also none that the release file names.
    """
    digest = assert_unchanged("source", source_digest(release.source))
    source = runner.run("ingest", ingest_source.bind(store_part(release.ingest_plan), digest))
    schema = runner.run("classify", classify_attributes.bind(source["data"], store_part(release.classify_plan)))["schema"]
    check_source(runner, release, source["data"], source["report"], schema)
    if examine is not None:
        examine(Store().record(schema, Schema), source["data"])
    files = ingest_files(runner, release, source["data"], schema)
    masked = mask_source(runner, release, source["data"], schema, partial(count_attempt, source["data"], digest))
    people = select_people(runner, release, masked) if release.membership_attacks else None
    kind, job = find_kind(release), ReleaseJob(runner, release, source, masked, files, people)
    made = kind.make(job)
    counted = CountedReleases() if find_past is None else count_releases(job, made, find_past(find_population(job)))
    job = replace(job, earlier=counted.to_attack, epsilon_over_releases=counted.epsilon)
    results = kind.attack(job, made)
    score = kind.score(job, results)
    page = kind.report(job, made, results, score)
    return ReleaseArtifacts(source["data"], made.address, score, page, masked.draw, made.card, counted.claims, counted.epsilon)


def certify_tagged(release: ReleaseSpec, *, output: str, refresh: bool = False, new_draw: bool = False) -> dict[str, str]:
    """Store the spec and run the flow on its address, its runs tagged with the release and its series."""
    asked = os.environ.get(ASKED_BY_FLOW_RUN)
    by = (f"asked-by:{asked}",) if asked else ()
    with tags(f"release:{release.name}", f"series:{release.series_name}", *by), use_store():
        named = certify.with_options(flow_run_name=lambda: release.name)  # a text would be a template
        issued = named(Store().put_record(release), output=output, refresh=refresh, new_draw=new_draw)
        return cast("dict[str, str]", issued)  # prefect returns what the state holds, and its stub says the state


def _examine(release: ReleaseSpec, schema: Schema, source: TableRef) -> None:
    """Refuse a policy that is silent on a kind of disclosure, before an attempt is counted."""
    refuse_unknown_intruders(release.omit, collect_policy_names(release, schema).intruders or ())
    refuse_silence(release, schema, Store().table(source))


def _find_and_note(recorder: RunRecorder, search: EarlierSearch, population: Population) -> tuple[PastRelease, ...]:
    """The earlier releases about some persons; their runs are written down, for a replay to find the same."""
    found = search.find_releases(population)
    recorder.note(**{EARLIER: [one.run for one in found]})
    return found


def _count_attempt(
    recorder: RunRecorder, release: ReleaseSpec, source: TableRef, source_file: str, masking: str, *, new_draw: bool
) -> str:
    """Write the attempt down before it is made; returns its draw."""
    if release.seed is None and not new_draw:
        recorder.trail.refuse_lost_draw()
    draw = (
        keep_chosen_seed(release.seed)
        if release.seed is not None
        else find_or_create_draw(release.series_name, new=new_draw, earlier=recorder.trail.series.find_last_draw)
    )
    attempts = recorder.trail.attempt(source=source, source_file=source_file, masking=masking, draw=draw)
    recorder.note(draw=draw, attempts=attempts)
    return draw
