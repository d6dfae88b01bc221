"""`sdcert watch`: look once for new versions of a source, and report what was seen, decided and done."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.certify import certify_loaded, print_verdict
from flows.cli.root import app
from flows.cli.terminal import terminal
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.regular_files import read_text_file
from tasks.microdata.words import join_first

if TYPE_CHECKING:
    from flows.release import ReleaseSpec
    from flows.watch.spec import WatchDefinition

_MANY = 5


@app.command()
def watch(
    file: Annotated[Path, typer.Argument(help="the watch file (YAML)", metavar="WATCH.yaml", show_default=False)],
    again: Annotated[
        bool, typer.Option("--again", help="certify what is there whatever became of it before; nothing is drawn anew")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print what came of it on stdout; messages stay on stderr")] = False,
) -> int:
    """Look once for a new version of a source, and certify it. If there is none, nothing is done.

    Exit code 0 certified or nothing to do, 1 refused or undecided, 2 quarantined or wrong input, 3 something is not there or
    broke: a later look may see it.
    """
    from flows.limits import REFUSALS
    from flows.release_file import locate_error
    from flows.watch.spec import load_watch
    from tasks.runtime.failures import StageFailure

    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")  # before Prefect is imported
    from flows.home_server.connection import use_prefect_server

    watch = load_watch(file)
    try:
        with use_prefect_server() as wait_until_it_answers:
            from flows.watch.once import poll_once

            wait_until_it_answers()
            looked = poll_once(watch, lambda release: _certify_watched_release(watch, release), again=again)
    except InputError as error:
        raise locate_error(error, watch.release_file) if error.code in REFUSALS else error from None
    except StageFailure as failure:
        cause = failure.cause
        raise (locate_error(cause, watch.release_file) if isinstance(cause, InputError) else failure) from None
    console = terminal(stderr=as_json, soft_wrap=True)
    if looked.folder is not None:
        print_verdict(console, json.loads(read_text_file(Path(looked.folder) / "scorecard.json")), Path(looked.folder))
    for line in _describe_look(looked):
        console.print(escape_terminal(line))
    if looked.error is not None:
        sys.stderr.write(f"error: {_locate_in_release_file(looked.error, watch)}\n")
    if as_json:
        sys.stdout.write(json.dumps(_as_dict(looked), indent=1) + "\n")
    return looked.exit_code


def _certify_watched_release(watch: WatchDefinition, release: ReleaseSpec) -> dict[str, str]:
    return certify_loaded(release, watch.release_file, watch.output)


def _describe_look(looked: Any) -> Iterator[str]:
    seen = "" if looked.version is None else f"{looked.version}: "
    run = "" if looked.run is None or looked.verdict is not None else f" (run {looked.run})"
    yield f"watch {looked.watch}, series {looked.series}: {seen}{_IN_WORDS[looked.action]}: {looked.reason}{run}"
    listed = {"passed over, for a newer file is there": looked.passed_over, "still being written": looked.waiting,
              "ignored, no plain file": looked.ignored}  # fmt: skip
    for words, names in listed.items():
        if names:
            yield f"  {words}: {join_first(names, _MANY)}"
    if looked.review_due is not None and looked.action != "review_due":
        yield f"  the review of run {looked.review_due} is overdue: `sdcert audit due` says more"
    if looked.quarantine is not None:
        yield f"  in quarantine as {looked.quarantine}; what was certified before stays as it is"
        yield f"  when it is mended elsewhere than in the source: sdcert quarantine retry {looked.quarantine}"
    if looked.action in ("quarantined_before", "refused_before", "revoked_before"):
        yield "  it is not tried again by itself; `sdcert watch FILE --again` does, with the same draw"


_IN_WORDS = {
    "certify": "to be certified",
    "review_due": "to be measured again",
    "unchanged": "nothing to do",
    "refused_before": "nothing to do",
    "revoked_before": "nothing to do",
    "quarantined_before": "nothing to do",
    "nothing": "nothing to do",
    "busy": "nothing to do",
    "away": "not there",
}


def _locate_in_release_file(error: InputError, watch: WatchDefinition) -> InputError:
    from flows.release_file import locate_error

    return locate_error(error, watch.release_file)


def _as_dict(looked: Any) -> dict[str, Any]:
    return {name: part for name, part in asdict(looked).items() if name != "error"} | {"exit_code": looked.exit_code}
