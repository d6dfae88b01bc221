"""`sdcert keys ...`: the commands of the group. Each imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

keys = typer.Typer(
    help="The keys that sign certificates, entries of the ledger and approvals.", no_args_is_help=True, rich_markup_mode=None
)


class Purpose(StrEnum):
    """What a key is for."""

    CERTIFICATES = "certificates"
    APPROVALS = "approvals"


NEW_PASSPHRASE = (
    "lock the new key with a passphrase: asked for on a terminal, else "  # noqa: S105  # the help of an option
    "SDCERT_KEY_PASSPHRASE (for approvals: SDCERT_APPROVAL_PASSPHRASE)"
)
Locked = Annotated[bool | None, typer.Option("--passphrase/--no-passphrase", help=NEW_PASSPHRASE, show_default=False)]


@keys.command()
def create(
    purpose: Annotated[
        Purpose, typer.Option("--for", help="certificates (the machine signs them) or approvals (a person does)")
    ] = Purpose.CERTIFICATES,
    name: Annotated[str | None, typer.Option(help="whose key it is; others will read it", show_default=False)] = None,
    passphrase: Locked = None,
) -> int:
    """Make a key. The first one for certificates is made by itself when it is needed."""
    from flows.console.keys import create_key

    return create_key(purpose.value, name, passphrase=passphrase)


@keys.command(name="list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="print the keys on stdout as JSON")] = False) -> int:
    """The keys of this home. Which one signs, which are retired or revoked, and where the private ones are."""
    from flows.console.keys import list_keys

    return list_keys(as_json=as_json)


@keys.command()
def rotate(passphrase: Locked = None) -> int:
    """Let a new key sign certificates from now on. What the old one signed stays good."""
    from flows.console.keys import rotate_key

    return rotate_key(passphrase=passphrase)


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="the id of the key, or its beginning", metavar="KEY_ID", show_default=False)],
    reason: Annotated[str, typer.Option(help="why; others will read it", show_default=False)],
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="what it signed before stays good (2026-11-21, or 2026-11-21T14:00; UTC); default: nothing does",
            show_default=False,
        ),
    ] = None,
    passphrase: Locked = None,
) -> int:
    """Revoke a key that was stolen, or may be. What it signed is no longer good. Cannot be taken back."""
    from flows.console.keys import revoke_key

    return revoke_key(key_id, reason, since, passphrase=passphrase)


@keys.command()
def clock(reason: Annotated[str, typer.Option(help="why it was set back; others will read it", show_default=False)]) -> int:
    """Sign that the clock is right though it says less than the ledger. Without it nothing more is certified or revoked."""
    from flows.console.clock import note_clock

    return note_clock(reason)


@keys.command()
def export(
    key_id: Annotated[
        str | None,
        typer.Argument(
            help="the id of the key, or its beginning; default: the one that signs certificates",
            metavar="[KEY_ID]",
            show_default=False,
        ),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="all public keys, and which keys and certificates are retired or revoked")
    ] = False,
    seal: Annotated[bool, typer.Option("--seal", help="with --trust: signed with the current key")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="the file to write; default: stdout", show_default=False)
    ] = None,
) -> int:
    """The public key (PEM), for those who check certificates. Never a private key."""
    from flows.console.keys import export_keys

    return export_keys(key_id, output, trust=trust, seal=seal)
