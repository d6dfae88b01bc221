"""Automations of the Prefect server, which report runs that crash, vanish or never start and so cannot report it themselves.

A run that ends in its own words (refused, quarantined, stopped at its limit) is told by `tell`, and not by these: nobody is
told twice. They watch the flow runs with the tag `sdcert`, which deployments give to their runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ActionTypes, ChangeFlowRunState, SendNotification
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound

TAG = "sdcert"
LATE = timedelta(minutes=15)
SILENT = timedelta(minutes=10)  # Prefect's flow runs say every three minutes that they are alive
ONCE = timedelta(minutes=1)  # a busy server can evaluate the event of one crash again; a run begun anew takes longer
CRASHED_NAME, LATE_NAME, LOST_NAME = "sdcert: crashed", "sdcert: late", "sdcert: lost"

_RUN = "prefect.resource.id"
_ENDED = {"Completed", "Failed", "Crashed", "Cancelled", "Cancelling"}
_SUBJECT = "sdcert: {{ deployment.name if deployment else 'a scheduled run' }} "
_CRASHED = "The run's process died. Nothing half-made was published. Its state in Prefect says whether it runs again by itself."
_BODY = """Deployment: {{ deployment.name if deployment else '-' }}
Flow run of Prefect's: {{ flow_run.id if flow_run else labels['prefect.resource.id'] }}
Where to look: the flow run in Prefect, then `sdcert audit find --verdict running` and `sdcert doctor`
"""


def ensure_automations(
    client: SyncPrefectClient, blocks: Sequence[str], *, late: timedelta = LATE, silent: timedelta = SILENT
) -> tuple[str, ...]:
    """Make the server's automations what they should be; returns their names. Calling it again changes nothing.

    - `sdcert: crashed` tells of a run whose process died;
    - `sdcert: late` tells of a run that did not begin within `late` after Prefect called it late (no worker), or after a
      worker took it (the worker or its machine is gone);
    - `sdcert: lost` calls a run crashed that has said nothing for `silent` (its worker or its machine is gone), so that the
      first one tells of it.

    blocks: the notification blocks that send (`slack-webhook/sdcert-stewards`); without any, only the last is made, and the
    others are removed. One that the server does not have is passed over: `sdcert tell test` says so.
    """
    wanted = tuple(_create_automations(list(_find_block_ids(client, blocks)), late, silent))
    for name in {CRASHED_NAME, LATE_NAME, LOST_NAME} - {one.name for one in wanted}:
        for automation in client.read_automations_by_name(name):
            client.delete_automation(automation.id)
    for one in wanted:
        _ensure(client, one)
    return tuple(one.name for one in wanted)


def _ensure(client: SyncPrefectClient, wanted: AutomationCore) -> None:
    found = client.read_automations_by_name(wanted.name)
    for more in found[1:]:
        client.delete_automation(more.id)
    if not found:
        client.create_automation(wanted)
    elif AutomationCore.model_validate(found[0].model_dump()) != wanted:
        client.update_automation(found[0].id, wanted)


def _find_block_ids(client: SyncPrefectClient, blocks: Sequence[str]) -> Iterator[UUID]:
    """The ids of the blocks; no address is asked for."""
    for block in blocks:
        kind, _, name = block.partition("/")
        with suppress(ObjectNotFound):
            document = client.read_block_document_by_name(name, kind, include_secrets=False).id
            if document is not None:
                yield document


def _create_automations(blocks: list[UUID], late: timedelta, silent: timedelta) -> Iterator[AutomationCore]:
    if blocks:
        yield AutomationCore(
            name=CRASHED_NAME,
            description="Tells of a run whose process died.",
            trigger=_trigger(expect={"Crashed"}, posture=Posture.Reactive, within=ONCE),
            actions=_create_notifications(blocks, "crashed", _CRASHED),
        )
        yield AutomationCore(
            name=LATE_NAME,
            description="Tells of a run that did not begin.",
            trigger=_trigger(after={"Late", "Pending"}, expect={"Running", *_ENDED}, posture=Posture.Proactive, within=late),
            actions=_create_notifications(
                blocks, "did not start", "The run should have begun and did not: is a worker there (`sdcert serve`)?"
            ),
        )
    yield AutomationCore(
        name=LOST_NAME,
        description="Calls a run crashed that says nothing any more.",
        trigger=_trigger(after={"heartbeat"}, expect={"heartbeat", *_ENDED}, posture=Posture.Proactive, within=silent),
        actions=[ChangeFlowRunState(state=StateType.CRASHED, name="Crashed", message="nothing was heard of the run any more")],
    )


def _trigger(*, expect: set[str], posture: Posture, within: timedelta, after: set[str] | None = None) -> EventTrigger:
    return EventTrigger(
        after={f"prefect.flow-run.{name}" for name in after or ()},
        expect={f"prefect.flow-run.{name}" for name in expect},
        match={_RUN: "prefect.flow-run.*"},
        match_related={"prefect.resource.role": "tag", _RUN: f"prefect.tag.{TAG}"},
        for_each={_RUN},
        posture=posture,
        threshold=1,
        within=within,
    )


def _create_notifications(blocks: list[UUID], what: str, sentence: str) -> list[ActionTypes]:
    subject, body = f"{_SUBJECT}{what}", f"{sentence}\n{_BODY}"
    return [SendNotification(block_document_id=document, subject=subject, body=body) for document in blocks]
