"""`sdcert serve`: say what is served, where to see it, and when it runs next; then report what happens while it serves."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.root import app
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.regular_files import read_text_file
from tasks.runtime.settings import prepare_environment

if TYPE_CHECKING:
    from flows.scheduled.deployments import Deployments


@app.command()
def serve(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="the deployments; default: sdcert.yaml here, else prefect.yaml here", metavar="[FILE]", show_default=False
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="of the server; default: 4200, or a free one", min=1, max=65535, show_default=False)
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="runs at once; default: as many as are due", min=1, show_default=False)
    ] = None,
    look: Annotated[bool, typer.Option("--look", help="start the server alone, to look at runs: nothing is run")] = False,
) -> int:
    """Certify on a schedule, until Ctrl-C. Starts a Prefect server, deploys a file, and runs what is due.

    With PREFECT_API_URL it uses that server. Its database is SQLite in the private folder, or what
    PREFECT_SERVER_DATABASE_CONNECTION_URL names. Nothing that it starts outlives it. The server asks for a password, which
    lies in serve/auth-string of the private folder.
    """
    return serve_pages(port) if look else serve_file(file, port, limit)


def serve_file(file: Path | None, port: int | None, limit: int | None) -> int:
    """Serve the deployments of a file until SIGINT or SIGTERM. Returns 0 when all has ended."""
    from flows.scheduled.deployments import load_deployments
    from tasks.runtime.servers import refuse_damaged_database

    prepare_environment()
    path = _require_deployment_file(file)
    found = load_deployments(path)
    if not os.environ.get("PREFECT_API_URL"):
        refuse_damaged_database()
    from flows.scheduled import serve as serving
    from flows.scheduled.file_access import FileAccess

    begun, ended = threading.Event(), threading.Event()
    with serving.hold_home(), ExitStack() as stack:
        _install_signal_handlers(begun, ended)
        address = serving.choose_server_address(port)
        os.environ["PREFECT_API_URL"] = address.api
        kept: list[serving.RestartingProcess] = []
        password_file = serving.guard() if address.ours else None
        if address.ours:
            _say(f"starting a Prefect server at {address.display_url}")
            kept.append(stack.enter_context(serving.start_server(address)))
        serving.remember(address, kept)
        _say(f"deploying {path}")
        serving.deploy(found, path.absolute().parent, address)
        _tell(found, address.display_url)
        if password_file is not None:
            _tell_password(password_file)
        stack.callback(serving.tell_lost, _say)
        served = FileAccess.from_deployments(found, path.absolute().parent)
        for pool in found.pools:
            kept.append(stack.enter_context(serving.start_worker(pool, limit, address, served)))
        serving.remember(address, kept)
        begun.set()
        _say("serving; Ctrl-C or SIGTERM ends it")
        serving.watch_services(kept, address, ended, _say)
        _say("ending: runs are stopped, then the server; what was computed is kept")
    _say("ended")
    return 0


def serve_pages(port: int | None) -> int:
    """Start the Prefect server alone, for its pages, until SIGINT or SIGTERM: nothing is deployed, and nothing runs."""
    prepare_environment()
    from flows.scheduled import serve as serving

    begun, ended = threading.Event(), threading.Event()
    with serving.hold_home(), ExitStack() as stack:
        _install_signal_handlers(begun, ended)
        address = serving.choose_server_address(port)
        if not address.ours:
            what, remedy = "this names a server of yours, which has pages of its own", "open its address in a browser"
            raise InputError("serving", "PREFECT_API_URL", what, "nothing", remedy)
        os.environ["PREFECT_API_URL"] = address.api
        password_file = serving.guard()
        kept = [stack.enter_context(serving.start_server(address))]
        serving.remember(address, kept)
        _say(f"to look: {address.display_url}")
        _tell_password(password_file)
        begun.set()
        _say("Ctrl-C or SIGTERM ends it; nothing is run")
        serving.watch_services(kept, address, ended, _say)
    _say("ended")
    return 0


def _tell(found: Deployments, root: str) -> None:
    from flows.scheduled.serve import tell_lost
    from flows.scheduled.server_client import list_standings

    tell_lost(_say)
    _say(f"to look: {root}")
    for one in list_standings(found):
        when = "has no active schedule" if one.next_run is None else f"runs next {_format_moment(one.next_run)}"
        _say(f"  {one.name:<24} {when}{'' if one.ours else '  (not in this file: deployed before)'}")


def _tell_password(file: Path) -> None:
    """Once, and on a terminal alone: what a service prints is kept in logs that others may read."""
    _say(f"to sign in there: the password in {file} (who has it can run commands as this user)")
    if sys.stderr.isatty():
        _say(f"  {read_text_file(file)}")


def _require_deployment_file(file: Path | None) -> Path:
    from flows.scheduled.deployments import FILE, OWN_FILE

    if file is not None:
        return file
    found = [path for path in (Path(OWN_FILE), Path(FILE)) if path.is_file()]
    if not found:
        what, remedy = (
            f"there is no {OWN_FILE} and no {FILE} in this folder",
            "go to the folder, or name a file: `sdcert serve FILE`",
        )
        raise InputError("no-file", "sdcert serve", what, "a file of deployments", remedy)
    return found[0]


def _install_signal_handlers(begun: threading.Event, ended: threading.Event) -> None:
    """The first signal asks for an orderly end, the second one ends at once."""

    def request_end(number: int, _: object) -> None:
        if ended.is_set() or not begun.is_set():
            raise KeyboardInterrupt
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, request_end)


def _format_moment(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _say(text: str) -> None:
    sys.stderr.write(f"{escape_terminal(text)}\n")
    sys.stderr.flush()
