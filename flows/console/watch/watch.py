"""`sdcert watch`: what was seen, what was decided, and what came of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flows.console.certify import certify_loaded, print_verdict
from flows.console.terminal import terminal
from flows.limits import REFUSALS
from flows.release import ReleaseSpec, locate_error
from flows.watch.spec import Watch, load_watch
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.regular_files import read_text_file
from tasks.microdata.words import join_first
from tasks.runtime.failures import StageFailure

_MANY = 5


def watch_once(path: Path, *, again: bool, as_json: bool) -> int:
    """Look once, certify what is due, and tell it: the JSON on stdout, all else on stderr where JSON is asked for."""
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")  # before Prefect is imported
    from flows.watch.once import poll_once
    from tasks.runtime.servers import detach_temporary_server, end_orphans

    watch = load_watch(path)
    end_orphans()
    detach_temporary_server()
    try:
        looked = poll_once(watch, lambda release: _certify_watched_release(watch, release), again=again)
    except InputError as error:
        raise locate_error(error, watch.release_file) if error.code in REFUSALS else error from None
    except StageFailure as failure:
        cause = failure.cause
        raise (locate_error(cause, watch.release_file) if isinstance(cause, InputError) else failure) from None
    console = terminal(stderr=as_json, soft_wrap=True)
    if looked.folder is not None:
        print_verdict(console, json.loads(read_text_file(Path(looked.folder) / "scorecard.json")), Path(looked.folder))
    for line in _lines(looked):
        console.print(escape_terminal(line))
    if looked.error is not None:
        sys.stderr.write(f"error: {_error(looked.error, watch)}\n")
    if as_json:
        sys.stdout.write(json.dumps(_as_dict(looked), indent=1) + "\n")
    return looked.exit_code


def _certify_watched_release(watch: Watch, release: ReleaseSpec) -> dict[str, str]:
    return certify_loaded(release, watch.release_file, watch.output)


def _lines(looked: Any) -> Iterator[str]:
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


def _error(error: InputError, watch: Watch) -> InputError:
    return locate_error(error, watch.release_file)


def _as_dict(looked: Any) -> dict[str, Any]:
    return {name: part for name, part in asdict(looked).items() if name != "error"} | {"exit_code": looked.exit_code}
