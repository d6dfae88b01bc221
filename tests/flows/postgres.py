"""A PostgreSQL server for tests: in a folder of its own, on a port of the loopback and a socket, gone at the end."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, text

UNPRIVILEGED = "nobody"  # initdb refuses to run as root
USER = "sdcert"
SECONDS = 120


@dataclass(frozen=True)
class Postgres:
    """A server: by its socket no password is asked for, by its port one is."""

    binaries: Path
    folder: Path
    port: int
    password: str = field(repr=False)

    def url(self, driver: str = "psycopg2", database: str = "postgres") -> str:
        """By the port, with the password."""
        return f"postgresql+{driver}://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def socket_url(self, database: str = "postgres") -> str:
        return f"postgresql+psycopg2://{USER}@/{database}?host={self.folder}&port={self.port}"

    def new(self, beginning: str) -> str:
        """Make an empty database; returns its name, which no other test has: a process remembers databases that it prepared."""
        database = f"{beginning}_{secrets.token_hex(4)}"
        self.program("createdb", database)
        return database

    def wipe(self, database: str) -> None:
        """Put an empty database in the place of one."""
        self.program("dropdb", "--force", database)
        self.program("createdb", database)

    def dump(self, database: str) -> str:
        """All that a database holds, as SQL."""
        return self.program("pg_dump", database)

    def rows(self, database: str, query: str) -> list[tuple[Any, ...]]:
        engine = create_engine(self.socket_url(database), poolclass=NullPool)
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(query))]

    def start(self) -> None:
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=200 -k {self.folder}"
        self._server("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", settings, "start")

    def stop(self) -> None:
        """As a power cut would: what is not committed is lost, connections break."""
        self._server("pg_ctl", "-m", "immediate", "stop")

    def initialise(self) -> None:
        file = self.folder / "password"
        file.write_text(self.password)
        _give_away(file)
        rights = ["--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={file}"]
        self._server("initdb", "-U", USER, *rights, "-E", "UTF8", "--locale=C", "--no-sync")
        file.unlink()

    def program(self, name: str, *words: str) -> str:
        """Run one of PostgreSQL's programs on this server, as its user; returns what it printed."""
        command = [str(self.binaries / name), "-h", str(self.folder), "-p", str(self.port), "-U", USER, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS).stdout

    def _server(self, name: str, *words: str) -> None:
        command = [str(self.binaries / name), "-D", str(self.folder / "data"), *words]
        user = UNPRIVILEGED if os.geteuid() == 0 else None
        subprocess.run(command, user=user, cwd=self.folder, check=True, stdout=subprocess.DEVNULL, timeout=SECONDS)


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A started server with an empty database `postgres`; the test is skipped where there are no binaries."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL's server is not installed in /usr/lib/postgresql")
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path is at most 107 characters
    _give_away(folder)
    server = Postgres(found[-1].parent, folder, free_port(), secrets.token_hex(16))
    try:
        server.initialise()
        server.start()
        yield server
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _give_away(path: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(path, UNPRIVILEGED)
