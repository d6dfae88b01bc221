"""`sdcert methods` and `sdcert datasets`: what there is to choose from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from flows.cli.json_output import JsonOption, write_json
from flows.cli.root import app
from flows.cli.terminal import console
from tasks.microdata.errors import InputError
from tasks.microdata.suggestion import did_you_mean

STAGES = ("mask", "train", "attack", "membership", "inference", "singling_out", "score")


@app.command()
def methods(
    stage: Annotated[
        str | None, typer.Argument(help="mask, train, attack, membership, inference, singling_out or score", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """The methods of a stage, and their parameters. Masks: also what an intruder who knows them can do."""
    if stage is not None and stage not in STAGES:
        remedy = did_you_mean(stage, STAGES, "choose one of these")
        raise InputError("no-such-stage", "sdcert methods STAGE", "no such stage", ", ".join(STAGES), remedy, stage)
    asked = STAGES if stage is None else (stage,)
    if as_json:
        write_json({name: describe_methods(name) for name in asked})
        return 0
    for name in asked:
        rows = describe_methods(name)
        if stage is None:
            console().print(f"{name.upper()}\n")
        for row in rows:
            _print_method(*row.items())
    return 0


def _print_method(named: tuple[str, str], does: tuple[str, str], *rest: tuple[str, str]) -> None:
    """A method's name and what it does in one line, and below it the rest, a line each."""
    from rich.table import Table

    console().print(f"{named[1]}: {does[1]}")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for what, value in rest:
        grid.add_row(f"    {what}", str(value))
    console().print(grid)
    console().print()


def describe_methods(stage: str) -> tuple[dict[str, str], ...]:
    """One row per method of a stage."""
    match stage:
        case "mask":
            from tasks.mask.methods import describe
        case "train":
            from tasks.train.learners import describe
        case "attack":
            from tasks.attack.methods import describe
        case "membership":
            from tasks.attack.membership.methods import describe
        case "inference":
            from tasks.attack.inference.model_based_disclosure import describe
        case "singling_out":
            from tasks.attack.singling_out.isolation import describe
        case _:
            from tasks.score.methods import describe
    return describe()


@app.command()
def datasets(as_json: JsonOption = False) -> int:
    """The tables that have a name, for trying things out."""
    from rich.table import Table

    from tasks.ingest.sources import list_datasets

    if as_json:
        write_json([asdict(dataset) for dataset in list_datasets()])
        return 0
    table = Table(title="Tables that have a name: source: {dataset: NAME}", title_justify="left")
    for column in ("name", "rows", "columns", "what it is", "a row is", "here?"):
        table.add_column(column, overflow="fold")
    for dataset in list_datasets():
        here = "yes" if dataset.available else "no: see data/README.md"
        cells = (str(dataset.rows), str(dataset.columns), dataset.description, dataset.a_row_is, here)
        table.add_row(dataset.name, *cells)
    console().print(table)
    return 0
