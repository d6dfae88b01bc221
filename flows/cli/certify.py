"""`sdcert certify`: run the certification flow, show its progress, and report the verdict."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.root import MemoryOption, ReleaseFileArgument, app
from flows.cli.terminal import tell_many_columns, terminal
from flows.run.criterion_text import describe_criterion
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.regular_files import read_text_file

if TYPE_CHECKING:
    from rich.console import Console

BYTES_INSIDE = 200  # of the names of a release folder and of what is written in it


@app.command()
def certify(
    release: ReleaseFileArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="where the release folder is made: OUTPUT/<name>/<run>/")
    ] = Path("releases"),
    as_json: Annotated[bool, typer.Option("--json", help="print the scorecard on stdout; messages stay on stderr")] = False,
    refresh: Annotated[bool, typer.Option(help="compute every stage again, with the same seed")] = False,
    new_draw: Annotated[bool, typer.Option(help="draw a new seed: a new attempt, counted as one in the statement")] = False,
    memory: MemoryOption = None,
) -> int:
    """Certify a release: mask, attack, score, decide, report. Exit code 0 certified, 1 not certified."""
    done = certify_file(release, output, refresh=refresh, new_draw=new_draw, memory=memory)
    scorecard = json.loads(read_text_file(Path(done["folder"]) / "scorecard.json"))
    if as_json:
        sys.stdout.write(json.dumps(scorecard, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    print_verdict(terminal(stderr=as_json, soft_wrap=True), scorecard, Path(done["folder"]))
    return 0 if scorecard["verdict"] == "certified" else 1


def certify_file(
    path: Path, output: Path, *, refresh: bool = False, new_draw: bool = False, memory: str | None = None
) -> dict[str, str]:
    """Run the flow on a release file; returns the run, its verdict and its folder. InputError has the line of the file.

    memory: what the run may take, as `12GB`; None: what the machine has left. A run that would clearly take more is refused.
    """
    from flows.cli.advice.memory_check import refuse_too_large
    from flows.release_file import load_release, locate_error
    from tasks.runtime.failures import StageFailure
    from tasks.runtime.memory_gate import memory_gate
    from tasks.runtime.memory_left import parse_memory

    release = load_release(path)
    warning = refuse_too_large(release, path, memory)
    if warning is not None:
        terminal(stderr=True, soft_wrap=True).print(f"warning: {warning}")
    memory_gate.allow(None if memory is None else parse_memory(memory))
    try:
        return certify_loaded(release, path, output, refresh=refresh, new_draw=new_draw)
    except StageFailure as failure:
        raise (locate_error(failure.cause, path) if isinstance(failure.cause, InputError) else failure) from None


def certify_loaded(release: Any, path: Path, output: Path, *, refresh: bool = False, new_draw: bool = False) -> dict[str, str]:
    """Run the flow on a release that was read from a file, and tell how it goes on stderr; returns what the flow does."""
    from flows.cli.terminal import find_passphrase_prompt
    from flows.run.progress import Lines, listener
    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.signing.keys import open_signing_key
    from tasks.ingest.external_table import relocate_errors
    from tasks.ingest.sources import reachable
    from tasks.runtime.settings import Home

    for source in filter(None, (release.source, release.released)):
        reachable(source)  # a missing source is told before Prefect starts
    for i, file in enumerate(release.intruder.files):
        with relocate_errors(f"intruder.files[{i}]"):
            reachable(file)
    _check_output(output, release.name)
    Ledger.current().refuse_clock_behind()
    has_releases = Ledger.current().exists()
    open_signing_key(ask=find_passphrase_prompt())  # a locked key is asked for now, or told, and not after the work
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    console = terminal(stderr=True, soft_wrap=True)
    console.print(f"sdcert: release {release.name} ({escape_terminal(str(path))})")
    if not has_releases:
        home = escape_terminal(str(Home.current().root))
        console.print(f"no release was decided yet in this home: {home} ($SDCERT_HOME names another). It keeps the key, "
                      "the seeds and the ledger, and knows no release of another home.")  # fmt: skip
    tell_many_columns(len(release.attributes))
    lines = Lines(console)
    token = listener.set(lines)
    try:
        return _run(release, output, refresh=refresh, new_draw=new_draw)
    finally:
        listener.reset(token)
        lines.close()


def _run(release: Any, output: Path, *, refresh: bool, new_draw: bool) -> dict[str, str]:
    from flows.home_server.connection import use_prefect_server
    from flows.run.progress import listener

    listener.get().begin_step("starting Prefect")
    with use_prefect_server() as wait_until_it_answers:
        from flows.certify import certify_tagged

        wait_until_it_answers()
        return certify_tagged(release, output=str(output), refresh=refresh, new_draw=new_draw)


def _check_output(output: Path, release: str) -> None:
    from flows.run.publish import refuse_link

    _refuse_long_output(output.absolute() / release, str(output))
    for path in (output, output / release):
        if (path.is_symlink() or path.exists()) and not path.is_dir():
            what, remedy = "there is something else than a folder", "choose another --output"
            raise InputError("output", "--output", what, "a folder that can be written", remedy, str(path))
    refuse_link(output / release)
    existing = next(p for p in [output.absolute(), *output.absolute().parents] if p.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".sdcert-", dir=existing):
            pass
    except OSError as error:
        what = f"no folder can be made there ({error.strerror})"
        remedy = "choose another --output"
        raise InputError("output", "--output", what, "a folder that can be written", remedy, str(output)) from None


def _refuse_long_output(folder: Path, given: str) -> None:
    """InputError for names that the file system does not take, whether the folders above them are there or not."""
    existing = next(path for path in folder.parents if os.path.exists(path))  # noqa: PTH110  Path.exists raises for such a name
    longest, in_all = (os.pathconf(existing, name) for name in ("PC_NAME_MAX", "PC_PATH_MAX"))
    too_long = max(len(os.fsencode(part)) for part in folder.parts) > longest
    if too_long or len(os.fsencode(folder)) > in_all - BYTES_INSIDE:
        what = "the name of a folder in this path is too long" if too_long else "this path is too long"
        allowed = f"names of at most {longest:,} bytes, in a path of at most {in_all - BYTES_INSIDE:,} with the release's name"
        raise InputError("output", "--output", what, allowed, "choose another --output", given)


def print_verdict(console: Console, scorecard: dict[str, Any], folder: Path) -> None:
    from flows.cli.advice.advice import list_advice
    from flows.cli.advice.missing_limits import find_missing_limits
    from flows.run.history import manifest_path, read_manifest
    from tasks.report.views.randomised import describe_epsilon_over_releases
    from tasks.score.verdict_word import capitalise_verdict, format_verdict

    manifest = read_manifest(scorecard["run"])

    def say(text: str) -> None:
        console.print(escape_terminal(text))

    say("")
    for sentence in manifest["summary"]:
        say(sentence)
    say("")
    for line in scorecard["criteria"]:
        say(f"  {line['decision']:<10}{describe_criterion(line)}")
        if line["decision"] == "undecided":
            say(f"            {line['reason']}")
    for gap in find_missing_limits(scorecard, manifest["spec"]):
        say(f"  no limit  {gap}")
    say("")
    word = capitalise_verdict(format_verdict(scorecard["verdict"], scorecard.get("exceptions", ())))
    say(f"{scorecard['release']}: {word}")
    for note in manifest.get("notes", []):
        say(f"warning: {note}")
    if "tracking" in manifest:
        say(f"warning: MLflow: {manifest['tracking']}; the release itself is complete")
    if "latest" in manifest:
        say(f"warning: the link `latest` was {manifest['latest']}; the release itself is complete")
    for path in sorted(folder.iterdir()):
        say(f"  {path}")
    if (epsilon := manifest.get("epsilon_over_releases")) is not None:
        say(f"  for you alone: {describe_epsilon_over_releases(epsilon)}")
    internal = manifest_path(scorecard["run"]).with_name("report-internal.html")
    say(f"  for you alone, with exact figures: {internal}")
    if scorecard["verdict"] != "certified":
        say("  nothing else was written: without a certificate there is no released file")
        _print_advice(say, list_advice(scorecard, manifest))


def _print_advice(say: Callable[[str], None], sentences: list[str]) -> None:
    if sentences:
        say("")
        say("What would help:")
    for sentence in sentences:
        say(f"  - {sentence}")
