"""What of `sdcert serve` needs no server: addresses, starting again, one of each home; and doctor's look at schedules."""

import json
import os
import socket
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import httpx
import pytest
from receivers import http_receiver

from flows.cli.doctor import schedules
from flows.home_server import named
from flows.scheduled import serve, workers
from flows.scheduled.file_access import FileAccess
from flows.scheduled.listening import open_listening_socket
from tasks.microdata.errors import InputError


@pytest.fixture
def clock(monkeypatch):
    """The time that `RestartingProcess` sees, in seconds."""
    now = [1000.0]
    monkeypatch.setattr(serve.time, "monotonic", lambda: now[0])
    return now


class Process:
    """Stands in for a kept process."""

    started: ClassVar[list["Process"]] = []

    def __init__(self, command, **options) -> None:
        self.alive, self.guarding, self.mark, self.options = True, True, f"mark{len(Process.started)}", options
        Process.started.append(self)

    def wait(self) -> None:
        assert not self.alive

    def stop(self) -> None:
        self.alive = self.guarding = False


@pytest.fixture
def restarted(home, monkeypatch, clock):
    monkeypatch.setattr(Process, "started", [])
    monkeypatch.setattr(serve, "ProcessTree", Process)
    return serve.RestartingProcess("server", ["x"], {}, leave=False, limit=1)


def test_what_ends_by_itself_is_started_again_ever_more_slowly(restarted, clock):
    delays = []
    for _ in range(8):
        Process.started[-1].alive = False
        told = restarted.look()
        assert "ended by itself" in told
        assert "serve/server.err" in told
        died, before = clock[0], len(Process.started)
        while len(Process.started) == before:
            assert restarted.look() is None
            clock[0] += 0.5
        delays.append(round(clock[0] - died))
    assert delays == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60], abs=1)


def test_after_a_sound_while_it_is_started_again_at_once(restarted, clock):
    for minutes in (0, 0, 0, 6):
        clock[0] += 60 * minutes
        Process.started[-1].alive = False
        told = restarted.look()
        clock[0] += 70
        restarted.look()
    assert "in 1 s" in told
    assert restarted.starts == 5


def test_the_runs_of_one_that_died_go_on_and_are_ended_with_the_rest(restarted, clock):
    Process.started[0].alive = False
    restarted.look()
    clock[0] += 2
    restarted.look()
    assert restarted.marks == ["mark0", "mark1"]
    restarted.stop()
    assert [one.guarding for one in Process.started] == [False, False]
    assert restarted.marks == ["mark1"]


def test_what_runs_is_left_alone(restarted, clock):
    clock[0] += 1e6
    assert restarted.look() is None
    assert (len(Process.started), restarted.alive) == (1, True)


def test_a_port_that_is_taken_is_refused_and_the_usual_one_is_replaced(monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match="listens there"):
            serve.choose_server_address(port)
        monkeypatch.setattr(serve, "PORT", port)
        found = serve.choose_server_address(None)
    assert found.ours
    assert found.root.rpartition(":")[2] not in (str(port), "0")


def test_a_server_that_is_named_must_answer(monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    with pytest.raises(InputError, match="no Prefect server answers"):
        serve.choose_server_address(None)


def test_a_server_that_is_slow_to_answer_is_there_and_one_that_is_silent_is_not(monkeypatch):
    receiver, server = http_receiver()
    receiver.seconds = 1.0
    monkeypatch.setenv("PREFECT_API_URL", receiver.url("/api"))
    monkeypatch.setattr(named, "SECONDS_TO_CONNECT", 0.5)
    try:
        named.check_named_server()
        monkeypatch.setattr(named, "SECONDS_TO_ANSWER", 0.5)
        with pytest.raises(InputError, match=r"no Prefect server answers there \(ReadTimeout\)"):
            named.check_named_server()
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"[]",
        b"7",
        b"{}",
        b'{"marks": 7}',
        b'{"marks": {"a": 1}}',
        b'{"marks": ["", "abc", 7, null, [], ":"], "process": []}',
        b"[" * 100_000,
        b"\xff\x00",
    ],
)
def test_an_odd_file_of_who_serves_stops_nobody_and_ends_no_process(home, monkeypatch, state):
    ended = []
    monkeypatch.setattr(serve, "end_marked", ended.append)
    path = home / "serve" / "state.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(state)
    with serve.hold_home():
        assert ended == []


def test_a_worker_is_named_anew_each_time_it_starts(home, monkeypatch, clock):
    monkeypatch.setattr(Process, "started", [])
    monkeypatch.setattr(Process, "__init__", named_process)
    monkeypatch.setattr(serve, "ProcessTree", Process)
    one = serve.start_worker("pool", None, serve.ServerAddress("http://127.0.0.1:1", ours=True), FileAccess(home))
    Process.started[0].alive = False
    one.look()
    clock[0] += 2
    one.look()
    first, second = (made.command[made.command.index("--name") + 1] for made in Process.started)
    assert first != second
    assert workers.belongs_to_home(first) and workers.belongs_to_home(second)
    monkeypatch.setenv("SDCERT_HOME", str(home / "another"))
    assert not workers.belongs_to_home(first)


def named_process(self, command, **options) -> None:
    self.alive, self.guarding, self.mark, self.command = True, True, f"mark{len(Process.started)}", command
    Process.started.append(self)


def test_a_look_that_fails_says_so_and_stops_nothing(home, monkeypatch):
    from flows.scheduled import server_client

    monkeypatch.setattr(server_client, "end_lost", lambda _: (_ for _ in ()).throw(ConnectionError("secret")))
    said = []
    serve.tell_lost(said.append)
    assert said == ["not all runs that were killed could be looked after (ConnectionError); the next look comes in a minute"]


def test_a_server_that_dies_while_it_is_asked_is_started_again(restarted, clock, monkeypatch):
    """Who asks a dead server's port, at which somebody still listens, waits for minutes."""
    asked, ended = threading.Event(), threading.Event()
    monkeypatch.setattr(serve, "tell_lost", lambda *_: (asked.set(), ended.wait(60)))
    monkeypatch.setattr(serve, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(serve, "SECONDS_TO_TELL", -1)
    watching = threading.Thread(
        target=serve.watch_services,
        args=([restarted], serve.ServerAddress("http://127.0.0.1:1", ours=True), ended, lambda _: None),
    )
    watching.start()
    try:
        assert asked.wait(60)
        Process.started[-1].alive = False
        deadline = 500
        while restarted.starts == 1 and (deadline := deadline - 1):
            clock[0] += 1
            ended.wait(0.02)
        assert restarted.starts == 2
    finally:
        ended.set()
        watching.join()


def test_the_password_of_the_database_goes_to_the_server_alone(home, monkeypatch):
    monkeypatch.setenv("PREFECT_SERVER_DATABASE_CONNECTION_URL", "postgresql+asyncpg://u:secret@h/d")
    monkeypatch.setenv("PREFECT_API_URL", "http://elsewhere/api")
    address = serve.ServerAddress("http://127.0.0.1:4200", ours=True)
    assert "secret" in serve._create_environment(None)["PREFECT_SERVER_DATABASE_CONNECTION_URL"]
    assert "PREFECT_API_URL" not in serve._create_environment(None)
    assert not [value for value in serve._create_environment(address).values() if "secret" in value]
    assert serve._create_environment(address)["PREFECT_API_URL"] == "http://127.0.0.1:4200/api"


HOLDS = """
import sys
from flows.scheduled import serve, workers
with serve.hold_home():
    serve.remember(serve.ServerAddress("http://127.0.0.1:4321", ours=True), [])
    print("mine", flush=True)
    sys.stdin.read()
"""


def test_one_of_each_home_and_a_killed_one_hinders_nobody(home):
    with subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "mine\n"
        with pytest.raises(InputError, match=f"process {first.pid}, http://127.0.0.1:4321"), serve.hold_home():
            pass
        first.kill()
    with serve.hold_home():
        pass
    assert not (home / "serve" / "state.json").exists()


def test_what_a_killed_one_left_is_ended_by_the_next(home):
    from flows.scheduled.supervisor import MARK

    mark = "0123456789abcdef" * 2
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env={**os.environ, MARK: f"a:{mark}"})
    try:
        (home / "serve").mkdir(parents=True)
        (home / "serve" / "state.json").write_text(json.dumps({"process": 1, "marks": [mark]}))
        with serve.hold_home():
            assert left.wait(10) == -9
    finally:
        left.kill()
        left.wait()


# doctor

NOW = datetime.now(UTC)
OLD = (NOW - timedelta(hours=1)).isoformat()


def server(deployments, runs=(), workers=("ONLINE",)):
    """A Prefect server that knows these deployments, runs (deployment, state) and workers."""

    def answer(request: httpx.Request) -> httpx.Response:
        wanted = json.loads(request.content)
        if request.url.path.endswith("deployments/filter"):
            assert wanted["deployments"] == {"tags": {"all_": ["sdcert"]}}
            return httpx.Response(200, json=deployments)
        if request.url.path.endswith("flow_runs/filter"):
            (asked,) = wanted["flow_runs"]["deployment_id"]["any_"]
            return httpx.Response(200, json=[{"state_name": state} for of, state in runs if of == asked])
        assert request.url.path.endswith("/work_pools/sdcert/workers/filter")
        return httpx.Response(200, json=[{"status": status} for status in workers])

    return httpx.Client(base_url="http://server/api/", transport=httpx.MockTransport(answer))


def deployed(name, *, active=True, paused=False, updated=OLD):
    schedule = [{"active": active}]
    return {"id": name, "name": name, "paused": paused, "schedules": schedule, "updated": updated, "work_pool_name": "sdcert"}


FOUND = [
    ([], [], ["ONLINE"], [("ok", "no deployment")]),
    ([deployed("a", active=False), deployed("b", paused=True)], [], ["ONLINE"], [("ok", "no deployment")]),
    ([deployed("a")], [("a", "Scheduled")], ["ONLINE"], [("ok", "all deployments with an active schedule (1)")]),
    ([deployed("a"), deployed("b")], [], ["ONLINE"], [("fail", "no run of: a, b")]),
    ([deployed("a"), deployed("b")], [("a", "Scheduled")], ["ONLINE"], [("warn", "no run is inserted of: b")]),
    ([deployed("a", updated=(NOW + timedelta(days=1)).isoformat())], [], ["ONLINE"], [("ok", "(1)")]),
    (
        [deployed("a")],
        [("a", "Late")],
        ["OFFLINE"],
        [("warn", "late: a"), ("warn", "no worker of the pool sdcert"), ("ok", "(1)")],
    ),
    ([deployed("a")], [("a", "Scheduled")], [], [("warn", "no worker"), ("ok", "(1)")]),
]


@pytest.mark.parametrize(("deployments", "runs", "workers", "expected"), FOUND)
def test_doctor_looks_whether_what_is_scheduled_will_run(deployments, runs, workers, expected):
    with server(deployments, runs, workers) as client:
        found = list(schedules._check_deployments(client))
    assert [finding.status for finding in found] == [status for status, _ in expected]
    assert all(text in finding.says for finding, (_, text) in zip(found, expected, strict=True))


def test_doctor_without_a_server_has_nothing_to_say_of_schedules(home, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert [finding.status for finding in schedules.check_schedules()] == ["ok"]
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    assert [finding.status for finding in schedules.check_schedules()] == ["warn"]


def test_doctor_asks_the_server_that_serve_started(home, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    serve.remember(serve.ServerAddress("http://somebody:canary@127.0.0.1:9", ours=True), [])
    (finding,) = schedules.check_schedules()
    assert finding.status == "warn"
    assert "canary" not in (home / "serve" / "state.json").read_text()


CREDENTIALS = [
    ({}, None),
    ({"PREFECT_API_KEY": "pnu_1"}, "Bearer pnu_1"),
    ({"PREFECT_API_AUTH_STRING": "admin:pass"}, "Basic YWRtaW46cGFzcw=="),
]


@pytest.mark.parametrize(("variables", "expected"), CREDENTIALS)
def test_doctor_asks_the_server_with_the_credentials_of_prefect(monkeypatch, variables, expected):
    asked, client = [], httpx.Client
    monkeypatch.setattr(httpx, "Client", lambda **known: client(**known, transport=httpx.MockTransport(answer)))

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("Authorization"))
        return httpx.Response(200, json=[])

    for name in ("PREFECT_API_KEY", "PREFECT_API_AUTH_STRING"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"PREFECT_API_URL": "http://127.0.0.1:9/api", **variables}.items():
        monkeypatch.setenv(name, value)
    assert [finding.status for finding in schedules.check_schedules()] == ["ok"]
    assert set(asked) == {expected}


def test_the_port_of_a_server_is_never_free(home):
    listening = open_listening_socket(None, 0)
    port = listening.getsockname()[1]
    with socket.socket() as other:  # as another user would, who waits for the port
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
    with pytest.raises(InputError, match="another program listens there"):
        open_listening_socket(port, 0)
    listening.close()


def test_whoever_has_bound_a_port_and_does_not_listen_does_not_get_it():
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", 0))
        listening = open_listening_socket(other.getsockname()[1], 0)
        with pytest.raises(OSError, match="in use"):
            other.listen()
        listening.close()
