"""What is known of the Prefect server of a home: a private file, and two locks that the kernel releases with their holders."""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import psutil

from tasks.microdata.regular_files import LARGEST_NOTE, read_file
from tasks.runtime.files import write_whole
from tasks.runtime.processes import is_there, parse_identity
from tasks.runtime.server_guard import ADDRESS, CLIENT, CLOUD_KEY, SERVER
from tasks.runtime.settings import Home

FOLDER = "server"
NOT_OF_THE_SERVER = {ADDRESS, CLIENT, SERVER, CLOUD_KEY, "PYTHONPATH", "PATH", "TMPDIR"}  # or that say nothing of what it does


@dataclass(frozen=True, slots=True)
class HomeServer:
    """A Prefect server. process: its identity. settings: a digest of what it was started with, keyed by the password."""

    process: str
    address: str
    password: str
    settings: str

    @property
    def api(self) -> str:
        return f"{self.address}/api"

    def runs(self) -> bool:
        """Is its process there?"""
        with suppress(psutil.Error):  # it ends just now
            found = parse_identity(self.process)
            return found is not None and is_there(*found) and psutil.Process(found[0]).status() != psutil.STATUS_ZOMBIE
        return False

    def fits(self, settings: Mapping[str, str]) -> bool:
        """Would one that is started with these settings be the same?"""
        return hmac.compare_digest(self.settings, digest_settings(self.password, settings))


def digest_settings(password: str, settings: Mapping[str, str]) -> str:
    """A digest of everything by which servers differ: the variables that they are given, Prefect's version, the programs."""
    given = sorted((name, value) for name, value in settings.items() if name not in NOT_OF_THE_SERVER)
    content = json.dumps([given, version("prefect"), sys.executable, __file__]).encode()
    return hmac.new(password.encode(), content, hashlib.sha256).hexdigest()


def users_lock(home: Home) -> Path:
    """Held, shared, by every process that uses the server, and exclusively by the server when it looks whether it may end."""
    return home.locks / "server-users.lock"


def start_lock(home: Home) -> Path:
    """Held by the one process that starts the server."""
    return home.locks / "server-start.lock"


def state_file(home: Home) -> Path:
    return home.folder(FOLDER) / "state.json"


def read_state(home: Home) -> HomeServer | None:
    """The server that a process of this home started last; None where none is known. It may have ended."""
    with suppress(OSError, ValueError, TypeError, RecursionError):  # also of another form
        return HomeServer(**json.loads(read_file(home.root / FOLDER / "state.json", LARGEST_NOTE)))
    return None


def write_state(home: Home, server: HomeServer) -> None:
    write_whole(state_file(home), json.dumps(asdict(server)).encode())


def find_server(home: Home, settings: Mapping[str, str]) -> HomeServer | None:
    """The server of this home, if it runs and was started with these settings."""
    server = read_state(home)
    with suppress(TypeError, AttributeError):  # the state holds something else than texts
        return server if server is not None and server.runs() and server.fits(settings) else None
    return None
