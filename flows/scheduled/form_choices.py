"""What the forms of a deployment offer: the files beside the one that it names, and any other path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from flows.release_file import load_release
from flows.scheduled.deployments import READ
from flows.sweep.spec import load_sweep
from flows.watch.spec import load_watch
from tasks.microdata.errors import InputError

MOST_OFFERED = 50
MOST_LOOKED_AT = 500
_LOADERS = {"release": load_release, "watch": load_watch, "sweep": load_sweep}


def add_choices(properties: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of a parameter schema (JSON schema), the paths in it with a choice beside the free text.

    parameters: of the deployment, absolute. Up to 50 files are offered, by name. They are looked at once, while the deployment
    is made: a file that comes later can be typed. Cost: each YAML file of the folders is read (500 at most).
    """
    return {name: _add_choice(name, known, parameters.get(name)) for name, known in properties.items()}


def _add_choice(name: str, known: dict[str, Any], stated: Any) -> dict[str, Any]:
    if name not in READ or not isinstance(stated, str) or "anyOf" in known:
        return known
    about: dict[str, Any] = {key: known[key] for key in ("title", "description", "position", "default") if key in known}
    typed = {key: value for key, value in known.items() if key not in about}
    offered = {"type": "string", "enum": list(_list_files(name, Path(stated)))}
    return {**about, "anyOf": [{"title": "a file of this folder", **offered}, {"title": "another path", **typed}]}


def _list_files(name: str, stated: Path) -> Iterable[str]:
    beside = sorted(path for path in stated.parent.iterdir() if path.suffix in (".yaml", ".yml"))
    others = (str(path) for path in beside[:MOST_LOOKED_AT] if path != stated and _reads_as(name, path))
    return [str(stated), *islice(others, MOST_OFFERED - 1)]


def _reads_as(name: str, path: Path) -> bool:
    try:
        _LOADERS[name](path)
    except (InputError, OSError):
        return False
    return True
