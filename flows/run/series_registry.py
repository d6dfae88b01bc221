"""What MLflow's registered model of a series shows, read from the ledger."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from tasks.audit.lookup.index_rows import RunEntries
from tasks.audit.series.series import Series
from tasks.runtime.deadlines import run_with_timeout
from tasks.runtime.registry import EndedRun, Registry, SeriesState
from tasks.runtime.settings import Home
from tasks.score.verdict_word import format_verdict

NEWEST = 20  # so many of the last runs are made good where they are missing
SECONDS = 30.0


def read_series_state(series: str) -> SeriesState:
    """The last runs of a series that ended, and its newest certificate for publication, unless that was revoked."""
    known = Series(series)
    ended, standing = known.list_last_ended(NEWEST), known.find_standing_release()
    return SeriesState(series, tuple(map(_create_ended_run, ended)), None if standing is None else _create_ended_run(standing))


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
    from tasks.runtime.tracking_store import open_client

    client = open_client()
    experiment = client.get_experiment_by_name(series)
    if experiment is not None:
        Registry(client, experiment.experiment_id).follow(partial(read_series_state, series))


def _create_ended_run(found: RunEntries) -> EndedRun:
    return EndedRun(found.run, dict(_list_tags(found)), revoked=bool(found.revocations))


def _list_tags(found: RunEntries) -> Iterator[tuple[str, str]]:
    ended = found.ending
    if ended is None:
        return
    yield "sdcert.release", ended.release
    yield "sdcert.verdict", ended.outcome
    yield "sdcert.verdict_word", format_verdict(ended.outcome, ended.exceptions)
    if ended.is_release and ended.certificate is not None:
        yield "sdcert.certificate", ended.certificate
    if ended.not_for_publication:
        yield "sdcert.not_for_publication", "true"
    if ended.released is not None:
        yield "sdcert.released_sha256", ended.released.sha256
