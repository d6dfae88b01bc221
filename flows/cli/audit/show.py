"""`sdcert audit show`: what went in, what was done, by which program, who asked, what decided, and what came of it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.audit.group import group
from flows.cli.completion import complete_run
from flows.cli.terminal import console, trim_table
from flows.run.criterion_text import describe_criterion
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal

if TYPE_CHECKING:
    from flows.cli.audit.private_manifest import PrivateManifest
    from flows.cli.audit.run_descriptions import EntryAssessment
    from tasks.audit.ledger.entries import Entry, ReleaseApproved, ReleasedTable, RunEnded
    from tasks.audit.ledger.ledger import LedgerLine
    from tasks.audit.lookup.index import Index
    from tasks.audit.lookup.index_rows import RunEntries

WHERE = "sdcert audit show ID"
FAMILY = "Other certified releases about the same persons"
SHORTEST_DIGEST, LONGEST_NUMBER = 8, 20
GOOD, NOT_GOOD = 0, 1
_DIGEST = re.compile(rf"[0-9a-f]{{{SHORTEST_DIGEST},64}}")
Facts = Iterable[tuple[str, str]]


@group.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            help="a run id or its beginning, an entry's number, or the SHA-256 of a certificate or a file that was issued",
            metavar="ID",
            show_default=False,
            autocompletion=complete_run,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="print the entries on stdout as JSON")] = False,
) -> int:
    """What went in, what was done, by which program, who asked, what decided. Exit code 1 if a signature is not good."""
    from flows.cli.audit.run_descriptions import assess_entries, open_trail_index, trust_in

    with open_trail_index() as index:
        number = _number(name, index)
        if number is not None:
            return _show_entry(index, number, as_json=as_json)
        found = index.run(_find_run_of_digest(index, name) or name)
        lines = index.lines_of(found)
        assessment = assess_entries(lines, trust_in(index))
    family = _list_family(found)
    if as_json:
        _print_json(found, lines, assessment, family)
    else:
        _print(found, lines, assessment, family)
    return NOT_GOOD if assessment.doubts else GOOD


def _number(name: str, index: Index) -> int | None:
    """An entry's number: `#12`, or digits that are no beginning of a run."""
    if len(name) > LONGEST_NUMBER:
        return None
    if name.startswith("#") and name[1:].isdecimal():
        return int(name[1:])
    plain = name.isdecimal() and name.isascii()
    return int(name) if plain and (int(name) < index.size or not index.begin_so(name)) else None


def _find_run_of_digest(index: Index, name: str) -> str | None:
    """The run that signed the certificate of this SHA-256, or of its beginning, or that issued a file of it."""
    from tasks.audit.lookup.query import Query

    if _DIGEST.fullmatch(name) is None:
        return None
    issued = dict.fromkeys(run for run, _, _ in index.find_issued_files(name))
    certified = dict.fromkeys(found.run for found in index.find(Query(certificate=name, last=3)))
    runs = list(issued or certified)
    if len(runs) > 1:
        shown = ", ".join(runs[:3])
        raise InputError("ambiguous-digest", WHERE, "more than one run issued a file of this digest", shown,
                         "name one of the runs", name)  # fmt: skip
    return runs[0] if runs else None


def _show_entry(index: Index, number: int, *, as_json: bool) -> int:
    from rich.text import Text

    from flows.cli.audit.run_descriptions import format_moment, trust_in
    from tasks.audit.lookup.index_rows import find_run, find_signer

    line, entry = index.entry(number)
    trust = trust_in(index)
    why, note = escape_terminal(trust.doubt(line, entry)), escape_terminal(trust.note(line, entry, find_signer(line.content)))
    assessment = None if entry is None else entry.model_dump(mode="json")
    if as_json:
        shown = {"number": number, "leaf": line.leaf.hex(), "doubt": why, "note": "" if why else note, "entry": assessment}
        sys.stdout.write(json.dumps(shown, indent=1) + "\n")
        return NOT_GOOD if why else GOOD
    out = console()
    out.print(Text(f"Entry {number} of {index.size:,}{'' if entry is None else f', {format_moment(entry.at)} UTC'}"))
    good = f"note: {note}" if note else "Signed by a key of this home, as it was written."
    out.print(Text(f"NOT TO BE BELIEVED: {why}" if why else good), soft_wrap=True)
    run = None if entry is None else find_run(entry.event)
    if run is not None:
        out.print(Text(f"About run {escape_terminal(run)}: `sdcert audit show {escape_terminal(run)}`"), soft_wrap=True)
    if assessment is not None:
        out.print(Text(json.dumps(assessment, indent=1)), soft_wrap=True)
    return NOT_GOOD if why else GOOD


def _list_family(found: RunEntries) -> list[dict[str, Any]]:
    """The other certified releases about the same persons; empty where the run released nothing."""
    from flows.cli.family_text import list_family

    return list_family(found.run) if found.ending is not None and found.ending.is_release else []


def print_family(family: list[dict[str, Any]] | None) -> None:
    """Print the other certified releases about the same persons, if there are any."""
    from flows.cli.family_text import describe_family

    _print_section(FAMILY, describe_family(family or ()))


def _print_json(
    found: RunEntries, lines: list[tuple[LedgerLine, Entry | None]], of_it: EntryAssessment, family: list[dict[str, Any]]
) -> None:
    from flows.cli.audit.private_manifest import manifest_path
    from flows.cli.audit.run_descriptions import summarise_run

    entries = [
        {"number": line.index, "leaf": line.leaf.hex(), **entry.model_dump(mode="json")} for line, entry in lines if entry
    ]
    assessment = {
        "run": summarise_run(found, of_it),
        "manifest": str(manifest_path(found.run)),
        "entries": entries,
        "family": family,
    }
    sys.stdout.write(json.dumps(assessment, indent=1) + "\n")


def _print(
    found: RunEntries,
    lines: list[tuple[LedgerLine, Entry | None]],
    assessment: EntryAssessment,
    family: list[dict[str, Any]],
) -> None:
    from rich.text import Text

    from flows.cli.audit.run_descriptions import find_release_name, summarise_verdict

    out = console()
    release, series = find_release_name(found)
    of_series = f" (series {series})" if series != release else ""
    out.print(
        Text(escape_terminal(f"{found.run}  {release}{of_series}  {summarise_verdict(found, capitals=True)}")), soft_wrap=True
    )
    for line in assessment.lines():
        out.print(Text(line), soft_wrap=True)
    for title, facts in list_sections(found, private=True):
        _print_section(title, facts)
    print_family(family)
    signed = "" if assessment.doubts else ", each signed by a key of this home"
    _print_section(
        f"Entries of the ledger, by their leaf hashes{signed}",
        ((f"{line.index}", _describe_entry(line, entry)) for line, entry in lines),
    )


def print_essentials(found: RunEntries) -> None:
    """What a single hit of a search is about, and how to see the rest."""
    from rich.text import Text

    _print_section("", _list_essentials(found))
    console().print(Text(f"\nThe rest: `sdcert audit show {escape_terminal(found.run)}`"), soft_wrap=True)


def _print_section(title: str, facts: Facts) -> None:
    from rich.table import Table
    from rich.text import Text

    rows = list(facts)
    if not rows:
        return
    shown = Table.grid(padding=(0, 2))
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    for what, value in rows:
        shown.add_row(Text(f"  {escape_terminal(what)}"), Text(escape_terminal(value)))
    console().print(Text(f"\n{title}" if title else ""), soft_wrap=True)
    for line in trim_table(console(), shown):
        console().print(line, soft_wrap=True)


def list_sections(found: RunEntries, *, private: bool) -> Iterator[tuple[str, Facts]]:
    """What the ledger says of a run, what decided first: titles with facts. private: also what its private papers say.

    What each stage made is in the entries alone (`sdcert audit show --json`).
    """
    from flows.cli.audit.private_manifest import PrivateManifest

    papers = PrivateManifest(found) if private else None
    if found.ending is not None:
        yield "What decided", (*_describe_criteria(found.ending), *(papers.policy() if papers else ()))
    yield "What happened since", _describe_later_events(found)
    yield "Who asked", _list_request_facts(found)
    yield "What went in", _describe_inputs(found, papers)
    if papers is not None:
        yield "The model", papers.model()
    if found.ending is not None:
        done = (*papers.masks(), *papers.epsilon()) if papers else ()
        yield "What was done to the attributes", (*_describe_attributes(found.ending), *done)
        yield "What came out", _describe_outputs(found.ending)
    yield "Attempts: written down before each masking", _describe_attempts(found)
    yield "By which program", _describe_program(found)
    if papers is not None:
        yield "Private papers", papers.where()


def _list_essentials(found: RunEntries) -> Iterator[tuple[str, str]]:
    yield from _list_request_facts(found)
    if found.ending is not None:
        faults = [line for line in found.ending.criteria if line.get("decision") != "pass"]
        yield "policy", f"{len(found.ending.criteria) - len(faults)} of {len(found.ending.criteria)} lines kept"
        yield from ((str(line.get("decision")), _format_criterion(line)) for line in faults)
        yield from _describe_outputs(found.ending)
    yield from _describe_later_events(found)


def _list_request_facts(found: RunEntries) -> Iterator[tuple[str, str]]:
    from flows.cli.audit.run_descriptions import format_moment

    yield "began", f"{format_moment(found.began_at)} UTC"
    yield from (("ended", f"{format_moment(at)} UTC") for at in (found.end_time,) if at is not None)
    if found.began is None:
        return
    asked = found.began.asked_by
    yield "user", f"{asked.user} at {asked.host}"
    yield from (("deployment", name) for name in (asked.deployment,) if name)
    yield from (("flow run", name) for name in (asked.flow_run,) if name)


def _describe_inputs(found: RunEntries, papers: PrivateManifest | None) -> Iterator[tuple[str, str]]:
    dataset = None if found.began is None else found.began.dataset
    yield from (("data set", name) for name in (dataset,) if name)
    yield from (("source", name) for name in ("" if papers is None else papers.source(),) if name and name != dataset)
    if found.began is not None:
        yield "release file", found.began.spec
    for source in dict.fromkeys((one.source_file, one.source) for one in found.attempts):
        yield "source, keyed digest", source[0]
        yield "as a table", source[1]


def _describe_program(found: RunEntries) -> Iterator[tuple[str, str]]:
    if found.began is not None:
        made = found.began.made_by
        yield "sdcert", f"{made.version}, Python {made.python}"
        yield from (("source files", made.code), ("requirements.lock", made.lock), ("installed", made.platform))


def _describe_attempts(found: RunEntries) -> Iterator[tuple[str, str]]:
    for one in found.attempts:
        yield f"number {one.attempts}", f"of series {one.series} on this source"
        yield from (("masking", one.masking), ("draw", f"{one.draw} (names the secret seed; it is not the seed)"),
                    ("policy", one.policy))  # fmt: skip


def _describe_attributes(ended: RunEnded) -> Iterator[tuple[str, str]]:
    """Those of one role that were masked alike in one line."""
    alike: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for one in ended.attributes:
        became = "published" if one.published else "taught the model" if one.taught else "not published"
        alike.setdefault((became, one.role, one.masks), []).append(one.name)
    for (became, role, masks), names in alike.items():
        yield became, f"{', '.join(names)}: {role}, {', then '.join(masks) or 'not masked'}"


def _describe_criteria(ended: RunEnded) -> Iterator[tuple[str, str]]:
    return ((str(line.get("decision")), _format_criterion(line)) for line in ended.criteria)


def _format_criterion(line: dict[str, Any]) -> str:
    try:
        return describe_criterion(line)
    except (KeyError, TypeError, ValueError, AttributeError):  # of another version
        return json.dumps(line)


def _describe_outputs(ended: RunEnded) -> Iterator[tuple[str, str]]:
    from flows.cli.audit.run_descriptions import format_moment

    table = ended.released
    if ended.not_for_publication:
        yield "rehearsal", "not for publication, whatever the verdict"
    if table is not None:
        yield table.name, f"{_describe_training(table)}{table.rows:,} rows, {len(table.columns)} columns"
        yield "  SHA-256", table.sha256
        yield "  content", table.content_address
    yield from ((document.name, document.sha256) for document in ended.documents)
    word = "certificate" if ended.is_release else "signed statement"
    named = ((word, ended.certificate), ("the series' one before", ended.previous_certificate),
             ("attack catalogue", ended.attack_catalogue_version))  # fmt: skip
    yield from ((what, value) for what, value in named if value is not None)
    yield from (("review by", f"{format_moment(at)} UTC") for at in (ended.review_by,) if at is not None)


def _describe_training(released: ReleasedTable) -> str:
    """Of a model, what it predicts, which is the last of its columns, before the table that it was trained on."""
    from flows.cli.audit.run_descriptions import is_model

    if not is_model(released):
        return ""
    return f"predicts {released.columns[-1].name}; trained on " if released.columns else "trained on "


def _describe_later_events(found: RunEntries) -> Iterator[tuple[str, str]]:
    from flows.cli.audit.run_descriptions import format_moment
    from tasks.audit.ledger.entries import CertificateRevoked, ReleaseApproved, RunReplayed

    for _, entry in found.entries:
        match entry.event:
            case ReleaseApproved() as approved:
                yield "approved", f"{format_moment(entry.at)} UTC, {_describe_approval(approved)}"
            case CertificateRevoked() as revoked:
                who = f"{revoked.asked_by.user} at {revoked.asked_by.host}"
                yield "REVOKED", f"{format_moment(entry.at)} UTC, by {who}: {revoked.reason}"
            case RunReplayed() as replayed:
                differs = f": {', '.join(replayed.differs)}" if replayed.differs else ""
                causes = f" (because of {', '.join(replayed.causes)})" if replayed.causes else ""
                yield "replayed", f"{format_moment(entry.at)} UTC, {replayed.outcome}{differs}{causes}"


def _describe_approval(approved: ReleaseApproved) -> str:
    words = "independence not assessed"
    if isinstance(approved.independent, bool):
        words = "independent" if approved.independent else "NOT independent"
    flags = "".join(f"; {flag}" for flag in approved.flags)
    return f"by {approved.by} as {approved.role} ({words}{flags}): {approved.reason}"


def _describe_entry(line: LedgerLine, entry: Entry | None) -> str:
    return "cannot be read" if entry is None else f"{entry.event.kind:8}  {line.leaf.hex()}"
