"""`sdcert audit ...`: the commands of the group. Each imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

import typer

audit = typer.Typer(
    help="The audit trail: what happened in this home, in entries that cannot be changed, removed or reordered unseen.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
