"""A real Prefect server, a receiver on this machine, and one message for each thing that happens, with nothing secret in it."""

from __future__ import annotations

import time
from collections import Counter
from datetime import timedelta
from types import SimpleNamespace

import pytest
from prefect import flow, get_client
from prefect.blocks.notifications import SlackWebhook
from prefect.events import Event
from prefect.events.schemas.automations import AutomationCore
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Crashed, Running, State
from prefect_servers import prefect_server
from receivers import http_receiver
from release_files import CANARY, survey

from flows.notifications.addresses import create_webhook_address
from flows.notifications.notify import notify_outcome
from flows.notifications.receivers import Receiver, name_block, save_receiver
from flows.scheduled.automations import CRASHED_NAME, LATE_NAME, LOST_NAME, ensure_automations

pytestmark = pytest.mark.slow
SECRET = "T0KEN-of-the-webhook-77aa"
SOON = timedelta(seconds=10)  # Prefect's shortest


@pytest.fixture
def webhook():
    receiver, server = http_receiver()
    yield receiver
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    """The address of one server for all, and the log that it writes."""
    folder = tmp_path_factory.mktemp("prefect")
    with prefect_server(folder, f"sqlite+aiosqlite:///{folder}/prefect.db") as address:
        yield address, folder / "server.log"


@pytest.fixture
def server(api, webhook):
    """The server, knowing this test's receiver and no automation: its client, a deployment, its log."""
    with temporary_settings({PREFECT_API_URL: api[0]}), get_client(sync_client=True) as client:
        for automation in client.read_automations():
            client.delete_automation(automation.id)
        _save_block(webhook)
        made = client.create_flow(_probe)
        deployment = client.create_deployment(made, "certify-survey", tags=["sdcert"], parameters={"who": CANARY["vote"]})
        yield SimpleNamespace(client=client, deployment=deployment, log=api[1])


def _save_block(webhook):
    SlackWebhook(url=create_webhook_address(webhook.url(f"/{SECRET}"))).save("sdcert-stewards", overwrite=True)


@flow(name="probe")
def _probe(who: str = "") -> None:
    return None


def test_one_message_for_each_thing_that_is_told(certify, webhook, tmp_path):
    """On the session's server, as every release that is certified in this process."""
    _save_block(webhook)
    source = survey(canary=True)
    ran, refused = certify({"policy": [{"measure": "reidentification", "at_most": 0.000001}]}, text=source)
    _, failed = certify(
        {"policy": [{"measure": "reidentification", "at_most": 0.4}], "key": "age"}, text=source.replace("77.25", "19.25")
    )
    assert ran.code == 1, ran.err
    assert (refused["verdict"], failed["status"]) == ("refused", "failed")
    save_receiver(Receiver(name="stewards", block=name_block("stewards")))
    webhook.status = 503
    for _ in range(2):  # the first time nobody answers; what is told again, is not sent again
        notify_outcome(run=refused["run"], flow_run="1234", deployment="certify-survey")
        notify_outcome("failed", run=failed["run"])
        notify_outcome(
            "quarantined", release="survey", series="survey", code=f"no-such-column at {tmp_path}/{CANARY['vote']}.csv: row 3"
        )
        notify_outcome("review_due", run=refused["run"])
        notify_outcome("timed_out", release="survey", flow_run="5678")
        notify_outcome("certified", run=refused["run"])
        webhook.status = 200
    assert Counter(webhook.subjects) == dict.fromkeys(
        [
            "sdcert: survey was refused",
            "sdcert: survey failed",
            "sdcert: survey has a new version in quarantine; what was certified before stays",
            "sdcert: survey is due for review",
            "sdcert: survey was stopped at its time limit",
        ],
        1,
    )
    _nothing_secret(webhook.texts, tmp_path)
    assert f"sdcert audit show {refused['run']}" in webhook.texts
    assert "- fail: reidentification" in webhook.texts
    assert f"{refused['criteria'][0]['deciding_value']:.4g}" in webhook.texts


def test_what_dies_without_a_word_is_told_by_the_server(server, webhook, tmp_path):
    client, run = server.client, lambda: server.client.create_flow_run_from_deployment(server.deployment).id
    for _ in range(2):
        names = ensure_automations(client, [name_block("stewards"), name_block("nobody")], late=SOON, silent=SOON)
    assert set(names) == {CRASHED_NAME, LATE_NAME, LOST_NAME}
    assert sorted(one.name for one in client.read_automations()) == sorted(names)
    time.sleep(3)  # the server reads them again
    crashed, late, lost = run(), run(), run()
    other = client.create_flow_run(_probe).id
    client.set_flow_run_state(crashed, Crashed(message=f"{CANARY['vote']} in {tmp_path}"), force=True)
    client.set_flow_run_state(other, Crashed(), force=True)  # no deployment of ours
    client.set_flow_run_state(late, State(type="SCHEDULED", name="Late"), force=True)
    client.set_flow_run_state(lost, Running(), force=True)
    _heartbeat(client, lost)

    def told(run):
        return [content["subject"] for _, content in webhook.got if str(run) in content["text"]]

    _within(120, lambda: all(told(one) for one in (crashed, late, lost)), webhook)
    time.sleep(12)
    assert [told(one) for one in (crashed, late, lost)] == [
        ["sdcert: certify-survey crashed"],
        ["sdcert: certify-survey did not start"],
        ["sdcert: certify-survey crashed"],
    ]
    assert len(webhook.got) == 3, webhook.got  # who begins in time is not told: test_automations
    assert client.read_flow_run(lost).state.name == "Crashed"
    _nothing_secret(webhook.texts, tmp_path)


def test_a_receiver_that_refuses_leaves_no_address_in_the_servers_log(server, webhook):
    ensure_automations(server.client, [name_block("stewards")])
    time.sleep(3)
    webhook.status = 500
    run = server.client.create_flow_run_from_deployment(server.deployment).id
    server.client.set_flow_run_state(run, Crashed(), force=True)
    tried = "prefect.automation.action.failed"
    _within(30, lambda: tried in _events(server.client), webhook)
    assert SECRET not in server.log.read_text()
    assert SECRET not in _events(server.client)


def test_without_a_receiver_only_lost_runs_are_seen(server):
    client = server.client
    ensure_automations(client, [name_block("stewards")])
    assert ensure_automations(client, []) == (LOST_NAME,)
    assert [one.name for one in client.read_automations()] == [LOST_NAME]


def test_what_is_as_it_should_be_is_not_written_again(server, monkeypatch):
    client = server.client
    ensure_automations(client, [name_block("stewards")])
    (before,) = client.read_automations_by_name(LATE_NAME)
    client.create_automation(AutomationCore.model_validate(before.model_dump()))  # as two that begin at once would
    monkeypatch.setattr(client, "update_automation", lambda *_: pytest.fail("nothing had changed"))
    ensure_automations(client, [name_block("stewards")])
    assert len(client.read_automations_by_name(LATE_NAME)) == 1
    monkeypatch.undo()
    ensure_automations(client, [name_block("stewards")], late=timedelta(hours=1))
    (after,) = client.read_automations_by_name(LATE_NAME)
    assert after.trigger.within == timedelta(hours=1)


def _heartbeat(client, run):
    """By HTTP: what sends events in this process may be bound to the server of earlier tests."""
    tags = [{"prefect.resource.id": "prefect.tag.sdcert", "prefect.resource.role": "tag"}]
    beat = Event(event="prefect.flow-run.heartbeat", resource={"prefect.resource.id": f"prefect.flow-run.{run}"}, related=tags)
    client._client.post("/events", json=[beat.model_dump(mode="json")]).raise_for_status()


def _events(client):
    return client._client.post("/events/filter", json={"filter": {"any_resource": None}, "limit": 50}).text


def _within(seconds, found, webhook):
    until = time.monotonic() + seconds
    while time.monotonic() < until and not found():
        time.sleep(0.3)
    assert found(), webhook.got
    return webhook.got


def _nothing_secret(text, folder):
    assert str(folder) not in text
    assert ".csv" not in text
    assert SECRET not in text
    assert not [name for name, value in CANARY.items() if name != "age" and str(value) in text]
