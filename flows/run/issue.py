"""The end of a run: stamp, publish and record what a release leaves. The flow does it, never a cached task."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from flows.kinds import find_kind
from flows.release import ReleaseSpec
from flows.run.agreement import refuse_disagreement
from flows.run.certificate import ReleasedFile, RunConclusion
from flows.run.headlines import compute_headlines, describe_shortly, describe_verdict, select_tracked_figures
from flows.run.interface import show_release
from flows.run.publish import FolderDraft, as_json, draft_release_folder, settle_latest
from flows.run.recorder import RunRecorder
from flows.run.stage_runner import ReleaseArtifacts
from tasks.audit.ledger.entries import RunEnded
from tasks.audit.signing.keys import SigningKey
from tasks.microdata.estimate import Estimate
from tasks.report.attack_model import find_worst_insider
from tasks.report.content import Content
from tasks.report.page import Stamp, stamp_page
from tasks.report.predicate import DocumentClaim
from tasks.report.views.exceptions import summarise_for_terminal
from tasks.report.views.insider_curve import serialise_curve
from tasks.report.views.planned_looks import create_looks_claim, describe_looks_claim
from tasks.runtime.artifacts import Store, create_adapter
from tasks.runtime.draws import read_seed
from tasks.runtime.files import write_whole
from tasks.score.release_figures import Score
from tasks.score.verdict import Criterion

SCORECARD_SCHEMA = "1"


def issue(
    recorder: RunRecorder,
    release: ReleaseSpec,
    made: ReleaseArtifacts,
    output: Path,
    look_again: Callable[[], None] | None = None,
) -> dict[str, str]:
    """Sign, write down and publish what a release leaves; returns the run, its verdict and its folder.

    The folder is complete before the ledger speaks of it, and appears after: nothing is published that is not written down.
    The table is among the files only if the release is certified. Full precision stays in the run's private folder.
    look_again: called while nobody else can write into the ledger; if it raises, nothing is signed, written down or published.
    """
    store = Store()
    measured, content = store.record(made.score, Score), store.record(made.page["content"], Content)
    refuse_disagreement(release, made, measured, content, recorder.stages, recorder.inputs)
    verdict = content.verdict.verdict
    with draft_release_folder(output.absolute(), release.name, recorder.run_id) as draft:
        file = find_kind(release).write_file(made, release, draft.add) if content.is_certified else None
        stamp = _create_stamp(recorder, release, file)
        excepted = tuple(name for name, _ in content.exceptions)
        of_public = (release.name, recorder.run_id, verdict, excepted)
        scorecard = create_scorecard(*of_public, content.estimates, content.verdict.criteria)
        scorecard |= _serialise_insider_curve(content) | _serialise_looks(content)
        documents = {
            "report.html": stamp_page(store.page(made.page["page"]), stamp).encode(),
            "scorecard.json": as_json(scorecard),
        }
        private = create_scorecard(*of_public, measured.estimates, measured.verdict.criteria)
        private |= _serialise_insider_curve(replace(content, estimates=measured.estimates, edition="internal"))
        private |= _serialise_looks(content)
        private |= {"epsilon_over_releases": made.epsilon_over_releases}
        write_whole(recorder.folder / "scorecard.json", as_json(private))
        write_whole(recorder.folder / "report-internal.html", stamp_page(store.page(made.page["internal"]), stamp).encode())
        claims = tuple(DocumentClaim(name=name, sha256=draft.add(name, document)) for name, document in documents.items())
        reported = {"verdict": verdict, "exceptions": excepted, "criteria": scorecard["criteria"]}
        reported |= {"summary": summarise_for_terminal(content), "worst_insider": _describe_worst_insider(content)}
        reported |= {"insider_curve": scorecard["insider_curve"]} if "insider_curve" in scorecard else {}
        reported |= {"epsilon_over_releases": made.epsilon_over_releases}
        manifest = recorder.conclude(**reported, folder=str(draft.final), seed=read_seed(made.draw).hex())
        ending = RunConclusion(
            trail=recorder.trail,
            release=release,
            content=content,
            stamp=stamp,
            source=made.source,
            file=file,
            documents=claims,
            criteria=scorecard["criteria"],
            stages=recorder.stages,
            manifest=manifest,
            earlier=made.earlier,
        )
        recorder.trail.record_end(partial(_sign_into_draft, draft, ending, look_again))
        folder = draft.appear()
    _move_latest(recorder, folder.parent, release.name)
    _track(recorder, content, folder, made.released, ending.statement_name)
    try:
        show_release(scorecard, recorder.run_id, describe_shortly(content), describe_verdict(content))
    except Exception as error:  # the folder stands: what Prefect shows of it cannot undo that
        recorder.note(interface=f"no page in Prefect: {type(error).__name__}")
    return {
        "run": recorder.run_id,
        "verdict": verdict,
        "exceptions": ",".join(excepted),
        "folder": str(folder),
        "says": describe_verdict(content),
    }


def _create_stamp(recorder: RunRecorder, release: ReleaseSpec, file: ReleasedFile | None) -> Stamp:
    chosen = release.sweep
    return Stamp(
        run=recorder.run_id,
        issued_at=datetime.now(UTC),
        attempts=recorder.trail.attempts,
        sweep=None if chosen is None else chosen.name,
        points_tried=None if chosen is None else chosen.points_tried,
        **(file.stamp_fields if file else {}),
    )


def _move_latest(recorder: RunRecorder, parent: Path, release: str) -> None:
    """`latest` moves last: the ledger has spoken, and the folder is there."""
    try:
        settle_latest(parent, release)
    except OSError as error:  # the folder stands: a link that could not be made cannot undo that
        recorder.note(latest=f"not moved: {error.strerror or type(error).__name__}")


def _sign_into_draft(
    draft: FolderDraft, ending: RunConclusion, look_again: Callable[[], None] | None, key: SigningKey
) -> RunEnded:
    """Sign while the ledger is held, so that no other run of the series, or about the same persons, ends in between."""
    if look_again is not None:
        look_again()
    statement, entry = ending.sign_statement(key)
    draft.add(ending.statement_name, statement)
    return entry


def create_scorecard(
    release: str,
    run: str,
    verdict: str,
    exceptions: tuple[str, ...],
    estimates: tuple[Estimate, ...],
    criteria: tuple[Criterion, ...],
) -> dict[str, Any]:
    """`scorecard.json`: every figure with its id, every criterion of the policy, and what the verdict excepts."""
    figures = [{"id": estimate.id, **_serialise_record(estimate)} for estimate in estimates]
    lines = [_serialise_record(criterion) for criterion in criteria]
    return {
        "schema": SCORECARD_SCHEMA,
        "release": release,
        "run": run,
        "verdict": verdict,
        "exceptions": list(exceptions),
        "estimates": figures,
        "criteria": lines,
    }


def _describe_worst_insider(content: Content) -> dict[str, Any] | None:
    """The figure of the insider who finds most, for who lists runs; None: no insider gave one."""
    worst = find_worst_insider(content)
    return None if worst is None else worst.model_dump(mode="json")


def _serialise_insider_curve(content: Content) -> dict[str, Any]:
    """`insider_curve`: the worst insider by how many columns they know, where they may know more than one."""
    curve = serialise_curve(content)
    return {} if curve is None else {"insider_curve": curve}


def _serialise_looks(content: Content) -> dict[str, Any]:
    """`looks`: at which planned look at the targets it ended, and how sure each bound is, where looks were planned."""
    claim = create_looks_claim(content)
    return {} if claim is None else {"looks": claim.model_dump(mode="json")}


def _serialise_record(record: Estimate | Criterion) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(create_adapter(type(record)).dump_json(record))
    if isinstance(record, Estimate):
        plain["parameters"] = dict(record.parameters)
    return plain


def _track(recorder: RunRecorder, content: Content, folder: Path, released: str, statement: str) -> None:
    tracking = recorder.tracking
    for name, value in compute_headlines(content).items():
        tracking.metric(name, value)
    tracking.estimates(select_tracked_figures(content))
    worst = find_worst_insider(content)
    if worst is not None:
        tracking.tag("sdcert.worst_insider", worst.intruder)
    looks = create_looks_claim(content)
    if looks is not None:
        tracking.tag("sdcert.looks", describe_looks_claim(looks))
    tracking.tag("sdcert.verdict", content.verdict.verdict)
    tracking.tag("sdcert.verdict_word", content.word)
    tracking.tag("sdcert.released", released)
    tracking.rename(f"{content.name} {describe_shortly(content)}")
    tracking.describe(f"{describe_verdict(content)} {' '.join(summarise_for_terminal(content))}")
    for name in ("report.html", "scorecard.json", statement):
        tracking.artifact(folder / name)
