"""Which runs to find in the index, as one SQL query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from sqlalchemy import ColumnElement, Select, select

from tasks.audit.lookup.index_rows import moment
from tasks.audit.lookup.tables import ATTRIBUTES, ENTRIES, FILES, RUNS

RunVerdict = Literal["certified", "refused", "undecided", "failed", "interrupted", "running"]
VERDICTS: tuple[str, ...] = get_args(RunVerdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which runs: all that are given must hold.

    since, until: when the run began; until itself is left out. verdict: `running` is a run that never said how it ended.
    touching: an attribute that the run masked or published, or taught a model with. sha256: of a file that was issued.
    content_address: of the released table. alike: columns and rows of the released table (see `index_rows.alike`). source_file:
    keyed digest of what was masked; adopted: of a table masked elsewhere. certificate: the beginning of its SHA-256. last: at
    most so many, the newest.
    """

    release: str | None = None
    series: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    verdict: RunVerdict | None = None
    dataset: str | None = None
    touching: str | None = None
    sha256: str | None = None
    content_address: str | None = None
    alike: str | None = None
    source_file: str | None = None
    adopted: str | None = None
    certificate: str | None = None
    last: int | None = None


def select_runs(query: Query) -> Select[tuple[str]]:
    """The ids of the runs, newest first."""
    return select(RUNS.c.run).where(*_conditions(query)).order_by(RUNS.c.first.desc()).limit(query.last)


def _conditions(query: Query) -> list[ColumnElement[bool]]:
    named = ("release", "series", "dataset", "content_address", "alike")
    found = [RUNS.c[name] == value for name in named if (value := getattr(query, name)) is not None]
    if query.since is not None:
        found.append(RUNS.c.at >= moment(query.since))
    if query.until is not None:
        found.append(RUNS.c.at < moment(query.until))
    if query.verdict is not None:
        found.append(RUNS.c.outcome.is_(None) if query.verdict == "running" else RUNS.c.outcome == query.verdict)
    if query.touching is not None:
        sets = select(ATTRIBUTES.c.attributes).where(ATTRIBUTES.c.name == query.touching)
        found.append(RUNS.c.attributes.in_(sets))
    return [*found, *_conditions_on_digests(query)]


def _conditions_on_digests(query: Query) -> Iterator[ColumnElement[bool]]:
    if query.sha256 is not None:
        yield RUNS.c.run.in_(select(FILES.c.run).where(FILES.c.sha256 == query.sha256))
    if query.source_file is not None:
        yield RUNS.c.run.in_(select(ENTRIES.c.run).where(ENTRIES.c.source_file == query.source_file))
    if query.adopted is not None:
        yield RUNS.c.run.in_(select(ENTRIES.c.run).where(ENTRIES.c.adopted == query.adopted))
    if query.certificate is not None:
        yield RUNS.c.certificate.startswith(query.certificate, autoescape=True)
