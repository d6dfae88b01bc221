"""`sdcert calibrate`: test attacks and intervals on generated tables of known truth; show progress and findings."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.root import app
from flows.cli.terminal import terminal
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.suggestion import did_you_mean
from tasks.runtime.files import write_whole
from tasks.runtime.settings import prepare_environment

if TYPE_CHECKING:
    from rich.table import Table

    from tasks.sweep.calibration.calibration_findings import CalibrationFinding, Effort
    from tasks.sweep.calibration.checks import CalibrationCheck

LINES_EVERY_SECONDS = 15.0
TITLES = {
    "null": "Where nothing is to be found: mean credit against random pairings of records and rows",
    "planted": "A share can be found for certain, the rest not at all: share + (1 - share) * chance",
    "coverage": "A sample of targets is scored: how often the interval covers the figure of all targets",
    "posterior": "The law of the mask is known: what the attack hits against what its posterior claims",
    "recount": "Figures without chance: the share that a plain recount confirms",
    "strength": "Chains of steps: what the strongest attack finds, and at least what the strongest of some simple ones does",
}


@app.command()
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
    """Try the attacks and intervals where the truth is known. The tables are generated. Exit code 0 if all agree, 1 if not.

    No attack beats chance where nothing is to be found; what can be found is found; intervals cover; posteriors come true;
    no simple attack finds more.
    """
    attacks = attack or []
    prepare_environment()
    from tasks.sweep.calibration.checks import list_checks

    _refuse_unknown(attacks)
    _refuse_unwritable(output)
    chosen, effort = list_checks(tuple(attacks)), _choose_effort(seeds, thorough=thorough)
    found = _collect_findings(chosen, effort, workers or len(os.sched_getaffinity(0)))
    document = json.dumps(_as_dict(found, effort), indent=1, sort_keys=True) + "\n"
    if output is not None:
        write_whole(output, document.encode(), mode=0o644)
    if as_json:
        sys.stdout.write(document)
    else:
        _print(found, effort)
    return 0 if all(one.holds for one in found) else 1


def _choose_effort(seeds: int | None, *, thorough: bool) -> Effort:
    from tasks.sweep.calibration.calibration_findings import Effort
    from tasks.sweep.calibration.checks import DEFAULT, THOROUGH

    base = THOROUGH if thorough else DEFAULT
    return base if seeds is None else Effort(seeds, max(base.samples * seeds // base.seeds, 1))


def _refuse_unknown(attacks: Iterable[str]) -> None:
    from tasks.attack.methods import ATTACKS

    for name in attacks:
        if name not in ATTACKS:
            remedy = did_you_mean(name, tuple(ATTACKS), "see `sdcert methods attack`")
            raise InputError("unknown-attack", "--attack", "there is no such attack", ", ".join(ATTACKS), remedy, name)


def _refuse_unwritable(output: Path | None) -> None:
    """Before minutes are spent."""
    if output is None:
        return
    if output.is_dir() or not output.absolute().parent.is_dir() or not os.access(output.absolute().parent, os.W_OK):
        what, allowed = "the findings cannot be written there", "a file in a folder that exists and that you may write"
        raise InputError("output", "--output", what, allowed, "name another file", str(output))


def _collect_findings(checks: Sequence[CalibrationCheck], effort: Effort, workers: int) -> list[CalibrationFinding]:
    """What all checks found, in the order of the checks, whichever ends first."""
    from flows.calibrate import run_checks

    found: dict[int, tuple[CalibrationFinding, ...]] = {}
    with _Watched(len(checks)) as watched:
        for position, findings in run_checks(checks, effort, workers):
            found[position] = findings
            watched.show_progress(len(found))
    return [one for position in sorted(found) for one in found[position]]


class _Watched:
    """A bar on a terminal, now and then a line elsewhere; on stderr."""

    def __init__(self, of: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._console = terminal(stderr=True, soft_wrap=True)
        columns = (TextColumn("calibrating"), BarColumn(), MofNCompleteColumn(), TextColumn("checks"), TimeElapsedColumn())
        self._bar = Progress(*columns, console=self._console, disable=not self._console.is_terminal, transient=True)
        self._task, self._of, self._said = self._bar.add_task("", total=of), of, time.monotonic()

    def __enter__(self) -> _Watched:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show_progress(self, done: int) -> None:
        self._bar.update(self._task, completed=done)
        now = time.monotonic()
        if not self._console.is_terminal and (done == self._of or now - self._said >= LINES_EVERY_SECONDS):
            self._said = now
            self._console.print(f"{done} of {self._of} checks")


def _print(found: Sequence[CalibrationFinding], effort: Effort) -> None:
    from flows.cli.terminal import console
    from tasks.sweep.calibration.calibration_findings import LEVEL

    out = console()
    for kind, title in TITLES.items():
        some = [one for one in found if one.kind == kind]
        if some:
            out.print(title, soft_wrap=True)
            out.print(_tabulate_coverage(some) if kind == "coverage" else _tabulate_findings(some))
            out.print()
    wrong = [one for one in found if not one.holds]
    for one in wrong:
        out.print(f"WRONG  {escape_terminal(f'{one.subject}, {one.scene}: {one.reason}')}", soft_wrap=True)
    tried = (
        f"{len(found)} properties, up to {effort.seeds:,} tables and {effort.samples:,} samples each, at the level {LEVEL:g}"
    )
    verdict = f"{len(wrong)} do not hold" if wrong else "all hold"
    out.print(f"{verdict}: {tried}", soft_wrap=True)


def _create_table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("", overflow="fold", ratio=1)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    return table


def _tabulate_findings(found: Sequence[CalibrationFinding]) -> Table:
    table = _create_table("tables", "found", "expected", "p")
    for subject in dict.fromkeys(one.subject for one in found):
        table.add_row(escape_terminal(subject))
        for one in (other for other in found if other.subject == subject):
            cells = f"{one.trials:,}", f"{one.found:.5f}", f"{one.expected:.5f}", _format_probability(one.p)
            table.add_row(f"  {escape_terminal(one.scene)}", *cells, _format_verdict(one))
    return table


def _tabulate_coverage(found: Sequence[CalibrationFinding]) -> Table:
    table = _create_table("samples", "covers", "95 % interval", "mean width", "p")
    for setting, some in groupby(found, key=lambda one: one.scene):
        table.add_row(escape_terminal(setting))
        for one in some:
            interval = "" if one.low is None or one.high is None else f"{one.low:.3f}-{one.high:.3f}"
            width = "" if one.width is None else f"{one.width:.3g}"
            cells = f"{one.trials:,}", f"{one.found:.3f}", interval, width, _format_probability(one.p)
            table.add_row(f"  {escape_terminal(one.subject)}", *cells, _format_verdict(one))
    return table


def _format_probability(p: float | None) -> str:
    return "certain" if p is None else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def _format_verdict(one: CalibrationFinding) -> str:
    return "ok" if one.holds else "WRONG"


def _as_dict(found: Sequence[CalibrationFinding], effort: Effort) -> dict[str, Any]:
    from tasks.sweep.calibration.calibration_findings import LEVEL

    return {
        "holds": all(one.holds for one in found),
        "level": LEVEL,
        "seeds": effort.seeds,
        "samples": effort.samples,
        "findings": [asdict(one) for one in found],
    }
