"""What earlier runs left in the private folder."""

from __future__ import annotations

import json
from typing import Any

from tasks.runtime.settings import Home


def manifest_of(run: str) -> dict[str, Any]:
    """The private manifest of one run."""
    found: dict[str, Any] = json.loads((Home.current().root / "runs" / run / "manifest.json").read_text())
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
