"""`sdcert sweep ...`: the group of commands, and the option that several of them share."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from flows.cli.root import create_group

RUN = "run"


class FileOrCommand(TyperGroup):
    """`sdcert sweep FILE` is `sdcert sweep run FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = (*self.commands, *ctx.help_option_names)
        return super().parse_args(ctx, args if args[:1] == [] or args[0] in known else [RUN, *args])


StoreOption = Annotated[
    str | None,
    typer.Option(
        help="where the working set is: a folder or an fsspec URL (s3://bucket/folder); default: the private home",
        metavar="URL",
        show_default=False,
    ),
]

group = create_group(
    "sweep",
    "Sweep over many candidates, and show those that nothing beats. `sdcert sweep FILE` runs the sweep of a file.",
    FileOrCommand,
)
