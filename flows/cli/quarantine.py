"""`sdcert quarantine`: list the source versions in quarantine with the reasons, or let one out for another try."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli.json_output import JsonOption, write_json
from flows.cli.root import create_group
from flows.cli.terminal import terminal
from tasks.microdata.escaping import escape_terminal
from tasks.runtime.settings import prepare_environment

group = create_group(
    "quarantine", "Versions of a source that a release file does not fit. What they are, why, and trying them again."
)

RecordArgument = Annotated[
    str, typer.Argument(help="id of a record, or its beginning (`sdcert quarantine list`)", metavar="ID", show_default=False)
]


@group.command("list")
def list_(as_json: JsonOption = False) -> int:
    """What is in quarantine, newest first."""
    from rich.table import Table

    from flows.cli.terminal import console
    from flows.watch.quarantine import read_quarantine_records

    prepare_environment()
    found = read_quarantine_records()
    if as_json:
        listed = [one.model_dump(mode="json", exclude={"reason", "retry_at", "passed_by"}) for one in found]
        write_json(listed)
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


@group.command()
def show(record: RecordArgument, as_json: JsonOption = False) -> int:
    """Why a version is in quarantine. The message may hold values of the source."""
    from flows.watch.quarantine import record as find_record

    prepare_environment()
    one = find_record(record)
    if as_json:
        write_json(one.model_dump(mode="json"))
        return 0
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


@group.command()
def retry(record: RecordArgument) -> int:
    """Let the next look of the watch try a version again, with the same draw."""
    from flows.watch import quarantine

    prepare_environment()
    one = quarantine.record(record)
    quarantine.retry(one)
    console = terminal(soft_wrap=True)
    says = f"{one.label}: the next look of watch {one.watch} tries it again, with the same draw, if it is still the newest"
    console.print(escape_terminal(says))
    return 0
