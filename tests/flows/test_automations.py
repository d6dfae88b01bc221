"""Prefect's own evaluation of our automations, by a clock of the test: who is told of a run and who is not."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from prefect.settings import PREFECT_SERVER_DATABASE_CONNECTION_URL, temporary_settings

from flows.scheduled.automations import CRASHED_NAME, LATE, LATE_NAME, LOST_NAME, SILENT, TAG, ensure_automations


class _Asked:
    """A client of a server that knows no automation yet; keeps what it is given."""

    def __init__(self) -> None:
        self.created = []

    def read_automations_by_name(self, name):
        return []

    def read_block_document_by_name(self, name, kind, include_secrets):
        return SimpleNamespace(id=uuid4())

    def create_automation(self, automation):
        self.created.append(automation)


@pytest.fixture(scope="module")
def fired(tmp_path_factory):
    """A function: (event, minutes after the first) ..., the minute that it is -> names of the automations that acted."""
    from prefect.server.database import provide_database_interface
    from prefect.server.events import triggers
    from prefect.server.events.models.automations import automations_session, create_automation
    from prefect.server.events.schemas.automations import Automation
    from prefect.server.events.schemas.events import ReceivedEvent

    acted = []

    async def noted(firing):
        acted.append((firing.triggering_labels["prefect.resource.id"], firing.trigger.automation.name))

    async def no_lag():
        return 0.0

    async def made():
        db = provide_database_interface()
        async with (await db.engine()).begin() as connection:
            for kept in (db.Automation, db.AutomationBucket, db.AutomationRelatedResource):
                await connection.run_sync(kept.__table__.create)
        client = _Asked()
        ensure_automations(client, ["slack-webhook/sdcert-stewards"])
        for one in client.created:
            async with automations_session(begin_transaction=True) as session:
                await create_automation(session, Automation.model_validate({"id": uuid4(), **one.model_dump()}))
        await triggers.reconcile_automations(force=True)

    async def evaluated(events, minute):
        began, run = datetime.now(UTC), f"prefect.flow-run.{uuid4()}"
        for name, after in events:
            await triggers.reactive_evaluation(
                ReceivedEvent(
                    id=uuid4(),
                    event=f"prefect.flow-run.{name}",
                    occurred=began + timedelta(minutes=after),
                    resource={"prefect.resource.id": run},
                    related=[{"prefect.resource.id": f"prefect.tag.{TAG}", "prefect.resource.role": "tag"}],
                )
            )
        for trigger in list(triggers.triggers.values()):
            if trigger.posture.value == "Proactive":
                await triggers.proactive_evaluation(trigger, began + timedelta(minutes=minute))
        return [name for of, name in acted if of == run]

    database = f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('prefect')}/prefect.db"
    with (
        temporary_settings({PREFECT_SERVER_DATABASE_CONNECTION_URL: database}),
        pytest.MonkeyPatch.context() as patched,
        asyncio.Runner() as loop,
    ):
        patched.setattr(triggers, "act", noted)
        patched.setattr(triggers, "get_events_clock_offset", no_lag)
        loop.run(made())
        yield lambda *events, minute: loop.run(evaluated(events, minute))
        loop.run(triggers.reset())


late, silent = LATE.total_seconds() / 60, SILENT.total_seconds() / 60


@pytest.mark.parametrize(
    ("events", "minute", "told"),
    [
        pytest.param([("Late", 0)], late - 1, [], id="late, and there is time"),
        pytest.param([("Late", 0)], late + 1, [LATE_NAME], id="late"),
        pytest.param([("Late", 0), ("Pending", 1), ("Running", 2)], late + 2, [], id="late and taken by a worker"),
        pytest.param([("Pending", 0), ("Running", 1)], late + 1, [], id="taken by a worker"),
        pytest.param([("Pending", 0)], late + 1, [LATE_NAME], id="taken by a worker that is gone"),
        pytest.param([("Pending", 0), ("Crashed", 2)], late + 1, [CRASHED_NAME], id="taken by a worker, and crashed"),
        pytest.param([("Late", 0), ("Running", late - 1)], late + 1, [], id="late and running"),
        pytest.param([("Late", 0), ("Cancelled", 1)], late + 1, [], id="late and called off"),
        pytest.param([("Late", 0), ("Crashed", 1)], late + 1, [CRASHED_NAME], id="late and crashed"),
        pytest.param([("Running", 0), ("Completed", 1)], 60, [], id="run"),
        pytest.param([("Crashed", 0)], 60, [CRASHED_NAME], id="crashed"),
        pytest.param([("Crashed", 0), ("Crashed", 0)], 60, [CRASHED_NAME], id="crashed, its event evaluated again"),
        pytest.param(
            [("Crashed", 0), ("Running", 4), ("Crashed", 5)], 60, [CRASHED_NAME] * 2, id="crashed, begun anew, crashed"
        ),
        pytest.param([("heartbeat", 0)], silent - 1, [], id="silent for a while"),
        pytest.param([("heartbeat", 0)], silent + 1, [LOST_NAME], id="lost"),
        pytest.param([("heartbeat", 0), ("heartbeat", 3)], silent + 1, [], id="alive"),
        pytest.param([("heartbeat", 0), ("heartbeat", 3)], silent + 4, [LOST_NAME], id="lost later"),
        pytest.param([("heartbeat", 0), ("Completed", 3)], 60, [], id="ended"),
    ],
)
def test_who_is_told(fired, events, minute, told):
    assert fired(*events, minute=minute) == told
