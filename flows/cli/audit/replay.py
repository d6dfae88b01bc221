"""`sdcert audit replay`: compute a run again, and explain every result that differs from the recorded one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.audit.group import group
from flows.cli.completion import complete_run
from flows.cli.root import MemoryOption
from flows.cli.terminal import terminal
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal

if TYPE_CHECKING:
    from flows.replay.environment_changes import Changes
    from flows.replay.replay import ReplayResult
    from flows.replay.replay_comparison import StageFound

IDENTICAL, DIFFERS = 0, 1


@group.command()
def replay(
    run: Annotated[
        str, typer.Argument(help="a run id, or its beginning", metavar="RUN", show_default=False, autocompletion=complete_run)
    ],
    source: Annotated[Path | None, typer.Option(help="where the source is now, if it was moved", show_default=False)] = None,
    released: Annotated[
        Path | None, typer.Option(help="where the adopted table is now, if it was moved", show_default=False)
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option(
            help="where an external file of the intruder is now, if it was moved; again for more",
            metavar="NAME=FILE",
            show_default=False,
        ),
    ] = None,
    memory: MemoryOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the comparison on stdout as JSON")] = False,
) -> int:
    """Compute a run again from its manifest and seed, and compare. Exit code 0 all is identical, 1 something differs."""
    from flows.run.progress import Lines, listener
    from tasks.runtime.memory_gate import memory_gate
    from tasks.runtime.memory_left import parse_memory

    files = file or ()
    moved = _parse_file_options(files)
    memory_gate.allow(None if memory is None else parse_memory(memory))
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    lines = Lines(terminal(stderr=True, soft_wrap=True))
    token = listener.set(lines)
    try:
        listener.get().begin_step("starting")
        from flows.replay.replay import replay, write_down

        done = replay(run, source, released, moved)
    finally:
        listener.reset(token)
        lines.close()
    if as_json:
        sys.stdout.write(json.dumps(_as_json(done), indent=1, ensure_ascii=False) + "\n")
    else:
        _print(done)
    write_down(done)
    return IDENTICAL if done.outcome == "identical" else DIFFERS


def _parse_file_options(files: Sequence[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for text in files:
        name, equals, path = text.partition("=")
        if not (name and equals and path) or name in found:
            what = f"`{name}` is given twice." if name in found else "This does not say which file is where."
            raise InputError(
                "bad-option", "--file", what, "NAME=FILE, once for each", "write e.g. register=/new/register.csv", text
            )
        found[name] = Path(path)
    return found


def _print(done: ReplayResult) -> None:
    console = terminal(soft_wrap=True)
    for line in _describe_replay(done):
        console.print(escape_terminal(line))


def _describe_replay(done: ReplayResult) -> list[str]:
    lines = []
    if done.comparison is not None:
        unlike = [found for found in done.comparison.stages if found.outcome != "identical"]
        lines += [line for found in unlike for line in _describe_stage(found)]
        lines += [f"changed since the run: {change}" for change in _describe_changes(done.comparison.changes)]
        lines += [f"note: {remark}" for remark in done.comparison.remarks]
    return [*lines, summarise_replay(done)]


def _describe_stage(found: StageFound) -> list[str]:
    how = {"differs": "DIFFERS", "follows": "differs, as what it was given differs", "not reached": "not reached"}
    what = f": {', '.join(found.outputs)}" if found.outputs else ""
    loud = {"unexplained": "NOT EXPLAINED"}
    causes = [f"    {loud.get(cause.kind, cause.kind)}: {cause.text}" for cause in found.causes]
    return [f"{found.stage}  {how[found.outcome]}{what}", *causes]


def _describe_changes(changes: Changes) -> list[str]:
    """What is no longer as it was, whether it made a difference or not."""
    if not changes.known:
        return ["not known: what the run was made by was not kept, or the store has lost it"]
    return [f"{kind}: {report}" for kind, report in changes.describe_by_kind(changes.files).items()]


def summarise_replay(done: ReplayResult) -> str:
    """What came of it, in one sentence."""
    if done.comparison is None:
        return f"Run {done.run} was not replayed: {done.causes[0]}."
    stages = len(done.comparison.stages)
    if done.outcome == "identical":
        since = "" if not _describe_changes(done.comparison.changes) else ", although something has changed since"
        return f"Run {done.run} is identical: all of its {stages} results come out as they were, address by address{since}."
    kinds = ", ".join(dict.fromkeys(cause.kind for cause in done.comparison.causes))
    why = f"; the cause: {kinds}" if kinds else ""
    if "unexplained" in kinds:
        why += ". A result that nothing explains must not be relied upon until it is explained"
    return f"Run {done.run} DIFFERS in {len(done.differs)} of {stages} results{why}."


def _as_json(done: ReplayResult) -> dict[str, Any]:
    report: dict[str, Any] = {"run": done.run, "outcome": done.outcome, "differs": done.differs, "causes": done.causes}
    if done.comparison is not None:
        report["results"] = [asdict(found) for found in done.comparison.stages]
        report["changed_since"] = asdict(done.comparison.changes)
        report["remarks"] = done.comparison.remarks
    return {**report, "sentence": summarise_replay(done)}
