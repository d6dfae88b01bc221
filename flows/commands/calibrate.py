"""`sdcert calibrate`: imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def calibrate(
    attack: Annotated[
        list[str] | None,
        typer.Option(help="only this attack; repeatable; default: all", metavar="METHOD", show_default=False),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="tables made for each check; default: 300", min=10, show_default=False)
    ] = None,
    thorough: Annotated[bool, typer.Option("--thorough", help="ten times as many tables and samples")] = False,
    workers: Annotated[int | None, typer.Option(help="processes; default: one per core", min=1, show_default=False)] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="write the findings to this file (JSON)", metavar="FILE", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the findings on stdout; messages stay on stderr")] = False,
) -> int:
    """Do the attacks and intervals say the truth? Tried on made tables whose truth is known. Exit code 0 yes, 1 no.

    No attack beats chance where nothing is to be found; what can be found is found; intervals cover; posteriors come true.
    """
    from flows.console.calibrate import calibrate_attacks

    return calibrate_attacks(attack or [], seeds, workers, output, thorough=thorough, as_json=as_json)
