"""`sdcert doctor`: what is ready, what is missing and what to do about it, and what is not protected. Changes nothing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.root import app
from flows.cli.terminal import terminal
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.regular_files import open_regular_file, read_text_file
from tasks.microdata.words import join_first
from tasks.runtime.project_files import LOCK, find_project_file
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from flows.cli.doctor.home import Finding

SECONDS_TO_ANSWER = 5
_NAMED = 6
OPTIONAL = {
    "psycopg2": ("sources in PostgreSQL, and MLflow and the index of the ledger on it", "psycopg2-binary"),
    "s3fs": ("stores and sweeps in S3-compatible places", "s3fs"),
    "pyreadstat": ("SPSS, Stata and SAS files", "pyreadstat"),
    "matplotlib": ("the charts of the report", "matplotlib"),
}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
MATTERING = ("SDCERT_", "PREFECT_", "MLFLOW_", "NUMBA_", "GX_", "PYTHONPATH", "PYTHONHASHSEED", "TMPDIR", *THREADS, *PROXIES)
NOT_PROTECTED = (
    "The seed of every release lies unencrypted in the private folder. Who reads it can undo the maskings that draw at random.",
    "The source tables lie there unencrypted too (store/), and so do the figures at full precision (runs/).",
    "Who works under your user name, the administrator (root), and every backup of the folder can read all of it.",
    "Whether the folder is backed up, and how well the backup is locked, is not looked at. A lost seed cannot be made again.",
    "The random numbers come from PCG64, which is not a cryptographic generator; its seed has 256 bits of the system's.",
    "Who reads a key that signs (keys/signing), and its passphrase if it has one, can sign certificates and another ledger.",
    "Only what lies elsewhere contradicts a ledger that was written anew: a witnessed root, certificates that were given out.",
    "Servers of Prefect and MLflow that you start yourself ask for no password by themselves (OPERATIONS.md says how they do).",
    "Who has the password of the Prefect server (the file serve/auth-string while `sdcert serve` runs) runs commands as you.",
    "Values of the source are in the memory of a running process, and may reach swap space or a core dump.",
)


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="print the findings on stdout as JSON")] = False) -> int:
    """What is ready, what is missing, what is not protected. Exit code 0 if nothing failed, 1 if something did."""
    found = tuple(list_findings())
    failed = any(finding.status == "fail" for finding in found)
    if as_json:
        content = {"findings": [finding.as_dict() for finding in found], "not_protected": NOT_PROTECTED, "failed": failed}
        sys.stdout.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        return int(failed)
    console = terminal(soft_wrap=True)

    def say(text: str) -> None:
        console.print(escape_terminal(text))

    for finding in found:
        say(f"{finding.status:<5} {finding.topic:<12} {finding.says}")
        if finding.to_do:
            say(f"{'':<18} to do: {finding.to_do}")
    say("")
    say("Not protected, whatever stands above:")
    for sentence in NOT_PROTECTED:
        say(f"  - {sentence}")
    say("")
    say(_summarise_findings(found))
    return int(failed)


def list_findings() -> Iterator[Finding]:
    """Every finding, in the order in which somebody would mend them."""
    from flows.cli.doctor.api import check_api
    from flows.cli.doctor.home import check_home
    from flows.cli.doctor.keys import check_keys
    from flows.cli.doctor.ledger_end import check_ledger
    from flows.cli.doctor.schedules import check_quarantine, check_schedules
    from flows.cli.doctor.shared_folders import check_shared_storage

    yield _check_python()
    yield from _check_packages()
    yield _check_prefect()
    yield from check_api()
    yield from check_schedules()
    yield _check_mlflow()
    yield from check_home(Home.current().root)
    yield from check_keys(Home.current().root)
    yield from check_ledger(Home.current().root)
    yield from check_quarantine()
    yield from check_shared_storage(Home.current().root)
    yield from _check_optional_packages()
    yield _check_variables()


def _summarise_findings(found: tuple[Finding, ...]) -> str:
    counts = {status: sum(finding.status == status for finding in found) for status in ("ok", "warn", "fail")}
    text = ", ".join(f"{count} {status}" for status, count in counts.items())
    return f"{text}: {'mend what failed before you certify' if counts['fail'] else 'nothing stands in the way of a release'}"


def _check_python() -> Finding:
    import importlib.metadata

    from packaging.specifiers import SpecifierSet

    from flows.cli.doctor.home import fail, fine

    version = ".".join(map(str, sys.version_info[:3]))
    wanted = importlib.metadata.metadata("sdcert")["Requires-Python"]
    if SpecifierSet(wanted).contains(version):
        return fine("python", f"{version} (wanted: {wanted})")
    return fail("python", f"{version}, but {wanted} is wanted", "install a supported Python and run `make setup`")


def _check_packages() -> Iterator[Finding]:
    from flows.cli.doctor.home import fail, fine, warn

    absent = sorted(name for name in _list_direct_requirements() if _find_version(name) is None)
    if absent:
        yield fail("packages", f"not installed: {', '.join(absent)}", "run `make setup`")
    lock = find_project_file(LOCK)
    if not lock.is_file():
        yield warn("packages", "no requirements.lock here, so versions were not compared", "install from a checkout")
        return
    pinned = _parse_lock(read_text_file(lock, encoding="utf-8"))
    other = sorted(n for n, versions in pinned.items() if (v := _find_version(n)) is not None and v not in versions)
    if not other:
        yield fine("packages", f"every installed one of {len(pinned)} has the version of requirements.lock")
        return
    named = join_first(other, _NAMED)
    says = f"{len(other)} differ from requirements.lock: {named}; figures may differ in the last digits"
    yield warn("packages", says, "run `make setup` to install the versions that were tested")


def _list_direct_requirements() -> list[str]:
    import importlib.metadata

    from packaging.requirements import Requirement

    wanted = [Requirement(line) for line in importlib.metadata.requires("sdcert") or ()]
    return [one.name for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]


def _parse_lock(lock: str) -> dict[str, set[str]]:
    """The versions of each package that the lock has for this Python and platform."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, set[str]] = {}
    for line in lock.splitlines():
        try:
            one = Requirement(line.rstrip("\\ "))
        except InvalidRequirement:  # hashes, comments
            continue
        if one.marker is None or one.marker.evaluate():
            found.setdefault(canonicalize_name(one.name), set()).update(spec.version for spec in one.specifier)
    return found


def _find_version(name: str) -> str | None:
    import importlib.metadata

    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _check_prefect() -> Finding:
    from flows.cli.doctor.home import fail, fine

    address = os.environ.get("PREFECT_API_URL")
    if not address:
        return fine("prefect", "PREFECT_API_URL is not set: the home has a server of its own, which starts and ends by itself")
    problem = _find_connection_problem(f"{address.rstrip('/')}/health")
    if problem is None:
        return fine("prefect", "the server that PREFECT_API_URL names answers")
    to_do = "start it (`sdcert serve`), correct the address, or unset PREFECT_API_URL for the server of the home"
    return fail("prefect", f"no server answers at what PREFECT_API_URL names ({problem})", to_do)


def _check_mlflow() -> Finding:
    from flows.cli.doctor.home import fine, warn

    address = os.environ.get("MLFLOW_TRACKING_URI")
    if address and address.startswith(("http:", "https:")):
        problem = _find_connection_problem(f"{address.rstrip('/')}/health")
        if problem is None:
            return fine("mlflow", "the server that MLFLOW_TRACKING_URI names answers")
        to_do = "start it, correct the address, or unset MLFLOW_TRACKING_URI for a local file"
        return warn(
            "mlflow", f"no server answers at what MLFLOW_TRACKING_URI names ({problem}); releases go on without it", to_do
        )
    if address:
        return fine("mlflow", "MLFLOW_TRACKING_URI names a store that is no web server; it was not opened")
    return _check_local_store(Home.current().root / "mlflow.db")


def _check_local_store(path: Path) -> Finding:
    import sqlite3

    from flows.cli.doctor.home import fine, warn

    if not path.exists():
        return fine("mlflow", "MLFLOW_TRACKING_URI is not set: mlflow.db is made in the private folder at the first run")
    try:
        with open_regular_file(path), sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=SECONDS_TO_ANSWER) as store:
            answer = store.execute("pragma quick_check(1)").fetchone()[0]
    except (sqlite3.Error, OSError) as error:
        answer = type(error).__name__
    if answer == "ok":
        return fine("mlflow", "mlflow.db in the private folder is sound")
    to_do = "move mlflow.db away (a new one is made), or restore it; releases go on without it"
    return warn("mlflow", "mlflow.db in the private folder cannot be read or is damaged", to_do)


def _find_connection_problem(address: str) -> str | None:
    """Why nobody answers there, without the address, which may hold a password; None: somebody does."""
    import httpx

    try:
        httpx.get(address, timeout=SECONDS_TO_ANSWER).raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        return type(error).__name__
    return None


def _check_optional_packages() -> Iterator[Finding]:
    import importlib.metadata

    from flows.cli.doctor.home import fine, warn

    for module, (what, package) in OPTIONAL.items():
        if importlib.util.find_spec(module) is not None:
            yield fine("optional", f"{module} is installed: {what}")
        else:
            yield warn("optional", f"{module} is not installed: no {what}", f"`pip install {package}`, if you need that")
    yield fine("optional", "a browser is not needed: reports open in any, and only the tests drive one")


def _check_variables() -> Finding:
    from flows.cli.doctor.home import fine

    names = sorted(name for name in os.environ if name.startswith(MATTERING))
    text = ", ".join(names) if names else "none"
    return fine("environment", f"set, of those that matter (names alone): {text}")
