"""What a command asks of the fork server of its home, and where it finds one. The standard library alone: this is read first.

A request is a line of JSON, whose first bytes carry the three standard streams. The answers are lines, too: the number of the
process that runs the command, and the code with which it ended. No answer: the command runs by itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER, SOCKET, LAST = "fork-server", "socket", "last"
LONGEST_PATH = 100  # of a socket; systems take 104 and more
SECONDS_KEPT = 300.0
IDLE = "SDCERT_SERVER_IDLE_SECONDS"
# What outlives a command gets these variables alone, and no key that the environment holds for others.
NEEDED = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "SDCERT_HOME", "SDCERT_COMPILED")
NEEDED_FAMILIES = ("PREFECT_", "PYTHON", "LC_", "LD_", "DYLD_", "PG", "SSL_")
AT_IMPORT = (
    "OMP_",
    "OPENBLAS_",
    "MKL_",
    "NUMBA_",
    "ARROW_",
    "GX_",
    "MPL",
    "MLFLOW_",
)  # which libraries read when they are imported
NAMED = ("PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING")
LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]


def find_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of the fork server of this home; None where there is none, or others than this user could write to it."""
    home = Path(environment.get("SDCERT_HOME") or ".sdcert").absolute()
    folder = home / FOLDER
    try:
        found = [one.lstat() for one in (home, folder)]
    except OSError:
        return None
    private = all(stat.S_ISDIR(one.st_mode) and one.st_uid == os.geteuid() and not one.st_mode & 0o077 for one in found)
    return folder if private and len(os.fsencode(folder / SOCKET)) <= LONGEST_PATH else None


def select_lasting(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a process gets which outlives the command that starts it."""
    return {name: value for name, value in environment.items() if name in NEEDED or name.startswith(NEEDED_FAMILIES)}


def select_at_import(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a fork server gets: those, and what libraries read when they are imported."""
    at_import = {name: value for name, value in environment.items() if name.startswith(AT_IMPORT)}
    return {**select_lasting(environment), **at_import}


def read_idle_seconds(environment: Mapping[str, str] = os.environ) -> float:
    """How long a fork server stays when nobody uses it; 0, and what is no number: there is none."""
    try:
        return float(environment.get(IDLE, SECONDS_KEPT))
    except ValueError:
        return 0.0


def digest_environment(environment: Mapping[str, str]) -> str:
    """SHA-256 of all by which what is imported could differ: the interpreter, this program, and what libraries read then."""
    given = select_at_import(environment)
    given.pop("SDCERT_HOME", None)  # the socket is in it
    content = [sys.executable, __file__, sys.flags.optimize, sys.flags.utf8_mode, sorted(given.items())]
    return hashlib.sha256(json.dumps(content).encode(errors="surrogatepass")).hexdigest()


def write_request(arguments: list[str]) -> bytes:
    """This process as the one that runs the command shall find itself."""
    os.umask(umask := os.umask(0o077))
    content = {
        "digest": digest_environment(os.environ),
        "arguments": arguments,
        "folder": str(Path.cwd()),
        "environment": dict(os.environ),
        "umask": umask,
        "niceness": os.nice(0),
        "limits": [[number, *resource.getrlimit(number)] for number in LIMITS],
    }
    return json.dumps(content).encode() + b"\n"


def take_request(request: Mapping[str, Any]) -> None:
    """Let this process be as the one that asked. Raises what the system raises where it cannot be."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.umask(request["umask"])
    os.nice(max(0, request["niceness"] - os.nice(0)))
    for number, soft, hard in request["limits"]:
        if resource.getrlimit(number) != (soft, hard):
            resource.setrlimit(number, (soft, hard))
