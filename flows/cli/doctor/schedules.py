"""What `sdcert doctor` says of schedules: are due runs inserted, is a worker there to run them, what waits in quarantine?

A server whose scheduler throws shows nothing of it: deployments stand there with their schedules, and no run ever comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from flows.cli.doctor.api import UNREADABLE, api_address, api_client
from flows.cli.doctor.home import Finding, fail, fine, format_count, warn
from flows.scheduled.deployments import TAG
from tasks.microdata.words import join_first

TOPIC = "schedules"
LOOPS = timedelta(minutes=5)  # the scheduler looks each minute
_NAMED = 6


def check_schedules() -> Iterator[Finding]:
    """Of the deployments with our tag on the server that PREFECT_API_URL names, or that `sdcert serve` of this home started."""
    address = api_address()
    if not address:
        yield fine(TOPIC, "PREFECT_API_URL is not set: no schedule was looked at (`sdcert serve` runs them)")
        return
    try:
        with api_client(address) as client:
            yield from _findings(client)
    except UNREADABLE as error:
        yield warn(TOPIC, f"the server does not say what is scheduled ({type(error).__name__})", "see the line on prefect")


def check_quarantine() -> Iterator[Finding]:
    """Of the versions of sources that nobody has looked at since they were set aside."""
    from flows.watch.quarantine import records

    waiting = records()
    if waiting:
        series = join_first(sorted({one.series for one in waiting}), _NAMED)
        says = (
            f"{format_count(len(waiting), 'version of a source', 'versions of sources')} not certified, of the series: {series}"
        )
        yield warn("quarantine", says, "`sdcert quarantine list` says why")


def _findings(client: httpx.Client) -> Iterator[Finding]:
    deployed = _post_query(client, "deployments/filter", {"deployments": {"tags": {"all_": [TAG]}}, "limit": 200})
    active = [one for one in deployed if not one["paused"] and any(schedule["active"] for schedule in one["schedules"])]
    if not active:
        yield fine(TOPIC, f"no deployment with the tag {TAG} has an active schedule")
        return
    scheduled = {one["id"]: _runs(client, one, "SCHEDULED") for one in active}
    without = sorted(one["name"] for one in active if not scheduled[one["id"]] and not _is_new(one))
    named = join_first(without, _NAMED)
    if without and not any(scheduled.values()):
        says = f"the server has inserted no run of: {named}; their schedules are active, and nothing will run"
        yield fail(TOPIC, says, "restart the server and read its log; with sqlalchemy 2.1 its scheduler throws (see packages)")
    elif without:
        yield warn(TOPIC, f"no run is inserted of: {named}", "nothing, if they are due in more than 100 days only")
    late = [one["name"] for one in active if any(run["state_name"] == "Late" for run in scheduled[one["id"]])]
    if late:
        yield warn(TOPIC, f"runs are late: {join_first(sorted(late), _NAMED)}", "start `sdcert serve`, or a worker of the pool")
    yield from _workers(client, active)
    if not without:
        yield fine(TOPIC, f"the server has inserted runs of all deployments with an active schedule ({len(active)})")


def _workers(client: httpx.Client, active: list[dict[str, Any]]) -> Iterator[Finding]:
    for pool in sorted({one["work_pool_name"] for one in active if one.get("work_pool_name")}):
        workers = _post_query(client, f"work_pools/{pool}/workers/filter", {})
        if not any(worker.get("status") == "ONLINE" for worker in workers):
            yield warn(TOPIC, f"no worker of the pool {pool} is there", "start `sdcert serve`, or a worker of the pool")


def _runs(client: httpx.Client, deployment: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    wanted = {"deployment_id": {"any_": [deployment["id"]]}, "state": {"type": {"any_": [kind]}}}
    return _post_query(client, "flow_runs/filter", {"flow_runs": wanted, "limit": 200})


def _post_query(client: httpx.Client, path: str, content: dict[str, Any]) -> list[dict[str, Any]]:
    answer = client.post(path, json=content)
    answer.raise_for_status()
    found: list[dict[str, Any]] = answer.json()
    return found


def _is_new(deployment: dict[str, Any]) -> bool:
    """Deployed or changed so lately that the scheduler need not have come by."""
    return datetime.now(UTC) - datetime.fromisoformat(deployment["updated"]) < LOOPS
