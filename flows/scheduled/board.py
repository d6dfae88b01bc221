"""What `sdcert serve` asks of a Prefect server and puts right there. Imported when PREFECT_API_URL is set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.filters import FlowRunFilter, WorkPoolFilter
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.responses import DeploymentResponse
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.server.schemas.schedules import CronSchedule
from prefect.utilities.asyncutils import run_coro_as_sync

from flows.scheduled.asked import Asked, lost
from flows.scheduled.automations import ensure_automations
from flows.scheduled.closing import close_unfinished
from flows.scheduled.deployments import Deployment, Deployments
from flows.telling.file import Telling

CRASHED = "its process is gone, and did not say what became of it"


@dataclass(frozen=True, slots=True)
class Standing:
    """One deployment of the server. next_run: None where no schedule of it is active. ours: the file has it."""

    name: str
    next_run: datetime | None
    ours: bool


def prepare_pools(found: Deployments) -> None:
    """Make the work pools that the file names, where they are not there yet."""
    with get_client(sync_client=True) as client:
        for pool in found.pools:
            _made(client, pool)


def tidy(found: Deployments) -> list[str]:
    """Remove the schedules that the file no longer has; returns the deployments of the file that did not arrive as written.

    Prefect itself keeps what is not named any more.
    """
    missing = []
    with get_client(sync_client=True) as client:
        there = {one.name: one for one in _deployed(client, found)}
        for wanted in found.deployments:
            one = there.get(wanted.name)
            if one is None or not _arrived(client, wanted, one):
                missing.append(wanted.name)
    return missing


def standings(found: Deployments) -> list[Standing]:
    """The deployments in the file's work pools, and when each runs next; those that the file does not have come last."""
    ours = {one.name for one in found.deployments}
    with get_client(sync_client=True) as client:
        there = [Standing(one.name, _next_run(one), one.name in ours) for one in _deployed(client, found)]
    return sorted(there, key=lambda one: (not one.ours, one.name))


def end_lost() -> list[Asked]:
    """Tell the server and the ledger of the flow runs of this home whose process is gone: their place is free again.

    Raises the first error, when all were tried.
    """
    told, errors = [], []
    with get_client(sync_client=True) as client:
        for asked in lost():
            try:
                close_unfinished(asked.flow_run, asked.at, "killed")
                if _crashed(client, asked):
                    told.append(asked)
                asked.forget()
            except Exception as error:
                errors.append(error)
    if errors:
        raise errors[0]
    return told


def end_inside(flow_run: str) -> None:
    """Tell the server that what the command of a flow run had begun there is gone: its process was killed."""
    with get_client(sync_client=True) as client:
        _crash_inside(client, flow_run)


def automate() -> None:
    """Let the server tell of runs that die without a word, by the blocks that the home names."""
    with get_client(sync_client=True) as client:
        ensure_automations(client, [one.block for one in Telling.current().receivers])


def scheduled_runs(deployment_ids: list[UUID]) -> dict[UUID, int]:
    """How many runs of each deployment the scheduler has inserted."""
    with get_client(sync_client=True) as client:
        waiting = client.get_scheduled_flow_runs_for_deployments(deployment_ids, limit=200)
    return {one: sum(run.deployment_id == one for run in waiting) for one in deployment_ids}


def _made(client: SyncPrefectClient, pool: str) -> None:
    try:
        client.read_work_pool(pool)
    except ObjectNotFound:
        try:
            client.create_work_pool(WorkPoolCreate(name=pool, type="process"))
        except ObjectAlreadyExists:
            return


def _deployed(client: SyncPrefectClient, found: Deployments) -> Iterator[DeploymentResponse]:
    for pool in found.pools:
        yield from client.read_deployments(work_pool_filter=WorkPoolFilter.model_validate({"name": {"any_": [pool]}}))


def _arrived(client: SyncPrefectClient, wanted: Deployment, one: DeploymentResponse) -> bool:
    slugs = {schedule.slug: schedule for schedule in wanted.schedules}
    for schedule in one.schedules:
        if schedule.slug not in slugs:
            client.delete_deployment_schedule(one.id, schedule.id)
    there = {schedule.slug: schedule.active for schedule in one.schedules}
    return all(there.get(slug) == schedule.active for slug, schedule in slugs.items())


def _next_run(one: DeploymentResponse) -> datetime | None:
    if one.paused:
        return None
    dates = [date for schedule in one.schedules if schedule.active for date in _dates(schedule.schedule)]
    return min(dates, default=None)


def _dates(schedule: object) -> list[datetime]:
    cron = getattr(schedule, "cron", None)
    if cron is None:
        return []
    return list(run_coro_as_sync(CronSchedule(cron=cron, timezone=getattr(schedule, "timezone", None)).get_dates(1)) or ())


def _crashed(client: SyncPrefectClient, asked: Asked) -> bool:
    """Whether the server did not know it yet. What the flow run's command had begun there is gone with it."""
    _crash_inside(client, asked.flow_run)
    try:
        run = client.read_flow_run(UUID(asked.flow_run))
    except ObjectNotFound:
        return False
    return _crash(client, run)


def _crash_inside(client: SyncPrefectClient, flow_run: str) -> None:
    inside = FlowRunFilter.model_validate({"tags": {"all_": [f"asked-by:{flow_run}"]}})
    for run in client.read_flow_runs(flow_run_filter=inside):
        _crash(client, run)


def _crash(client: SyncPrefectClient, run: FlowRun) -> bool:
    if run.state is None or run.state.is_final():
        return False
    client.set_flow_run_state(run.id, State(type=StateType.CRASHED, name="Crashed", message=CRASHED))
    return True
