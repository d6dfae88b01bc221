"""`sdcert audit ...`: the group of commands, and the options that several of them share."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli.root import create_group

group = create_group(
    "audit", "The audit trail: what happened in this home. Its entries cannot be changed, removed or reordered unseen."
)
MOST = 1_000_000_000
ReleaseOption = Annotated[str | None, typer.Option(help="the release of this name", metavar="NAME", show_default=False)]
SeriesOption = Annotated[str | None, typer.Option(help="releases of this series", metavar="NAME", show_default=False)]
SinceOption = Annotated[str | None, typer.Option(help="begun on this day (UTC) or later", metavar="DATE", show_default=False)]
UntilOption = Annotated[str | None, typer.Option(help="begun on this day (UTC) or earlier", metavar="DATE", show_default=False)]
VerdictOption = Annotated[
    str | None,
    typer.Option(help="certified, refused, undecided, failed, interrupted or running", metavar="VERDICT", show_default=False),
]

DatasetOption = Annotated[str | None, typer.Option(help="runs on this named table", metavar="NAME", show_default=False)]
TouchingOption = Annotated[
    str | None, typer.Option(help="runs that masked or published this attribute", metavar="ATTRIBUTE", show_default=False)
]
