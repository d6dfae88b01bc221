"""A private home for the whole session, made before anything of the project is imported."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from postgres import Postgres

ROOT = Path(__file__).resolve().parent.parent
_SESSION = Path(tempfile.mkdtemp(prefix="sdcert-tests-"))
atexit.register(shutil.rmtree, _SESSION, ignore_errors=True)

os.environ["SDCERT_HOME"] = str(_SESSION / "home")
if "PYTEST_XDIST_WORKER" not in os.environ:  # what is compiled serves all workers
    os.environ["SDCERT_COMPILED"] = str(_SESSION / "compiled")
for _name in ("PREFECT_API_URL", "PREFECT_HOME", "PREFECT_RESULTS_LOCAL_STORAGE_PATH", "MLFLOW_TRACKING_URI", "MPLCONFIGDIR"):
    os.environ.pop(_name, None)

from tasks.runtime.settings import prepare_environment  # noqa: E402  # the home must be named first

prepare_environment()


LONGEST = (
    "test_processes",
    "test_serve",
    "test_serve_postgresql",
    "test_calibration",
    "test_serve_full_disk",
    "test_replay_causes",
)


def pytest_collection_modifyitems(items):
    """Files that take many minutes come first: begun last, they would run when the other processes are done."""
    place = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONGEST)))


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A private home of this test alone; what the test leaves outside its private folders is searched for its secrets."""
    monkeypatch.setenv("SDCERT_HOME", str(tmp_path / "home"))
    yield tmp_path / "home"
    from leaks import leaks_of_test

    _fail_for(leaks_of_test(tmp_path))


@pytest.fixture(scope="session", autouse=True)
def shared_places():
    """What the tests of a session share, searched at its end for the secrets of all of them."""
    places = [_SESSION]
    yield places
    if "leaks" in sys.modules:
        from leaks import SEEN, homes_in, leaks_in

        _fail_for([leak for place in places for leak in leaks_in(place, SEEN, homes=homes_in(place))])


def _fail_for(leaks: list[str]) -> None:
    if leaks:
        pytest.fail("secrets outside the private folders:\n" + "\n".join(leaks), pytrace=False)


@pytest.fixture
def own(home, monkeypatch):
    """The home of this test, with no key of another one at hand."""
    from tasks.audit.signing import pem
    from tasks.runtime.settings import Home

    for name in (pem.PEM_VARIABLE, pem.PASSPHRASE_VARIABLE, pem.APPROVAL_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pem, "_opened", {})
    return Home(home)


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of the reference tables; the test is skipped where it is absent."""
    folder = Path(os.environ.get("SDCERT_REFERENCE_DATA") or ROOT / ".." / "shared" / "data")
    if not (folder / "census.csv").is_file():
        pytest.skip(f"the reference tables are not in {folder}: set SDCERT_REFERENCE_DATA")
    return folder


@pytest.fixture(scope="session")
def prefect(shared_places):
    """One temporary Prefect server for all tests that run flows; its address."""
    from prefect.settings import PREFECT_API_URL, PREFECT_SERVER_DATABASE_CONNECTION_URL
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        shared_places.append(Path(PREFECT_SERVER_DATABASE_CONNECTION_URL.value().partition("///")[2]).parent)
        yield PREFECT_API_URL.value()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A private PostgreSQL server; skipped where the server's binaries are not installed."""
    from postgres import postgres as started

    with started() as server:
        yield server


@pytest.fixture(scope="session")
def postgresql(postgres: Postgres) -> str:
    """The URL of an empty database of a private PostgreSQL server."""
    return postgres.socket_url()
