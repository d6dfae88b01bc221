"""`sdcert`: the command line. Exit codes: 0 certified, 1 not certified, 2 wrong input, 3 something broke, 130 interrupted.

What the system refuses (no room on a disk, no right to a file) is a sentence and 2, whatever it was refused to.

Prefect, MLflow and the science are imported by the command that needs them, so that `--help` answers at once.
"""

from __future__ import annotations

import io
import secrets
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.commands.audit import audit
from flows.commands.backup import backup, restore
from flows.commands.calibrate import calibrate
from flows.commands.certificates import approve, revoke
from flows.commands.keys import keys
from flows.commands.serve import mlflow, serve
from flows.commands.store import store
from flows.commands.sweep import sweep, sweeps
from flows.commands.tell import tell
from flows.commands.watch import quarantine, watch
from tasks.microdata.errors import InputError, PlaceAway

CERTIFIED, NOT_CERTIFIED, WRONG_INPUT, BROKEN, INTERRUPTED = 0, 1, 2, 3, 130

app = typer.Typer(
    help="Mask a table of microdata, attack it as an intruder would, measure risk and loss, and certify the release.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(audit, name="audit")
app.add_typer(keys, name="keys")
app.add_typer(store, name="store")
app.add_typer(sweep, name="sweep")
app.add_typer(tell, name="tell")
app.add_typer(quarantine, name="quarantine")
ReleaseFile = Annotated[Path, typer.Argument(help="the release file (YAML)", metavar="RELEASE.yaml", show_default=False)]


def _version(asked: bool) -> None:
    if asked:
        import importlib.metadata

        typer.echo(f"sdcert {importlib.metadata.version('sdcert')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")] = False,
) -> None:
    """Certify releases of statistical microdata."""


@app.command()
def certify(
    release: ReleaseFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="where the release folder is made: OUTPUT/<name>/<run>/")
    ] = Path("releases"),
    as_json: Annotated[bool, typer.Option("--json", help="print the scorecard on stdout; messages stay on stderr")] = False,
    refresh: Annotated[bool, typer.Option(help="compute every stage again, with the same seed")] = False,
    new_draw: Annotated[bool, typer.Option(help="draw a new seed: a new attempt, counted as one in the statement")] = False,
) -> int:
    """Certify a release: mask, attack, score, decide, report. Exit code 0 certified, 1 not certified."""
    from flows.console.certify import certify_release

    return certify_release(release, output, as_json=as_json, refresh=refresh, new_draw=new_draw)


@app.command()
def check(
    release: ReleaseFile,
    answer: Annotated[
        bool,
        typer.Option("--answer", help="first ask the open questions of the file one by one, and write the answers into it"),
    ] = False,
    upgrade: Annotated[
        bool,
        typer.Option(
            "--upgrade",
            help="write the lines that the policy lacks into the file, as open questions, which --answer then asks",
        ),
    ] = False,
) -> int:
    """What a release file would do with its table, and what is still to be decided. Masks nothing."""
    if upgrade:
        from flows.console.upgrade import upgrade as upgrade_file

        upgrade_file(release)
        if not answer:
            return 0
    from flows.console.check import print_plan

    if answer:
        from flows.console.answer import answer_questions

        answer_questions(release)

    return print_plan(release)


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
    from flows.console.draft.draft import init_release

    return init_release(table, output, name, force=force, environment=environment)


@app.command()
def compare(
    runs: Annotated[
        list[str],
        typer.Argument(help="run ids, their beginnings, or names of releases", metavar="RUN RUN ...", show_default=False),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="print the comparison on stdout as JSON")] = False,
) -> int:
    """Two or more runs side by side: verdict, masking, risks, losses."""
    from flows.console.compare.compare import compare_runs

    return compare_runs(runs, as_json=as_json)


@app.command()
def verify(
    file: Annotated[
        Path,
        typer.Argument(help="the released table, in any format, or its report", metavar="RELEASED_FILE", show_default=False),
    ],
    certificate: Annotated[
        Path | None, typer.Option(help="default: certificate.json, else statement.json, beside the file", show_default=False)
    ] = None,
    key: Annotated[
        list[Path] | None,
        typer.Option(
            help="the issuer's public key (PEM) or trust file; repeatable; default: the keys of the private folder",
            metavar="PUB",
            show_default=False,
        ),
    ] = None,
    at: Annotated[
        str | None, typer.Option(help="judge as of this date (2028-11-21); default: now", metavar="DATE", show_default=False)
    ] = None,
    content_only: Annotated[
        bool, typer.Option("--content-only", help="of other bytes compare the table alone; what else the file holds is listed")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the checks on stdout as JSON")] = False,
) -> int:
    """Is a released file what its certificate says? Offline; reads only. Exit code 0 it matches, 1 it does not.

    Bytes are compared first. Where they differ, the table in the file is compared, in whatever format it is; a file that holds
    more than the table (metadata, labels, comments, hidden members of an archive) matches with --content-only alone.
    """
    from flows.console.verify import verify as verify_released

    return verify_released(file, certificate, key or [], at, as_json=as_json, content_only=content_only)


app.command()(approve)
app.command()(revoke)


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="print the findings on stdout as JSON")] = False) -> int:
    """What is ready, what is missing, what is not protected. Exit code 0 if nothing failed, 1 if something did."""
    from flows.console.doctor.doctor import examine

    return examine(as_json=as_json)


@app.command()
def runs(
    last: Annotated[int, typer.Option(help="how many", min=1)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="print them on stdout as JSON")] = False,
) -> int:
    """The last releases: when, which, verdict (`revoked` once its certificate is), the deciding figures."""
    from flows.console.tables import print_runs

    return print_runs(last, as_json=as_json)


app.command()(sweeps)
app.command()(calibrate)
app.command()(serve)
app.command()(mlflow)
app.command()(watch)
app.command()(backup)
app.command()(restore)


@app.command()
def methods(
    stage: Annotated[str | None, typer.Argument(help="mask, attack, membership or score", show_default=False)] = None,
) -> int:
    """The methods of a stage, and their parameters. Masks: also what an intruder who knows them can do."""
    from flows.console.tables import print_methods

    return print_methods(stage)


@app.command()
def datasets() -> int:
    """The tables that have a name, for trying things out."""
    from flows.console.tables import print_datasets

    return print_datasets()


def main() -> None:
    """Entry point: run a command and turn whatever happens into one of the five exit codes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that the terminal's encoding has no letters for
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command line; returns the exit code. Errors go to stderr, one message, without a traceback."""
    try:
        alone = arguments == [] or arguments in [[group.name] for group in app.registered_groups]
        code: Any = app(args=[*arguments, *(["--help"] if alone else [])], prog_name="sdcert", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        return _report_interruption()
    except BrokenPipeError:
        return _unread(arguments)
    except (Exception, SystemExit) as error:
        return explain(error, arguments)
    if code == INTERRUPTED:  # typer turns Ctrl-C into this code by itself
        return _report_interruption()
    return code if isinstance(code, int) else CERTIFIED


def _unread(arguments: list[str]) -> int:
    """The reader of the output is gone. Whoever asked for a verdict and did not read it is not told that it is good."""
    sys.stdout = None  # nothing may be flushed at exit
    verdict = arguments[:1] in (["certify"], ["verify"]) or arguments[1:2] == ["verify"]  # audit verify, store verify
    return BROKEN if verdict else CERTIFIED


def _report_interruption() -> int:
    sys.stderr.write("interrupted: a release folder appears whole or not at all; what was computed is kept for the next run\n")
    return INTERRUPTED


def explain(error: BaseException, arguments: list[str]) -> int:
    """Say what went wrong on stderr and return the exit code that it deserves."""
    real = getattr(error, "cause", None) or error
    if isinstance(real, SystemExit):  # rich says 1 where the reader of a pipe is gone; Prefect answers SIGTERM with another
        return _unread(arguments) if real.code == 1 else _report_interruption()
    if isinstance(real, InputError):
        return _report_input_error(real)
    if isinstance(real, PlaceAway):
        sys.stderr.write(f"error: {real}\n  to do:   run again when it answers; what was finished is kept\n")
        return BROKEN
    if hasattr(real, "format_message"):  # a wrong command line: click's UsageError, which typer carries in its own copy
        see = _help_for(arguments)
        from tasks.microdata.escaping import escape_terminal

        said = "\n".join(map(escape_terminal, real.format_message().splitlines()))
        sys.stderr.write(f"error: {said}\n  to do:   {see}\n")
        return WRONG_INPUT
    from tasks.runtime.failures import write_private_trace
    from tasks.runtime.refusals import find_system_refusal
    from tasks.runtime.settings import Home, prepare_environment

    refused = find_system_refusal(error, Home.current().root)
    if refused is not None:
        return _report_input_error(refused)
    token = getattr(error, "token", None) or secrets.token_hex(8)
    try:
        home = prepare_environment()
        if not (home.root / "failures" / f"{token}.txt").exists():
            write_private_trace("command", token, real)
        details = f"{home.root / 'failures' / token}.txt (private: may hold source values)"
    except (OSError, InputError):
        details = "the private folder cannot be written, so no details were kept"
    sys.stderr.write(
        f"error: something broke in the program ({type(real).__name__})\n"
        f"  details: {details}\n"
        "  to do:   run again; if it happens again, report it with the details that hold no value\n"
    )
    return BROKEN


def _report_input_error(error: InputError) -> int:
    from flows.scheduled.command_requests import note_code

    note_code(error.public)
    sys.stderr.write(f"error: {error}\n")
    return WRONG_INPUT


def _help_for(arguments: list[str]) -> str:
    """Where a wrong command line finds help: the command it named, or the list of those there are."""
    group, words, known = app, ["sdcert"], _commands_of(app)
    for word in arguments:
        if word not in known:
            continue
        words.append(word)
        inner = next((one.typer_instance for one in group.registered_groups if one.name == word), None)
        if inner is None:
            return f"see `{' '.join(words)} --help`"
        group, known = inner, _commands_of(inner)
    return f"the commands are {', '.join(known)}; see `{' '.join(words)} --help`"


def _commands_of(group: typer.Typer) -> list[str]:
    named = [one.name or one.callback.__name__ for one in group.registered_commands if one.callback is not None]
    return [*named, *(one.name for one in group.registered_groups if one.name is not None)]


if __name__ == "__main__":
    main()
