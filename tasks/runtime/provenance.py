"""What a run was made by: the source files, the lock, the installed versions, the machine. A replay compares two of them.

Taken when this module is imported: a long-lived process that meets edited files goes on computing with the old ones.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.microdata.fingerprint import SOURCES, TASKS, read_source
from tasks.microdata.regular_files import read_file
from tasks.runtime.project_files import LOCK, find_project_file

if TYPE_CHECKING:
    from tasks.runtime.artifacts import Store

ROOT = TASKS.parent
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """By what something was computed.

    files: SHA-256 of every source file and template, by its path in the checkout (`tasks/mask/methods.py`). lock: SHA-256 of
    requirements.lock; pins: what it pins, name to version (one that it pins differently for different Pythons: all of them).
    packages: what is installed, name to version. cpu: its model; numerical libraries choose their code by it.
    """

    version: str
    python: str
    system: str
    machine: str
    cpu: str
    lock: str
    pins: dict[str, str]
    packages: dict[str, str]
    files: dict[str, str]

    @property
    def code(self) -> str:
        """SHA-256 over all source files."""
        return _digest(f"{name}:{digest}" for name, digest in sorted(self.files.items()))

    @property
    def platform(self) -> str:
        """SHA-256 over what is installed and what it runs on."""
        installed = (f"{name}=={version}" for name, version in sorted(self.packages.items()))
        return _digest([self.python, self.system, self.machine, self.cpu, *installed])


def describe_process() -> Provenance:
    """What this process computes with.

    Costs nothing: it was taken at import, in about 0.02 s besides `list_installed_packages`.
    """
    return _PROCESS


def summarise_provenance() -> dict[str, str]:
    """What the ledger and a certificate name of this process (the fields of `MadeBy`)."""
    return {name: getattr(_PROCESS, name) for name in ("version", "code", "lock", "platform", "python")}


def store_provenance(store: Store) -> str:
    """Keep what this process computes with in the store; returns its address, the same for the same program and machine."""
    return store.put_record(_PROCESS)


def select_room_files(files: Iterable[str], rooms: Iterable[str]) -> tuple[str, ...]:
    """Those of the source files of a provenance that belong to the rooms (`mask`, ...) of `tasks/`, sorted."""
    wanted = {("tasks", room) for room in rooms}
    return tuple(sorted(name for name in files if tuple(name.split("/")[:2]) in wanted))


@cache
def list_installed_packages() -> tuple[str, ...]:
    """`name==version` of every installed distribution, sorted; about 0.1 s once a process.

    One that is found in two folders of the path counts once: a process started in the checkout sees its metadata twice.
    """
    return tuple(sorted({_read_name_and_version(found) for found in importlib.metadata.distributions()}))


def _read_name_and_version(distribution: importlib.metadata.Distribution) -> str:
    """`name==version`. The headers are read here: importlib parses the whole description, for each of the two anew."""
    text = distribution.read_text("METADATA") or ""
    headers = text.partition("\n\n")[0]
    name, version = (re.search(rf"^{header}: *(.*?) *$", headers, re.MULTILINE) for header in ("Name", "Version"))
    return f"{name[1]}=={version[1]}" if name and version else f"{distribution.name}=={distribution.version}"


def lock_file() -> Path:
    return find_project_file(LOCK)


def parse_pins(lock: str) -> dict[str, str]:
    """What a lock pins: name to version, several versions of one name joined by `, `."""
    found: dict[str, list[str]] = {}
    for name, version in _PIN.findall(lock):
        found.setdefault(name, []).append(version)
    return {name: ", ".join(sorted(set(versions))) for name, versions in sorted(found.items())}


def _collect_provenance() -> Provenance:
    lock = read_file(lock_file()) if lock_file().exists() else b""
    return Provenance(
        version=_version(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        system=f"{platform.system()} {' '.join(platform.libc_ver())}".strip(),
        machine=platform.machine(),
        cpu=_cpu(),
        lock=hashlib.sha256(lock).hexdigest(),
        pins=parse_pins(lock.decode()),
        packages=dict(name.split("==", 1) for name in list_installed_packages()),
        files={path.relative_to(ROOT).as_posix(): hashlib.sha256(read_source(path)).hexdigest() for path in _sources()},
    )


def _version() -> str:
    try:
        return importlib.metadata.version("sdcert")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _sources() -> Iterable[Path]:
    found = (path for room in (TASKS, ROOT / "flows") for path in room.rglob("*") if path.suffix in SOURCES)
    return sorted(path for path in found if "__pycache__" not in path.parts)


def _cpu() -> str:
    """The model that Linux names; elsewhere what Python knows, which may be nothing."""
    try:
        described = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return platform.processor()
    names = re.findall(r"^model name\s*:\s*(.+)$", described, re.MULTILINE)
    return names[0] if names else platform.processor()


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


_PROCESS = _collect_provenance()
