"""Show in Prefect's interface what came of a sweep: public figures alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from prefect.artifacts import create_markdown_artifact

from flows.run.interface import as_markdown
from flows.sweep.track import TrackedPoint, describe_points

MOST_ROWS = 30


def show_sweep(name: str, identity: str, points: Sequence[TrackedPoint]) -> None:
    """Make the artifact of a sweep: its points in numbers, and its frontier. What goes wrong here takes nothing back."""
    rows = [one for one in points if one.frontier]
    rows.sort(key=lambda one: (one.figures.get("risk", 1.0), one.number))
    lines = [f"# {as_markdown(name)}: {describe_points(points)}", "", f"Sweep `{identity}`. The frontier:", ""]
    lines += ["| point | risk | loss | keeps the policy | parameters |", "|---|---|---|---|---|"]
    lines += [_format_row(one) for one in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        lines += ["", f"{MOST_ROWS} of {len(rows)} points of the frontier are shown; MLflow shows more."]
    key = f"sweep-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}"
    with suppress(Exception):
        create_markdown_artifact("\n".join(lines), key=key, description=f"{name}: {describe_points(points)}")


def _format_row(point: TrackedPoint) -> str:
    risk, loss = (f"{point.figures[one]:.3g}" if one in point.figures else "" for one in ("risk", "loss"))
    kept = {"inside": "yes", "outside": "no"}.get(point.policy, "undecided")
    given = as_markdown(", ".join(f"{path} {value}" for path, value in point.parameters.items()))
    return f"| {point.number} | {risk} | {loss} | {kept} | {given} |"
