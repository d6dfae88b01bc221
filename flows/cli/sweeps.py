"""`sdcert sweeps`: list the sweeps, and how far each one is."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from flows.cli.root import app
from flows.cli.sweep.group import StoreOption
from tasks.microdata.escaping import escape_terminal


@app.command()
def sweeps(
    store: StoreOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the list on stdout as JSON")] = False,
) -> int:
    """The sweeps of this home: what they are, how far, since when."""
    from rich.table import Table

    from flows.cli.terminal import console

    found = _list_sweeps(store)
    if as_json:
        sys.stdout.write(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        return 0
    table = Table(title="Sweeps, newest first", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("id", "name", "points", "trials done", "frontier", "began", "state"):
        table.add_column(column, no_wrap=column == "id")
    for one in found:
        known = [f"{one[name]:,}" if one[name] is not None else "-" for name in ("points", "frontier")]
        done = f"{one['done']:,} of {one['trials']:,}" if one["trials"] is not None else f"{one['done']:,}"
        table.add_row(
            escape_terminal(one["id"]),
            escape_terminal(one["name"]),
            known[0],
            done,
            known[1],
            escape_terminal(one["began"]),
            escape_terminal(one["state"]),
        )
    console().print(table if found else "no sweep yet in this home: sdcert sweep params/sweeps/anes96.yaml")
    return 0


def _list_sweeps(store: str | None) -> list[dict[str, Any]]:
    from flows.sweep.compute_backend import find_storage_url
    from flows.sweep.record import compute_sweep_status, count_done_trials, read_sweep_records
    from flows.sweep.working_set import WorkingSet

    storage = WorkingSet(find_storage_url(store)).readable()
    return [
        {
            "id": record["id"],
            "name": record["name"],
            "points": record.get("points"),
            "trials": record.get("trials"),
            "done": count_done_trials(storage, record),
            "frontier": len(record["frontier"]) if "frontier" in record else None,
            "began": f"{record['started_at'][:16]}Z".replace("T", " "),
            "state": compute_sweep_status(record),
        }
        for record in read_sweep_records(storage)
    ]
