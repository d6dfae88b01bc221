"""`sdcert ...` in a process of its own: what may hang is in there, and a limit ends it, whatever it is doing."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.run.recorder import new_run_id
from flows.run.run_entries import ASKED_BY_DEPLOYMENT, ASKED_BY_FLOW_RUN
from flows.scheduled.closing import close_unfinished
from flows.scheduled.command_requests import CODE_FILE, FOLDER, CommandRequest
from flows.scheduled.process_tree import ProcessExit, ProcessTree, create_python_path
from tasks.microdata.regular_files import read_file, read_text_file
from tasks.runtime.failures import write_private_trace
from tasks.runtime.settings import Home

GRACE_SECONDS = 20.0  # less than the 30 that a worker of Prefect's gives a flow run that it cancels
KEPT_DAYS = 30
FINISHED = (0, 1)  # it came to its end while it was asked to end: what it did stands
_LOOK_SECONDS = 0.5  # how long an exception that Prefect raises from another thread waits
_OURS = "PREFECT__"  # of the flow run that asks; the command begins one of its own


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """What became of a command.

    exit_code: as the command line documents it, negative for a signal that ended it, None if it was stopped or lost.
    timed_out: it was stopped at its limit. json: what it printed with `--json`, None if that is not one JSON document.
    folder: where all that it printed lies, private: it may hold values of the source. code: the kind and place of a mistake in
    its input, without any value.
    """

    exit_code: int | None
    timed_out: bool
    seconds: float
    json: Any
    folder: Path
    code: str | None = None


def run_in_process(
    words: Sequence[str],
    *,
    limit_seconds: float,
    grace_seconds: float = GRACE_SECONDS,
    asked_by: Mapping[str, str | None] | None = None,
) -> CommandOutcome:
    """Run `sdcert <words>` in a process of its own; at the limit it is ended with all that it started.

    It ends too when this process ends, also by kill -9, and when this call is broken off by an exception. SIGTERM first,
    after the grace SIGKILL. asked_by: `deployment` and `flow_run` as the ledger is to name them. Costs a second of a processor
    for the interpreter, and what the command costs.
    """
    folder, asked_by = _folder(), asked_by or {}
    asked = _remember_request(asked_by, folder)
    kept = ProcessTree(
        [sys.executable, "-P", "-m", "flows.cli", *words],
        environment={**create_child_environment(os.environ, asked_by), CODE_FILE: str(folder / "code")},
        out=folder / "stdout",
        err=folder / "stderr",
        limit_seconds=limit_seconds,
        grace_seconds=grace_seconds,
    )
    with kept:
        ending = _wait_for_exit(kept)
    if asked is not None and _close_runs(asked, ending):
        asked.forget()
    in_time = ending.stopped is None or ending.exit_code in FINISHED
    code = ending.exit_code if in_time else None
    timed_out = ending.stopped == "limit" and not in_time
    return CommandOutcome(code, timed_out, ending.seconds, _read_json(folder / "stdout"), folder, _code(folder / "code"))


def create_child_environment(environment: Mapping[str, str], asked_by: Mapping[str, str | None]) -> dict[str, str]:
    """The environment of a command that a flow run starts: the same home and code, but not the flow run's own variables."""
    kept = {name: value for name, value in environment.items() if not name.startswith(_OURS)}
    asked = {ASKED_BY_DEPLOYMENT: asked_by.get("deployment"), ASKED_BY_FLOW_RUN: asked_by.get("flow_run")}
    given = {name: value for name, value in asked.items() if value}
    return {**kept, "SDCERT_HOME": str(Home.current().root), "PYTHONPATH": create_python_path(kept), **given}


def _wait_for_exit(kept: ProcessTree) -> ProcessExit:
    while True:
        try:
            return kept.wait(_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            continue


def _remember_request(asked_by: Mapping[str, str | None], folder: Path) -> CommandRequest | None:
    """Write down which flow run asks, until the command has ended and nothing of it is left open."""
    flow_run = asked_by.get("flow_run")
    if flow_run is None:
        return None
    asked = CommandRequest.here(flow_run, asked_by.get("deployment"), folder)
    asked.remember()
    return asked


def _close_runs(asked: CommandRequest, ending: ProcessExit) -> bool:
    """Whether the ledger has the last word on the command's runs. If not, who finds this process gone writes it."""
    if ending.exit_code is not None and ending.exit_code >= 0:
        return True
    try:
        close_unfinished(asked.flow_run, asked.at, "timed-out" if ending.stopped == "limit" else "killed")
    except Exception as error:
        write_private_trace("closing", secrets.token_hex(8), error)
        return False
    return True


def _folder() -> Path:
    """A private folder for what one command prints; those of a month ago are removed."""
    parent = Home.current().folder(FOLDER)
    for old in parent.iterdir():
        if old.is_dir() and time.time() - old.stat().st_mtime > KEPT_DAYS * 86_400:
            shutil.rmtree(old, ignore_errors=True)
    return Home.current().folder(FOLDER, new_run_id())


def _code(path: Path) -> str | None:
    try:
        return read_text_file(path)
    except (OSError, ValueError):
        return None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_file(path))
    except (OSError, ValueError, RecursionError):
        return None
