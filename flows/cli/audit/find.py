"""`sdcert audit find`: which runs were these, and where does this file come from?"""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.audit.group import (
    MOST,
    DatasetOption,
    ReleaseOption,
    SeriesOption,
    SinceOption,
    TouchingOption,
    UntilOption,
    VerdictOption,
    group,
)
from flows.cli.terminal import console, trim_table
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.regular_files import LARGEST_TABLE, open_regular_file, read_file

if TYPE_CHECKING:  # the readers of tables take seconds to import
    from rich.table import Table

    from flows.cli.audit.run_descriptions import EntryAssessment
    from tasks.audit.certificates.same_content import SameData
    from tasks.audit.lookup.index import Index
    from tasks.audit.lookup.index_rows import RunEntries
    from tasks.audit.lookup.query import Query

WHERE = "sdcert audit find"
FOUND, NOT_FOUND = 0, 1
_CANDIDATES = 50  # so many different contents of the same columns and rows are compared with a file
_SHOWN = 3


@group.command()
def find(
    file: Annotated[
        Path | None,
        typer.Argument(help="a released table, report, certificate or source: where is it from?", show_default=False),
    ] = None,
    release: ReleaseOption = None,
    series: SeriesOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    verdict: VerdictOption = None,
    dataset: DatasetOption = None,
    touching: TouchingOption = None,
    last: Annotated[int, typer.Option(help="at most so many, the newest", min=1, max=MOST)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="print them on stdout as JSON")] = False,
) -> int:
    """The runs that a file comes from, or that the options describe. Exit code 0 found, 1 not found."""

    asked = {"release": release, "series": series, "since": since, "until": until}
    return find_runs(file, last=last, as_json=as_json, verdict=verdict, dataset=dataset, touching=touching, **asked)


@dataclass(frozen=True, slots=True)
class Origin:
    """What a file has to do with runs. query: finds them; None: nothing was found. words: how, or what comes nearest."""

    query: Query | None
    words: str


def find_runs(file: Path | None, *, last: int, as_json: bool, **asked: Any) -> int:
    """Print the runs that are asked for, newest first; exit code 0 if there are any, 1 if none. Raises as `search_runs`."""
    from flows.cli.audit.show import print_family

    found = search_runs(file, last=last, **asked)
    if as_json:
        sys.stdout.write(json.dumps(found.serialise(), indent=1) + "\n")
    else:
        _print(found.runs, found.assessments, found.total, found.words)
        print_family(found.family)
    return FOUND if found.runs else NOT_FOUND


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """Runs, newest first, with what speaks against their entries. total: how many there are in all. words: how they were found.

    family: the releases about the same persons, of the only run or of the one that a file comes from; None: of no run.
    """

    runs: list[RunEntries]
    assessments: list[EntryAssessment]
    total: int
    words: str
    family: list[dict[str, Any]] | None

    def serialise(self) -> dict[str, Any]:
        """What `--json` prints."""
        from flows.cli.audit.run_descriptions import summarise_run

        runs = [summarise_run(one, of_it) for one, of_it in zip(self.runs, self.assessments, strict=True)]
        content = {"found": self.total, "shown": len(runs), "how": self.words, "runs": runs}
        return content if self.family is None else content | {"family": self.family}


def search_runs(file: Path | None, *, last: int, **asked: Any) -> FoundRuns:
    """The runs that a file comes from, or that are asked for, newest first, at most so many.

    Raises InputError for a wrong date or verdict, and for a file that cannot be read. Cost: under a second at 100,000 entries;
    a table that has the columns and rows of a release is read and compared as well, and where a family is shown, the private
    manifest of each certified run is read.
    """
    from flows.cli.audit.run_descriptions import assess_entries, create_query, explain_nothing_found, open_trail_index, trust_in

    query = create_query(WHERE, **asked)
    with open_trail_index() as index:
        origin = Origin(query, "") if file is None else find_origin(index, file, query)
        found = [] if origin.query is None else index.find(replace(origin.query, last=last))
        total = 0 if origin.query is None else index.count(origin.query)
        trust = trust_in(index) if found else None
        assessments = [assess_entries(index.lines_of(one), trust) for one in found if trust is not None]
        words = origin.words if found or (file is not None and origin.query is None) else explain_nothing_found(index, query)
    return FoundRuns(found, assessments, total, words, _list_family(found, file))


def _list_family(found: list[RunEntries], file: Path | None) -> list[dict[str, Any]] | None:
    """The family of the only run that was found, or of the newest certified one that a file comes from; None: no such run."""
    from flows.cli.family_text import list_family

    certified = [one.run for one in found if one.ending is not None and one.ending.is_release]
    asked = certified[:1] if file is not None or len(found) == 1 else []
    return list_family(asked[0]) if asked else None


def find_origin(index: Index, path: Path, query: Query) -> Origin:
    """Where a file comes from: issued as it is, the same data as a release, or the source of runs."""
    from tasks.audit.lookup.query import Query

    sha256 = _compute_sha256(path)
    if issued := index.find_issued_files(sha256):
        named = {(role, name): run for run, role, name in issued}  # the same bytes are of one kind, whichever run issued them
        roles = dict.fromkeys(
            f"{_describe_role(index, run, role)} ({escape_terminal(name)})" for (role, name), run in named.items()
        )
        return Origin(replace(query, sha256=sha256), f"byte for byte {' and '.join(roles)} of:")
    source = compute_source_digest(path)
    if source is not None and index.count(Query(source_file=source)):
        return Origin(replace(query, source_file=source), "not issued by any run; it is the source of:")
    if source is not None and index.count(Query(adopted=source)):
        words = "not issued by any run; it is the table, masked elsewhere, that was adopted by:"
        return Origin(replace(query, adopted=source), words)
    return _find_same_content(index, path, query)


def _describe_role(index: Index, run: str, role: str) -> str:
    """What a file was to the run that issued it, in words."""
    if role != "released":
        return _ROLES[role]
    return f"the released {'model' if _is_model_run(index, run) else 'table'}"


def _is_model_run(index: Index, run: str) -> bool:
    from flows.cli.audit.run_descriptions import is_model

    ended = index.run(run).ending
    return ended is not None and ended.released is not None and is_model(ended.released)


_ROLES = {
    "document": "a document",
    "certificate": "the signed certificate or statement",
    "approval": "an approval",
    "revocation": "a revocation",
}


def compute_source_digest(path: Path) -> str | None:
    """The keyed digest that `tasks.ingest.task.source_digest` gives a source of this one file; None in a home without a key."""
    from flows.cli.audit.run_descriptions import find_store_key

    key = find_store_key()
    if key is None:
        return None
    mac = hmac.new(key, digestmod=hashlib.sha256)
    with open_regular_file(path) as file:
        while piece := file.read(1 << 20):
            mac.update(piece)
    return hmac.new(key, mac.hexdigest().encode(), hashlib.sha256).hexdigest()


def _compute_sha256(path: Path) -> str:
    try:
        if path.is_file():
            with open_regular_file(path) as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        what = "this is not a file" if path.exists() else "there is no such file"
    except OSError as error:
        what = f"the file cannot be read ({error.strerror})"
    raise InputError("no-file", f"{WHERE} FILE", what, "a released file, a document, a certificate or a source",
                     "give the path of a file; runs are found by `--release` and the like", str(path))  # fmt: skip


def _find_same_content(index: Index, path: Path, query: Query) -> Origin:
    """The same data in another format, or what comes nearest. Imports the readers of tables, which take a second."""
    shape = _find_shape(path)
    of_shape = [] if shape is None else index.contents_of_shape(shape)
    models = {run for run, _ in of_shape[:_CANDIDATES] if _is_model_run(index, run)}
    candidates = [(run, address) for run, address in of_shape if run not in models]
    content = read_file(path, LARGEST_TABLE) if candidates else b""
    for run, address in candidates[:_CANDIDATES]:
        same = _find_same_data(content, path.name, index.run(run))
        if same is not None:
            beyond = f"; the file also holds {'; '.join(map(escape_terminal, same.not_covered))}" if same.not_covered else ""
            words = f"other bytes, the same data (read as {same.read_as}{beyond}), released by:"
            return Origin(replace(query, content_address=address), words)
    return Origin(None, _describe_nearest(index, path, [run for run, _ in candidates]))


def _find_same_data(content: bytes, name: str, found: RunEntries) -> SameData | None:
    """How a file was read to be the same data as a run's released table; None where it is other data."""
    from tasks.audit.certificates.same_content import OtherData, compare_content
    from tasks.report.predicate import FileClaim

    table = None if found.ending is None else found.ending.released
    try:
        return None if table is None else compare_content(content, name, FileClaim.model_validate(table.model_dump()))
    except OtherData:
        return None


def _find_shape(path: Path) -> str | None:
    """A name for the file's columns and number of rows; None where it is no table."""
    from tasks.audit.lookup.index_rows import alike
    from tasks.ingest.sources import read_content

    try:
        if path.stat().st_size > LARGEST_TABLE:
            return None
        table = read_content(read_file(path, LARGEST_TABLE), path.name).table
    except (InputError, OSError, MemoryError):
        return None
    return alike(table.num_rows, table.column_names)


def _describe_nearest(index: Index, path: Path, candidates: list[str]) -> str:
    explanation = "no release of this home has this content, and no run masked or adopted it"
    inside = path.resolve().parent.name
    if index.begin_so(inside) == [inside]:
        explanation += (
            f"; it lies in the folder of run {escape_terminal(inside)}, which issued no such file: it was changed, or put there"
        )
    elif candidates:
        runs = ", ".join(map(escape_terminal, candidates[:_SHOWN]))
        more = f" and {len(candidates) - _SHOWN} more" if len(candidates) > _SHOWN else ""
        of = f"the table of run {runs} has" if len(candidates) == 1 else f"the tables of runs {runs}{more} have"
        explanation += f"; {of} the same columns and as many rows"
    if len(candidates) > _CANDIDATES:
        explanation += f" (compared with the newest {_CANDIDATES} of {len(candidates)} contents)"
    return explanation


def _print(found: list[RunEntries], assessments: list[EntryAssessment], total: int, words: str) -> None:
    from rich.text import Text

    out = console()
    if words:
        out.print(Text(words), soft_wrap=True)
    if not found:
        return
    for row in trim_table(out, _create_table(found)):
        out.print(row, soft_wrap=True)
    for one, of_it in zip(found, assessments, strict=True):
        for line in of_it.lines():
            out.print(Text(f"{escape_terminal(one.run)}  {line}"), soft_wrap=True)
    if total > len(found):
        out.print(
            Text(f"{len(found)} of {total:,} runs: `--last {total}` shows all, `audit export` writes them"), soft_wrap=True
        )
    if len(found) == 1:
        from flows.cli.audit.show import print_essentials

        print_essentials(found[0])


def _create_table(found: list[RunEntries]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from flows.cli.audit.run_descriptions import describe_asker, find_release_name, format_moment, summarise_verdict

    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("run", "began (UTC)", "release", "verdict", "asked by"):
        table.add_column(column, no_wrap=column in ("run", "began (UTC)"), overflow="fold")
    for one in found:
        cells = (one.run, format_moment(one.began_at), find_release_name(one)[0], summarise_verdict(one), describe_asker(one))
        table.add_row(*(Text(escape_terminal(cell)) for cell in cells))
    return table
