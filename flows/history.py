"""What earlier runs left in the private folder."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import psutil

from tasks.runtime.settings import Home


def manifest_path(run: str) -> Path:
    return Home.current().root / "runs" / run / "manifest.json"


def manifest_of(run: str) -> dict[str, Any]:
    """The private manifest of one run."""
    found: dict[str, Any] = json.loads(manifest_path(run).read_text())
    return found


def manifests() -> list[dict[str, Any]]:
    """The private manifests of all runs, newest first; one that a crash left unreadable is passed over."""
    found = []
    for path in sorted((Home.current().root / "runs").glob("*/manifest.json"), reverse=True):
        try:
            found.append(json.loads(path.read_text()))
        except ValueError:
            continue
    return found


def status_of(manifest: dict[str, Any]) -> str:
    """The status as written, but `killed` for a run whose process on this machine is gone."""
    status: str = manifest["status"]
    gone = manifest["host"] == socket.gethostname() and not psutil.pid_exists(manifest["process"])
    return "killed" if status == "running" and gone else status
