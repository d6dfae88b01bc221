"""`sdcert init`: draft a release file for a table, check it, and name the next step."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.root import app
from flows.cli.terminal import tell_many_columns, terminal
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.words import join_first
from tasks.runtime.files import write_whole

if TYPE_CHECKING:
    from flows.cli.draft.cells import Reading
    from flows.cli.draft.rules import ReleaseDraft
    from tasks.ingest.methods import IngestReport, IngestResult
    from tasks.ingest.sources import SourceSpec

DATASET = "dataset:"
READABLE = 0o644
WHERE = "sdcert init"
_NAMED = 40  # columns, of those of one role or question


@app.command()
def init(
    table: Annotated[
        str, typer.Argument(help="a table (CSV, Parquet, ...), or dataset:NAME", metavar="TABLE", show_default=False)
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="the file to write; default: NAME.yaml", show_default=False)
    ] = None,
    name: Annotated[str | None, typer.Option(help="name of the release; default: from the table", show_default=False)] = None,
    environment: Annotated[
        str | None,
        typer.Option(
            "--for",
            help="where the release goes: start from the limits, with their sources, for public, licensed or enclave",
            metavar="ENVIRONMENT",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="write over an existing file")] = False,
) -> int:
    """Draft a release file for a table, and check it. Its comments say why each line is there."""
    import flows.environment  # noqa: F401  # a private home and no telemetry, before the libraries are imported

    # isort: split
    from flows.cli.draft.rules import draft_release
    from flows.cli.draft.start import start_for
    from flows.cli.draft.text import format_draft

    start = start_for(environment)
    source = create_source_spec(table)
    _refuse_absent(source)
    release = _name(name, table)
    path = output or Path(f"{release}.yaml")
    _refuse_output(path, source, force=force)
    found, readings = _read(source)
    data = found.data
    draft = draft_release(data, readings, name=release, source=_as_written(source, path), start=start)
    _write(path, format_draft(draft))
    _say_what_was_drafted(draft, found.report, path)
    return _check_draft(draft, path)


def create_source_spec(table: str) -> SourceSpec:
    """`dataset:NAME` or the path of a file, as the source of a release; a path is made absolute."""
    from pydantic import ValidationError

    from tasks.ingest.readers.datasets import DATASETS
    from tasks.ingest.sources import SourceSpec

    try:
        if table.startswith(DATASET):
            return SourceSpec.model_validate({"dataset": table.removeprefix(DATASET)})
        return SourceSpec.model_validate({"table": str(Path(table).absolute())})
    except ValidationError:
        pass
    if table.startswith(DATASET):
        remedy = did_you_mean(table.removeprefix(DATASET), DATASETS, "see `sdcert datasets`")
        raise InputError("no-such-dataset", f"{WHERE} TABLE", "There is no such data set.", ", ".join(DATASETS), remedy, table)
    raise InputError("no-such-source", f"{WHERE} TABLE", "That cannot be the path of a table.",
                     "the path of a file (300 characters at most), or dataset:NAME", "check the path", table)  # fmt: skip


def _name(name: str | None, table: str) -> str:
    from tasks.microdata.spec import SLUG

    if name is not None:
        if SLUG.fullmatch(name) is None:
            raise InputError("bad-name", f"{WHERE} --name", "That cannot be the name of a release.",
                             "1 to 100 small letters, digits and . _ - that begin with a letter or digit",
                             f"write `--name {_create_slug(name)}`", name)  # fmt: skip
        return name
    return _create_slug(table.removeprefix(DATASET) if table.startswith(DATASET) else Path(table).name.split(".")[0])


def _create_slug(text: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-_")[:100] or "release"


def _refuse_output(path: Path, source: SourceSpec, *, force: bool) -> None:
    where, allowed = f"{WHERE} --output", "a file that does not exist yet, in a folder that can be written"
    parent = path.absolute().parent
    try:
        if path.is_dir():
            raise InputError("output", where, "That is a folder.", allowed, "name a file in it", str(path))
        if source.table is not None and path.exists() and path.samefile(source.table):
            raise InputError("output", where, "That is the table itself.", allowed, "choose another --output", str(path))
        if (path.exists() or path.is_symlink()) and not force:
            remedy = "choose another --output, or write over it with --force"
            raise InputError("output-exists", where, "There is such a file already.", allowed, remedy, str(path))
        problem = None if parent.is_dir() else "There is no such folder."
    except OSError as error:
        problem = f"That place cannot be looked at ({error.strerror})."
    if problem is None and not os.access(parent, os.W_OK | os.X_OK):
        problem = "Nothing can be written there (permission denied)."
    if problem is not None:
        raise InputError("output", where, problem, allowed, "choose another --output", str(path))


def _refuse_absent(source: SourceSpec) -> None:
    """A missing table is told before anything else, in the words of the command: there is no release file yet."""
    from tasks.ingest.sources import files

    try:
        files(source)
    except InputError as error:
        if error.code != "no-such-source":
            raise
        remedy = "check the path; it is relative to the folder that you are in"
        raise replace(error, where=f"{WHERE} TABLE", remedy=remedy) from None


def _read(source: SourceSpec) -> tuple[IngestResult, dict[str, Reading]]:
    """The table and what was found in it, and how the text of its columns is written where ingest has to be told."""
    from flows.cli.draft.cells import propose_readings
    from tasks.ingest.methods import IngestPlan, ingest_raw_table
    from tasks.ingest.sources import read

    raw = read(source)
    tell_many_columns(raw.table.num_columns)
    readings = propose_readings(raw)
    declared = tuple(reading.declared for reading in readings.values() if reading.declared is not None)
    return ingest_raw_table(raw, IngestPlan(source=source, attributes=declared)), readings


def _as_written(source: SourceSpec, path: Path) -> dict[str, str]:
    """The source as the file names it: a path relative to the file's folder where that leads to the same table."""
    if source.table is None:
        return {"dataset": str(source.dataset)}
    folder = path.absolute().parent
    relative = os.path.relpath(source.table, folder)
    leads_there = (folder / relative).exists() and (folder / relative).samefile(source.table)
    return {"table": relative if leads_there and len(relative) <= len(source.table) + 20 else source.table}


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text.encode(), mode=READABLE, whatever_umask=True)  # a release file holds no secret
    except (OSError, UnicodeEncodeError) as error:
        what = f"The file cannot be written ({getattr(error, 'strerror', None) or 'a name is no Unicode text'})."
        raise InputError("output", f"{WHERE} --output", what, "a file in a folder that can be written",
                         "choose another --output", str(path)) from None  # fmt: skip


def _say_what_was_drafted(draft: ReleaseDraft, report: IngestReport, path: Path) -> None:
    from tasks.microdata.schema import Role

    say(f"Drafted {path} (release {draft.name}): {len(draft.columns)} columns.")
    for role in Role:
        names = [escape_terminal(column.name) for column in draft.columns if column.attribute.role is role]
        if names:
            say(f"  {role:<17} {join_first(names, _NAMED)}")
    noted = [column for column in report.columns if column.notes]
    if noted:
        say("\nFound in the cells:")
    for column in noted[:_NAMED]:
        say(f"  {escape_terminal(column.name)}: {'; '.join(column.notes)}")
    if len(noted) > _NAMED:
        say(f"  and something in {len(noted) - _NAMED} more columns")
    questions: dict[str, list[str]] = {}
    for name, question in draft.questions:
        questions.setdefault(question, []).append(escape_terminal(name))
    if questions:
        say("\nFor you to decide (`decide` in the file):")
    for question, names in questions.items():
        say(f"  {join_first(names, _NAMED)}: {question}")
    say(f"\nChecking it, as `sdcert check {shlex.quote(str(path))}` does:")


def _check_draft(draft: ReleaseDraft, path: Path) -> int:
    from flows.cli.check import print_plan

    try:
        code = print_plan(path)
    except InputError:
        say(f"The draft is in {path}, but it does not fit yet: mend what is named below, then run the check again.")
        raise
    quoted = shlex.quote(str(path))
    answering = f"  sdcert check --answer {quoted}\n" if draft.questions else ""
    say(f"\nNext: read {path}; then\n{answering}  sdcert certify {quoted}")
    return code


def say(text: str) -> None:
    terminal(soft_wrap=True).print(text)
