"""`sdcert quarantine`: what is in it, why, and letting a version out for another try."""

from __future__ import annotations

import json
import sys

from flows.console.terminal import terminal
from flows.watch import quarantine
from tasks.microdata.escaping import escape_terminal
from tasks.runtime.settings import prepare_environment


def print_quarantine(*, as_json: bool) -> int:
    """One line per record, newest first; no value of a source is in it."""
    from rich.table import Table

    from flows.console.tables import console

    prepare_environment()
    found = quarantine.records()
    if as_json:
        told = [one.model_dump(mode="json", exclude={"reason", "retry_at", "passed_by"}) for one in found]
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return 0
    table = Table(title="In quarantine, newest first", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("id", "series", "version", "since", "times", "why"):
        table.add_column(column, no_wrap=column == "id")
    for one in found:
        table.add_row(
            one.id,
            escape_terminal(one.series),
            escape_terminal(one.label),
            f"{one.at:%Y-%m-%d %H:%M}Z",
            str(one.times),
            escape_terminal(one.code),
        )
    console().print(table if found else "nothing is in quarantine in this home")
    return 0


def print_record(beginning: str) -> int:
    """The whole of one record, its message as the person who asked may see it."""
    prepare_environment()
    one = quarantine.record(beginning)
    run = "no run began" if one.run is None else f"run {one.run}"
    console = terminal(soft_wrap=True)
    for line in (
        f"{one.id}: {one.label}, series {one.series}, release {one.release}, watch {one.watch}",
        f"since {one.at:%Y-%m-%d %H:%M}Z, {run}, quarantined {'once' if one.times == 1 else f'{one.times} times'}",
        "",
        *one.reason.splitlines(),
    ):
        console.print(escape_terminal(line))
    return 0


def retry_record(beginning: str) -> int:
    """Let a version out, and say what will happen."""
    prepare_environment()
    one = quarantine.record(beginning)
    quarantine.retry(one)
    console = terminal(soft_wrap=True)
    says = f"{one.label}: the next look of watch {one.watch} tries it again, with the same draw, if it is still the newest"
    console.print(escape_terminal(says))
    return 0
