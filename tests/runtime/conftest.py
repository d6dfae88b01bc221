"""A home with the tables of MLflow's store, which take ten seconds to make: made once, copied for each test."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def made_store(tmp_path_factory):
    from tasks.runtime.tracking import open_client

    home, before = tmp_path_factory.mktemp("mlflow") / "home", os.environ["SDCERT_HOME"]
    os.environ["SDCERT_HOME"] = str(home)
    try:
        open_client()
    finally:
        os.environ["SDCERT_HOME"] = before
    return home / "mlflow.db"


@pytest.fixture
def tracked_home(home: Path, made_store: Path) -> Path:
    """A private home whose tracking store is empty and ready."""
    home.mkdir(mode=0o700)
    shutil.copy(made_store, home / "mlflow.db")
    (home / "mlflow.db").chmod(0o600)
    return home
