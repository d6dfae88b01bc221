"""`sdcert approve` and `sdcert revoke`: what people say of a certificate after it was issued."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Run = Annotated[str, typer.Argument(help="a run's id, or its beginning", metavar="RUN", show_default=False)]
Folder = Annotated[Path | None, typer.Option(help="the release folder, if it was moved", metavar="FOLDER", show_default=False)]


def approve(
    run: Run,
    role: Annotated[str, typer.Option("--as", help="in which role", metavar="ROLE", show_default=False)],
    reason: Annotated[str, typer.Option(help="why the release is approved", metavar="TEXT", show_default=False)],
    by: Annotated[str | None, typer.Option(help="who approves; default: the name of the key", show_default=False)] = None,
    key: Annotated[
        str | None,
        typer.Option(help="the person's key: its name, or the beginning of its id; default: the only one", show_default=False),
    ] = None,
    folder: Folder = None,
) -> int:
    """Sign under a certificate, as a person with a key of their own. Who wrote the policy, or asked for the run, is flagged."""
    from flows.console.approve import Words, approve_release

    return approve_release(run, Words(role, reason, by), key=key, folder=folder)


def revoke(
    run: Run,
    reason: Annotated[str, typer.Option(help="why nobody shall rely on it any more", metavar="TEXT", show_default=False)],
    folder: Folder = None,
    others: Annotated[bool, typer.Option("--all", help="every other certificate of the same data as well")] = False,
) -> int:
    """Revoke the certificate of a run. Cannot be undone. Names other certificates of the same data, which stand."""
    from flows.console.revoke import revoke_certificate

    return revoke_certificate(run, reason, folder=folder, others=others)
