"""`sdcert serve` and `sdcert mlflow`: they import what they need when they run, so that `--help` answers at once."""

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
    look: Annotated[bool, typer.Option("--look", help="start the server alone, to look at runs: nothing is run")] = False,
) -> int:
    """Certify on a schedule: start a Prefect server, deploy a file, run what is due, until Ctrl-C.

    With PREFECT_API_URL it uses that server. Its database is SQLite in the private folder, or what
    PREFECT_SERVER_DATABASE_CONNECTION_URL names. Nothing that it starts outlives it. The server asks for a password, which
    lies in serve/auth-string of the private folder.
    """
    from flows.console.serve import serve_file, serve_pages

    return serve_pages(port) if look else serve_file(file, port, limit)


def mlflow(
    port: Annotated[int | None, typer.Option(help="default: 5000, or a free one", min=1, max=65535, show_default=False)] = None,
) -> int:
    """Look at runs and figures in MLflow's pages, behind a password, until Ctrl-C.

    They show the database of the private folder, or the one that MLFLOW_TRACKING_URI names. The password is made for each start
    and shown on the terminal; SDCERT_MLFLOW_PASSWORD=USER:PASSWORD gives one of yours.
    """
    from flows.console.tracking import serve_tracking

    return serve_tracking(port)
