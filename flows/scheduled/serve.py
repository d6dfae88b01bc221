"""A Prefect server, the work pool, the deployments of a file and one worker, kept running until somebody ends this process.

The order of ending is the worker with its runs, then the server, which hears of their end. Each is kept by a keeper, so that
a kill -9 of this process ends them too; what even that would leave is ended by the next one, by the marks that it finds.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from flows.scheduled import workers
from flows.scheduled.deployments import Deployments, format_for_prefect
from flows.scheduled.file_access import SERVED, FileAccess
from flows.scheduled.listening import format_url as listened_at
from flows.scheduled.listening import open_listening_socket
from flows.scheduled.process_tree import ProcessTree, create_python_path
from flows.scheduled.supervisor import end_marked, is_mark
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_NOTE, read_file
from tasks.runtime.failures import CREDENTIALS
from tasks.runtime.files import try_lock, write_whole
from tasks.runtime.server_guard import (
    ADDRESS,
    CLIENT,
    FOLDER,
    PASSWORD_FILE,
    SERVER,
    STATE_FILE,
    create_server_settings,
    keep_password,
)
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from flows.scheduled.orphan_runs import Looks

PORT = 4200
SECONDS_TO_ANSWER = 180.0
SECONDS_TO_DEPLOY = 300.0
SECONDS_TO_STOP = 45.0  # a worker gives its runs 30
FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS, SOUND_SECONDS = 1.0, 60.0, 300.0
LOOK_SECONDS, SECONDS_TO_TELL = 1.0, 60.0
LEASES = "prefect.server.concurrency.lease_storage.filesystem"  # in memory, a server that dies takes the free places with it


class RestartingProcess:
    """A process that is started again when it ends: after a second, two, four ... a minute, until it has run five minutes."""

    def __init__(
        self,
        name: str,
        command: Sequence[str] | Callable[[], Sequence[str]],
        environment: Mapping[str, str],
        *,
        leave: bool,
        limit: float,
        descriptors: Sequence[int] = (),
    ) -> None:
        """command: or what makes one for each start. descriptors: of open files that each of them is handed."""
        self.name = name
        self.starts = 0
        self._command, self._environment, self._leave = command, environment, leave
        self._grace, self._descriptors = limit, descriptors
        self._delay, self._since, self._due = FIRST_DELAY_SECONDS, 0.0, 0.0
        self._kept: ProcessTree | None = None
        self._former: list[ProcessTree] = []  # whose runs go on
        self.start()

    def start(self) -> None:
        folder = Home.current().folder(FOLDER)
        self._kept = ProcessTree(
            self._command() if callable(self._command) else self._command,
            environment=self._environment,
            out=folder / f"{self.name}.out",
            err=folder / f"{self.name}.err",
            limit_seconds=None,
            grace_seconds=self._grace,
            leave=self._leave,
            descriptors=self._descriptors,
        )
        self.starts += 1
        self._since = time.monotonic()

    @property
    def marks(self) -> list[str]:
        """By which its processes are found, and those that its former ones left."""
        self._former = [one for one in self._former if one.guarding]
        return [one.mark for one in (*self._former, self._kept) if one is not None]

    @property
    def alive(self) -> bool:
        return self._kept is not None and self._kept.alive

    def look(self) -> str | None:
        """Start it again if it has ended and its delay is over; returns what there is to say."""
        now = time.monotonic()
        if self.alive:
            return None
        if self._kept is not None:
            self._kept.wait()
            self._former.append(self._kept)
            self._kept = None
            self._delay = FIRST_DELAY_SECONDS if now - self._since > SOUND_SECONDS else self._delay
            self._due = now + self._delay
            why = f"{FOLDER}/{self.name}.err in the home says why"
            message = f"the {self.name} ended by itself; it is started again in {self._delay:.0f} s ({why})"
            self._delay = min(2 * self._delay, LONGEST_DELAY_SECONDS)
            return message
        if now >= self._due:
            self.start()
        return None

    def stop(self) -> None:
        for one in (self._kept, *self._former):
            if one is not None:
                one.stop()

    def __enter__(self) -> RestartingProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the server is. ours: this process starts it. listening: the socket of ours, which the server is handed."""

    root: str
    ours: bool
    listening: socket.socket | None = None

    @property
    def api(self) -> str:
        return f"{self.root}/api"

    @property
    def display_url(self) -> str:
        """The root without a user and a password: logs and files take it."""
        return CREDENTIALS.sub("://***@", self.root)


@contextmanager
def hold_home() -> Iterator[None]:
    """One of each home. Raises InputError where another serves it; ends first what a killed one left."""
    home = Home.current()
    descriptor = try_lock(home.locks / "serve.lock")
    if descriptor is None:
        known = _state()
        where = f"process {known.get('process', 'unknown')}, {known.get('address', 'address unknown')}"
        what, remedy = f"one is running for this home ({where})", "stop that one, or set SDCERT_HOME to another home"
        raise InputError("serving", "sdcert serve", what, "one `sdcert serve` of each home", remedy)
    try:
        for mark in _list_marks():
            end_marked(mark)
        yield
    finally:
        for name in (STATE_FILE, PASSWORD_FILE):
            with suppress(OSError):
                (home.root / FOLDER / name).unlink()
        os.close(descriptor)


def remember(address: ServerAddress, kept: list[RestartingProcess]) -> None:
    """Write down who serves, where, and by which marks the processes of that user are found."""
    marks = [mark for one in kept for mark in one.marks]
    facts = {"process": os.getpid(), "address": address.display_url, "marks": marks}
    write_whole(Home.current().folder(FOLDER) / STATE_FILE, json.dumps(facts).encode())


def choose_server_address(port: int | None) -> ServerAddress:
    """The server that PREFECT_API_URL names, which must answer, or one to start on this machine alone."""
    from flows.home_server.named import check_named_server

    named = os.environ.get(ADDRESS)
    if named:
        check_named_server()
        return ServerAddress(named.rstrip("/").removesuffix("/api"), ours=False)
    listening = open_listening_socket(port, PORT)
    return ServerAddress(listened_at(listening), ours=True, listening=listening)


def guard() -> Path:
    """Keep the password of the server that this process starts, which `prepare_environment` made; returns the file."""
    return keep_password(Home.current().root, os.environ[CLIENT])


def start_server(address: ServerAddress) -> RestartingProcess:
    """Start the server and wait until it answers. Raises InputError if it does not."""
    assert address.listening is not None  # noqa: S101  # it is ours
    descriptor = address.listening.fileno()
    guarded = create_server_settings(os.environ[CLIENT], address.root)
    environment = {**_create_environment(None), **guarded, "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": LEASES}
    command = [sys.executable, "-m", "flows.scheduled.listening", str(descriptor)]
    started = RestartingProcess("server", command, environment, leave=False, limit=SECONDS_TO_STOP, descriptors=(descriptor,))
    deadline = time.monotonic() + SECONDS_TO_ANSWER
    while not answers(address):
        if not started.alive or time.monotonic() > deadline:
            started.stop()
            what, remedy = "the Prefect server did not start", f"read {FOLDER}/server.err and {FOLDER}/server.out in the home"
            raise InputError("no-server", "sdcert serve", what, "a server that answers", remedy)
        time.sleep(0.5)
    return started


def answers(address: ServerAddress) -> bool:
    try:
        return httpx.get(f"{address.api}/health", timeout=10).is_success
    except httpx.HTTPError:
        return False


def deploy(found: Deployments, folder: Path, address: ServerAddress) -> None:
    """Let Prefect deploy the file. Raises InputError with what is missing afterwards: Prefect skips what it cannot deploy."""
    from flows.scheduled.server_client import automate, offer_choices, prepare_pools, remove_stale_schedules

    private_folder = Home.current().folder(FOLDER)
    write_whole(private_folder / "prefect.yaml", format_for_prefect(found, folder).encode())
    prepare_pools(found, ours=address.ours)
    command = [*_PREFECT, "--no-prompt", "deploy", "--all", "--prefect-file", str(private_folder / "prefect.yaml")]
    for name in ("deploy.out", "deploy.err"):
        (private_folder / name).unlink(missing_ok=True)
    kept = ProcessTree(
        command,
        environment=_create_environment(address),
        out=private_folder / "deploy.out",
        err=private_folder / "deploy.err",
        limit_seconds=SECONDS_TO_DEPLOY,
        grace_seconds=5,
        folder=folder,
    )
    with kept:
        kept.wait()
    missing = remove_stale_schedules(found)
    if missing:
        what = f"Prefect did not deploy as written: {', '.join(missing)}"
        remedy = f"read {FOLDER}/deploy.out in the home; check the entrypoint, the parameters and the cron"
        raise InputError("deploy", "prefect.yaml", what, "deployments that Prefect takes", remedy)
    offer_choices(found, FileAccess.from_deployments(found, folder))
    automate()


def start_worker(pool: str, limit: int | None, address: ServerAddress, served: FileAccess) -> RestartingProcess:
    """Start a worker of a pool. What it runs goes on when it dies and is started again, and ends when it is stopped.

    served: the files that its runs may name.
    """
    most = [] if limit is None else ["--limit", str(limit)]
    command = [*_PREFECT, "worker", "start", "--pool", pool, "--type", "process", "--install-policy", "never", *most]

    def build_command() -> list[str]:
        return [*command, "--name", workers.create_worker_name()]

    environment = {**_create_environment(address), SERVED: served.as_variable()}
    return RestartingProcess(f"worker-{pool}", build_command, environment, leave=True, limit=SECONDS_TO_STOP)


def watch_services(
    kept: list[RestartingProcess], address: ServerAddress, ended: threading.Event, say: Callable[[str], None]
) -> None:
    """Start again what ends by itself, until `ended`; once a minute, tell the server of runs whose process is gone.

    Telling has a thread of its own: the port of a server that has just died is still listened at, so that who asks there waits
    for minutes, and the server must be started again meanwhile.
    """
    from flows.scheduled import server_client  # noqa: F401  # imports come before threads
    from flows.scheduled.orphan_runs import Looks

    swept, looks, telling = time.monotonic(), Looks(), threading.Thread()
    while not ended.wait(LOOK_SECONDS):
        starts = sum(one.starts for one in kept)
        for message in filter(None, [one.look() for one in kept]):
            say(message)
        if sum(one.starts for one in kept) != starts:
            with suppress(OSError):  # a full disk must not end what serves
                remember(address, kept)
        if time.monotonic() - swept > SECONDS_TO_TELL and not telling.is_alive():
            swept = time.monotonic()
            telling = threading.Thread(target=tell_lost, args=(say, looks), daemon=True)
            telling.start()


def tell_lost(say: Callable[[str], None], looks: Looks | None = None) -> None:
    """Tell the server of runs whose process is gone; if it is away just now, another look comes."""
    from flows.scheduled.orphan_runs import Looks
    from flows.scheduled.server_client import end_lost

    try:
        for sentence in end_lost(looks or Looks()):
            say(sentence)
    except Exception as error:
        say(f"not all runs that were killed could be looked after ({type(error).__name__}); the next look comes in a minute")


def _state() -> dict[str, Any]:
    try:
        found = json.loads(read_file(Home.current().root / FOLDER / STATE_FILE, LARGEST_NOTE))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _list_marks() -> list[str]:
    """Of the processes that a killed one left. Text of another form marks nothing that was started here."""
    marks = _state().get("marks")
    return [one for one in marks if isinstance(one, str) and is_mark(one)] if isinstance(marks, list) else []


_PREFECT = [sys.executable, "-m", "prefect"]


def _create_environment(address: ServerAddress | None) -> dict[str, str]:
    """Of the processes that are started: this one's, the code of this one, and the address of the server."""
    environment = {**os.environ, "PYTHONPATH": create_python_path(os.environ), "SDCERT_HOME": str(Home.current().root)}
    if address is None:
        environment.pop(ADDRESS, None)
        return environment
    for name in ("PREFECT_SERVER_DATABASE_CONNECTION_URL", SERVER):
        environment.pop(name, None)  # passwords that the server alone needs
    return {**environment, ADDRESS: address.api}
