"""`sdcert mlflow`: show MLflow's pages on the tracking database of this home to people who have the password.

MLflow's own guard looks at the host and the origin of a request, lets every page of this machine pass, and asks nobody for a
password; its way to ask for one keeps users in another database, and needs packages that sdcert does not install.
"""

from __future__ import annotations

import hmac
import os
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.root import app
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.runtime.settings import prepare_environment

if TYPE_CHECKING:
    import socket

PORT = 5000
FORBIDDEN, UNAUTHORIZED = 403, 401
PASSWORD = "SDCERT_MLFLOW_PASSWORD"  # noqa: S105  # the name of a variable
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
AsgiSend = Callable[[AsgiMessage], Awaitable[None]]
Application = Callable[[AsgiMessage, Receive, AsgiSend], Awaitable[None]]


@app.command()
def mlflow(
    port: Annotated[int | None, typer.Option(help="default: 5000, or a free one", min=1, max=65535, show_default=False)] = None,
) -> int:
    """Look at runs and figures in MLflow's pages, until Ctrl-C. They are behind a password.

    They show the database of the private folder, or the one that MLFLOW_TRACKING_URI names. The password is made for each start
    and shown on the terminal; SDCERT_MLFLOW_PASSWORD=USER:PASSWORD gives one of yours.
    """
    from tasks.runtime.server_guard import new_password

    home = prepare_environment()
    from flows.scheduled.listening import format_url, open_listening_socket
    from tasks.runtime.tracking_store import open_client, tracking_uri

    address = tracking_uri()
    if address.startswith(("http:", "https:")):
        what, remedy = "this names an MLflow server, which has pages of its own", "open its address in a browser"
        raise InputError("tracking", "MLFLOW_TRACKING_URI", what, "a database, or nothing", remedy)
    if address.startswith("sqlite:") and not (home.root / "mlflow.db").is_file() and "MLFLOW_TRACKING_URI" not in os.environ:
        what, remedy = "nothing was recorded in this home yet", "certify something, or set SDCERT_HOME to another home"
        raise InputError("tracking", "SDCERT_HOME", what, "a home with runs", remedy, str(home.root))
    password = os.environ.get(PASSWORD) or new_password()
    open_client()  # says what is wrong with the database before anything listens
    listening = open_listening_socket(port, PORT)
    root = format_url(listening)
    _say(f"MLflow's pages: {root} (Ctrl-C ends them)")
    _tell_password(password)
    _serve(Guarded(_create_application(address), root, password), listening)
    return 0


class Guarded:
    """An application that answers only who names this server, comes from a page of its own or none, and has the password.

    The host is compared because a page elsewhere can give its own name the address of this machine (DNS rebinding).
    """

    def __init__(self, inner: Application, root: str, password: str) -> None:
        from tasks.runtime.server_guard import authorization

        self._inner, self._wanted = inner, authorization(password)["Authorization"].encode()
        roots = (root, root.replace("127.0.0.1", "localhost"))
        self._origins = {one.encode() for one in roots}
        self._hosts = {one.partition("://")[2].encode() for one in roots}

    async def __call__(self, scope: AsgiMessage, receive: Receive, send: AsgiSend) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if headers.get(b"host") not in self._hosts or headers.get(b"origin") not in {None, *self._origins}:
            await _refuse(scope, send, FORBIDDEN, "this page may not use this server")
        elif not hmac.compare_digest(headers.get(b"authorization", b""), self._wanted):
            await _refuse(scope, send, UNAUTHORIZED, "the password is missing or wrong")
        else:
            await self._inner(scope, receive, send)


def _create_application(address: str) -> Application:
    """MLflow's own, without its processes that carry out jobs. It reads its settings when it is imported."""
    from mlflow.server import constants

    settings = {constants.BACKEND_STORE_URI_ENV_VAR: address, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    os.environ.update(settings)
    from mlflow.server.fastapi_app import app

    inner: Application = app
    return inner


def _serve(application: Application, listening: socket.socket) -> None:
    import uvicorn

    config = uvicorn.Config(application, log_level="error", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


def _tell_password(password: str) -> None:
    """Only a person at a terminal: what is printed elsewhere is kept in files."""
    if os.environ.get(PASSWORD):
        _say(f"to sign in: the user and the password in {PASSWORD}")
    elif sys.stderr.isatty():
        user, _, word = password.partition(":")
        _say(f"to sign in: user {user}, password {word} (made for this start)")
    else:
        what, remedy = "the password is told on a terminal alone, and there is none", f"set {PASSWORD}=USER:PASSWORD"
        raise InputError("tracking", "sdcert mlflow", what, "a terminal, or a password of yours", remedy)


async def _refuse(scope: AsgiMessage, send: AsgiSend, status: int, says: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = [(b"content-type", b"text/plain")]
    if status == UNAUTHORIZED:
        headers.append((b"www-authenticate", b'Basic realm="sdcert"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{says}\n".encode()})


def _say(text: str) -> None:
    sys.stderr.write(f"{escape_terminal(text)}\n")
    sys.stderr.flush()
