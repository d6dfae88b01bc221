"""Open the port of a server before its address is given to anybody, and hold it as long as the server runs.

Clients send a password to whoever listens there. Between a look for a free port and the server's own bind, and whenever a
server ends by itself, another user of the machine could take the port. So the socket is made here, and handed on to the server.
"""

from __future__ import annotations

import socket
import sys

from tasks.microdata.errors import InputError

BACKLOG = 2048
SECONDS_TO_KEEP_ALIVE = 5


def open_listening_socket(port: int | None, usual: int) -> socket.socket:
    """A listening socket of this machine alone: at the port that is asked for, or else at the usual one or any.

    Raises InputError where another program has the port.
    """
    for wanted in (port,) if port is not None else (usual, 0):
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind(("127.0.0.1", wanted))
            made.listen(BACKLOG)  # whoever has bound the port too can no longer listen there
        except OSError:
            made.close()
            continue
        return made
    what, remedy = "another program listens there", "choose another --port, or leave it out"
    raise InputError("port", "--port", what, "a free port of this machine", remedy, port)


def format_url(listening: socket.socket) -> str:
    """Where a browser finds what listens."""
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


def serve_prefect(descriptor: int) -> None:
    """Run a Prefect server with its services, as `prefect server start` does, on a listening socket that was handed on."""
    import uvicorn
    from prefect.server.api.server import create_app

    config = uvicorn.Config(create_app(final=True), timeout_keep_alive=SECONDS_TO_KEEP_ALIVE, log_level="warning")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    serve_prefect(int(sys.argv[1]))
