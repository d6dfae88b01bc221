"""The last word on runs whose process was killed: whoever saw it end writes it into the ledger, for they cannot any more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from flows.release import ReleaseSpec
from tasks.audit.ledger.entries import RunBegan, RunEnded
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.lookup.index import Index
from tasks.audit.lookup.index_rows import RunEntries
from tasks.audit.lookup.query import Query
from tasks.audit.signing.keys import signing
from tasks.microdata.refs import RecordRef
from tasks.runtime.artifacts import Damaged, Store
from tasks.runtime.tracking import Tracking

MOST = 200
CLOCKS = timedelta(days=1)  # a clock may have been set meanwhile; it only bounds what is looked through


def find_runs_of_flow(flow_run: str, since: float) -> list[RunEntries]:
    """The runs that a flow run of Prefect's asked for, newest first. since: when its process began, in seconds."""
    begun = datetime.fromtimestamp(since, UTC) - CLOCKS
    with Index.current() as index:
        found = index.find(Query(since=begun, last=MOST))
    return [one for one in found if one.began is not None and one.began.asked_by.flow_run == flow_run]


def close_unfinished(flow_run: str, since: float, code: str) -> list[str]:
    """Write `interrupted` for each of its runs that never said how it ended; returns them. Their processes must be gone.

    MLflow is told too, where it answers.

    code: `timed-out` or `killed`.
    """
    if not Ledger.current().exists():
        return []
    closed = []
    for found in find_runs_of_flow(flow_run, since):
        if found.ending is None and found.began is not None and _close(found.began, code):
            closed.append(found.run)
    return closed


class _HasEnded(Exception):
    """It said so itself in the last moment."""


def _close(began: RunBegan, code: str) -> bool:
    named: dict[str, Any] = {"run": began.run, "release": began.release, "series": began.series}
    ended = RunEnded(**named, outcome="interrupted", not_for_publication=_is_rehearsal(began), code=code)

    def unless_it_ended(_: Ledger) -> RunEnded:
        with Index.current() as index:
            if index.run(began.run).ending is not None:
                raise _HasEnded
        return ended

    try:
        with signing() as key:
            Ledger.current().append(unless_it_ended, key)
    except _HasEnded:
        return False
    tracking = Tracking(series=began.series, run=began.run, again=True)
    tracking.tag("sdcert.verdict", "none")
    tracking.close("KILLED")
    return True


def _is_rehearsal(began: RunBegan) -> bool:
    """As its release file says; a run whose release file is lost, or of another version, is closed all the same."""
    try:
        return Store().record(RecordRef[ReleaseSpec](began.spec), ReleaseSpec).not_for_publication
    except (Damaged, ValidationError):
        return False
