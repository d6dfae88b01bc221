"""Where MLflow keeps what is recorded: in the database of the home, or where `MLFLOW_TRACKING_URI` says."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tasks.runtime.files import hold_file_lock
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from mlflow import MlflowClient

LOUD = (
    "mlflow",
    "alembic",
    "sqlalchemy",
)  # they log what they raise, with traceback, SQL and parameters; it is told at the end
HOME_DATABASE = "mlflow.db"
WITH_LOCATION = {"http", "https", "databricks"}


def list_needed_modules() -> Iterator[str]:
    """What MLflow imports only when it is used. The index of the ledger uses SQLAlchemy too, in another thread."""
    yield from ("mlflow.tracking.client", "mlflow.entities.model_registry", "mlflow.store.artifact.local_artifact_repo")
    if _is_server(tracking_uri()):
        yield from ("mlflow.store.tracking.rest_store", "mlflow.store.model_registry.rest_store")
        return
    yield from ("sqlalchemy.orm", "alembic.command", "alembic.config", "alembic.migration", "alembic.script")
    yield from ("mlflow.store.tracking.sqlalchemy_workspace_store", "mlflow.store.model_registry.sqlalchemy_workspace_store")
    from sqlalchemy import make_url

    yield make_url(tracking_uri()).get_dialect().__module__  # with its driver


def open_client() -> MlflowClient:
    """A client of the tracking store (`MLFLOW_TRACKING_URI`, or SQLite in the private folder).

    The tables of a new SQLite store are made by one process alone: two at once would leave it half made.
    """
    for name in LOUD:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    from mlflow import MlflowClient

    with hold_file_lock(Home.current().locks / "tracking.lock"):
        _ask_database_once(tracking_uri())
        client = MlflowClient(tracking_uri=tracking_uri())
        client.search_experiments(max_results=1)
    return client


def _ask_database_once(uri: str) -> None:
    """Raise what a damaged or absent database raises: MLflow would ask it ten times, for 100 seconds."""
    if _is_server(uri):
        return
    from sqlalchemy import create_engine, inspect

    engine = create_engine(uri)
    try:
        if engine.dialect.name != "sqlite" or os.path.lexists(engine.url.database or ""):
            inspect(engine)
    finally:
        engine.dispose()


def _is_server(uri: str) -> bool:
    """Is it a tracking server, not a database?"""
    return uri.partition("://")[0].partition("+")[0] in WITH_LOCATION


def tracking_uri() -> str:
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{Home.current().root / HOME_DATABASE}"


def choose_artifact_location(series: str) -> str | None:
    """Where the files of a new experiment go: an MLflow server knows; of a database alone MLflow takes `./mlruns`."""
    if _is_server(tracking_uri()):
        return None
    if root := os.environ.get("MLFLOW_DEFAULT_ARTIFACT_ROOT"):
        return f"{root.rstrip('/')}/{series}"
    return Home.current().folder("mlflow-artifacts", series).as_uri()
