"""`sdcert compare`: two or more runs side by side. Reads the private folder, prints figures of the public edition alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.completion import complete_run_or_release
from flows.cli.root import app
from flows.cli.terminal import console
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal

if TYPE_CHECKING:
    from rich.table import Table

    from flows.cli.compare.compared_runs import ComparedRun, ComparisonRow

BEST = " *"
TITLES = {"policy": "Policy lines", "risks": "Risks: the worst over the attacks run", "losses": "Losses", "use": "Use"}


@app.command()
def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="run ids, their beginnings, or names of releases",
            metavar="RUN RUN ...",
            show_default=False,
            autocompletion=complete_run_or_release,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="print the comparison on stdout as JSON")] = False,
) -> int:
    """Two or more runs side by side: verdict, masks, risks, losses."""
    from flows.cli.compare.compared_runs import WHERE, compare_sources, compute_sections, load_runs
    from flows.cli.compare.spec_differences import list_differences

    if len(runs) < 2:
        raise InputError("too-few-runs", WHERE, "One run cannot be compared.", "two or more runs",
                         "name another one; `sdcert runs` lists them")  # fmt: skip
    found = load_runs(runs)
    sections = compute_sections(found)
    changed = list_differences([run.manifest["spec"] for run in found])
    changed = [*compare_sources(found), *changed]
    if as_json:
        sys.stdout.write(json.dumps(_as_json(found, sections, changed), indent=1, ensure_ascii=False) + "\n")
    else:
        _print(found, sections, changed)
    return 0


def _print(found: Sequence[ComparedRun], sections: dict[str, tuple[ComparisonRow, ...]], changed: list[str]) -> None:
    from rich.text import Text

    from flows.cli.compare.spec_differences import describe_masking
    from tasks.score.verdict_word import capitalise_verdict, format_verdict

    out = console()

    def say(text: str) -> None:
        out.print(Text(escape_terminal(text)), soft_wrap=True)

    for run in found:
        manifest = run.manifest
        revoked = ", and revoked since" if run.revoked else ""
        word = capitalise_verdict(format_verdict(manifest["verdict"], manifest.get("exceptions", ())))
        say(f"{run.letter}  {manifest['run']}  {manifest['release']}  {word}{revoked}")
        for step in describe_masking(manifest["spec"]):
            say(f"   {step}")
    say("")
    for title, rows in sections.items():
        if rows:
            say(_format_title(title, rows))
            out.print(_create_table(title, rows, found))
            say("")
    say("The release files differ in:" if changed else "The release files say the same.")
    for change in changed:
        say(f"  {change}")


def _format_title(title: str, rows: Sequence[ComparisonRow]) -> str:
    legend = [f"{BEST.strip()} best"] if any(row.best for row in rows) else []
    legend += dict.fromkeys(row.remark for row in rows if row.remark)
    return f"{TITLES[title]} ({'; '.join(legend)})" if legend else TITLES[title]


def _create_table(title: str, rows: Sequence[ComparisonRow], found: Sequence[ComparedRun]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column(overflow="fold")
    for run in found:
        table.add_column(Text(run.letter), overflow="fold", justify="left" if title == "policy" else "right")
    for row in rows:
        cells = [(cell + BEST, "bold") if position in row.best else (cell, "") for position, cell in enumerate(row.cells)]
        table.add_row(Text(row.what), *(Text(cell, style=style) for cell, style in cells))
    return table


def _as_json(
    found: Sequence[ComparedRun], sections: dict[str, tuple[ComparisonRow, ...]], changed: list[str]
) -> dict[str, Any]:
    from flows.cli.compare.spec_differences import describe_masking

    runs = [
        {
            "letter": run.letter,
            "run": run.manifest["run"],
            "release": run.manifest["release"],
            "started_at": run.manifest["started_at"],
            "verdict": run.manifest["verdict"],
            "revoked": run.revoked,
            "masking": describe_masking(run.manifest["spec"]),
        }
        for run in found
    ]
    return {"runs": runs, **{name: [asdict(row) for row in rows] for name, rows in sections.items()}, "differences": changed}
