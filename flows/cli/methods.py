"""`sdcert methods` and `sdcert datasets`: what there is to choose from."""

from __future__ import annotations

import functools
import textwrap
from dataclasses import asdict
from typing import Annotated

import typer

from flows.cli.json_output import JsonOption, write_json
from flows.cli.root import app
from flows.cli.terminal import console
from tasks.microdata.errors import InputError
from tasks.microdata.suggestion import did_you_mean

NARROWEST = 60  # that leaves room beside the names of fields
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
    width = max(console().width, NARROWEST)
    for name in asked:
        heading = f"{name.upper()}\n\n" if stage is None else ""
        typer.echo(heading + "\n".join(_format_method(row, width) for row in describe_methods(name)))
    return 0


def _format_method(row: dict[str, str], width: int) -> str:
    """A method's name and what it does, and below it the rest, a line each. A table of rich takes 0.4 CPU s for all methods."""
    (_, name), (_, does), *rest = row.items()
    column = max(len(what) for what, _ in rest) + 2
    wrap = functools.partial(textwrap.fill, width=width, break_on_hyphens=False)
    lines = [wrap(f"{name}: {does}")]
    for what, value in rest:
        start = f"    {what:{column}}"
        lines.append(wrap(str(value), initial_indent=start, subsequent_indent=" " * len(start)))
    return "\n".join([*lines, ""])


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
