"""Running the command line inside this process, against the session's one Prefect server."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from outcomes import ROOT, Ran, newest_manifest
from release_files import WRITTEN, write_release
from undrawn_charts import leave_charts_undrawn

from flows.cli import run


@pytest.fixture
def sdcert(home, prefect, made_store, capfd, request):
    """`sdcert(*words)` runs the command line in this process; a home in which it certifies has the tables of MLflow's store.

    The charts of reports have all their texts, so that these are searched, and no shapes, but in tests that are marked `drawn`.
    """
    drawn = request.node.get_closest_marker("drawn") is not None

    def call(*words: object) -> Ran:
        if words[0] == "certify":
            _furnish(Path(os.environ["SDCERT_HOME"]), made_store)
        capfd.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            if not drawn and words[0] != "sweep":  # whose maps have parts that cannot be left out
                leave_charts_undrawn(patch)
            code = run([str(word) for word in words])
        captured = capfd.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


def _furnish(home: Path, made_store: Path) -> None:
    if not (home / "mlflow.db").exists():
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy(made_store, home / "mlflow.db")


@pytest.fixture
def certify(sdcert, tmp_path):
    """`certify(change, *options)` certifies the small survey with a changed release file; returns what ran and the manifest."""

    def call(change: dict[str, Any] | None = None, *options: str, text: str | None = None) -> tuple[Ran, dict[str, Any]]:
        path = write_release(tmp_path / "project", change, text=text)
        ran = sdcert("certify", path, "--output", tmp_path / "releases", *options)
        return ran, newest_manifest()

    return call


@dataclass(frozen=True)
class CertifiedRun:
    """One certified run of the small survey. folder: holds its home, its project and the releases."""

    folder: Path
    home: Path
    ran: Ran
    manifest: dict[str, Any]

    @property
    def run(self) -> str:
        return self.manifest["run"]


@pytest.fixture(scope="session")
def certified_once(prefect, made_store, tmp_path_factory) -> Iterator[CertifiedRun]:
    """One certified run for all tests of a session, which nobody changes."""
    from leaks import leaks_of_test

    folder = tmp_path_factory.mktemp("certified")
    out, err = io.StringIO(), io.StringIO()
    path = write_release(folder / "project")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("SDCERT_HOME", str(folder / "home"))
        _furnish(folder / "home", made_store)
        code = run(["certify", str(path), "--output", str(folder / "releases")])
        manifest = newest_manifest()
    assert code == 0, err.getvalue()
    yield CertifiedRun(folder, folder / "home", Ran(code, out.getvalue(), err.getvalue()), manifest)
    assert leaks_of_test(folder) == []


@pytest.fixture
def certified(certified_once, home, tmp_path) -> CertifiedRun:
    """The certified run as if this test had made it: its home, project and releases are copied to where `certify` has its own.

    The manifest goes on naming the folder of the original, which must not be changed.
    """
    for name in ("home", "project", "releases"):
        shutil.copytree(certified_once.folder / name, tmp_path / name, symlinks=True)
    WRITTEN.add(tmp_path / "project" / "survey.csv")
    return replace(certified_once, folder=tmp_path, home=home)


@pytest.fixture
def process(home, prefect, tmp_path):
    """`process(code or words)` starts a real process of its own against the session's server; Ctrl-C reaches it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background may have been started without
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object, checkout: Path = ROOT, **environment: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "PREFECT_API_URL": prefect, "PYTHONPATH": str(checkout), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


@pytest.fixture
def bucket():
    """The address of an empty S3 bucket; skipped where the extra `s3` is not installed."""
    from s3 import s3_bucket

    with s3_bucket() as address:
        yield address


@pytest.fixture
def audit(home, capfd, monkeypatch):
    """`audit(*words)` runs `sdcert audit ...` in this process: exit code, what it printed, and its messages."""

    monkeypatch.delenv("COLUMNS", raising=False)  # as wide as a pipe, wherever the tests run

    def call(*words: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run(["audit", *map(str, words)])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call
