"""The root of the command line: each file of this folder adds its command to `app`, or its group of commands.

Light to import, as is every file directly in `flows/cli`: Prefect, MLflow and the science are imported inside the functions
that need them, so that `--help` answers at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

# As the help lists them; a command that is not named here comes after these.
ORDER = [
    "certify",
    "check",
    "init",
    "open",
    "compare",
    "verify",
    "approve",
    "revoke",
    "doctor",
    "runs",
    "sweeps",
    "calibrate",
    "serve",
    "mlflow",
    "watch",
    "backup",
    "restore",
    "methods",
    "datasets",
    "examples",
    "audit",
    "keys",
    "store",
    "sweep",
    "tell",
    "quarantine",
]


class OrderedCommands(TyperGroup):
    """Commands in the order in which somebody meets them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(self.commands, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


app = typer.Typer(
    cls=OrderedCommands,
    help="Mask a table of microdata, attack it as an intruder would, measure risk and loss, and certify the release.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
ReleaseFileArgument = Annotated[
    Path, typer.Argument(help="the release file (YAML)", metavar="RELEASE.yaml", show_default=False)
]

MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory", help="how much memory the run may take, as 12GB; default: what the machine has left", metavar="SIZE"
    ),
]


def create_group(name: str, purpose: str, cls: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """A group of commands, `sdcert NAME ...`, added to the command line. purpose: the first line of its help."""
    group = typer.Typer(cls=cls, help=purpose, no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(group, name=name)
    return group
