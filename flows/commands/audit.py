"""`sdcert audit ...`: the commands of the group. Each imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

audit = typer.Typer(
    help="The audit trail: what happened in this home, in entries that cannot be changed, removed or reordered unseen.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@audit.command()
def due(
    at: Annotated[
        str | None, typer.Option(help="as of this date (2028-11-21); default: now", metavar="DATE", show_default=False)
    ] = None,
    within: Annotated[
        int, typer.Option(help="also what is to be reviewed within so many days", min=0, max=36500, metavar="DAYS")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print them on stdout as JSON")] = False,
) -> int:
    """Certificates past their date of review, or older than the attacks known today. Exit code 0 none is due, 1 some are."""
    from flows.console.audit.due import print_due

    return print_due(at, within, as_json=as_json)


@audit.command()
def replay(
    run: Annotated[str, typer.Argument(help="a run id, or its beginning", metavar="RUN", show_default=False)],
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
    as_json: Annotated[bool, typer.Option("--json", help="print the comparison on stdout as JSON")] = False,
) -> int:
    """Compute a run again from its manifest and seed, and compare. Exit code 0 all is identical, 1 something differs."""
    from flows.console.audit.replay import replay_run

    return replay_run(run, source, released, file or (), as_json=as_json)


MOST = 1_000_000_000
Release = Annotated[str | None, typer.Option(help="the release of this name", metavar="NAME", show_default=False)]
Series = Annotated[str | None, typer.Option(help="releases of this series", metavar="NAME", show_default=False)]
Since = Annotated[str | None, typer.Option(help="begun on this day (UTC) or later", metavar="DATE", show_default=False)]
Until = Annotated[str | None, typer.Option(help="begun on this day (UTC) or earlier", metavar="DATE", show_default=False)]
Verdict = Annotated[
    str | None,
    typer.Option(help="certified, refused, undecided, failed, interrupted or running", metavar="VERDICT", show_default=False),
]
Dataset = Annotated[str | None, typer.Option(help="runs on this named table", metavar="NAME", show_default=False)]
Touching = Annotated[
    str | None, typer.Option(help="runs that masked or published this attribute", metavar="ATTRIBUTE", show_default=False)
]


@audit.command()
def find(
    file: Annotated[
        Path | None,
        typer.Argument(help="a released table, report, certificate or source: where is it from?", show_default=False),
    ] = None,
    release: Release = None,
    series: Series = None,
    since: Since = None,
    until: Until = None,
    verdict: Verdict = None,
    dataset: Dataset = None,
    touching: Touching = None,
    last: Annotated[int, typer.Option(help="at most so many, the newest", min=1, max=MOST)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="print them on stdout as JSON")] = False,
) -> int:
    """The runs that a file comes from, or that the options describe. Exit code 0 found, 1 not found."""
    from flows.console.audit.find import find_runs

    asked = {"release": release, "series": series, "since": since, "until": until}
    return find_runs(file, last=last, as_json=as_json, verdict=verdict, dataset=dataset, touching=touching, **asked)


@audit.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            help="a run id or its beginning, an entry's number, or the SHA-256 of a certificate or a file that was issued",
            metavar="ID",
            show_default=False,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="print the entries on stdout as JSON")] = False,
) -> int:
    """What went in, what was done, by which program, who asked, what decided. Exit code 1 if a signature is not good."""
    from flows.console.audit.show import show as show_run

    return show_run(name, as_json=as_json)


@audit.command()
def export(
    form: Annotated[str, typer.Option("--format", help="html (a page to browse), csv or jsonl", metavar="FORMAT")] = "html",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="the file to write; default: audit.FORMAT", show_default=False)
    ] = None,
    release: Release = None,
    series: Series = None,
    since: Since = None,
    until: Until = None,
    verdict: Verdict = None,
    dataset: Dataset = None,
    touching: Touching = None,
    last: Annotated[
        int | None, typer.Option(help="at most so many, the newest; default: all", min=1, max=MOST, show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="write over an existing file")] = False,
) -> int:
    """Write the runs of the audit trail to one file: names and digests, but no value of the data."""
    from flows.console.audit.export import export_runs

    asked = {"release": release, "series": series, "since": since, "until": until}
    return export_runs(form, output, last=last, force=force, verdict=verdict, dataset=dataset, touching=touching, **asked)


@audit.command()
def verify(
    witness: Annotated[
        list[Path] | None,
        typer.Option(help="what `audit witness` wrote, or a certificate; again for more", metavar="FILE", show_default=False),
    ] = None,
    key: Annotated[
        list[Path] | None,
        typer.Option(help="a public key or trust file to trust instead of this home's", metavar="FILE", show_default=False),
    ] = None,
    proof: Annotated[
        Path | None,
        typer.Option(help="check what `audit prove` wrote; needs no ledger", metavar="FILE", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the findings on stdout as JSON")] = False,
) -> int:
    """Is every entry there as it was signed, and in its place? Exit code 0 yes, 1 something was found, 2 there is no ledger."""
    from flows.console.audit.verify import verify as verify_audit_trail

    return verify_audit_trail(witness or (), key or (), proof, as_json=as_json)


@audit.command()
def witness(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="the file to write; default: stdout", metavar="FILE", show_default=False),
    ] = None,
) -> int:
    """Sign how many entries there are and their root, for somebody outside to keep."""
    from flows.console.audit.verify import witness as write_witness

    return write_witness(output)


@audit.command()
def prove(
    entry: Annotated[
        str | None, typer.Argument(help="an entry's index, or a run id or its beginning", metavar="ENTRY", show_default=False)
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(help="prove that the ledger still begins with what this witness saw", metavar="FILE", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="the file to write; default: stdout", metavar="FILE", show_default=False),
    ] = None,
) -> int:
    """Write a short proof about the ledger that can be checked without it: `audit verify --proof FILE --key FILE`."""
    from flows.console.audit.verify import prove as write_proof

    return write_proof(entry, since, output)
