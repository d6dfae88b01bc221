"""`sdcert store ...`: the commands of the group. Each imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

import typer

store = typer.Typer(help="The store of artifacts in the private folder.", no_args_is_help=True, rich_markup_mode=None)
