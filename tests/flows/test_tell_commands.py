"""`sdcert tell`, and what it leaves where others can read it."""

from __future__ import annotations

import json
import sqlite3

import pytest
from prefect.settings import PREFECT_SERVER_DATABASE_CONNECTION_URL
from receivers import http_receiver

from flows.notifications.notify import Event, notify
from flows.notifications.receivers import Receiver, name_block, save_receiver

SECRET = "T0KEN-of-the-webhook-9f3e"


@pytest.fixture
def webhook(monkeypatch):
    receiver, server = http_receiver()
    monkeypatch.setenv("HOOK", receiver.url(f"/{SECRET}"))
    yield receiver
    server.shutdown()
    server.server_close()


@pytest.fixture
def told(sdcert, webhook):
    """`stewards` is told, and forgotten afterwards."""
    ran = sdcert("tell", "add", "stewards", "--webhook-env", "HOOK", "--internal")
    assert ran.code == 0, ran.err
    yield webhook
    sdcert("tell", "remove", "stewards")


def test_a_receiver_is_added_tried_told_and_removed(sdcert, told, home):
    assert "stewards: refused, undecided, failed, quarantined, timed_out, review_due" in sdcert("tell", "list").out
    assert sdcert("tell", "test").code == 0
    assert told.subjects == ["sdcert: a test"]
    event = Event(kind="refused", release="survey", series="survey", run="run-1")
    assert [notify(event).sent for _ in range(2)] == [1, 0]
    assert told.subjects[1:] == ["sdcert: survey was refused"]
    assert {path for path, _ in told.got} == {f"/{SECRET}"}

    told.status = 500
    ran = sdcert("tell", "test", "stewards")
    assert (ran.code, SECRET in ran.out + ran.err) == (1, False)
    assert notify(event.model_copy(update={"kind": "failed"})).kept == ("slack-webhook/sdcert-stewards: NotificationError",)
    listed = json.loads(sdcert("tell", "list", "--json").out)
    assert [one["subject"] for one in listed["waiting"]] == ["sdcert: survey failed"]
    assert "body" not in listed["waiting"][0]

    assert sdcert("tell", "remove", "stewards").code == 0
    assert "nobody is told" in sdcert("tell", "list").out
    told.status = 200
    assert notify(None).sent == 0, "who is no longer told gets nothing that waited"
    assert sdcert("tell", "test").code == 2


@pytest.mark.slow
def test_a_name_that_leads_into_the_own_network_by_now_is_sent_nothing(sdcert, told):
    """It was added as one of the internet's."""
    save_receiver(Receiver(name="stewards", block=name_block("stewards"), internal=False))
    assert sdcert("tell", "test").code == 1
    assert told.got == []
    assert "169.254" not in sdcert("tell", "list").out
    ran = sdcert("tell", "add", "others", "--block", name_block("stewards"))
    assert (ran.code, SECRET in ran.err) == (2, False)
    assert "--internal" in ran.err


def test_the_address_stays_in_prefects_encrypted_block(sdcert, told, home, prefect):
    sdcert("tell", "list", "--json")
    told.status = 500
    sdcert("tell", "test")
    assert [path for path in home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()] == []
    with sqlite3.connect(PREFECT_SERVER_DATABASE_CONNECTION_URL.value().partition("///")[2]) as database:
        written = "\n".join(database.iterdump())
    assert "sdcert-stewards" in written
    assert SECRET not in written


@pytest.mark.slow
def test_the_same_name_again_is_a_new_address(sdcert, told, monkeypatch):
    monkeypatch.setenv("HOOK", told.url("/other"))
    assert sdcert("tell", "add", "stewards", "--webhook-env", "HOOK", "--events", "failed, certified", "--internal").code == 0
    sdcert("tell", "test")
    assert [path for path, _ in told.got] == ["/other"]
    assert json.loads(sdcert("tell", "list", "--json").out)["receivers"] == [
        {"name": "stewards", "block": "slack-webhook/sdcert-stewards", "internal": True, "events": ["failed", "certified"]}
    ]


def test_an_address_is_asked_for_on_a_terminal(sdcert, webhook, monkeypatch):
    import typer

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(typer, "prompt", lambda *_, hide_input, **__: webhook.url() if hide_input else None)
    assert sdcert("tell", "add", "asked", "--webhook-env", "-", "--internal").code == 0
    assert sdcert("tell", "test", "asked").code == 0
    assert sdcert("tell", "remove", "asked").code == 0


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["Stewards", "--webhook-env", "HOOK"], "NAME"),
        (["a/b", "--webhook-env", "HOOK"], "NAME"),
        (["x"], "sdcert tell add"),
        (["x", "--webhook-env", "HOOK", "--email-env", "HOOK"], "sdcert tell add"),
        (["x", "--webhook-env", "https://example.org/hook"], "--webhook-env"),
        (["x", "--webhook-env", "NOT_SET"], "--webhook-env"),
        (["x", "--webhook-env", "HOOK"], "the URL of the receiver"),  # plain http to this machine, and no --internal
        (["x", "--webhook-env", "-"], "--webhook-env"),
        (["x", "--email-env", "HOOK"], "the URL of the receiver"),
        (["x", "--webhook-env", "HOOK", "--events", "refusd"], "--events"),
        (["x", "--block", "none"], "--block"),
        (["x", "--block", "slack-webhook/nobody-has-made-this"], "--block"),
    ],
)
def test_wrong_words_are_told_and_nothing_is_kept(sdcert, webhook, home, words, place):
    ran = sdcert("tell", "add", *words)
    assert ran.code == 2
    assert f"where:   {place}" in ran.err
    assert SECRET not in ran.err
    assert not (home / "telling.yaml").exists()


def test_nobody_of_this_name(sdcert):
    assert sdcert("tell", "remove", "nobody").code == 2
    assert sdcert("tell", "test", "nobody").code == 2
