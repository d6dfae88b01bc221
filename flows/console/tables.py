"""The commands that list things: runs, methods, data sets. They read, and change nothing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flows.console.terminal import terminal
from flows.run.criterion_text import criterion_in_words
from flows.run.history import status_of
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.suggestion import did_you_mean
from tasks.score.verdict_word import verdict_word

STAGES = ("mask", "train", "attack", "membership", "score")
WIDTH_OF_PIPES = 100


def print_runs(last: int, *, as_json: bool = False) -> int:
    """The last runs, newest first: one line each, and below it what its policy found fault with."""
    from flows.run.history import manifests

    found, revoked = manifests()[:last], find_revoked_runs_or_warn()
    if as_json:
        told = [_run_as_json(manifest, revoked) for manifest in found]
        sys.stdout.write(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
        return 0
    table = Table(title="Last runs, newest first", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("run", "release", "verdict", "policy lines kept", "worst insider", "stages computed / cached"):
        table.add_column(column, no_wrap=column in ("run", "release"))
    for manifest in found:
        table.add_row(*_run_in_cells(manifest, revoked))
    console().print(table if found else "no run yet in this home: sdcert certify params/releases/anes96.yaml")
    for manifest in found:
        for fault in _faults(manifest):
            console().print(f"{manifest['run']}  {escape_terminal(fault)}", soft_wrap=True)
    return 0


def find_revoked_runs_or_warn() -> set[str]:
    """The runs whose certificate was revoked; a ledger that cannot be read is told, and keeps nothing from being listed."""
    from flows.run.history import find_revoked_runs

    try:
        return find_revoked_runs()
    except InputError as error:
        sys.stderr.write(f"warning: {error.what}: which certificates were revoked is not known\n")
        return set()


def _verdict(manifest: dict[str, Any], revoked: set[str]) -> str:
    verdict = verdict_word(manifest.get("verdict") or status_of(manifest), manifest.get("exceptions", ()))
    return "revoked" if manifest["run"] in revoked else verdict


def _worst_insider(manifest: dict[str, Any]) -> str:
    """The re-identification rate of the insider who finds most; `-` where no insider gave one, or none was written down."""
    worst = manifest.get("worst_insider")
    if worst is None:
        return "-"
    found = f"{100 * worst['reidentification']:.2g} %"
    return f"at least {found}" if worst.get("lower_bound") else found


def _run_as_json(manifest: dict[str, Any], revoked: set[str]) -> dict[str, Any]:
    stages = manifest["stages"].values()
    return {
        "run": manifest["run"],
        "release": manifest["release"],
        "series": manifest["series"],
        "started_at": manifest["started_at"],
        "verdict": "revoked" if manifest["run"] in revoked else manifest.get("verdict") or status_of(manifest),
        "exceptions": manifest.get("exceptions", []),
        "worst_insider": manifest.get("worst_insider"),
        "insider_curve": manifest.get("insider_curve"),
        "computed": sum(not stage["cached"] for stage in stages),
        "cached": sum(stage["cached"] for stage in stages),
        "faults": _faults(manifest),
    }


def _run_in_cells(manifest: dict[str, Any], revoked: set[str]) -> tuple[str, ...]:
    stages = manifest.get("stages", {}).values()
    cached = sum(stage["cached"] for stage in stages)
    lines = manifest.get("criteria", [])
    kept = f"{sum(line['decision'] == 'pass' for line in lines)} of {len(lines)}" if lines else "-"
    insider = _worst_insider(manifest)
    return (
        manifest["run"],
        manifest["release"],
        _verdict(manifest, revoked),
        kept,
        insider,
        f"{len(stages) - cached} / {cached}",
    )


def _faults(manifest: dict[str, Any]) -> list[str]:
    if "failure" in manifest:
        return [manifest["failure"].splitlines()[0]]
    lines = manifest.get("criteria", [])
    return [f"{line['decision']}: {criterion_in_words(line)}" for line in lines if line["decision"] != "pass"]


def print_methods(stage: str | None) -> int:
    """The methods of one stage, or of all."""
    if stage is not None and stage not in STAGES:
        remedy = did_you_mean(stage, STAGES, "choose one of these")
        raise InputError("no-such-stage", "sdcert methods STAGE", "no such stage", ", ".join(STAGES), remedy, stage)
    for name in STAGES if stage is None else (stage,):
        rows = describe_methods(name)
        if stage is None:
            console().print(f"{name.upper()}\n")
        for row in rows:
            _print_method(*row.items())
    return 0


def _print_method(named: tuple[str, str], does: tuple[str, str], *rest: tuple[str, str]) -> None:
    """A method's name and what it does in one line, and below it the rest, a line each."""
    console().print(f"{named[1]}: {does[1]}")
    told = Table.grid(padding=(0, 2))
    told.add_column(no_wrap=True)
    told.add_column(overflow="fold")
    for what, value in rest:
        told.add_row(f"    {what}", str(value))
    console().print(told)
    console().print()


def describe_methods(stage: str) -> tuple[dict[str, str], ...]:
    """One row per method of a stage."""
    match stage:
        case "mask":
            from tasks.mask.methods import describe
        case "train":
            from tasks.train.learners import describe
        case "attack":
            from tasks.attack.descriptions import describe
        case "membership":
            from tasks.attack.membership.methods import describe
        case _:
            from tasks.score.methods import describe
    return describe()


def print_datasets() -> int:
    """The tables that have a name."""
    from tasks.ingest.sources import list_datasets

    table = Table(title="Tables that have a name: source: {dataset: NAME}", title_justify="left")
    for column in ("name", "rows", "columns", "what it is", "a row is", "here?"):
        table.add_column(column, overflow="fold")
    for dataset in list_datasets():
        here = "yes" if dataset.available else "no: see data/README.md"
        cells = (str(dataset.rows), str(dataset.columns), dataset.description, dataset.a_row_is, here)
        table.add_row(dataset.name, *cells)
    console().print(table)
    return 0


def trim_table(out: Console, table: Table) -> Iterator[Text]:
    """The lines of a table without the blanks that fill it up to the right."""
    with out.capture() as captured:
        out.print(table)
    for content in captured.get().splitlines():
        line = Text.from_ansi(content)
        line.rstrip()
        yield line


def console() -> Console:
    """Standard output, as wide as the terminal, or as COLUMNS or a hundred where it is piped."""
    return terminal(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH_OF_PIPES)
