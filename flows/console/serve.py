"""`sdcert serve`: what runs, where to see it, and when it runs next; then whatever has to be said while it serves."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from flows.console.inert import shown
from flows.scheduled.deployments import FILE, Deployments, load_deployments
from tasks.microdata.errors import InputError
from tasks.runtime.settings import prepare_environment


def serve_file(file: Path | None, port: int | None, limit: int | None) -> int:
    """Serve the deployments of a file until SIGINT or SIGTERM. Returns 0 when all has ended."""
    prepare_environment()
    path = _found(file)
    found = load_deployments(path)
    from flows.scheduled import serve as serving

    begun, ended = threading.Event(), threading.Event()
    with serving.alone(), ExitStack() as stack:
        _until_asked(begun, ended)
        address = serving.address_of(port)
        os.environ["PREFECT_API_URL"] = address.api
        kept: list[serving.Restarted] = []
        if address.ours:
            _say(f"starting a Prefect server at {address.shown}")
            kept.append(stack.enter_context(serving.server(address)))
        serving.remember(address, kept)
        _say(f"deploying {path}")
        serving.deploy(found, path.absolute().parent, address)
        _tell(found, address.shown)
        stack.callback(serving.tell_lost)
        for pool in found.pools:
            kept.append(stack.enter_context(serving.worker(pool, limit, address)))
        serving.remember(address, kept)
        begun.set()
        _say("serving; Ctrl-C or SIGTERM ends it")
        serving.watch(kept, address, ended, _say)
        _say("ending: runs are stopped, then the server; what was computed is kept")
    _say("ended")
    return 0


def _tell(found: Deployments, root: str) -> None:
    from flows.scheduled.board import end_lost, standings

    for asked in end_lost():
        _say(f"a run of {asked.deployment or 'a deployment'} had been killed: it is shown as crashed now")
    _say(f"to look: {root}")
    for one in standings(found):
        when = "has no active schedule" if one.next_run is None else f"runs next {_moment(one.next_run)}"
        _say(f"  {one.name:<24} {when}{'' if one.ours else '  (not in this file: deployed before)'}")


def _found(file: Path | None) -> Path:
    if file is not None:
        return file
    here, project = Path(FILE), Path(__file__).resolve().parents[2] / FILE
    found = next((path for path in (here, project) if path.is_file()), None)
    if found is None:
        what, remedy = f"there is no {FILE} here", "name the file: `sdcert serve FILE`"
        raise InputError("no-file", "sdcert serve", what, "a file of deployments", remedy)
    return found


def _until_asked(begun: threading.Event, ended: threading.Event) -> None:
    """The first signal asks for an orderly end, the second one ends at once."""

    def asked(number: int, _: object) -> None:
        if ended.is_set() or not begun.is_set():
            raise KeyboardInterrupt
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, asked)


def _moment(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _say(text: str) -> None:
    sys.stderr.write(f"{shown(text)}\n")
    sys.stderr.flush()
