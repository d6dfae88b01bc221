"""What MLflow's registered model of a series is to say, read from the ledger."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from tasks.audit.lookup.index import Index
from tasks.audit.lookup.index_rows import RunEntries
from tasks.audit.lookup.query import Query
from tasks.runtime.deadlines import run_with_timeout
from tasks.runtime.registry import EndedRun, Registry, SeriesState
from tasks.runtime.settings import Home
from tasks.score.verdict_word import verdict_word

NEWEST = 20  # so many of the last runs are made good where they are missing
SECONDS = 30.0


def read_series_state(series: str) -> SeriesState:
    """The last runs of a series that ended, and its newest certificate for publication, unless that was revoked."""
    with Index.current() as index:
        newest = [found for found in index.find(Query(series=series, last=NEWEST)) if found.ending is not None]
        standing = max(filter(_is_issued, newest), key=_find_ending_number, default=None)
        if standing is None:
            certified = index.each(Query(series=series, verdict="certified"))
            standing = next((found for found, _ in certified if _is_issued(found)), None)
        if standing is not None and standing.revocations:
            standing = None  # an older one does not take its place by itself
    ended = tuple(_create_ended_run(found) for found in sorted(newest, key=_find_ending_number))
    return SeriesState(series, ended, None if standing is None else _create_ended_run(standing))


def follow_now(series: str) -> str | None:
    """Let the registered model follow the ledger outside a run (after a revocation); returns why it could not.

    Nothing is done, nor MLflow imported, where nothing was ever recorded. Takes half a minute at the most.
    """
    if not os.environ.get("MLFLOW_TRACKING_URI") and not (Home.current().root / "mlflow.db").is_file():
        return None
    try:
        run_with_timeout(SECONDS, partial(_follow, series))
    except Exception as error:
        return type(error).__name__
    return None


def _follow(series: str) -> None:
    from tasks.runtime.tracking import open_client

    client = open_client()
    experiment = client.get_experiment_by_name(series)
    if experiment is not None:
        Registry(client, experiment.experiment_id).follow(partial(read_series_state, series))


def _is_issued(found: RunEntries) -> bool:
    """It ended with a certificate for publication, revoked or not."""
    ended = found.ending
    return ended is not None and ended.outcome == "certified" and not ended.not_for_publication


def _find_ending_number(found: RunEntries) -> int:
    """The number of the entry that says how it ended."""
    return max((number for number, entry in found.entries if entry.event is found.ending), default=-1)


def _create_ended_run(found: RunEntries) -> EndedRun:
    return EndedRun(found.run, dict(_tags(found)), revoked=bool(found.revocations))


def _tags(found: RunEntries) -> Iterator[tuple[str, str]]:
    ended = found.ending
    if ended is None:
        return
    yield "sdcert.release", ended.release
    yield "sdcert.verdict", ended.outcome
    yield "sdcert.verdict_word", verdict_word(ended.outcome, ended.exceptions)
    if ended.outcome == "certified" and not ended.not_for_publication and ended.certificate is not None:
        yield "sdcert.certificate", ended.certificate
    if ended.not_for_publication:
        yield "sdcert.not_for_publication", "true"
    if ended.released is not None:
        yield "sdcert.released_sha256", ended.released.sha256
