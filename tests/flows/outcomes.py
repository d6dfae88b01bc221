"""Reading what a run left."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass
class Ran:
    """What a command line answered."""

    code: int
    out: str
    err: str


def newest_manifest() -> dict[str, Any]:
    from flows.run.history import read_manifests

    found = read_manifests()
    return max(found, key=lambda manifest: manifest["started_at"]) if found else {}


def computed(manifest: dict[str, Any]) -> set[str]:
    return {name for name, stage in manifest["stages"].items() if not stage["cached"]}


def folder_of(tmp_path: Path, manifest: dict[str, Any]) -> Path:
    return tmp_path / "releases" / manifest["release"] / manifest["run"]


def scorecard_of(tmp_path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """The exact scorecard, in the private folder of the run."""
    from tasks.runtime.settings import Home

    return json.loads((Home.current().root / "runs" / manifest["run"] / "scorecard.json").read_text())


def public_scorecard_of(tmp_path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """The scorecard beside the release: shares of people by classes of ten."""
    return json.loads((folder_of(tmp_path, manifest) / "scorecard.json").read_text())


def statement_in(folder: Path) -> dict[str, Any]:
    """What the certificate of a release folder says, or the statement of one that is not certified; nothing is verified."""
    found = next(path for name in ("certificate.json", "statement.json") if (path := folder / name).exists())
    return json.loads(base64.b64decode(json.loads(found.read_text())["payload"]))
