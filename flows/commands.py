"""What the commands of `sdcert` do, and what they print."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from flows.progress import Lines, listener
from flows.words import criterion_in_words
from tasks.microdata.errors import InputError
from tasks.microdata.suggestion import did_you_mean

STAGES = ("mask", "attack", "score")


def certify_release(path: Path, output: Path, *, as_json: bool, refresh: bool, new_draw: bool) -> int:
    """Run the flow, tell how it goes on stderr, and end with the verdict, the deciding figures and the files."""
    from flows.release import load_release
    from tasks.ingest.sources import files

    release = load_release(path)
    files(release.source)  # a missing source is told before Prefect starts
    _check_output(output)
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    console = Console(stderr=True, soft_wrap=True)
    console.print(f"sdcert: release {release.name} ({path})", highlight=False, markup=False)
    lines = Lines(console)
    token = listener.set(lines)
    try:
        done = _run(release, output, refresh=refresh, new_draw=new_draw)
    finally:
        listener.reset(token)
        lines.close()
    scorecard = json.loads((Path(done["folder"]) / "scorecard.json").read_text())
    if as_json:
        sys.stdout.write(json.dumps(scorecard, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    _print_verdict(console if as_json else Console(soft_wrap=True), scorecard, Path(done["folder"]), _warning(done["run"]))
    return 0 if scorecard["verdict"] == "certified" else 1


def _warning(run: str) -> str | None:
    from flows.history import manifest_of

    problem = manifest_of(run).get("tracking")
    return None if problem is None else f"MLflow: {problem}; the release itself is complete"


def _run(release: Any, output: Path, *, refresh: bool, new_draw: bool) -> dict[str, str]:
    from tasks.runtime.servers import end_orphans

    listener.get().began("starting Prefect")
    from flows.certify import certify_tagged  # prepares the environment before Prefect is imported

    end_orphans()
    return certify_tagged(release, output=str(output), refresh=refresh, new_draw=new_draw)


def _check_output(output: Path) -> None:
    existing = next(p for p in [output.absolute(), *output.absolute().parents] if p.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise InputError(
            "output",
            "--output",
            "no folder can be made there",
            "a folder that can be written",
            "choose another --output",
            str(output),
        )


def _print_verdict(console: Console, scorecard: dict[str, Any], folder: Path, warning: str | None) -> None:
    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    say("")
    for line in scorecard["criteria"]:
        say(f"  {line['decision']:<10}{criterion_in_words(line)}")
        if line["decision"] != "pass" and line["reason"]:
            say(f"            {line['reason']}")
    say(f"\n{scorecard['release']}: {scorecard['verdict'].upper()}")
    if warning:
        say(f"warning: {warning}")
    for path in sorted(folder.iterdir()):
        say(f"  {path}")
    if scorecard["verdict"] != "certified":
        say("  no table was written: a release that is not certified leaves its report alone")


def print_plan(path: Path) -> int:
    """Say what a release file would do."""
    from flows.release import load_release
    from tasks.ingest.sources import files

    release = load_release(path)
    files(release.source)  # a missing source is told before Prefect starts
    console = Console(soft_wrap=True)
    table = Table(title=f"Plan of release {release.name} (series {release.lineage})", show_header=False, title_justify="left")
    table.add_column("stage", style="bold", no_wrap=True)
    table.add_column("what")
    for stage, what in plan(release):
        table.add_row(stage, what)
    console.print(table, markup=False)
    console.print(f"{path}: the release file is valid; nothing was run", highlight=False, markup=False)
    return 0


def plan(release: Any) -> list[tuple[str, str]]:
    """The stages of a release, each with what it will do, one line a part."""
    source = release.source
    rows = [
        ("ingest", f"{'dataset ' + source.dataset if source.dataset else source.table}; {len(release.expect)} expectations")
    ]
    declared = ", ".join(f"{a.name} ({a.role or 'role by evidence'})" for a in release.attributes)
    rows.append(("classify", f"declared: {declared or 'nothing'}; every other attribute by its evidence"))
    rows += [("mask", _with_parameters(step)) for step in release.masking]
    knows = ", ".join(release.intruder.knows) if release.intruder.knows else "all quasi-identifiers"
    rows += [
        ("attack", f"{_with_parameters(attack)}: by an intruder who knows {knows}, and by each insider")
        for attack in release.attacks_to_run
    ]
    rows += [("attack", f"{omission.attack} is omitted: {omission.reason}") for omission in release.omit]
    added = "".join(f"; {_with_parameters(measure)}" for measure in release.measures)
    rows.append(("score", f"the measures that always run{added}"))
    rows += [("policy", _line_in_words(line)) for line in release.policy]
    rows.append(("report", f"released.{release.publish.format} (if certified), report.html, scorecard.json, statement.json"))
    return rows


def _with_parameters(part: Any) -> str:
    given = part.model_dump(mode="json", exclude_none=True)
    name = given.pop("method", None) or given.pop("measure")
    return f"{name} " + ", ".join(f"{key} {value}" for key, value in given.items())


def _line_in_words(line: Any) -> str:
    given = line.model_dump(mode="json", exclude_none=True)
    limit = f"at most {given.pop('at_most')}" if "at_most" in given else f"at least {given.pop('at_least')}"
    measure = given.pop("measure")
    rest = ", ".join(f"{key} {value}" for key, value in given.items())
    return f"{measure} {limit}{', ' + rest if rest else ''}"


def print_runs(last: int) -> int:
    """A table of the last runs, newest first."""
    from flows.history import manifests

    table = Table(title="Last runs", title_justify="left")
    for column in ("run", "release", "series", "verdict", "deciding figures", "stages computed / cached"):
        table.add_column(column, overflow="fold")
    found = manifests()[:last]
    for manifest in found:
        stages = manifest.get("stages", {}).values()
        cached = sum(stage["cached"] for stage in stages)
        verdict = manifest.get("verdict") or manifest["status"]
        figures = "\n".join(f"{line['decision']}: {criterion_in_words(line)}" for line in manifest.get("criteria", []))
        cells = (
            manifest["run"],
            manifest["release"],
            manifest["series"],
            verdict,
            figures,
            f"{len(stages) - cached} / {cached}",
        )
        table.add_row(*cells)
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table if found else "no run yet: sdcert certify params/releases/anes96.yaml", markup=False)
    return 0


def print_methods(stage: str | None) -> int:
    """A table of the methods of one stage, or of all."""
    if stage is not None and stage not in STAGES:
        remedy = did_you_mean(stage, STAGES, "choose one of these")
        raise InputError("no-such-stage", "sdcert methods STAGE", "no such stage", ", ".join(STAGES), remedy, stage)
    console = Console(width=None if sys.stdout.isatty() else 160)
    for name in STAGES if stage is None else (stage,):
        rows = _described(name)
        table = Table(title=name, title_justify="left", show_lines=True)
        for column in rows[0]:
            table.add_column(column, overflow="fold", no_wrap=False)
        for row in rows:
            table.add_row(*(str(value) for value in row.values()))
        console.print(table, markup=False)
    return 0


def _described(stage: str) -> tuple[dict[str, str], ...]:
    match stage:
        case "mask":
            from tasks.mask.methods import describe
        case "attack":
            from tasks.attack.methods import describe
        case _:
            from tasks.score.methods import describe
    return describe()


def print_datasets() -> int:
    """A table of the data sets that need no file."""
    from tasks.ingest.sources import list_datasets

    table = Table(title="Data sets that need no file: source: {dataset: NAME}", title_justify="left")
    for column in ("name", "rows", "columns", "what it is"):
        table.add_column(column, overflow="fold")
    for dataset in list_datasets():
        table.add_row(dataset.name, str(dataset.rows), str(dataset.columns), dataset.description)
    Console().print(table, markup=False)
    return 0
