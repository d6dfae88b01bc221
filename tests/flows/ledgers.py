"""Small ledgers for tests, and processes that append to one: `python ledgers.py FOLDER KEY.pem N NAME`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from securesystemslib.signer import CryptoSigner, SSlibKey

from tasks.audit.ledger.entries import AskedBy, CertificateRevoked, Entry, KeyChanged, KeyClaim, LedgerOpened, RunBegan
from tasks.audit.ledger.head import LedgerHead, serialise_head
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.ledger.merkle import hash_leaf
from tasks.audit.signing.envelope import ENTRY_TYPE, sign_envelope
from tasks.audit.signing.keyring import Keyring, KnownKey
from tasks.audit.signing.keys import SigningKey
from tasks.report.predicate import MadeBy

ROOT = Path(__file__).resolve().parents[2]
NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
ASKED = AskedBy(user="steward", host="office")
MADE = MadeBy(version="1", code="a" * 64, lock="b" * 64, platform="c" * 64, python="3.11")


def new_key(purpose: str = "certificates") -> SigningKey:
    return signing_key_of(Ed25519PrivateKey.generate(), purpose)


def signing_key_of(private: Ed25519PrivateKey, purpose: str = "certificates") -> SigningKey:
    public = private.public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    key_id = SSlibKey.from_crypto(public).keyid
    claim = KeyClaim(key_id=key_id, purpose=purpose, name="test", public_key=pem, created_at=NOON)
    return SigningKey(claim, CryptoSigner(private))


def trusting(*keys: SigningKey) -> Keyring:
    return Keyring(tuple(KnownKey(key.claim, key.signer.public_key) for key in keys))


def short(n: int) -> CertificateRevoked:
    """A small event."""
    return CertificateRevoked(run=f"run-{n}", certificate="d" * 64, revocation="e" * 64, reason="a test", asked_by=ASKED)


def began(run: str) -> RunBegan:
    return RunBegan(
        run=run, release="survey", series="survey", spec="record:" + "f" * 64, dataset=None, asked_by=ASKED, made_by=MADE
    )


def changed(change: str, key: SigningKey, **more: object) -> KeyChanged:
    return KeyChanged(change=change, key=key.claim, **more)


def filled(folder: Path, key: SigningKey, n: int) -> Ledger:
    """A ledger of n entries in all; the first opens it."""
    ledger = Ledger(folder)
    for number in range(1, n):
        ledger.append(short(number), key, NOON + timedelta(seconds=number))
    return ledger


def copied(ledger: Ledger, folder: Path) -> Ledger:
    shutil.rmtree(folder, ignore_errors=True)
    return Ledger(shutil.copytree(ledger.folder, folder))


def signed_line(event: object, key: SigningKey, head: LedgerHead, at: datetime = NOON, **other: object) -> bytes:
    """The line that an append after `head` would write, or one with other fields."""
    fields = {"ledger": head.ledger, "index": head.size, "previous": head.last, "at": at, "event": event, **other}
    return sign_envelope(Entry.model_validate(fields).model_dump(mode="json"), ENTRY_TYPE, key.signer)


def rewritten(ledger: Ledger, events: list[object], key: SigningKey, ledger_id: str = "0" * 32) -> None:
    """Write a whole new ledger in place of what is there, as who holds a key can, and a head.json that fits."""
    head, content = LedgerHead(ledger_id), b""
    for event in [LedgerOpened(key=key.claim), *events]:
        line = signed_line(event, key, head)
        head, content = head.add_leaf(ledger_id, hash_leaf(line), len(line) + 1), content + line + b"\n"
    ledger.path.write_bytes(content)
    ledger.head_path.write_bytes(serialise_head(head))


def forge_head(ledger: Ledger) -> None:
    """Let head.json fit whatever whole lines the file has."""
    head = LedgerHead(json.loads(ledger.head_path.read_bytes())["ledger"])
    for line in ledger.lines():
        head = head.add_leaf(head.ledger, line.leaf, len(line.content) + 1)
    ledger.head_path.write_bytes(serialise_head(head)) if head.size else ledger.head_path.unlink()


def write_private(key: SigningKey, path: Path) -> Path:
    private = key.signer._private_key  # the only way from a signer to its key
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return path


def appender(folder: Path, key: Path, n: int, name: str) -> subprocess.Popen[bytes]:
    """A process that appends n entries and prints the index of each after it was acknowledged."""
    words = [sys.executable, __file__, str(folder), str(key), str(n), name]
    return subprocess.Popen(words, env={"PYTHONPATH": str(ROOT), "PATH": ""}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def main(folder: str, key: str, n: str, name: str) -> None:
    private = load_pem_private_key(Path(key).read_bytes(), None)
    signing, ledger = signing_key_of(private), Ledger(Path(folder))
    for number in range(int(n)):
        appended = ledger.append(began(f"{name}-{number}"), signing)
        sys.stdout.write(f"{appended.index} {name}-{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
