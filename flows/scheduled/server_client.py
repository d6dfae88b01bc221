"""What `sdcert serve` reads and corrects on a Prefect server. Imported when PREFECT_API_URL is set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import DeploymentUpdate, WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.filters import FlowRunFilter, WorkPoolFilter
from prefect.client.schemas.objects import WorkPool
from prefect.client.schemas.responses import DeploymentResponse
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.server.schemas.schedules import CronSchedule
from prefect.utilities.asyncutils import run_coro_as_sync

from flows.notifications.receivers import ReceiverList
from flows.scheduled.automations import ensure_automations
from flows.scheduled.closing import close_unfinished
from flows.scheduled.command_requests import CommandRequest, find_lost_requests
from flows.scheduled.deployments import Deployment, Deployments
from flows.scheduled.file_access import FileAccess
from flows.scheduled.form_choices import add_choices
from flows.scheduled.orphan_runs import Looks, end_run, end_vanished

CRASHED = "its process is gone, and did not say what became of it"
POOL_TYPE = "process"
JOB_TEMPLATE: dict[str, Any] = {
    "job_configuration": {"name": "{{ name }}", "labels": "{{ labels }}", "stream_output": "{{ stream_output }}"},
    "variables": {
        "type": "object",
        "properties": {
            "name": {"title": "Name", "type": "string", "description": "of the process"},
            "labels": {"title": "Labels", "type": "object", "additionalProperties": {"type": "string"}},
            "stream_output": {"title": "Stream output", "type": "boolean", "default": True},
        },
        "additionalProperties": False,
    },
}
"""What a run of our pools may choose of its process: no command, no environment, no folder, nothing that chooses code."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One deployment of the server. next_run: None where no schedule of it is active. ours: the file has it."""

    name: str
    next_run: datetime | None
    ours: bool


def prepare_pools(found: Deployments, *, ours: bool) -> None:
    """Make the work pools that the file names, and see to it that a run cannot choose its command.

    ours: the server is started by this program. On others a pool whose template somebody wrote stays as it is; `sdcert doctor`
    says what a run may choose there.
    """
    with get_client(sync_client=True) as client:
        for name in found.pools:
            pool = _ensure_pool(client, name)
            if pool.type == POOL_TYPE and pool.base_job_template != JOB_TEMPLATE and (ours or _is_created_by_prefect(pool)):
                client.update_work_pool(name, WorkPoolUpdate(base_job_template=JOB_TEMPLATE))


def remove_stale_schedules(found: Deployments) -> list[str]:
    """Remove the schedules that the file no longer has; returns the deployments of the file that did not arrive as written.

    Prefect itself keeps what is not named any more.
    """
    missing = []
    with get_client(sync_client=True) as client:
        there = {one.name: one for one in _read_deployments(client, found)}
        for wanted in found.deployments:
            one = there.get(wanted.name)
            if one is None or not _sync_schedules(client, wanted, one):
                missing.append(wanted.name)
    return missing


def offer_choices(found: Deployments, served: FileAccess) -> None:
    """Let the forms of the deployments offer the files beside those that they name. served: the files that runs may name."""
    wanted = {(one.name, one.entrypoint): one.parameters for one in found.deployments}
    with get_client(sync_client=True) as client:
        for one in _read_deployments(client, found):
            parameters, schema = wanted.get((one.name, one.entrypoint or "")), one.parameter_openapi_schema
            if parameters is not None and schema:
                properties = add_choices(schema.get("properties", {}), parameters, served)
                changed = DeploymentUpdate.model_validate({"parameter_openapi_schema": {**schema, "properties": properties}})
                client.update_deployment(one.id, changed)


def list_standings(found: Deployments) -> list[Standing]:
    """The deployments in the file's work pools, and when each runs next; those that the file does not have come last."""
    ours = {one.name for one in found.deployments}
    with get_client(sync_client=True) as client:
        there = [Standing(one.name, _find_next_run(one), one.name in ours) for one in _read_deployments(client, found)]
    return sorted(there, key=lambda one: (not one.ours, one.name))


def end_lost(looks: Looks) -> Iterator[str]:
    """Tell the server and the ledger of the flow runs of this home whose process is gone: their place is free again.

    Yields a sentence on each. Raises the first error, when all were tried. looks: what earlier looks of this process saw.
    """
    errors: list[Exception] = []
    with get_client(sync_client=True) as client:
        for asked in find_lost_requests():
            try:
                if _mark_crashed(client, asked):
                    yield f"a run of {asked.deployment or 'a deployment'} had been killed: it is shown as crashed now"
                close_unfinished(asked.flow_run, asked.at, "killed")
                asked.forget()
            except Exception as error:
                errors.append(error)
        try:
            yield from end_vanished(client, looks)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


def end_inside(flow_run: str) -> None:
    """Tell the server that what the command of a flow run had begun there is gone: its process was killed."""
    with get_client(sync_client=True) as client:
        _crash_inside(client, flow_run)


def automate() -> None:
    """Let the server tell of runs that die without a word, by the blocks that the home names."""
    with get_client(sync_client=True) as client:
        ensure_automations(client, [one.block for one in ReceiverList.current().receivers])


def _ensure_pool(client: SyncPrefectClient, pool: str) -> WorkPool:
    try:
        return client.read_work_pool(pool)
    except ObjectNotFound:
        try:
            return client.create_work_pool(WorkPoolCreate(name=pool, type=POOL_TYPE, base_job_template=JOB_TEMPLATE))
        except ObjectAlreadyExists:
            return client.read_work_pool(pool)


def _is_created_by_prefect(pool: WorkPool) -> bool:
    """Has it the template that Prefect gives a pool, or none yet?"""
    from prefect.workers.process import ProcessWorker  # not needed by the flows, which import this too

    return pool.base_job_template in ({}, ProcessWorker.get_default_base_job_template())


def _read_deployments(client: SyncPrefectClient, found: Deployments) -> Iterator[DeploymentResponse]:
    for pool in found.pools:
        yield from client.read_deployments(work_pool_filter=WorkPoolFilter.model_validate({"name": {"any_": [pool]}}))


def _sync_schedules(client: SyncPrefectClient, wanted: Deployment, one: DeploymentResponse) -> bool:
    slugs = {schedule.slug: schedule for schedule in wanted.schedules}
    for schedule in one.schedules:
        if schedule.slug not in slugs:
            client.delete_deployment_schedule(one.id, schedule.id)
    there = {schedule.slug: schedule.active for schedule in one.schedules}
    return all(there.get(slug) == schedule.active for slug, schedule in slugs.items())


def _find_next_run(one: DeploymentResponse) -> datetime | None:
    if one.paused:
        return None
    dates = [date for schedule in one.schedules if schedule.active for date in _list_dates(schedule.schedule)]
    return min(dates, default=None)


def _list_dates(schedule: object) -> list[datetime]:
    cron = getattr(schedule, "cron", None)
    if cron is None:
        return []
    return list(run_coro_as_sync(CronSchedule(cron=cron, timezone=getattr(schedule, "timezone", None)).get_dates(1)) or ())


def _mark_crashed(client: SyncPrefectClient, asked: CommandRequest) -> bool:
    """Whether the server did not know it yet. What the flow run's command had begun there is gone with it."""
    _crash_inside(client, asked.flow_run)
    try:
        run = client.read_flow_run(UUID(asked.flow_run))
    except ObjectNotFound:
        return False
    return end_run(client, run, CRASHED)


def _crash_inside(client: SyncPrefectClient, flow_run: str) -> None:
    inside = FlowRunFilter.model_validate({"tags": {"all_": [f"asked-by:{flow_run}"]}})
    for run in client.read_flow_runs(flow_run_filter=inside):
        end_run(client, run, CRASHED)
