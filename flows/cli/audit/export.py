"""`sdcert audit export`: the runs of the audit trail in one file: a page to browse, a table, or the entries themselves."""

from __future__ import annotations

import csv
import io
import json
import secrets
import sys
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.audit.group import MOST, DatasetOption, Release, Series, Since, Touching, Until, VerdictOption, group
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.suggestion import did_you_mean
from tasks.runtime.files import write_whole
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from flows.cli.audit.run_descriptions import EntryAssessment
    from tasks.audit.ledger.entries import Entry
    from tasks.audit.ledger.ledger import LedgerLine
    from tasks.audit.lookup.index import Index
    from tasks.audit.lookup.index_rows import RunEntries
    from tasks.audit.lookup.query import Query
    from tasks.audit.lookup.trail_page import PageRun, Section
    from tasks.audit.lookup.trust import Trust

WHERE = "sdcert audit export"
FORMATS = ("html", "csv", "jsonl")
FORMULA = tuple("=+-@\t\r\n|%\uff1d\uff0b\uff0d\uff20")
STDOUT = Path("-")


@group.command()
def export(
    form: Annotated[str, typer.Option("--format", help="html (a page to browse), csv or jsonl", metavar="FORMAT")] = "html",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="the file to write; default: audit.FORMAT", show_default=False)
    ] = None,
    release: Release = None,
    series: Series = None,
    since: Since = None,
    until: Until = None,
    verdict: VerdictOption = None,
    dataset: DatasetOption = None,
    touching: Touching = None,
    last: Annotated[
        int | None, typer.Option(help="at most so many, the newest; default: all", min=1, max=MOST, show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="write over an existing file")] = False,
) -> int:
    """Write the runs of the audit trail to one file: names and digests, but no value of the data."""

    asked = {"release": release, "series": series, "since": since, "until": until}
    return export_runs(form, output, last=last, force=force, verdict=verdict, dataset=dataset, touching=touching, **asked)


def export_runs(form: str, output: Path | None, *, last: int | None, force: bool, **asked: Any) -> int:
    """Write the runs that are asked for, or all. Exit code 1 where an entry among them is not to be believed.

    Raises InputError for a wrong filter, and for a file that is there. Checks every signature it exports: half a minute for
    100,000 entries.
    """
    from flows.cli.audit.run_descriptions import create_query, open_trail_index, trust_in

    if form not in FORMATS:
        remedy = did_you_mean(form, FORMATS, "choose one of these")
        raise InputError("no-such-format", f"{WHERE} --format", "no such format", ", ".join(FORMATS), remedy, form)
    path = output or Path(f"audit.{form}")
    _may_write(path, force=force)
    query = create_query(WHERE, last=last, **asked)
    with open_trail_index() as index:
        checked = _Checked(index, trust_in(index))
        content = {"html": _page, "csv": _table, "jsonl": _entries}[form](checked, query)
    _write(path, content, force=force)
    _tell(path, checked)
    return 1 if checked.doubtful else 0


class _Checked:
    """The runs of an index with what speaks against each, and how much was read and doubted so far."""

    def __init__(self, index: Index, trust: Trust) -> None:
        self.index = index
        self.trust = trust
        self.seen: Counter[str] = Counter()

    @property
    def doubtful(self) -> int:
        return self.seen["doubtful"]

    def runs(self, query: Query) -> Iterator[tuple[RunEntries, EntryAssessment, list[tuple[LedgerLine, Entry]]]]:
        from flows.cli.audit.run_descriptions import assess_entries

        for found, lines in self.index.each(query):
            assessment = assess_entries(lines, self.trust)
            self.seen.update(runs=1, entries=len(lines), doubtful=assessment.doubtful, noted=assessment.noted)
            yield found, assessment, lines


def _page(checked: _Checked, query: Query) -> bytes:
    from flows.cli.audit.run_descriptions import when
    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.lookup.trail_page import PageOrigin, page

    runs = [_create_page_run(found, assessment) for found, assessment, _ in checked.runs(query)]
    ledger = Ledger(Home.current().root / "ledger")
    try:
        head = ledger.head()
        known = (head.ledger or "none yet", head.size, head.root)
    except InputError as error:
        known = ("damaged", checked.index.size, error.what)
    shown = PageOrigin(
        *known, when(datetime.now(UTC)), _describe_query(query, len(runs)), checked.doubtful, checked.seen["noted"]
    )
    return page(shown, runs).encode()


def _describe_query(query: Query, runs: int) -> str:
    """Which runs the page holds, in words."""
    from flows.cli.audit.run_descriptions import when

    named = {"release": query.release, "series": query.series, "verdict": query.verdict, "data set": query.dataset,
             "touching": query.touching, "since": when(query.since), "until before": when(query.until)}  # fmt: skip
    assessment = [f"{name} {escape_terminal(value)}" for name, value in named.items() if value]
    many = "all runs"
    if query.last is not None and runs == query.last:
        many = "the newest run" if runs == 1 else f"the newest {runs:,} runs"
    return f"{many}{': ' if assessment else ''}{', '.join(assessment)}"


def _format_count(n: int, what: str, many: str = "") -> str:
    return f"{n:,} {what if n == 1 else many or what + 's'}"


def _create_page_run(found: RunEntries, assessment: EntryAssessment) -> PageRun:
    from flows.cli.audit.run_descriptions import describe_asker, describe_verdict, find_release_name, summarise_verdict
    from tasks.audit.lookup.trail_page import PageRun

    release, series = find_release_name(found)
    return PageRun(
        run=escape_terminal(found.run),
        began=int(found.began_at.timestamp()),
        release=escape_terminal(release),
        series=escape_terminal(series),
        verdict=describe_verdict(found),
        words=escape_terminal(summarise_verdict(found)),
        dataset=escape_terminal((found.began.dataset if found.began is not None else None) or ""),
        asker=escape_terminal(describe_asker(found)),
        doubt="; ".join(assessment.doubts),
        note="; ".join(assessment.notes),
        sections=tuple(_sections(found)),
    )


def _sections(found: RunEntries) -> Iterator[Section]:
    from flows.cli.audit.show import sections

    numbers = ", ".join(str(number) for number, _ in found.entries)
    for title, facts in (*sections(found, private=False), ("Entries of the ledger", [("numbers", numbers)])):
        shown = tuple((_inert(what), _inert(value)) for what, value in facts)
        if shown:
            yield title, shown


def _inert(text: str) -> str:
    return text if text.isprintable() else escape_terminal(text)


def _table(checked: _Checked, query: Query) -> bytes:
    """One line a run. A cell that a spreadsheet would compute begins with an apostrophe; what does not print is written out."""
    from flows.cli.audit.run_descriptions import summarise_run

    text = io.StringIO()
    rows = (summarise_run(found, assessment) for found, assessment, _ in checked.runs(query))
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue().encode()


COLUMNS = ("run", "release", "series", "began_at", "ended_at", "verdict", "stage", "code", "not_for_publication", "dataset",
           "user", "host", "deployment", "attempts", "released_file", "released_sha256", "content_address", "rows",
           "certificate", "review_by", "approvals", "revoked", "replays", "entries", "doubts", "notes")  # fmt: skip


def _cell(value: Any) -> str:
    text = "" if value is None else "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = json.dumps(value) if isinstance(value, bool) else text
    return f"'{escape_terminal(text)}" if text.lstrip(" ").startswith(FORMULA) else escape_terminal(text)


def _entries(checked: _Checked, query: Query) -> bytes:
    """What each entry says, as it was signed, oldest first; without filters also the entries about keys."""
    from flows.cli.audit.run_descriptions import assess_entries
    from tasks.audit.lookup.query import Query

    if query == Query():
        lines = [checked.index.entry(number) for number in range(checked.index.size)]
        checked.seen.update(entries=len(lines), doubtful=assess_entries(lines, checked.trust).doubtful)
    else:
        lines = sorted((line for _, _, lines in checked.runs(query) for line in lines), key=lambda line: line[0].index)
    return b"".join(b64decode(json.loads(line.content)["payload"]) + b"\n" for line, entry in lines if entry is not None)


def _may_write(path: Path, *, force: bool) -> None:
    if path != STDOUT and not force and path.exists():
        raise InputError("file-exists", f"{WHERE} --output", "there is such a file", "a file that is not there yet",
                         "name another one, or write over it with `--force`", str(path))  # fmt: skip


def _write(path: Path, content: bytes, *, force: bool) -> None:
    """The file whole, readable by its owner alone, and in place of another only if that was asked for."""
    if path == STDOUT:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        write_whole(draft, content)
        if force:
            draft.replace(path)
        else:
            path.hardlink_to(draft)
    except FileExistsError:
        _may_write(path, force=False)
    except OSError as error:
        what, allowed = f"the file cannot be written ({error.strerror})", "a folder that you may write, with room"
        remedy = "name another file with `-o`"
        raise InputError("not-written", f"{WHERE} --output", what, allowed, remedy, str(path)) from None
    finally:
        draft.unlink(missing_ok=True)


def _tell(path: Path, checked: _Checked) -> None:
    shown = _format_count(checked.seen["entries"], "entry", "entries")
    shown += f" of {_format_count(checked.seen['runs'], 'run')}" if checked.seen["runs"] else ""
    where = "" if path == STDOUT else f" to {escape_terminal(str(path))}"
    sys.stderr.write(f"wrote {shown}{where}\n")
    if checked.doubtful:
        sys.stderr.write(f"warning: {checked.doubtful:,} of them not to be believed: run `sdcert audit verify`\n")
