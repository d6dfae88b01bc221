"""`sdcert keys ...`: the commands of the group. Each imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

import typer

keys = typer.Typer(
    help="The keys that sign certificates, entries of the ledger and approvals.", no_args_is_help=True, rich_markup_mode=None
)
