"""`sdcert runs`: list the last runs, and the policy lines that they did not keep."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.root import app
from flows.cli.terminal import console
from flows.run.criterion_text import describe_criterion
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.numbers import format_two_digits

if TYPE_CHECKING:
    pass


@app.command()
def runs(
    last: Annotated[int, typer.Option(help="how many", min=1)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="print them on stdout as JSON")] = False,
) -> int:
    """The last releases: when, which, verdict, deciding figures. The verdict is `revoked` once the certificate is."""
    from rich.table import Table

    from flows.run.history import read_manifests

    found, revoked = read_manifests()[:last], find_revoked_runs_or_warn()
    if as_json:
        rows = [_run_as_json(manifest, revoked) for manifest in found]
        sys.stdout.write(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
        return 0
    table = Table(title="Last runs, newest first", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("run", "release", "verdict", "policy lines kept", "worst insider", "stages computed / cached"):
        longest_word = len("interrupted") if column == "verdict" else None
        table.add_column(column, no_wrap=column in ("run", "release"), min_width=longest_word)
    for manifest in found:
        table.add_row(*_run_in_cells(manifest, revoked))
    console().print(table if found else "no run yet in this home: sdcert certify params/releases/anes96.yaml")
    for manifest in found:
        for fault in _list_faults(manifest):
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


def _describe_verdict(manifest: dict[str, Any], revoked: set[str]) -> str:
    from flows.run.history import compute_run_status
    from tasks.score.verdict_word import format_verdict

    verdict = format_verdict(manifest.get("verdict") or compute_run_status(manifest), manifest.get("exceptions", ()))
    return "revoked" if manifest["run"] in revoked else verdict


def _format_worst_insider(manifest: dict[str, Any]) -> str:
    """The re-identification rate of the insider who finds most; `-` where no insider gave one, or none was written down."""
    worst = manifest.get("worst_insider")
    if worst is None:
        return "-"
    found = f"{format_two_digits(100 * worst['reidentification'])} %"
    return f"at least {found}" if worst.get("lower_bound") else found


def _run_as_json(manifest: dict[str, Any], revoked: set[str]) -> dict[str, Any]:
    from flows.run.history import compute_run_status

    stages = manifest["stages"].values()
    return {
        "run": manifest["run"],
        "release": manifest["release"],
        "series": manifest["series"],
        "started_at": manifest["started_at"],
        "verdict": "revoked" if manifest["run"] in revoked else manifest.get("verdict") or compute_run_status(manifest),
        "exceptions": manifest.get("exceptions", []),
        "worst_insider": manifest.get("worst_insider"),
        "insider_curve": manifest.get("insider_curve"),
        "computed": sum(not stage["cached"] for stage in stages),
        "cached": sum(stage["cached"] for stage in stages),
        "faults": _list_faults(manifest),
    }


def _run_in_cells(manifest: dict[str, Any], revoked: set[str]) -> tuple[str, ...]:
    stages = manifest.get("stages", {}).values()
    cached = sum(stage["cached"] for stage in stages)
    lines = manifest.get("criteria", [])
    kept = f"{sum(line['decision'] == 'pass' for line in lines)} of {len(lines)}" if lines else "-"
    insider = _format_worst_insider(manifest)
    return (
        manifest["run"],
        manifest["release"],
        _describe_verdict(manifest, revoked),
        kept,
        insider,
        f"{len(stages) - cached} / {cached}",
    )


def _list_faults(manifest: dict[str, Any]) -> list[str]:
    if manifest.get("status") == "interrupted":  # the verdict says it
        return []
    if "failure" in manifest:
        return [manifest["failure"].splitlines()[0]]
    lines = manifest.get("criteria", [])
    return [f"{line['decision']}: {describe_criterion(line)}" for line in lines if line["decision"] != "pass"]
