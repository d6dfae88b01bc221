"""Which files the runs of deployments may name: those in the folder of `prefect.yaml`, and those that it names itself.

Who may start runs chooses their parameters. `sdcert serve` tells its worker the folder in an environment variable, and a run
cannot choose its environment (`server_client.JOB_TEMPLATE`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from flows.scheduled.deployments import READ, WRITTEN, Deployments
from tasks.microdata.errors import InputError
from tasks.runtime.settings import Home

SERVED = "SDCERT_SERVED"
_FIRST_PRINTED = 32
ALLOWED = "a path in the folder of prefect.yaml, or one that prefect.yaml states itself"


@dataclass(frozen=True, slots=True)
class FileAccess:
    """folder: of `prefect.yaml`; files, outputs: paths that it states itself, wherever they are. All are resolved."""

    folder: Path
    files: tuple[Path, ...] = ()
    outputs: tuple[Path, ...] = ()

    @classmethod
    def from_deployments(cls, found: Deployments, folder: Path) -> FileAccess:
        """As a file of deployments has it, whose paths are absolute."""
        stated = [deployment.parameters for deployment in found.deployments]
        return cls(folder.resolve(), _resolve_paths(stated, READ), _resolve_paths(stated, WRITTEN))

    @classmethod
    def current(cls) -> FileAccess:
        """What `sdcert serve` told its worker; without it (a worker started by hand) the working directory of the run."""
        allowed = os.environ.get(SERVED)
        if not allowed:
            return cls(Path.cwd().resolve())
        content = json.loads(allowed)
        paths = {name: tuple(map(Path, content[name])) for name in ("files", "outputs")}
        return cls(Path(content["folder"]), **paths)

    def as_variable(self) -> str:
        content = {"folder": str(self.folder), "files": list(map(str, self.files)), "outputs": list(map(str, self.outputs))}
        return json.dumps(content)

    def file(self, name: str, value: str) -> str:
        """The path of a file to read, which the parameter of this name gives. Raises InputError where it is none of ours."""
        path = self._path(name, value)
        resolved = _resolve(name, path)
        if _is_private(resolved) or (not resolved.is_relative_to(self.folder) and resolved not in self.files):
            raise _refusal(name, "the file lies outside the folder that is served", "put the file there, or state it there")
        return str(path)

    def output(self, name: str, value: str) -> str:
        """The path of a folder to write to. Raises InputError where it is neither in the folder nor in one that is stated."""
        path = self._path(name, value)
        resolved = _resolve(name, path)
        if _is_private(resolved) or not any(resolved.is_relative_to(one) for one in (self.folder, *self.outputs)):
            raise _refusal(name, "the folder lies outside the one that is served", "choose one there, or state it there")
        return str(path)

    def _path(self, name: str, value: str) -> Path:
        if value.startswith("-") or not value.strip() or any(ord(sign) < _FIRST_PRINTED for sign in value):
            what = "this is no path: it begins with a dash, is blank, or holds a control character"
            raise _refusal(name, what, "give a path")
        return self.folder / value


def _resolve(name: str, path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a link that leads to itself
        raise _refusal(name, "the path cannot be followed", "give a path") from None


def _is_private(path: Path) -> bool:
    """Is it in the private folder, which may lie in the folder that is served?"""
    return path.is_relative_to(Home.current().root.resolve())


def _resolve_paths(stated: Iterable[dict[str, object]], names: Iterable[str]) -> tuple[Path, ...]:
    paths = {Path(value).resolve() for one in stated for name in names if isinstance(value := one.get(name), str)}
    return tuple(sorted(paths))


def _refusal(name: str, what: str, remedy: str) -> InputError:
    """The value is not allowed: the message of a run is in Prefect's database, and may be sent."""
    return InputError("parameter", name, what, ALLOWED, remedy)
