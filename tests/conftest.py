"""A private home for the whole session, made before anything of the project is imported."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_SESSION = Path(tempfile.mkdtemp(prefix="sdcert-tests-"))
atexit.register(shutil.rmtree, _SESSION, ignore_errors=True)

os.environ["SDCERT_HOME"] = str(_SESSION / "home")
os.environ["SDCERT_COMPILED"] = str(_SESSION / "compiled")
for _name in ("PREFECT_API_URL", "PREFECT_HOME", "MLFLOW_TRACKING_URI"):
    os.environ.pop(_name, None)

from tasks.runtime.settings import prepare_environment  # noqa: E402  # the home must be named first

prepare_environment()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A private home of this test alone."""
    monkeypatch.setenv("SDCERT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of the reference tables; the test is skipped where it is absent."""
    folder = Path(os.environ.get("SDCERT_REFERENCE_DATA") or ROOT / ".." / "shared" / "data")
    if not (folder / "census.csv").is_file():
        pytest.skip(f"the reference tables are not in {folder}: set SDCERT_REFERENCE_DATA")
    return folder


@pytest.fixture(scope="session")
def prefect():
    """One temporary Prefect server for all tests that run flows; its address."""
    from prefect.settings import PREFECT_API_URL
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield PREFECT_API_URL.value()
