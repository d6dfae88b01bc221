"""The process of a home's Prefect server: it serves until nobody has used it for a while, or until its home is gone."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tasks.microdata.regular_files import LARGEST_NOTE, read_file

LOOK_SECONDS = 0.5
SECONDS_TO_KEEP_ALIVE = 60  # longer than the pauses between the requests of a run: opening a connection takes time


def serve_until_unused(descriptor: int, idle_seconds: float, users: Path, state: Path) -> None:
    """Run a Prefect server without pages and services on a listening socket; it ends by itself.

    idle_seconds: how long it stays when nobody uses it. users: the file that its users lock. state: removed at the end.
    """
    import uvicorn
    from prefect.server.api.server import create_app

    from flows.home_server.database import prepare_database
    from flows.home_server.tracker import add_tracker

    app = create_app(ephemeral=True, final=True)
    add_tracker(app.api_app)  # which asks for the password
    server = uvicorn.Server(uvicorn.Config(app, timeout_keep_alive=SECONDS_TO_KEEP_ALIVE, log_level="error"))

    def end() -> None:
        server.should_exit = True

    threading.Thread(target=end_when_unused, args=(idle_seconds, users, state, end), daemon=True).start()
    with prepare_database():
        server.run(sockets=[socket.socket(fileno=descriptor)])


def end_when_unused(idle_seconds: float, users: Path, state: Path, end: Callable[[], None]) -> None:
    """Look twice a second whether somebody uses the server; call `end` when nobody did for so long, or its state is not there.

    Whoever begins to use it holds the lock of the users first, and reads the state then. So the state is removed while nobody
    holds that lock: who comes later finds no state, and starts another server.
    """
    used = time.monotonic()
    while True:
        time.sleep(LOOK_SECONDS)
        try:
            descriptor = os.open(users, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return end()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not is_own(state):
                return end()
            if time.monotonic() - used >= idle_seconds:
                state.unlink(missing_ok=True)
                return end()
        except BlockingIOError:
            used = time.monotonic()
        except (OSError, ValueError, LookupError, TypeError):
            return end()
        finally:
            os.close(descriptor)


def is_own(state: Path) -> bool:
    """Is it this process that the state names? Another one may have been started meanwhile, with other settings."""
    return str(json.loads(read_file(state, LARGEST_NOTE))["process"]).startswith(f"{os.getpid()}:")


if __name__ == "__main__":
    serve_until_unused(int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
