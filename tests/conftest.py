"""A private home for the whole session, made before anything of the project is imported."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

if TYPE_CHECKING:
    from postgres import Postgres

ROOT = Path(__file__).resolve().parent.parent
_SESSION = Path(tempfile.mkdtemp(prefix="sdcert-tests-"))
atexit.register(shutil.rmtree, _SESSION, ignore_errors=True)

os.environ["SDCERT_HOME"] = str(_SESSION / "home")
os.environ.setdefault("SDCERT_COMPILED", str(_SESSION / "compiled"))  # what is compiled serves all workers
os.environ.setdefault("SDCERT_SERVER_IDLE_SECONDS", "0")  # each test's home has a server of its own, which ends with it
_NAMES = ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING", "PREFECT_HOME")
for _name in (*_NAMES, "PREFECT_RESULTS_LOCAL_STORAGE_PATH", "MLFLOW_TRACKING_URI", "MPLCONFIGDIR"):
    os.environ.pop(_name, None)

from tasks.runtime.settings import prepare_environment  # noqa: E402  # the home must be named first

prepare_environment()


# Seconds with four processes on two cores: what takes long begins first, else it would run when the others are done.
LONGEST = (
    "test_serve",  # 1040
    "test_served_pages",  # 600
    "test_serve_kills",  # 1000
    "test_serve_postgresql",  # 250
    "test_calibration",  # 1080
    "test_processes",  # 930
    "test_replay_causes",  # 490
    "test_ledger_mutations",  # 450
    "test_sweep_resume",  # 340
    "test_hostile_inputs",  # 180
    "test_secrets",  # 170
    "test_certify",  # 140
    "test_released",  # 130
    "test_trail",  # 130
    "test_share_of_records",  # 110
    "test_reports",  # 110
    "test_wrong_inputs",  # 100
    "test_backup_and_restore",  # 95
    "test_sweep_dask",  # 90
    "test_golden_releases",  # 90
    "test_learned_laws",  # 80
    "test_sweep",  # 70
    "test_membership_releases",  # 70
    "test_tell_server",  # 70
    "test_certificate_mutations",  # 70
    "test_sweep_postgresql",  # 65
    "test_same_table",  # 55
    "test_refined",  # 55
    "test_external_file_releases",  # 50
    "test_init",  # 50
    "test_verify",  # 45
    "test_attack_laws",  # 45
)
EACH_BY_ITSELF = {"test_calibration", "test_processes", "test_replay_causes", "test_ledger_mutations", "test_sweep_resume"}


# Hypothesis: `make test` tries the same examples everywhere, the other tiers draw new ones and print how to repeat a failure.
_UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}  # a busy machine is no failure
settings.register_profile("fixed", derandomize=True, **_UNTIMED)
settings.register_profile("new", print_blob=True, **_UNTIMED)
settings.load_profile("fixed")  # `--hypothesis-profile=new` overrides it


def pytest_configure(config):
    """Fixed examples do not depend on the modules that happen to be imported, whose constants Hypothesis tries otherwise."""
    if config.getoption("--hypothesis-profile") in (None, "fixed"):
        providers._get_local_constants = providers.Constants
    if hasattr(config, "workerinput") and [Path(one).resolve() for one in config.args] == [ROOT / "tests"]:
        begin_with_own_share(config)


def begin_with_own_share(config) -> None:
    """Each worker reads the files from another one on: what was never compiled is compiled by one and read by the others."""
    files = [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if not pytest_ignore_collect(path, config)]
    worker, workers = int(config.workerinput["workerid"].removeprefix("gw")), config.workerinput["workercount"]
    first = len(files) * worker // workers
    config.args = [str(path) for path in files[first:] + files[:first]]


def pytest_collection_modifyitems(items):
    """Longest files first, in one order for all workers."""
    place = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (place.get(item.path.stem, len(LONGEST)), str(item.path)))
    unseen = {item.path.name for item in items if item.get_closest_marker("slow") and not names_slow(item.path)}
    if unseen:
        raise pytest.UsageError(f"slow tests in files without the words `{SLOW}`, which `make test-slow` passes over: {unseen}")


SLOW = "mark.slow"
PASSED_OVER: set[Path] = set()  # files without a slow test, where none but these are asked for


@cache
def names_slow(path: Path) -> bool:
    """Does the file, or the fixtures of its folder, mark a test as slow?"""
    shared = [] if path.parent == ROOT / "tests" else [path.parent / "conftest.py"]  # that one has the words for all folders
    return any(SLOW in one.read_text(encoding="utf-8") for one in (path, *shared) if one.exists())


def pytest_ignore_collect(collection_path, config):
    """`make test-slow` does not import the files that have no slow test: most of them."""
    if config.option.markexpr != "slow and not long" or not fnmatch(collection_path.name, "test_*.py"):
        return None
    if names_slow(collection_path):
        return None
    PASSED_OVER.add(collection_path)
    return True


LEFT_OUT: Counter[str] = Counter()  # deselected tests by tier


def tier_of(item) -> str:
    return next((tier for tier in ("long", "slow") if item.get_closest_marker(tier)), "default")


def pytest_deselected(items):
    LEFT_OUT.update(tier_of(item) for item in items)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):  # of pytest-xdist: each worker has collected everything
        session.config.workeroutput["left_out"] = dict(LEFT_OUT)
        session.config.workeroutput["passed_over"] = [str(path) for path in PASSED_OVER]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    PASSED_OVER.update(map(Path, getattr(node, "workeroutput", {}).get("passed_over", ())))
    LEFT_OUT.update({k: n - LEFT_OUT[k] for k, n in getattr(node, "workeroutput", {}).get("left_out", {}).items()})


def pytest_terminal_summary(terminalreporter):
    counts = [f"{LEFT_OUT[tier]:,} {tier}" for tier in ("default", "slow", "long") if LEFT_OUT[tier]]
    if PASSED_OVER:
        terminalreporter.write_line(f"passed over: {len(PASSED_OVER):,} files without a slow test")
    if counts:
        terminalreporter.write_line(f"left out: {', '.join(counts)} tests (`make test-all` runs all tiers)")


def unit_of(nodeid: str) -> str:
    """What is dealt out as one: the tests of a file, in one process; of some long files each test by itself."""
    file = nodeid.partition("::")[0]
    return nodeid if Path(file).stem in EACH_BY_ITSELF else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    return Scheduling(config, log)


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
def table():
    """A function: columns by name, scales and roles by name -> (table, schema); default: numeric quasi-identifiers."""

    from tasks.microdata.schema import Attribute, Role, Scale, Schema
    from tasks.microdata.table import Microdata

    def made(columns, *, scales=None, roles=None):
        data = Microdata.from_columns(columns)
        scales, roles = scales or {}, roles or {}
        attributes = (
            Attribute(name, roles.get(name, Role.QUASI_IDENTIFIER), scales.get(name, Scale.NUMERIC), "declared")
            for name in data.names
        )
        return data, Schema(tuple(attributes))

    return made


@pytest.fixture(scope="session")
def prefect(shared_places):
    """One Prefect server for all tests that run flows in this process; its address. The environment does not name it."""
    from prefect.context import _temporary_global_settings_context, get_settings_context
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

    from flows.home_server.connection import leave_server, use_prefect_server

    with use_prefect_server() as wait_until_it_answers, pytest.MonkeyPatch.context() as patch:
        wait_until_it_answers()
        address, password = (os.environ[name] for name in ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING"))
        patch.delenv("PREFECT_API_URL")
        with temporary_settings({PREFECT_API_URL: address, PREFECT_API_AUTH_STRING: password}):
            with _temporary_global_settings_context(get_settings_context()):  # for threads
                yield address
            leave_server()


@pytest.fixture(scope="session")
def made_store(tmp_path_factory) -> Path:
    """An empty tracking store as MLflow makes it, for a second and more: made once, copied for each test."""
    from tasks.runtime.tracking_store import open_client

    home, before = tmp_path_factory.mktemp("mlflow") / "home", os.environ["SDCERT_HOME"]
    os.environ["SDCERT_HOME"] = str(home)
    try:
        open_client()
    finally:
        os.environ["SDCERT_HOME"] = before
    return home / "mlflow.db"


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
