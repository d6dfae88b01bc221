"""Watches on drop folders, and runs that certify nothing but write in the ledger what a run writes."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from certified_runs import POLICY
from ledgers import ASKED, MADE
from release_files import WRITTEN, survey, write_release

from flows.release import ReleaseSpec
from flows.watch.spec import WatchDefinition, load_watch
from tasks.microdata.errors import InputError

ZERO = "0" * 64
_number = itertools.count()


def write_watch(folder: Path, *, release: dict[str, Any] | None = None, **change: Any) -> Path:
    """A release, a drop folder and a watch of it below `folder`; returns the watch file."""
    write_release(folder / "params", release)
    (folder / "drop").mkdir(exist_ok=True)
    content = {"name": "survey", "release": "release.yaml", "output": "../releases"}
    content["look_at"] = {"folder": "../drop", "pattern": "survey-*.csv", "settled_seconds": 0, **change.pop("look_at", {})}
    path = folder / "params" / "watch.yaml"
    path.write_text(json.dumps(content | change))
    return path


def watch_of(folder: Path, **change: Any) -> WatchDefinition:
    return load_watch(write_watch(folder, **change))


def drop(folder: Path, name: str, text: str | None = None, *, hour: int = 0) -> Path:
    """A file in the drop folder, last modified at an hour of 2026-01-01."""
    path = folder / "drop" / name
    path.write_text(survey() if text is None else text)
    moment = datetime(2026, 1, 1, tzinfo=UTC).timestamp() + 3600 * hour
    os.utime(path, (moment, moment))
    WRITTEN.add(path)
    return path


@dataclass
class Certifier:
    """Stands in for the flow: ends each run as it is told, and writes the entries of the ledger.

    outcomes: of the runs, in order; an exception is raised. table: the address of the source's table.
    """

    outcomes: list[str | Exception]
    ran: list[ReleaseSpec] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    table: Callable[[ReleaseSpec], str] = lambda release: f"table:{_digest(release)}"
    review_years: float = 2

    def __call__(self, release: ReleaseSpec) -> dict[str, str]:
        from tasks.audit.ledger.entries import AttemptMade, RunBegan
        from tasks.runtime.artifacts import Store
        from tasks.runtime.draws import find_or_create_draw

        outcome, run = self.outcomes[len(self.ran)], f"20261121T093000Z-{next(_number):06x}"
        self.ran.append(release)
        self.runs.append(run)
        named: dict[str, Any] = {"run": run, "release": release.name, "series": release.series_name}
        spec = Store().put_record(release)
        self._append(RunBegan(**named, spec=spec, dataset=None, asked_by=ASKED, made_by=MADE))
        if isinstance(outcome, Exception):
            self._end(named, "failed")
            raise outcome
        draw, digest = find_or_create_draw(release.series_name), _digest(release)
        tried = {"source": self.table(release), "source_file": digest, "masking": "steps", "draw": draw, "policy": POLICY}
        self._append(AttemptMade(run=run, series=release.series_name, **tried, attempts=1))
        self._end(named, outcome, publishable=not release.not_for_publication)
        return {"run": run, "verdict": outcome, "folder": str(run)}

    def _end(self, named: dict[str, Any], outcome: str, *, publishable: bool = True) -> None:
        from tasks.audit.ledger.entries import ReleasedTable, RunEnded

        released, certificate, review = None, None, None
        if outcome == "certified":
            released = ReleasedTable(name="released.csv", sha256=ZERO, content_address=f"sha256:{ZERO}", rows=1, columns=())
            certificate, review = ZERO, datetime.now(UTC) + timedelta(days=365 * self.review_years)
        facts = {"released": released, "certificate": certificate, "review_by": review}
        self._append(RunEnded(**named, outcome=outcome, not_for_publication=not publishable, **facts))

    def _append(self, event: Any) -> None:
        from tasks.audit.ledger.ledger import Ledger
        from tasks.audit.signing.keys import signing_key

        Ledger.current().append(event, signing_key())


def failure(stage: str, code: str, where: str = "survey.csv: column age") -> Exception:
    """A stage that ended with an InputError, as a flow lets it out."""
    from tasks.runtime import failures

    error = InputError(code, where, "what is wrong: zanzibar-quux", "what is right", "mend it", "zanzibar-quux")
    return failures._store_exception(stage, error)


def _digest(release: ReleaseSpec) -> str:
    from tasks.ingest.task import source_digest

    return source_digest(release.source)


def never(_: object) -> None:
    """In place of what certifies: nothing may be run."""
    pytest.fail("it was run")
