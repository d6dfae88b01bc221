"""The end of a run: the flow, never a cached task, stamps, publishes and records what a release leaves."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect.artifacts import create_markdown_artifact
from pydantic import TypeAdapter

from flows.console.words import criterion_in_words
from flows.publish import as_json, publish_folder, sha256
from flows.record import Journal
from flows.release import ReleaseSpec
from tasks.microdata.estimate import Estimate
from tasks.report.content import Content
from tasks.report.page import Stamp, stamped
from tasks.report.publication import encode
from tasks.report.residual import summary
from tasks.report.statement import predicate, statement
from tasks.runtime.artifacts import Ref, Store, content_address
from tasks.runtime.caching import Produced
from tasks.runtime.draws import SEED_ENTROPY_BITS, seed_of
from tasks.runtime.files import write_whole
from tasks.score.estimates import Score
from tasks.score.verdict import Criterion

SCORECARD_SCHEMA = "1"


def issue(
    journal: Journal,
    release: ReleaseSpec,
    released: str,
    source: str,
    score: str,
    page: Produced,
    draw: str,
    attempts: int,
    output: Path,
) -> dict[str, str]:
    """Publish the folder of a release and record the outcome; returns the run, its verdict and its folder.

    The table is among the files only if the release is certified. Full precision stays in the run's private folder.
    """
    store = Store()
    measured, content = store.record(Ref(score), Score), store.record(Ref(page["content"]), Content)
    verdict = content.verdict.verdict
    table = _table(store, release, released) if content.certified else None
    stamp = Stamp(run=journal.run, issued_at=datetime.now(UTC), attempts=attempts, **(table.named if table else {}))
    report = stamped(store.page(Ref(page["page"])), stamp).encode()
    bits = SEED_ENTROPY_BITS if release.seed is None and release.released is None else None
    said = predicate(content, stamp, source_digest=source.partition(":")[2], seed_entropy_bits=bits)
    subject = table.subject if table else ("report.html", sha256(report), None)
    scorecard = scorecard_of(release.name, journal.run, verdict, content.estimates, content.verdict.criteria)
    contents = {
        "report.html": report,
        "scorecard.json": as_json(scorecard),
        "statement.json": as_json(statement(said, *subject)),
        **({table.name: table.content} if table else {}),
    }
    private = scorecard_of(release.name, journal.run, verdict, measured.estimates, measured.verdict.criteria)
    write_whole(journal.folder / "scorecard.json", as_json(private))
    write_whole(journal.folder / "report-internal.html", stamped(store.page(Ref(page["internal"])), stamp).encode())
    folder = publish_folder(output.absolute(), release.name, journal.run, contents)
    journal.note(summary=summary(content))
    journal.note(verdict=verdict, criteria=scorecard["criteria"], folder=str(folder), seed=seed_of(draw).hex())
    _track(journal, content, folder, released)
    try:
        _show_in_prefect(journal, scorecard, folder)
    except Exception as error:  # the folder stands: what Prefect shows of it cannot undo that
        journal.note(interface=f"no page in Prefect: {type(error).__name__}")
    return {"run": journal.run, "verdict": verdict, "folder": str(folder)}


@dataclass(frozen=True, slots=True)
class _Table:
    """The released table as a file."""

    name: str
    content: bytes
    content_address: str

    @property
    def subject(self) -> tuple[str, str, str]:
        return (self.name, sha256(self.content), self.content_address)

    @property
    def named(self) -> dict[str, str]:
        return dict(zip(("released_file", "sha256", "content_address"), self.subject, strict=True))


def _table(store: Store, release: ReleaseSpec, released: str) -> _Table:
    table = store.table(Ref(released))
    return _Table(f"released.{release.publish.format}", encode(table, release.publish.format), content_address(table))


def scorecard_of(
    release: str, run: str, verdict: str, estimates: tuple[Estimate, ...], criteria: tuple[Criterion, ...]
) -> dict[str, Any]:
    """`scorecard.json`: every figure with its id, and every criterion of the policy."""
    figures = [{"id": estimate.id, **_plain(estimate)} for estimate in estimates]
    lines = [_plain(criterion) for criterion in criteria]
    return {
        "schema": SCORECARD_SCHEMA,
        "release": release,
        "run": run,
        "verdict": verdict,
        "estimates": figures,
        "criteria": lines,
    }


def _plain(record: Estimate | Criterion) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(TypeAdapter(type(record)).dump_json(record))
    if isinstance(record, Estimate):
        plain["parameters"] = dict(record.parameters)
    return plain


def _track(journal: Journal, content: Content, folder: Path, released: str) -> None:
    journal.tracking.estimates(content.estimates)
    journal.tracking.tag("sdcert.verdict", content.verdict.verdict)
    journal.tracking.tag("sdcert.released", released)
    for name in ("report.html", "scorecard.json", "statement.json"):
        journal.tracking.artifact(folder / name)


def _show_in_prefect(journal: Journal, scorecard: dict[str, Any], folder: Path) -> None:
    """A page in Prefect's interface: the verdict and what decided it."""
    lines = [f"# {scorecard['release']}: {scorecard['verdict']}", "", f"Run `{journal.run}`, folder `{folder.name}`", ""]
    lines += [f"- **{line['decision']}**: {criterion_in_words(line)}" for line in scorecard["criteria"]]
    key = re.sub(r"[^a-z0-9]+", "-", f"release-{scorecard['release']}").strip("-")
    create_markdown_artifact("\n".join(lines), key=key, description="Verdict of a release")
