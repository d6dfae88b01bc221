"""`sdcert backup` and `sdcert restore`: the private folder in one file, and again from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="print what was done on stdout as JSON")]


def backup(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="the file to write (a tar)", metavar="FILE", show_default=False)
    ],
    as_json: AsJson = False,
) -> int:
    """Copy the private folder into one file, while runs go on.

    It holds the source tables, the seeds and the private keys: keep it as you keep those. Databases on a server and a shared
    store are not in it.
    """
    from flows.console.backup import back_up_home

    return back_up_home(output, as_json=as_json)


def restore(
    backup: Annotated[Path, typer.Argument(help="what `sdcert backup` wrote", metavar="FILE", show_default=False)],
    as_json: AsJson = False,
) -> int:
    """Make the private folder of a backup again. Every byte is checked; a folder that is there is not written over."""
    from flows.console.backup import restore_home

    return restore_home(backup, as_json=as_json)
