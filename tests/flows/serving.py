"""A real `sdcert serve` for tests: its process, its home, and what its server and its home say."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import psutil
from outcomes import ROOT
from postgres import free_port
from prefect_servers import asked
from release_files import WRITTEN, survey, write_release

SECONDS_TO_SERVE = 600  # on a busy machine
SLOW_VARIABLE = "SDCERT_TEST_DATABASE"
LOCKED_VARIABLE = "SDCERT_TEST_LOCKED_DATABASE"
FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


def until(condition: Callable[[], Any], seconds: float = 120, every: float = 0.25) -> Any:
    """The first true value of a condition; it may raise while what it asks is away."""
    deadline, last = time.monotonic() + seconds, None
    while time.monotonic() < deadline:
        try:
            last = condition()
            if last:
                return last
        except httpx.HTTPError as error:
            last = error
        time.sleep(every)
    raise AssertionError(f"it did not happen within {seconds} s: {last!r}")


def write_endless(folder: Path, name: str) -> Path:
    """A release whose source is a database that stays locked: it waits and uses no processor; returns its file."""
    return write_release(folder, {"name": name, "source": {"sql": "SELECT * FROM survey", "url_env": LOCKED_VARIABLE}})


@contextmanager
def locked_database(path: Path) -> Iterator[str]:
    """The survey in SQLite, locked while the context lasts; gives the URL with which a reader waits for the lock."""
    write_database(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        yield f"sqlite:///file:{path}?mode=ro&uri=true&timeout=3600"


def write_slow(folder: Path, name: str, steps: int) -> Path:
    """A release whose source is a query that counts some ten million steps a second; returns its file."""
    slow = f"(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < {steps}) SELECT count(*) FROM c)"  # noqa: S608  # our own
    source = {"sql": f"SELECT * FROM survey WHERE {slow} > 0 ORDER BY person_id", "url_env": SLOW_VARIABLE}  # noqa: S608  # our own
    return write_release(folder, {"name": name, "source": source})


def write_database(path: Path) -> str:
    """The survey in SQLite; returns its URL."""
    table = pd.read_csv(io.StringIO(survey()))
    with sqlite3.connect(path) as database:
        table.to_sql("survey", database, index=False)
    WRITTEN.add(path)
    return f"sqlite:///{path}"


def deployment(name: str, flow: str, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "entrypoint": f"flows.scheduled.flows.{flow}", "parameters": parameters}


def every_minute(one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "schedules": [{"slug": "minutely", "cron": "* * * * *"}]}


@dataclass
class Serving:
    """A served home. environment: of the process that serves."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def password(self) -> str:
        """Of its server, as it lies in the home while it serves."""
        return (self.home / "serve" / "auth-string").read_text()

    @property
    def log(self) -> str:
        return (self.folder / "serve.log").read_text()

    def write(self, *deployments: dict[str, Any]) -> Path:
        path = self.folder / "prefect.yaml"
        path.write_text(json.dumps({"deployments": deployments}))
        return path

    def environment_of(self, **more: str) -> dict[str, str]:
        base = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_TRACKING"))}
        return {**base, "SDCERT_HOME": str(self.home), "PYTHONPATH": str(ROOT), **self.environment, **more}

    def start(self, *words: object, wait: bool = True) -> None:
        """`sdcert serve` on the written file, from another folder."""
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "flows.cli", "serve", self.folder / "prefect.yaml", "--port", self.port, *words]
        with (self.folder / "serve.log").open("wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command], cwd=elsewhere, env=self.environment_of(), stderr=log, stdout=log
            )
        if wait:
            until(lambda: "serving;" in self.log or self.process.poll() is not None, SECONDS_TO_SERVE)
            assert self.process.poll() is None, self.log

    def stop(self, number: int = signal.SIGTERM, seconds: float = 90) -> int:
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def kill(self) -> None:
        """Whatever is left of it, at the end of a test."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        until(lambda: not self._killed(), 180)

    def _killed(self) -> list[psutil.Process]:
        found = self.processes()
        for one in found:
            one.kill()
        return found

    def processes(self, words: str = "") -> list[psutil.Process]:
        """The living processes of this home whose command line holds these words, without `serve` itself."""
        return [one for one in psutil.process_iter() if self._is_ours(one) and words in _command(one)]

    def _is_ours(self, one: psutil.Process) -> bool:
        try:
            if one.pid == self.process.pid or one.status() == psutil.STATUS_ZOMBIE:
                return False
            return one.environ().get("SDCERT_HOME") == str(self.home) and one.pid != os.getpid()
        except (psutil.Error, OSError):
            return False

    def ask(self, method: str, path: str, content: Any = None) -> Any:
        answer = asked(self.api, method, path, content, password=self.password)
        return answer.json() if answer.content else None

    def deployment(self, name: str) -> dict[str, Any]:
        (found,) = self.ask("POST", "deployments/filter", {"deployments": {"name": {"any_": [name]}}})
        return found

    def runs(self, name: str) -> list[dict[str, Any]]:
        """The flow runs of a deployment, oldest first."""
        wanted = {"deployments": {"name": {"any_": [name]}}, "limit": 200}
        return sorted(self.ask("POST", "flow_runs/filter", wanted), key=lambda run: run["expected_start_time"])

    def begin(self, name: str, **parameters: Any) -> str:
        """Ask for a run of a deployment now, with other parameters than it states; returns its id."""
        wanted = {"parameters": parameters}
        return self.ask("POST", f"deployments/{self.deployment(name)['id']}/create_flow_run", wanted)["id"]

    def run(self, flow_run: str) -> dict[str, Any]:
        return self.ask("GET", f"flow_runs/{flow_run}")

    def ended(self, flow_run: str, seconds: float = 300) -> tuple[str, str, str]:
        """Type, name and message of the state in which it ended."""
        run = until(lambda: (found := self.run(flow_run))["state_type"] in FINAL and found, seconds, every=1)
        return run["state_type"], run["state_name"], run["state"]["message"] or ""

    def child_of(self, flow_run: str, seconds: float = 180) -> psutil.Process:
        """The command that a flow run runs, once it is at work on a run of the ledger's."""
        until(lambda: self.endings_of(flow_run), seconds, every=1)
        return next(
            one
            for one in self.processes("flows.cli")
            if "flows.scheduled.supervisor" not in _command(one) and _of(one) == flow_run
        )

    def ledger(self) -> list[dict[str, Any]]:
        """The runs of the audit trail, newest first, as `sdcert audit find` tells them, with the flow run that asked."""
        return json.loads(self.sdcert("audit", "find", "--json", "--last", 500).stdout)["runs"]

    def endings_of(self, *flow_runs: str) -> dict[str, str]:
        """How the ledger says that the runs of flow runs ended, by their names; `running`: not yet."""
        found: dict[str, str] = {}
        for line in self.entries():
            event = line["event"]
            if event.get("asked_by", {}).get("flow_run") in flow_runs:
                found[event["run"]] = "running"
            elif event.get("run") in found and "outcome" in event:
                found[event["run"]] = event["outcome"]
        return found

    def verdicts_of(self, flow_run: str) -> list[str]:
        """Those of the runs that a flow run asked for, newest first."""
        return [*self.endings_of(flow_run).values()][::-1]

    def ledger_of(self, flow_run: str) -> list[dict[str, Any]]:
        """The runs that a flow run asked for, as `sdcert audit find` tells them."""
        asked = [line for line in self.entries() if line["event"].get("asked_by", {}).get("flow_run") == flow_run]
        names = {line["event"]["run"] for line in asked}
        return [run for run in self.ledger() if run["run"] in names] if names else []

    def entries(self) -> Iterator[dict[str, Any]]:
        """What stands in the ledger, oldest first."""
        from tasks.audit.ledger.ledger import Ledger
        from tasks.audit.lookup.index_rows import parse_entry

        for line in Ledger(self.home / "ledger").lines() if (self.home / "ledger" / "ledger.jsonl").exists() else ():
            entry = parse_entry(line.content)
            if entry is not None:
                yield entry.model_dump(mode="json")

    def sdcert(self, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "flows.cli", *map(str, words)]
        environment = self.environment_of(**environment)
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)

    def half_made(self) -> list[Path]:
        """What is in the output folder and is no whole release folder."""
        wanted = {"certificate.json", "statement.json"}
        folders = [path for path in (self.folder / "releases").glob("*/*") if not path.is_symlink()]
        return [path for path in folders if not path.is_dir() or not wanted & {file.name for file in path.iterdir()}]


def _command(one: psutil.Process) -> str:
    try:
        return " ".join(one.cmdline())
    except psutil.Error:
        return ""


def _of(one: psutil.Process) -> str | None:
    try:
        return one.environ().get("SDCERT_ASKED_BY_FLOW_RUN")
    except (psutil.Error, OSError):
        return None


@contextmanager
def served(folder: Path, *deployments: dict[str, Any], **environment: str) -> Iterator[Serving]:
    """A served home, ended with all its processes."""
    serving = Serving(folder, environment)
    serving.write(*deployments)
    try:
        serving.start()
        yield serving
    finally:
        serving.kill()
