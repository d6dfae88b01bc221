"""The Prefect server of a home: one for all commands, for as long as somebody uses it and a while longer."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import httpx
import psutil
import pytest
from prefect.settings import PREFECT_SERVER_DATABASE_CONNECTION_URL, get_current_settings, temporary_settings

from flows.home_server import connection, database, named
from flows.home_server.process import end_when_unused
from flows.home_server.state import HomeServer, read_state, state_file, users_lock
from tasks.microdata import cache_folder
from tasks.microdata.errors import InputError
from tasks.runtime.files import hold_file_lock
from tasks.runtime.processes import identity, parse_identity
from tasks.runtime.server_guard import ADDRESS, CLIENT

SMALL = (str(Path(__file__).with_name("small_server.py")),)
WITHOUT_SERVER = """
import os, sys
from flows.home_server import connection
connection.PROGRAM = {program!r}
with connection.use_prefect_server() as wait:
    wait()
    print(os.environ["PREFECT_API_URL"], flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def own_server(own, monkeypatch):
    """A home whose server is a small one, which starts at once; none is named."""
    monkeypatch.setattr(connection, "PROGRAM", SMALL)
    monkeypatch.setattr(connection, "_is_named", lambda: bool(os.environ.get(ADDRESS)))
    monkeypatch.setattr(connection, "_set", lambda variables: os.environ.update({k: v or "" for k, v in variables.items()}))
    for name in (ADDRESS, CLIENT):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv(connection.IDLE, "30")
    yield own
    server = read_state(own)
    if server is not None:
        connection._end(own, server)


def used() -> HomeServer | None:
    with connection.use_prefect_server() as wait:
        wait()
        return read_state(connection.Home.current())


def test_two_commands_use_one_server_which_only_its_user_can_ask(own_server):
    first, second = used(), used()
    assert first == second
    assert stat.S_IMODE(state_file(own_server).stat().st_mode) == 0o600
    assert stat.S_IMODE(state_file(own_server).parent.stat().st_mode) == 0o700
    assert first is not None and len(first.password) > 40


def test_another_setting_another_server(own_server, monkeypatch):
    first = used()
    monkeypatch.setenv("PREFECT_LOGGING_LEVEL", "ERROR")
    assert used() != first
    connection._end(own_server, first)


def test_who_waits_for_a_server_keeps_it_when_another_command_starts_one_with_other_settings(own_server, monkeypatch):
    with connection.use_prefect_server() as wait:
        first = read_state(own_server)
        with monkeypatch.context() as other:
            other.setenv(ADDRESS, "")
            other.setenv("PREFECT_LOGGING_LEVEL", "ERROR")
            second = connection._start(own_server, 30, connection._collect_settings())
        wait()
        assert first.runs()
        assert read_state(own_server) == second
    connection._end(own_server, first)
    assert read_state(own_server) == second
    deadline = time.monotonic() + 20
    while first.runs():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_server_that_was_killed_is_replaced(own_server):
    first = used()
    os.kill(parse_identity(first.process)[0], signal.SIGKILL)
    second = used()
    assert second.process != first.process


def test_a_state_of_another_form_or_process_is_no_server(own_server):
    for content in (
        "",
        "[]",
        '{"process": 1}',
        json.dumps({"process": "1:x", "address": "a", "password": "b", "settings": "c"}),
    ):
        state_file(own_server).write_text(content)
        server = used()
        assert httpx.get(f"{server.api}/health").status_code == httpx.codes.OK
        connection._end(own_server, server)


def test_a_server_that_does_not_come_up_is_told_and_leaves_nothing(own_server, monkeypatch):
    monkeypatch.setattr(connection, "PROGRAM", ("-c", "raise SystemExit('no')"))
    with pytest.raises(InputError, match="did not start") as caught, connection.use_prefect_server() as wait:
        wait()
    assert caught.value.code == "no-server"
    assert not state_file(own_server).exists()


def test_the_server_gets_no_key_of_its_environment(own_server, monkeypatch):
    monkeypatch.setenv("SDCERT_SIGNING_KEY_PASSPHRASE", "hunter2")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    server = used()
    environment = psutil.Process(parse_identity(server.process)[0]).environ()
    assert "hunter2" not in environment.values()
    assert environment["SDCERT_HOME"] == str(own_server.root)


def test_a_server_stays_while_a_command_uses_it_and_ends_after_a_kill(own_server):
    environment = {name: value for name, value in os.environ.items() if name != ADDRESS} | {connection.IDLE: "0"}
    command = [sys.executable, "-c", WITHOUT_SERVER.format(program=SMALL)]
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    api = process.stdout.readline().strip()
    time.sleep(1.5)
    assert httpx.get(f"{api}/health").status_code == httpx.codes.OK
    server = psutil.Process(parse_identity(read_state(own_server).process)[0])
    process.kill()
    process.communicate()
    server.wait(timeout=20)
    assert not state_file(own_server).exists()


@pytest.fixture
def look(own):
    """A function: look whether this process may end, in a thread; returns an event that says that it does."""
    state_file(own).write_text(json.dumps({"process": identity(os.getpid())}))
    users_lock(own).touch()

    def begin(idle_seconds: float) -> threading.Event:
        ended = threading.Event()
        arguments = (idle_seconds, users_lock(own), state_file(own), ended.set)
        threading.Thread(target=end_when_unused, args=arguments, daemon=True).start()
        return ended

    return begin


def test_a_server_in_use_does_not_end(own, look):
    with hold_file_lock(users_lock(own), shared=True):
        ended = look(0)
        assert not ended.wait(1.2)
        assert state_file(own).exists()
    assert ended.wait(10)
    assert not state_file(own).exists()


def test_a_server_stays_as_long_as_it_was_told(look):
    begun = time.monotonic()
    assert look(1.5).wait(10)
    assert time.monotonic() - begun >= 1.5


def test_a_server_whose_home_is_gone_ends(own, look):
    ended = look(1000)
    users_lock(own).unlink()
    assert ended.wait(10)


def test_a_server_that_was_replaced_ends_and_leaves_the_state_of_the_other(own, look):
    other = json.dumps({"process": f"{os.getpid()}0:1"})
    state_file(own).write_text(other)
    assert look(1000).wait(10)
    assert state_file(own).read_text() == other


@pytest.mark.parametrize("text", ["", "-1", "soon", "nan", "1e9"])
def test_what_is_no_time_to_stay_is_told(monkeypatch, text):
    monkeypatch.setenv(connection.IDLE, text)
    with pytest.raises(InputError, match="no time to stay"):
        connection.read_idle_seconds()


def test_files_of_prefect_settings_are_seen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\n")
    assert not connection.has_prefect_files()
    for name, text in {".env": "PREFECT_API_URL=x", "pyproject.toml": "[tool.prefect]", "profiles.toml": ""}.items():
        (tmp_path / name).write_text(text)
        assert connection.has_prefect_files(), name
        (tmp_path / name).unlink()


class TestDatabase:
    """A new home gets a copy of an empty database."""

    @pytest.fixture
    def folders(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SDCERT_COMPILED", str(tmp_path / "cache"))
        (tmp_path / "prefect").mkdir()
        monkeypatch.setattr(database, "_find_database", lambda: tmp_path / "prefect" / "prefect.db")
        return tmp_path

    @pytest.fixture
    def migrations(self, folders, monkeypatch):
        """How often a database was migrated; instead of Prefect's tables it has one of ours."""
        made = []

        async def make() -> None:
            made.append(1)
            with closing(sqlite3.connect(folders / "prefect" / "prefect.db")) as file:
                file.execute("create table alembic_version (version_num)")
                file.execute("insert into alembic_version values ('newest')")
                file.commit()

        monkeypatch.setattr(database, "_make_database", make)
        return made

    def settings(self) -> tuple[bool, bool]:
        with database.prepare_database():
            return (
                database.PREFECT_API_DATABASE_MIGRATE_ON_START.value(),
                database.PREFECT_API_BLOCKS_REGISTER_ON_START.value(),
            )

    def test_it_is_made_once_and_copied(self, folders, migrations):
        path = folders / "prefect" / "prefect.db"
        for _ in range(3):
            assert self.settings() == (False, False)
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
            assert database._read_version(path) == "newest"
            assert self.settings() == (False, True)  # it is there, and up to date
            path.unlink()
        assert len(migrations) == 1
        assert [one.name for one in path.parent.iterdir()] == []

    def test_an_older_one_and_one_of_elsewhere_are_left_to_the_server(self, folders, migrations, monkeypatch):
        path = folders / "prefect" / "prefect.db"
        self.settings()
        with closing(sqlite3.connect(path)) as file:
            file.execute("update alembic_version set version_num = 'older'")
            file.commit()
        assert self.settings() == (True, True)
        path.unlink()
        monkeypatch.setattr(database, "_find_database", lambda: None)
        assert self.settings() == (True, True)
        assert not path.exists()

    def test_a_cache_that_cannot_be_written_only_costs_time(self, folders, migrations):
        (folders / "cache").write_text("a file")
        for _ in range(2):
            assert self.settings() == (False, False)
            (folders / "prefect" / "prefect.db").unlink()
        assert len(migrations) == 2

    def test_a_log_of_a_file_that_is_gone_is_not_played_into_a_new_one(self, folders, migrations):
        path = folders / "prefect" / "prefect.db"
        self.settings()
        path.unlink()
        for end in database.BESIDE_DATABASE:
            path.with_name(path.name + end).write_bytes(b"of another file")
        self.settings()
        assert [one.name for one in path.parent.iterdir()] == [path.name]

    def test_only_the_file_of_prefects_folder_is_prepared(self):
        home = Path(get_current_settings().home)
        assert database._find_database() == home / "prefect.db"
        for url in (
            "postgresql+asyncpg://u@h/d",
            "sqlite+aiosqlite:////x/other.db",
            f"sqlite+aiosqlite:///{home}/prefect.db?x=1",
        ):
            with temporary_settings({PREFECT_SERVER_DATABASE_CONNECTION_URL: url}):
                assert database._find_database() is None, url


class TestCacheFolder:
    """What is run as the user lies where nobody else can write."""

    @pytest.fixture(autouse=True)
    def environment(self, tmp_path, monkeypatch):
        monkeypatch.delenv("SDCERT_COMPILED", raising=False)
        monkeypatch.setenv("SDCERT_HOME", str(tmp_path / "home"))
        monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
        (tmp_path / "venv").mkdir(mode=0o755)

    def test_in_an_environment_of_this_user_it_is_one_for_all_homes(self, tmp_path):
        assert cache_folder.find_cache_folder() == tmp_path / "venv" / "sdcert" / "compiled"

    @pytest.mark.parametrize("folder", ["venv", "venv/sdcert"])
    def test_where_others_can_write_it_is_in_the_home(self, tmp_path, folder):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder).chmod(0o775)
        assert cache_folder.find_cache_folder() == tmp_path / "home" / "compiled"

    def test_a_link_is_not_followed(self, tmp_path):
        (tmp_path / "venv" / "sdcert").symlink_to(tmp_path)
        assert cache_folder.find_cache_folder() == tmp_path / "home" / "compiled"

    def test_without_a_virtual_environment_it_is_in_the_home(self, tmp_path, monkeypatch):
        monkeypatch.setattr(sys, "base_prefix", sys.prefix)
        assert cache_folder.find_cache_folder() == tmp_path / "home" / "compiled"


def test_a_named_server_is_not_started(own_server, monkeypatch):
    monkeypatch.setenv(ADDRESS, "http://127.0.0.1:9/api")
    monkeypatch.setattr(named, "SECONDS_TO_CONNECT", 0.5)
    with pytest.raises(InputError, match="no Prefect server answers"):
        used()
    assert read_state(own_server) is None
