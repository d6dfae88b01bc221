"""A private PostgreSQL server for the tests that read from one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

UNPRIVILEGED = "nobody"  # initdb refuses to run as root


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of an empty database; skipped where the server's binaries are not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL's server is not installed in /usr/lib/postgresql")
    folder, user = Path(tempfile.mkdtemp(prefix="pg-")), UNPRIVILEGED if os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(folder, user)

    def run(*words: str) -> None:
        command = [str(found[-1].with_name(words[0])), "-D", str(folder / "data"), *words[1:]]
        subprocess.run(command, user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=120)

    run("initdb", "-U", "sdcert", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
    run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", f"-c listen_addresses='' -c fsync=off -k {folder}", "start")
    try:
        yield f"postgresql+psycopg2://sdcert@/postgres?host={folder}"
    finally:
        run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
