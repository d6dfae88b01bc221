"""The password of Prefect servers: made where one will be started, read where this home serves one, never a user's replaced."""

import json
import os

import pytest

from tasks.runtime import server_guard
from tasks.runtime.server_guard import ADDRESS, CLIENT, CLOUD_KEY, SERVER, credentials, guard_servers, keep_password

SERVED = "http://127.0.0.1:4321"


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """An environment without any setting of Prefect's, and a folder to be the home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    monkeypatch.setattr(server_guard.os, "environ", kept)
    return kept


@pytest.fixture
def served(tmp_path):
    """A home that serves."""
    keep_password(tmp_path, "sdcert:canary")
    (tmp_path / "serve" / "state.json").write_text(json.dumps({"address": SERVED}))
    return tmp_path


def test_a_server_that_will_be_started_gets_a_new_password_and_serves_no_other_origin(environment, tmp_path):
    guard_servers(tmp_path)
    first = environment[SERVER]
    assert environment[CLIENT] == first
    assert len(first) > 40
    assert environment["PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS"] == "none"
    assert environment["PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED"] == "true"
    guard_servers(tmp_path)
    assert environment[SERVER] == first
    for name in (SERVER, CLIENT):
        del environment[name]
    guard_servers(tmp_path)
    assert environment[SERVER] != first


@pytest.mark.parametrize("name", [SERVER, CLIENT])
def test_a_password_of_the_user_stays(environment, tmp_path, name):
    environment[name] = "me:word"
    guard_servers(tmp_path)
    assert environment[SERVER] == environment[CLIENT] == "me:word"


def test_nothing_is_made_up_for_a_server_that_is_named(environment, tmp_path):
    environment[ADDRESS] = "http://elsewhere/api"
    before = dict(environment)
    guard_servers(tmp_path)
    assert environment == before


@pytest.mark.parametrize("address", [f"{SERVED}/api", f"{SERVED}/api/"])
def test_the_server_of_this_home_is_used_with_its_password(environment, served, address):
    environment[ADDRESS] = address
    guard_servers(served)
    assert environment[CLIENT] == "sdcert:canary"
    assert SERVER not in environment


@pytest.mark.parametrize("changed", [{ADDRESS: "http://127.0.0.1:4322/api"}, {CLIENT: "me:word"}, {CLOUD_KEY: "pnu_1"}])
def test_the_password_of_this_home_goes_to_no_other_server_and_replaces_none(environment, served, changed):
    environment.update({ADDRESS: f"{SERVED}/api", **changed})
    guard_servers(served)
    assert environment.get(CLIENT) == changed.get(CLIENT)


def test_the_file_of_the_password_is_private(tmp_path):
    path = keep_password(tmp_path, "a:b")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_credentials_are_sent_as_prefect_sends_them(environment):
    assert credentials() == {}
    environment[CLOUD_KEY] = "pnu_1"
    assert credentials() == {"Authorization": "Bearer pnu_1"}
    environment[CLIENT] = "admin:pass"
    assert credentials() == {"Authorization": "Basic YWRtaW46cGFzcw=="}
