"""`sdcert sweep ...`: the commands of the group. Each imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

RUN = "run"


class FileOrCommand(TyperGroup):
    """`sdcert sweep FILE` is `sdcert sweep run FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = (*self.commands, *ctx.help_option_names)
        return super().parse_args(ctx, args if args[:1] == [] or args[0] in known else [RUN, *args])


sweep = typer.Typer(
    cls=FileOrCommand,
    help="Sweep over many candidates for a release, and show which of them nothing beats: `sdcert sweep FILE`.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Store = Annotated[
    str | None,
    typer.Option(
        help="where the working set is: a folder or an fsspec URL (s3://bucket/folder); default: the private home",
        metavar="URL",
        show_default=False,
    ),
]


@sweep.command(RUN)
def run(
    file: Annotated[
        Path | None, typer.Argument(help="the sweep file (YAML)", metavar="[FILE.yaml]", show_default=False)
    ] = None,
    workers: Annotated[int | None, typer.Option(help="processes; default: one per core", min=1, show_default=False)] = None,
    resume: Annotated[
        str | None, typer.Option(help="go on with this sweep (`sdcert sweeps` lists them)", metavar="ID", show_default=False)
    ] = None,
    runner: Annotated[Literal["local", "dask"], typer.Option(help="where blocks are computed")] = "local",
    address: Annotated[
        str | None,
        typer.Option(help="of the Dask scheduler: tcp://host:8786", metavar="ADDRESS", show_default=False),
    ] = None,
    store: Store = None,
    yes: Annotated[bool, typer.Option("--yes", help="begin without asking, however long it takes")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the result on stdout; messages stay on stderr")] = False,
) -> int:
    """Mask and attack every point of a sweep file, under every seed, and show the frontier of risk and loss.

    What has been computed is not computed again: started again, a sweep goes on where it stopped. Nothing is published.
    """
    from flows.console.sweep.sweep import sweep_over
    from flows.sweep.compute_backend import ComputeBackend

    means = ComputeBackend.from_options(workers=workers, runner=runner, address=address)
    return sweep_over(file, resume, store, means, yes=yes, as_json=as_json)


@sweep.command()
def promote(
    of: Annotated[str, typer.Argument(help="id of a sweep, its beginning, or its name", metavar="SWEEP", show_default=False)],
    point: Annotated[int, typer.Argument(help="number of the point", metavar="POINT", show_default=False, min=0)],
    output: Annotated[Path, typer.Option("--output", "-o", help="the release file to write", show_default=False)],
    store: Store = None,
    force: Annotated[bool, typer.Option("--force", help="write over an existing file")] = False,
) -> int:
    """Write the release file that makes a point, to be certified with a fresh seed."""
    from flows.console.sweep.promote import promote_point

    return promote_point(of, point, output, store=store, force=force)


def sweeps(
    store: Store = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the list on stdout as JSON")] = False,
) -> int:
    """The sweeps of this home: what they are, how far they are, when they began."""
    from flows.console.sweep.sweeps import print_sweeps

    return print_sweeps(store, as_json=as_json)
