"""`sdcert watch` and `sdcert quarantine ...`: each imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

quarantine = typer.Typer(
    help="Versions of a source that a release file does not fit: what they are, why, and trying them again.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

AsJson = Annotated[bool, typer.Option("--json", help="print what was found on stdout as JSON")]
Record = Annotated[
    str, typer.Argument(help="id of a record, or its beginning (`sdcert quarantine list`)", metavar="ID", show_default=False)
]


def watch(
    file: Annotated[Path, typer.Argument(help="the watch file (YAML)", metavar="WATCH.yaml", show_default=False)],
    again: Annotated[
        bool, typer.Option("--again", help="certify what is there whatever became of it before; nothing is drawn anew")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print what came of it on stdout; messages stay on stderr")] = False,
) -> int:
    """Look once whether a series' source has a new version, and certify it if so.

    Exit code 0 certified or nothing to do, 1 refused or undecided, 2 quarantined or wrong input, 3 something is not there or
    broke: a later look may see it.
    """
    from flows.console.watch.watch import watch_once

    return watch_once(file, again=again, as_json=as_json)


@quarantine.command("list")
def list_(as_json: AsJson = False) -> int:
    """What is in quarantine, newest first."""
    from flows.console.watch.quarantine import print_quarantine

    return print_quarantine(as_json=as_json)


@quarantine.command()
def show(record: Record) -> int:
    """Why a version is in quarantine. The message may hold values of the source."""
    from flows.console.watch.quarantine import print_record

    return print_record(record)


@quarantine.command()
def retry(record: Record) -> int:
    """Let the next look of the watch try a version again, with the same draw."""
    from flows.console.watch.quarantine import retry_record

    return retry_record(record)
