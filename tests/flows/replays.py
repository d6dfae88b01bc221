"""Reading what a replay told."""

from __future__ import annotations

import json
from typing import Any


def replayed(sdcert: Any, run: str, *options: object) -> tuple[Any, Any]:
    """What ran, and the comparison; None where none was printed."""
    ran = sdcert("audit", "replay", run, "--json", *options)
    return ran, json.loads(ran.out) if ran.out else None


def by_stage(told: dict[str, Any]) -> dict[str, Any]:
    return {found["stage"]: found for found in told["results"]}


def causes_of(told: dict[str, Any], stage: str) -> dict[str, str]:
    return {cause["kind"]: cause["text"] for cause in by_stage(told)[stage]["causes"]}
