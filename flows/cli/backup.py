"""The commands `sdcert backup` and `sdcert restore`; the work is in `tasks/audit/maintenance/`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.json_output import JsonOption, write_json
from flows.cli.root import app
from flows.cli.terminal import terminal
from tasks.microdata.escaping import escape_terminal
from tasks.runtime.settings import PRIVATE, Home

ELSEWHERE = {
    "SDCERT_STORE_URL": "the artifacts of the shared store: copy or version its place",
    "SDCERT_SIGNING_KEY": "the key that signs, which the environment gives: keep it where it comes from",
    "PREFECT_SERVER_DATABASE_CONNECTION_URL": "Prefect's database: pg_dump",
    "MLFLOW_TRACKING_URI": "MLflow's database and artifacts: pg_dump, and a copy of its place",
}


@app.command()
def backup(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="the file to write (a tar)", metavar="FILE", show_default=False)
    ],
    as_json: JsonOption = False,
) -> int:
    """Copy the private folder into one file, while runs go on.

    It holds the source tables, the seeds and the private keys: keep it as you keep those. Databases on a server and a shared
    store are not in it.
    """
    from tasks.audit.maintenance.backup import back_up

    os.umask(PRIVATE)
    home = Home.current()
    with _show_progress("backing up") as progress:
        made = back_up(home, output.absolute(), progress)
    left_out = [says for name, says in ELSEWHERE.items() if os.environ.get(name)]
    if as_json:
        return _print_json({"file": str(output.absolute()), **asdict(made), "not_in_it": left_out})
    say = _say()
    say(f"{output}: {made.files:,} files, {made.bytes / 1e6:,.1f} MB; the ledger with {made.entries:,} entries")
    say("It holds source tables, seeds and private keys: whoever reads it can undo the masking, and sign as you.")
    for says in left_out:
        say(f"not in it: {says}")
    return 0


@app.command()
def restore(
    backup: Annotated[Path, typer.Argument(help="what `sdcert backup` wrote", metavar="FILE", show_default=False)],
    as_json: JsonOption = False,
) -> int:
    """Make the private folder of a backup again. Every byte is checked; a folder that is there is not written over."""
    from tasks.audit.maintenance.restoring import restore

    os.umask(PRIVATE)
    home = Home.current()
    with _show_progress("restoring") as progress:
        made = restore(backup, home, progress)
    if as_json:
        return _print_json({"home": str(home.root), **asdict(made)})
    say = _say()
    say(f"{home.root}: {made.files:,} files, {made.bytes / 1e6:,.1f} MB, each as its checksum says; {made.entries:,} entries")
    say("Now: sdcert audit verify; sdcert store verify; sdcert doctor")
    say("What was signed later is not in this ledger: put a newer copy of ledger.jsonl in its place, if there is one.")
    return 0


@contextmanager
def _show_progress(what: str) -> Iterator[Callable[[int], None]]:
    from rich.progress import DownloadColumn, Progress, SpinnerColumn

    console = terminal(stderr=True)
    columns = (SpinnerColumn(), "{task.description}", DownloadColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done: bar.update(task, completed=done)


def _say() -> Callable[[str], None]:
    console = terminal(soft_wrap=True)
    return lambda text: console.print(escape_terminal(text))


def _print_json(content: dict[str, Any]) -> int:
    write_json(content)
    return 0
