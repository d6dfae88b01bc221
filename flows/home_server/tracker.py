"""The server of a home writes to MLflow, too: it has MLflow in its memory, which takes a command seconds to import."""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tasks.runtime.server_guard import authorization
from tasks.runtime.settings import OF_MLFLOW, Home
from tasks.runtime.tracking_calls import CallFailed, LocalTracker, TrackedRun
from tasks.runtime.tracking_store import HOME_DATABASE

if TYPE_CHECKING:
    import httpx
    from fastapi import FastAPI

    from tasks.runtime.registry import SeriesState

PATH = "/sdcert/tracking"
SECONDS_TO_ANSWER = 60.0
ELSEWHERE = ("SDCERT_STORE_URL", "SDCERT_INDEX_URL")


class KeptTracker:
    """Asks the Prefect server of this home, without trying again where it is gone: the command does the call itself then."""

    def __init__(self, api: str, password: str) -> None:
        self._api, self._password = api, password
        self._client: httpx.Client | None = None

    def perform(self, call: str, tracked: TrackedRun | None, arguments: Mapping[str, Any]) -> TrackedRun | None:
        import httpx

        asked = {"call": call, "tracked": None if tracked is None else asdict(tracked), "arguments": arguments}
        try:
            self._client = self._client or self._connect()
            answer = self._client.post(f"{self._api}{PATH}", content=json.dumps(asked)).raise_for_status()
            found: Mapping[str, Any] = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise ConnectionError(type(error).__name__) from None
        if found["failed"] is not None:
            raise CallFailed(found["failed"])
        return None if found["tracked"] is None else TrackedRun(**found["tracked"])

    def _connect(self) -> httpx.Client:
        """With the password, and the token by which the server knows that no page of another origin asks."""
        import httpx

        name = secrets.token_hex(16)
        headers = {**authorization(self._password), "Prefect-Csrf-Client": name, "Content-Type": "application/json"}
        client = httpx.Client(headers=headers, timeout=SECONDS_TO_ANSWER, trust_env=False)
        token = client.get(f"{self._api}/csrf-token", params={"client": name}).raise_for_status().json()["token"]
        client.headers["Prefect-Csrf-Token"] = token
        return client


def records_in_home(environment: Mapping[str, str] = os.environ) -> bool:
    """Would the server record what this process would? It is not given where MLflow, the store or the ledger are elsewhere."""
    set_here = {name: value for name, value in environment.items() if name.startswith("MLFLOW_")}
    return set_here.items() <= OF_MLFLOW.items() and not any(environment.get(name) for name in ELSEWHERE)


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
    """Imported when it is asked for: the server starts while a command waits."""
    from flows.run.series_registry import read_series_state

    return read_series_state(series)


def _identify_database() -> set[tuple[int, int]]:
    """Which file it is; nothing where there is none."""
    try:
        found = (Home.current().root / HOME_DATABASE).stat()
    except OSError:
        return set()
    return {(found.st_dev, found.st_ino)}
