"""What the forms of a deployment offer: the files beside the one that it names, and any other path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from flows.release_file import load_release
from flows.scheduled.deployments import READ
from flows.scheduled.file_access import FileAccess
from flows.sweep.spec import load_sweep
from flows.watch.spec import load_watch
from tasks.microdata.document import read_document
from tasks.microdata.errors import InputError

MOST_OFFERED = 50
MOST_LOOKED_AT = 100
LARGEST_BYTES = 64 << 10  # of a file that is looked at: it is read while somebody waits
_LOADERS = {"release": load_release, "watch": load_watch, "sweep": load_sweep}
_OWN_FIELDS = {"release": "source", "watch": "look_at", "sweep": "base"}  # looked for first, because errors take longer


def add_choices(properties: Mapping[str, Any], parameters: Mapping[str, Any], served: FileAccess) -> dict[str, Any]:
    """The properties of a parameter schema (JSON schema), the paths in it with a choice beside the free text.

    parameters: of the deployment, absolute. Of the files beside the stated one those are offered that can be read and that a
    run may name, 50 at most. They are looked at once, while the deployment is made: a file that comes later can be typed.
    Cost: up to 100 YAML files of 64 KB are read.
    """
    return {name: _add_choice(name, known, parameters.get(name), served) for name, known in properties.items()}


def _add_choice(name: str, known: dict[str, Any], stated: Any, served: FileAccess) -> dict[str, Any]:
    if name not in READ or not isinstance(stated, str) or "anyOf" in known:
        return known
    about: dict[str, Any] = {key: known[key] for key in ("title", "description", "position", "default") if key in known}
    typed = {key: value for key, value in known.items() if key not in about}
    others = islice(_list_files_beside(name, Path(stated), served), MOST_OFFERED - 1)
    offered = {"type": "string", "enum": [stated, *others]}
    return {**about, "anyOf": [{"title": "a file of this folder", **offered}, {"title": "another path", **typed}]}


def _list_files_beside(name: str, stated: Path, served: FileAccess) -> Iterator[str]:
    try:
        beside = sorted(path for path in stated.parent.iterdir() if path.suffix in (".yaml", ".yml") and path != stated)
    except OSError:
        return
    for path in beside[:MOST_LOOKED_AT]:
        if _is_allowed(name, path, served) and _reads_as(name, path):
            yield str(path)


def _is_allowed(name: str, path: Path, served: FileAccess) -> bool:
    try:
        str(path).encode()  # a name in another encoding fits no form
        served.file(name, str(path))
    except (InputError, UnicodeError):
        return False
    return True


def _reads_as(name: str, path: Path) -> bool:
    try:
        if path.stat().st_size > LARGEST_BYTES or _OWN_FIELDS[name] not in read_document(path).content:
            return False
        _LOADERS[name](path)
    except (InputError, OSError):
        return False
    return True
