"""Flow runs that were killed together with the worker that took them, before their command began.

A worker of Prefect's says of its runs that they crashed. When it dies with one, nobody does: the run stays PENDING for good
and keeps the place of its deployment, so that the runs after it are cancelled. Such a run has no process and no worker any
more. It is ended as crashed, of which the automation for crashes tells, and run again once.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.responses import SetStateStatus
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError

from flows.run.run_entries import ASKED_BY_FLOW_RUN
from flows.scheduled import workers
from flows.scheduled.closing import close_unfinished, find_runs_of_flow
from flows.scheduled.command_requests import list_requests
from flows.scheduled.deployments import TAG
from tasks.audit.ledger.ledger import Ledger
from tasks.runtime.failures import write_private_trace
from tasks.runtime.processes import own_processes

TO_REPEAT = "sdcert:run-again"  # the tag of a run that was ended here, until its repetition is on the server
REPEATS = "sdcert:repeats:"  # with the id of the run: the server makes one repetition of it, whoever asks and however often
TAKEN_BY = "prefect.worker.name"
FLOW_RUN = "PREFECT__FLOW_RUN_ID"
SECONDS_TO_SETTLE = 30.0  # a run that is taken again still bears, for a moment, the name of its former worker
SECONDS_TO_START = 600.0  # a worker that is there has this long to start the process of a run, with a server that is busy

ONCE_MORE = "its process and the worker that took it were killed before its command began; it is run again, once"
NOT_AGAIN = "its process and the worker that took it were killed; it is not run again, for it was a repetition or had begun"


@dataclass(frozen=True, slots=True)
class Looks:
    """Since when each state of a run was seen without a process behind it, by a clock that nobody sets."""

    since: dict[UUID, float] = field(default_factory=dict)

    def measure_waiting(self, states: list[UUID]) -> dict[UUID, float]:
        """How long each has been seen so; all others are forgotten."""
        now = time.monotonic()
        kept = {state: self.since.get(state, now) for state in states}
        self.since.clear()
        self.since.update(kept)
        return {state: now - since for state, since in kept.items()}


def end_vanished(client: SyncPrefectClient, looks: Looks) -> Iterator[str]:
    """End the runs that vanished and let each run again once; yields a sentence on each.

    Every step may be repeated, by another process too: what one look did not finish, the next one does. Raises the first
    error, when all were tried.
    """
    errors: list[Exception] = []
    for run in _find_vanished(client, looks):
        try:
            yield from _end(client, run)
        except Exception as error:
            errors.append(error)
    for run in _runs(client, {"tags": {"all_": [TO_REPEAT]}, "state": {"type": {"any_": _FINAL}}}):
        try:
            yield from _let_run_again(client, run)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _end(client: SyncPrefectClient, run: FlowRun) -> Iterator[str]:
    runs_again = _may_run_again(run)
    if runs_again:
        client.update_flow_run(run.id, tags=[*run.tags, TO_REPEAT])
    if end_run(client, run, ONCE_MORE if runs_again else NOT_AGAIN) and not runs_again:
        yield f"a run of {_deployment(client, run)} had been killed: it is shown as crashed now, and does not run again"
    close_unfinished(str(run.id), _since(run), "killed")


def _let_run_again(client: SyncPrefectClient, run: FlowRun) -> Iterator[str]:
    """Unless the run ended in its own way meanwhile."""
    if run.state_type == StateType.CRASHED:
        consequence = "and runs again" if _repeat(client, run) else "but cannot run again: its deployment has changed"
        yield f"a run of {_deployment(client, run)} was killed before it began: it is shown as crashed, {consequence}"
    client.update_flow_run(run.id, tags=[tag for tag in run.tags if tag != TO_REPEAT])


def end_run(client: SyncPrefectClient, run: FlowRun, message: str) -> bool:
    """Call a run crashed that has no process, or cancelled if somebody had asked for that; False: it has ended already."""
    if run.state is None or run.state.is_final():
        return False
    ended = (StateType.CANCELLED, "Cancelled") if run.state.is_cancelling() else (StateType.CRASHED, "Crashed")
    answer = client.set_flow_run_state(run.id, State(type=ended[0], name=ended[1], message=message))
    return answer.status == SetStateStatus.ACCEPT


def _find_vanished(client: SyncPrefectClient, looks: Looks) -> list[FlowRun]:
    """Of the runs that have not ended. First what the server says, then what is there: a process may start in between."""
    states = [one.value for one in (StateType.PENDING, StateType.RUNNING, StateType.CANCELLING)]
    unended = list(_runs(client, {"tags": {"all_": [TAG]}, "state": {"type": {"any_": states}}}))
    behind = {environment.get(name) for _, environment in own_processes() for name in (FLOW_RUN, ASKED_BY_FLOW_RUN)}
    behind |= {one.flow_run for one in list_requests()}  # their command has begun
    silent = [run for run in unended if str(run.id) not in behind and run.state_id is not None]
    waited, living = looks.measure_waiting([run.state_id for run in silent if run.state_id]), workers.living()
    return [run for run in silent if run.state_id and _nobody_comes(run, waited[run.state_id], living)]


def _nobody_comes(run: FlowRun, waited: float, living: set[str]) -> bool:
    """Whether no worker can still start, or speak for, a run without a process."""
    worker = run.labels.get(TAKEN_BY)
    if worker is None:  # taken a moment ago, or by one that died in that moment
        return run.state_type == StateType.PENDING and waited >= SECONDS_TO_START
    if not workers.belongs_to_home(str(worker)):
        return False
    return not living or waited >= (SECONDS_TO_START if worker in living else SECONDS_TO_SETTLE)


def _may_run_again(run: FlowRun) -> bool:
    """Whether it is no repetition itself, and the ledger has no command of it: repeated, that would certify a second time."""
    if (run.idempotency_key or "").startswith(REPEATS):
        return False
    try:
        return not (Ledger.current().exists() and find_runs_of_flow(str(run.id), _since(run)))
    except Exception as error:  # a ledger that cannot be read holds up no run, and nobody repeats what it may have had
        write_private_trace("vanished", secrets.token_hex(8), error)
        return False


def _since(run: FlowRun) -> float:
    return (run.expected_start_time or run.created).timestamp()  # type: ignore[union-attr]  # of the server: it has one


def _repeat(client: SyncPrefectClient, run: FlowRun) -> bool:
    if run.deployment_id is None:
        return False
    try:
        client.create_flow_run_from_deployment(
            run.deployment_id,
            name=f"{run.name}-again",
            parameters=run.parameters,
            tags=[tag for tag in run.tags if tag != TO_REPEAT],
            idempotency_key=f"{REPEATS}{run.id}",
            work_queue_name=run.work_queue_name,
            job_variables=run.job_variables,
        )
    except PrefectHTTPStatusError as error:
        if error.response.is_client_error:  # the deployment was removed, or takes other parameters now
            return False
        raise
    return True


def _deployment(client: SyncPrefectClient, run: FlowRun) -> str:
    try:
        return "a deployment" if run.deployment_id is None else client.read_deployment(run.deployment_id).name
    except ObjectNotFound:
        return "a deployment"


def _runs(client: SyncPrefectClient, wanted: dict[str, object]) -> Iterator[FlowRun]:
    yield from client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(wanted), limit=200)


_FINAL = [one.value for one in (StateType.COMPLETED, StateType.FAILED, StateType.CRASHED, StateType.CANCELLED)]
