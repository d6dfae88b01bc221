"""What earlier runs left in the private folder."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import psutil

from tasks.runtime.settings import Home

MANIFEST, LATER = "manifest.json", "later.json"


def manifest_path(run: str) -> Path:
    return Home.current().root / "runs" / run / MANIFEST


def manifest_of(run: str) -> dict[str, Any]:
    """The private manifest of one run, with what was noted after it was final."""
    return _read(manifest_path(run))


def manifests() -> list[dict[str, Any]]:
    """The private manifests of all runs, newest first; one that a crash left unreadable is passed over."""
    found = []
    for path in sorted((Home.current().root / "runs").glob(f"*/{MANIFEST}"), reverse=True):
        try:
            found.append(_read(path))
        except ValueError:
            continue
    return found


def status_of(manifest: dict[str, Any]) -> str:
    """The status as written, but `killed` for a run whose process on this machine is gone."""
    status: str = manifest["status"]
    gone = manifest["host"] == socket.gethostname() and not psutil.pid_exists(manifest["process"])
    return "killed" if status == "running" and gone else status


def _read(path: Path) -> dict[str, Any]:
    later = path.with_name(LATER)
    return {**json.loads(path.read_text()), **(json.loads(later.read_text()) if later.exists() else {})}
