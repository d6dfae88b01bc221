"""`sdcert keys export`: the public keys, for those who check certificates."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.keys import group, load_current_key, require_key
from flows.cli.run_certificates import tell
from flows.cli.terminal import find_passphrase_prompt
from tasks.microdata.canonical import canonical
from tasks.microdata.errors import InputError
from tasks.runtime.settings import Home


@group.command()
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
    home = Home.current()
    if (trust and key_id is not None) or (seal and not trust):
        what = "--trust exports all keys at once" if trust else "only a trust file (--trust) can be signed (--seal)"
        raise InputError("options", "sdcert keys export", what, "[KEY_ID], or --trust [--seal]", "leave one of the two out")
    content = (
        _trust(home, signed=seal)
        if trust
        else (require_key(home, key_id) if key_id else load_current_key(home)).claim.public_key.encode()
    )
    if output is None:
        sys.stdout.write(content.decode())
        return 0
    _write_new(output, content)
    what = "trust file" if trust else "public key"
    tell(f"written: {output} ({what}; nothing in it is secret)")
    return 0


def _trust(home: Home, *, signed: bool) -> bytes:
    from tasks.audit.signing.envelope import TRUST_TYPE, sign_envelope
    from tasks.audit.signing.key_changes import KeyChanges
    from tasks.audit.signing.keyring import create_home_trust_file
    from tasks.audit.signing.keys import open_signing_key

    ledger = KeyChanges(home).ledger.head().ledger
    value = create_home_trust_file(home, ledger or None).model_dump(mode="json")
    if not value["keys"]:
        load_current_key(home)
    return (
        sign_envelope(value, TRUST_TYPE, open_signing_key(create=False, ask=find_passphrase_prompt(), home=home).signer)
        if signed
        else canonical(value)
    )


def _write_new(path: Path, content: bytes) -> None:
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        what, remedy = "this file exists already", "name another, or remove it"
        raise InputError("file-exists", "--output", what, "a file that does not exist", remedy, str(path)) from None
    except OSError as error:
        what, remedy = f"this file cannot be written ({error.strerror})", "name another"
        raise InputError("not-writable", "--output", what, "a file in a folder that you may write", remedy, str(path)) from None
