"""The server of a home writes to MLflow, too: it has MLflow in its memory, which takes a command seconds to import."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tasks.runtime.settings import Home
from tasks.runtime.tracking_calls import CallFailed, LocalTracker, TrackedRun
from tasks.runtime.tracking_store import HOME_DATABASE

if TYPE_CHECKING:
    from fastapi import FastAPI
    from prefect.client.orchestration import SyncPrefectClient

    from tasks.runtime.registry import SeriesState

PATH = "/sdcert/tracking"
SETTINGS = ("MLFLOW_TRACKING_URI", "MLFLOW_DEFAULT_ARTIFACT_ROOT")  # which the server is not given


class KeptTracker:
    """Asks the server that Prefect's settings of this process name, which must be that of this home."""

    def __init__(self) -> None:
        self._client: SyncPrefectClient | None = None

    def perform(self, call: str, tracked: TrackedRun | None, arguments: Mapping[str, Any]) -> TrackedRun | None:
        import httpx
        from prefect.client.orchestration import get_client

        asked = json.dumps({"call": call, "tracked": None if tracked is None else asdict(tracked), "arguments": arguments})
        self._client = self._client or get_client(sync_client=True)  # its connection ends with the process
        try:
            answer = self._client.request("POST", PATH, content=asked)  # type: ignore[arg-type]  # a path of ours
            found: Mapping[str, Any] = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise ConnectionError(type(error).__name__) from None
        if found["failed"] is not None:
            raise CallFailed(found["failed"])
        return None if found["tracked"] is None else TrackedRun(**found["tracked"])


def records_in_home() -> bool:
    """Is the database of the home MLflow's, as it is where nothing else is set?"""
    return not any(os.environ.get(name) for name in SETTINGS)


def add_tracker(application: FastAPI) -> None:
    """Let the server do calls of commands. The application must ask for a password."""
    from fastapi import HTTPException

    tracker = LocalTracker(_read_series_state)
    lock, known = threading.Lock(), set[tuple[int, int]]()

    def perform(asked: dict[str, Any]) -> dict[str, Any]:  # its annotations say that the body is read as JSON
        tracked = None if asked["tracked"] is None else TrackedRun(**asked["tracked"])
        with lock:
            if known and known != _identify_database():  # a restored backup: MLflow's connections are to the file of before
                raise HTTPException(410)
            try:
                found = tracker.perform(asked["call"], tracked, asked["arguments"])
            except CallFailed as failed:
                return {"tracked": None, "failed": failed.kind}
            known.update(_identify_database())
        return {"tracked": None if found is None else asdict(found), "failed": None}

    application.add_api_route(PATH, perform, methods=["POST"])


def _read_series_state(series: str) -> SeriesState:
    from flows.run.series_registry import (
        read_series_state,  # not before it is asked for: the server starts while a command waits
    )

    return read_series_state(series)


def _identify_database() -> set[tuple[int, int]]:
    """Which file it is; nothing where there is none."""
    try:
        found = (Home.current().root / HOME_DATABASE).stat()
    except OSError:
        return set()
    return {(found.st_dev, found.st_ino)}
