"""Select runs in the index with one SQL query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from sqlalchemy import ColumnElement, Select, select

from tasks.audit.ledger.entries import RunOutcome
from tasks.audit.lookup.index_rows import to_microseconds
from tasks.audit.lookup.tables import ATTRIBUTES, ENTRIES, FILES, RUNS

RunState = RunOutcome | Literal["running"]  # what `--verdict` can ask for
RUN_STATES: tuple[str, ...] = (*get_args(RunOutcome), "running")


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
    verdict: RunState | None = None
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
    """Selects the ids of the runs that a query asks for, newest first."""
    return select(RUNS.c.run).where(*_list_conditions(query)).order_by(RUNS.c.first.desc()).limit(query.last)


def _list_conditions(query: Query) -> list[ColumnElement[bool]]:
    """Conditions on the rows of the table of runs, one for each field of the query that is given. All of them must hold."""
    named = ("release", "series", "dataset", "content_address", "alike")
    found = [RUNS.c[name] == value for name in named if (value := getattr(query, name)) is not None]
    if query.since is not None:
        found.append(RUNS.c.at >= to_microseconds(query.since))
    if query.until is not None:
        found.append(RUNS.c.at < to_microseconds(query.until))
    if query.verdict is not None:
        found.append(RUNS.c.outcome.is_(None) if query.verdict == "running" else RUNS.c.outcome == query.verdict)
    if query.touching is not None:
        sets = select(ATTRIBUTES.c.attributes).where(ATTRIBUTES.c.name == query.touching)
        found.append(RUNS.c.attributes.in_(sets))
    return [*found, *_list_digest_conditions(query)]


def _list_digest_conditions(query: Query) -> Iterator[ColumnElement[bool]]:
    """The conditions for those fields of the query that hold a digest of a file, or the beginning of one."""
    if query.sha256 is not None:
        yield RUNS.c.run.in_(select(FILES.c.run).where(FILES.c.sha256 == query.sha256))
    if query.source_file is not None:
        yield RUNS.c.run.in_(select(ENTRIES.c.run).where(ENTRIES.c.source_file == query.source_file))
    if query.adopted is not None:
        yield RUNS.c.run.in_(select(ENTRIES.c.run).where(ENTRIES.c.adopted == query.adopted))
    if query.certificate is not None:
        yield RUNS.c.certificate.startswith(query.certificate, autoescape=True)
