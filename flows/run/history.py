"""What earlier runs left in the private folder."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from tasks.microdata.regular_files import read_text_file
from tasks.runtime.processes import is_taken
from tasks.runtime.settings import Home

MANIFEST, LATER = "manifest.json", "later.json"
_FIRST = {"run", "release", "series", "status", "started_at", "process", "host", "spec", "stages"}  # written when a run begins


def manifest_path(run: str) -> Path:
    return Home.current().root / "runs" / run / MANIFEST


def read_manifest(run: str) -> dict[str, Any]:
    """The private manifest of one run, with what was noted after it was final."""
    return _read(manifest_path(run))


def has_runs(root: Path) -> bool:
    """Whether any run ever began in a home, readable or not."""
    return any((root / "runs").glob(f"*/{MANIFEST}"))


def manifests() -> list[dict[str, Any]]:
    """The private manifests of all runs, newest first; one that a crash left unreadable is passed over."""
    found = []
    for path in sorted((Home.current().root / "runs").glob(f"*/{MANIFEST}"), reverse=True):
        try:
            manifest = _read(path)
        except ValueError:
            continue
        if manifest.keys() >= _FIRST:
            found.append(manifest)
    return found


def find_revoked_runs() -> set[str]:
    """The runs whose certificate was revoked, as the ledger says. Raises InputError where the ledger cannot be read."""
    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.lookup.index import Index

    Ledger.current().head()  # the index alone would answer for one that is damaged
    with Index.current() as index:
        return {row["run"] for row, _ in index.list_certified_runs() if row["revoked"] is not None}


def compute_run_status(manifest: dict[str, Any]) -> str:
    """The status as written, but `killed` for a run whose process on this machine is gone."""
    status: str = manifest["status"]
    gone = manifest["host"] == socket.gethostname() and not is_taken(manifest["process"])
    return "killed" if status == "running" and gone else status


def _read(path: Path) -> dict[str, Any]:
    later = path.with_name(LATER)
    return _facts(path) | (_facts(later) if later.exists() else {})


def _facts(path: Path) -> dict[str, Any]:
    """Raises ValueError where the file is not whole."""
    try:
        found = json.loads(read_text_file(path))
    except RecursionError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} is no manifest")  # noqa: TRY004  # of content, not of arguments
    return found
