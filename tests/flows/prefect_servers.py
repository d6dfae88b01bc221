"""A real Prefect server for tests: `prefect server start` in a process of its own, with a database of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from postgres import free_port
from prefect.client.base import PrefectHttpxSyncClient

from flows.home_server.connection import leave_server
from tasks.runtime.server_guard import CLIENT, authorization

SECONDS_TO_START = 240


def asked(api: str, method: str, path: str, content: Any = None, *, password: str | None = None) -> httpx.Response:
    """What a server answers. Of a busy database it says 503, come again: Prefect's own client does.

    password: default: of the servers that this process starts.
    """
    who = authorization(password or os.environ[CLIENT])
    with PrefectHttpxSyncClient(base_url=api, headers=who, enable_csrf_support=True, timeout=60) as client:
        return client.request(method, f"/{path}", json=content)


@contextmanager
def prefect_server(folder: Path, database: str) -> Iterator[str]:
    """Start a server on a database (an async SQLAlchemy URL); yields the address of its API. Its log: folder/server.log."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    environment = {"PREFECT_HOME": str(folder / "prefect"), "PREFECT_SERVER_DATABASE_CONNECTION_URL": database}
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, env={**os.environ, **environment}, stdout=log, stderr=subprocess.STDOUT)
        try:
            address = _answering(f"http://127.0.0.1:{port}/api", server, folder / "server.log")
            leave_server()
            yield address
        finally:
            leave_server()
            server.terminate()
            try:
                server.wait(timeout=30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _answering(api: str, server: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and server.poll() is None:
        try:
            if httpx.get(f"{api}/health", timeout=5).status_code == httpx.codes.OK:
                return api
        except httpx.HTTPError:
            time.sleep(0.2)
    raise AssertionError(f"the Prefect server does not answer:\n{log.read_text()[-4000:]}")
