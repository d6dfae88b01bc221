"""`sdcert serve`: imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="the deployments; default: prefect.yaml here, else that of the project", metavar="[FILE]", show_default=False
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="of the server; default: 4200, or a free one", min=1, max=65535, show_default=False)
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="runs at once; default: as many as are due", min=1, show_default=False)
    ] = None,
) -> int:
    """Certify on a schedule: start a Prefect server, deploy a file, run what is due, until Ctrl-C.

    With PREFECT_API_URL it uses that server. Its database is SQLite in the private folder, or what
    PREFECT_SERVER_DATABASE_CONNECTION_URL names. Nothing that it starts outlives it.
    """
    from flows.console.serve import serve_file

    return serve_file(file, port, limit)
