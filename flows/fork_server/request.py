"""What a command asks of the fork server of its home, and where it finds one. The standard library alone: this is read first.

A request is a line of JSON, whose first byte carries the three standard streams. The answers are lines, too: one before the
request, then the number of the process that runs the command, and the code with which it ended. No answer: the command runs by
itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import socket
import stat
import struct
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
# which libraries read when they are imported
AT_IMPORT = (
    *("OMP_", "OPENBLAS_", "MKL_", "NUMBA_", "NPY_", "SCIPY_", "SKLEARN_"),
    *("ARROW_", "GX_", "MPL", "MLFLOW_", "GLIBC_"),
)
NAMED = ("PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING")
SECRET = ("PASSWORD", "PASSPHRASE", "SECRET", "TOKEN", "KEY", "CREDENTIAL")
LONGEST_IDLE_SECONDS = 86_400.0
CONFINEMENT = ("ns/cgroup", "ns/ipc", "ns/mnt", "ns/net", "ns/pid", "ns/user", "ns/uts")  # namespaces, of Linux
STATUS = ("Uid:", "Gid:", "Groups:", "NoNewPrivs:", "Seccomp:", "Cap", "Cpus_allowed:")
HANDED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]


def find_home(environment: Mapping[str, str]) -> Path:
    """The private folder, as `tasks.runtime.settings.Home` finds it."""
    return Path(environment.get("SDCERT_HOME") or ".sdcert").absolute()


def find_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of the fork server of this home; None where there is none, or others than this user could write to it."""
    home = find_home(environment)
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


def can_be_kept(environment: Mapping[str, str]) -> bool:
    """May what outlives the command have these variables? None names a server, and none that it would get is a secret."""
    secret = (any(word in name for word in SECRET) or "@" in value for name, value in select_at_import(environment).items())
    return not any(environment.get(name) for name in NAMED) and not any(secret)


def parse_idle_seconds(environment: Mapping[str, str]) -> float | None:
    """How long what is kept stays unused, from 0 to `LONGEST_IDLE_SECONDS`; None where the variable says no such time."""
    try:
        seconds = float(environment.get(IDLE, SECONDS_KEPT))
    except ValueError:
        return None
    return seconds if 0 <= seconds <= LONGEST_IDLE_SECONDS else None


def digest_environment(environment: Mapping[str, str]) -> str:
    """SHA-256 of all by which the process could differ: interpreter, program, what libraries read, and what confines it."""
    given = select_at_import(environment)
    for name in ("SDCERT_HOME", "PATH"):  # the socket is in the home, and each command has its own path
        given.pop(name, None)
    files = [Path(sys.executable).resolve(), Path(__file__).resolve()]
    programs = [[str(file), file.stat().st_ino, file.stat().st_mtime_ns] for file in files]
    content = [programs, sys.flags.optimize, sys.flags.utf8_mode, sorted(given.items()), _describe_confinement()]
    return hashlib.sha256(json.dumps(content).encode(errors="surrogatepass")).hexdigest()


def _describe_confinement() -> list[object]:
    """Who this process is and what it may do: users, groups, rights, namespaces, control group, processors."""
    process = Path("/proc/self")
    found: list[object] = []
    for name in CONFINEMENT:
        try:
            found.append((process / name).readlink().as_posix())
        except OSError:
            found.append(None)
    for name in ("status", "cgroup", "attr/current"):
        try:
            lines = (process / name).read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        found.append([line for line in lines if name != "status" or line.startswith(STATUS)])
    return found


def is_of_this_user(connection: socket.socket) -> bool:
    """Is this user at the other end? False where the system cannot say so."""
    if not hasattr(socket, "SO_PEERCRED"):
        return False
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return bool(struct.unpack("3i", found)[1] == os.geteuid())


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
        "ignored": [number for number in HANDED_ON if signal.getsignal(number) == signal.SIG_IGN],
        "limits": [[number, *resource.getrlimit(number)] for number in LIMITS],
    }
    return json.dumps(content).encode() + b"\n"


def take_request(request: Mapping[str, Any]) -> bool:
    """Let this process be as the one that asked, if it can be. Raises what the system raises."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.umask(request["umask"])
    os.nice(max(0, request["niceness"] - os.nice(0)))
    for number, soft, hard in request["limits"]:
        if resource.getrlimit(number) != (soft, hard):
            resource.setrlimit(number, (soft, hard))
    return bool(os.nice(0) == request["niceness"])
