"""Homes that sign: what their ledger says, and a few keys."""

from __future__ import annotations

import json
from base64 import b64decode

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tasks.audit.signing.key_changes import KeyChanges
from tasks.audit.signing.keys import current_id
from tasks.runtime.settings import Home

PASSPHRASE = "some words that nobody guesses"


def text_of(private) -> str:
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def events(home: Home) -> list[tuple[str, str, str, str]]:
    """Signer, kind, change and key of each entry, the keys by the beginnings of their ids."""
    found = []
    for line in KeyChanges(home).ledger.lines():
        envelope = json.loads(line.content)
        event = json.loads(b64decode(envelope["payload"]))["event"]
        signer = envelope["signatures"][0]["keyid"]
        found.append((signer[:8], event["kind"], event.get("change", ""), event["key"]["key_id"][:8]))
    return found


def opens_ledger(home: Home) -> str:
    """Append something, so that the ledger names the current key; its id."""
    KeyChanges(home).create("approvals", name="Somebody")
    return str(current_id(home))
