"""A home with the tables of MLflow's store."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def tracked_home(home: Path, made_store: Path) -> Path:
    """A private home whose tracking store is empty and ready."""
    home.mkdir(mode=0o700)
    shutil.copy(made_store, home / "mlflow.db")
    (home / "mlflow.db").chmod(0o600)
    return home
