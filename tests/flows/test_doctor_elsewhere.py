"""`sdcert doctor` on what lies outside the home: it looks, changes nothing, and tells no password."""

from __future__ import annotations

import uuid

import pytest

from flows.cli.doctor.shared_folders import check_shared_storage
from tasks.runtime import store_sharing
from tasks.runtime.artifacts import Store
from tasks.runtime.shared_storage import SharedStorage


def told(home) -> list[tuple[str, str, str]]:
    return [(finding.status, finding.topic, finding.says) for finding in check_shared_storage(home)]


def test_nothing_is_said_where_nothing_is_asked_for(home):
    assert told(home) == []


@pytest.mark.parametrize(
    ("address", "status"),
    [("postgresql+psycopg2://u:canary-4711@127.0.0.1:9/x", "warn"), ("mysql://u:canary-4711@127.0.0.1/x", "fail")],
)
def test_a_database_that_does_not_answer_is_told_without_its_password(home, monkeypatch, address, status):
    monkeypatch.setenv("SDCERT_INDEX_URL", address)
    ((found, topic, says),) = told(home)
    assert (found, topic) == (status, "SDCERT_INDEX_URL")
    assert "canary" not in says


def test_a_shared_place_and_its_key_are_looked_at_and_left_alone(home, monkeypatch):
    monkeypatch.setattr(store_sharing, "_check_storage", store_sharing._check_storage.__wrapped__)
    url = f"memory://{uuid.uuid4().hex}"
    monkeypatch.setenv("SDCERT_STORE_URL", url)
    assert told(home) == [("ok", "SDCERT_STORE_URL", "the shared place answers; no home has used it yet")]
    assert SharedStorage(url, "").sizes("") == {}
    Store()
    assert told(home)[0][0] == "ok"
    assert "the key of this home" in told(home)[0][2]
    (home / "keys" / "store.key").unlink()
    assert told(home)[0][0] == "fail"
    assert not (home / "keys" / "store.key").exists()
    monkeypatch.setenv("SDCERT_STORE_URL", "nowhere://x")
    assert told(home)[0][0] == "fail"


@pytest.mark.slow
def test_a_database_that_answers(home, monkeypatch, postgres):
    monkeypatch.setenv("SDCERT_INDEX_URL", postgres.url())
    assert told(home) == [("ok", "SDCERT_INDEX_URL", "the database of the ledger's index answers")]
