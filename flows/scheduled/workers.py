"""Name the workers of a home: Prefect writes the name on each run that a worker takes, so the run tells who took it."""

from __future__ import annotations

import hashlib
import secrets
import socket

import psutil

from tasks.runtime.processes import own_processes
from tasks.runtime.settings import Home


def create_worker_name() -> str:
    """A name that no other start of a worker has, on this machine or another."""
    return f"{_create_name_prefix()}{secrets.token_hex(6)}"


def belongs_to_home(name: str) -> bool:
    """Whether `create_worker_name` made it here: the workers of other machines and homes are theirs to judge."""
    return name.startswith(_create_name_prefix())


def find_living_workers() -> set[str]:
    """The names of this home's workers whose process is there."""
    beginning = _create_name_prefix()
    return {word for process, _ in own_processes() for word in _read_command_line(process) if word.startswith(beginning)}


def _read_command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _create_name_prefix() -> str:
    home = hashlib.sha256(str(Home.current().root).encode(errors="surrogateescape")).hexdigest()[:8]
    return f"sdcert-{socket.gethostname()}-{home}-"
