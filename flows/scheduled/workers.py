"""Names for the workers of a home: Prefect writes the name on each run that a worker takes, so the run tells who took it."""

from __future__ import annotations

import hashlib
import secrets
import socket

import psutil

from tasks.runtime.processes import own_processes
from tasks.runtime.settings import Home


def new_name() -> str:
    """A name that no other start of a worker has, on this machine or another."""
    return f"{_beginning()}{secrets.token_hex(6)}"


def belongs_to_home(name: str) -> bool:
    """Whether `new_name` made it here: the workers of other machines and homes are theirs to judge."""
    return name.startswith(_beginning())


def living() -> set[str]:
    """The names of this home's workers whose process is there."""
    beginning = _beginning()
    return {word for process, _ in own_processes() for word in _words(process) if word.startswith(beginning)}


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _beginning() -> str:
    home = hashlib.sha256(str(Home.current().root).encode(errors="surrogateescape")).hexdigest()[:8]
    return f"sdcert-{socket.gethostname()}-{home}-"
