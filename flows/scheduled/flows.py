"""What deployments run (prefect.yaml): each flow runs one command in a process of its own, and says what became of it.

A deployment names these by module (`flows.scheduled.flows.certify_release`), never by file: Prefect's loader of files would
put this folder on the path, where this file would hide the package it is in. Parameters are names and paths alone,
and paths lead nowhere but where `prefect.yaml` lets them (`served.py`).
"""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
import secrets
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import psutil
from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, StateType
from prefect.runtime import deployment, flow_run
from prefect.tasks import exponential_backoff
from pydantic import Field

from flows.notifications.notify import notify_outcome, tell_waiting
from flows.run.interface import name_flow_run
from flows.scheduled.child import CommandOutcome, run_in_process
from flows.scheduled.closing import find_runs_of_flow
from flows.scheduled.file_access import FileAccess
from flows.scheduled.flow_outcomes import (
    Broke,
    FlowOutcome,
    interpret_certify,
    interpret_check,
    interpret_sweep,
    interpret_watch,
)
from flows.scheduled.server_client import end_inside
from tasks.microdata.errors import InputError, SdcertError
from tasks.runtime.failures import StageFailure, hide_exceptions, write_private_trace

RETRIES = 3
FIRST_DELAY_SECONDS = 30  # then 60, 120
Minutes = Annotated[float, Field(gt=0, le=60 * 24 * 31)]
Times = Annotated[int, Field(ge=0, le=10)]
FilePath = Annotated[str, Field(min_length=1, max_length=1024)]
Blocks = Annotated[list[Annotated[str, Field(max_length=201)]], Field(max_length=20)]
Saying = Callable[..., FlowOutcome]
CommandWords = Callable[[FileAccess], list[str]]


@flow(name="certify-release", persist_result=False)
def certify_release(
    release: FilePath,
    output: FilePath = "releases",
    limit_minutes: Minutes = 240,
    tell: Blocks | None = None,
    retries: Times = RETRIES,
) -> State[None]:
    """Certify the release of a file. An attempt that was refused or undecided is not tried again.

    Args:
        release: The release file, in the folder of the deployments and relative to it.
        output: The folder in which each release gets a folder of its own.
        limit_minutes: The command is stopped then. What it computed is kept.
        tell: Blocks of Prefect that are told how it ended, such as slack-webhook/ours.
        retries: How often a command that broke is tried again. A verdict is not tried again.
    """

    def words(served: FileAccess) -> list[str]:
        return ["certify", served.file("release", release), "--output", served.output("output", output), "--json"]

    return _state(words, interpret_certify, limit_minutes, tell, retries)


@flow(name="watch-series", persist_result=False)
def watch_series(
    watch: FilePath, limit_minutes: Minutes = 240, tell: Blocks | None = None, retries: Times = RETRIES
) -> State[None]:
    """Look once whether a series has a new version of its source, and certify it if so.

    Args:
        watch: The watch file, which names the release file of the series.
        limit_minutes: The command is stopped then. What it computed is kept.
        tell: Blocks of Prefect that are told how it ended, such as slack-webhook/ours.
        retries: How often a command that broke is tried again. A verdict is not tried again.
    """
    return _state(
        lambda served: ["watch", served.file("watch", watch), "--json"], interpret_watch, limit_minutes, tell, retries
    )


@flow(name="sweep-file", persist_result=False)
def sweep_file(
    sweep: FilePath, limit_minutes: Minutes = 1440, tell: Blocks | None = None, retries: Times = RETRIES
) -> State[None]:
    """Compute a sweep, or go on with it: what was computed is kept.

    Args:
        sweep: The sweep file, which names its release file and the values to try.
        limit_minutes: The command is stopped then. What it computed is kept.
        tell: Blocks of Prefect that are told how it ended, such as slack-webhook/ours.
        retries: How often a command that broke is tried again. A verdict is not tried again.
    """

    def words(served: FileAccess) -> list[str]:
        return ["sweep", served.file("sweep", sweep), "--yes", "--json"]

    return _state(words, interpret_sweep, limit_minutes, tell, retries)


@flow(name="verify-trail", persist_result=False)
def verify_trail(limit_minutes: Minutes = 240, tell: Blocks | None = None, retries: Times = RETRIES) -> State[None]:
    """Check every entry of the ledger.

    Args:
        limit_minutes: The command is stopped then. What it computed is kept.
        tell: Blocks of Prefect that are told how it ended, such as slack-webhook/ours.
        retries: How often a command that broke is tried again. A verdict is not tried again.
    """
    return _state(lambda _: ["audit", "verify", "--json"], interpret_check, limit_minutes, tell, retries)


@flow(name="verify-store", persist_result=False)
def verify_store(limit_minutes: Minutes = 240, tell: Blocks | None = None, retries: Times = RETRIES) -> State[None]:
    """Check every artifact of the store.

    Args:
        limit_minutes: The command is stopped then. What it computed is kept.
        tell: Blocks of Prefect that are told how it ended, such as slack-webhook/ours.
        retries: How often a command that broke is tried again. A verdict is not tried again.
    """
    return _state(lambda _: ["store", "verify", "--json"], interpret_check, limit_minutes, tell, retries)


def _state(words: CommandWords, says: Saying, limit_minutes: float, tell: list[str] | None, retries: int) -> State[None]:
    try:
        asked = words(FileAccess.current())
        delays = exponential_backoff(FIRST_DELAY_SECONDS)  # given here, for it is counted out when a number of retries is
        ended = run_command.with_options(retries=retries, retry_delay_seconds=delays)(asked, says, limit_minutes)
    except InputError as error:
        says_why = f"nothing was run: parameter `{error.where}`: {error.what}; allowed: {error.allowed}"
        ended = FlowOutcome("FAILED", "Failed", says_why, ("failed",), code=error.public)
    except (Broke, StageFailure) as error:
        ended = FlowOutcome("FAILED", "Failed", str(error), ("failed",))
    if ended.release:
        named = f"{ended.release} {ended.name.lower() if ended.name != 'Completed' else 'certified'}"
        _ask_quietly(lambda: name_flow_run(named))
    _tell(ended, tell or [])
    return State(type=StateType[ended.kind], name=ended.name, message=ended.says)


def _is_worth_another_try(_: Any, __: Any, state: State[Any]) -> bool:
    """A wrong home or key stays wrong; what broke, or lost its process or its disk, may go well the next time."""
    error = state.result(raise_on_failure=False)
    return not (isinstance(error, StageFailure) and isinstance(error.cause, SdcertError))


@task(
    name="in a process",
    persist_result=False,
    cache_policy=NO_CACHE,
    retry_jitter_factor=0.5,
    retry_condition_fn=_is_worth_another_try,
)
def run_command(words: list[str], says: Saying, limit_minutes: float) -> FlowOutcome:
    """Run `sdcert <words>` and say what became of it. Raises Broke, or a StageFailure, where trying again may help."""
    return says(_run_command(words, limit_minutes))


@hide_exceptions("process")
def _run_command(words: list[str], limit_minutes: float) -> CommandOutcome:
    me = flow_run.id
    outcome = run_in_process(words, limit_seconds=60 * limit_minutes, asked_by={"deployment": deployment.name, "flow_run": me})
    if me and outcome.exit_code is None:
        _ask_quietly(lambda: end_inside(me))
    return outcome


def _tell(ended: FlowOutcome, blocks: Sequence[str]) -> None:
    """Tell of it, and of what could not be told before. Whatever goes wrong here, the run has ended as it has."""
    known = {"release": ended.release, "series": ended.series, "code": ended.code}
    known |= {"flow_run": flow_run.id, "deployment": _ask_quietly(lambda: deployment.name)}
    run = ended.run or _ask_quietly(_find_newest_run)
    for kind in ended.events:
        about = ended.due or run if kind == "review_due" else run
        notify_outcome(kind, blocks=blocks, run=about, **{name: value for name, value in known.items() if value})
    tell_waiting()


def _find_newest_run() -> str | None:
    """Of the ledger's, where this flow run came so far as to begin one."""
    found = find_runs_of_flow(flow_run.id, psutil.Process().create_time()) if flow_run.id else []
    return found[0].run if found else None


def _ask_quietly(ask: Callable[[], str | None]) -> str | None:
    """What is good to know or to tell, and never worth the run."""
    try:
        return ask()
    except Exception as error:
        write_private_trace("tell", secrets.token_hex(8), error)
        return None
