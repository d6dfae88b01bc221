"""The claims of speed of the ledger, each beside a plain twin in the same run: `python benchmarks/ledger.py [--only NAME]`.

The twins do the same work without the ledger: a line of the same length appended and synced, and a file read line by line with
one SHA-256 and one Ed25519 check each. Only ratios are to be compared between machines.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from securesystemslib.signer import CryptoSigner, SSlibKey

from tasks.audit.ledger.entries import AskedBy, Entry, EntryEvent, KeyClaim, LedgerOpened, RunBegan
from tasks.audit.ledger.head import LedgerHead, serialise_head
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.ledger.ledger_verification import verify_ledger
from tasks.audit.ledger.merkle import hash_leaf
from tasks.audit.ledger.proofs import check_proof, prove_entry
from tasks.audit.signing.envelope import ENTRY_TYPE, sign_envelope
from tasks.audit.signing.keyring import Keyring, KnownKey
from tasks.audit.signing.keys import SigningKey
from tasks.report.predicate import MadeBy

NOW = datetime.now(UTC)
APPENDS = 200


def new_key() -> SigningKey:
    private = Ed25519PrivateKey.generate()
    public = private.public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    key_id = SSlibKey.from_crypto(public).keyid
    claim = KeyClaim(key_id=key_id, purpose="certificates", name="benchmark", public_key=pem, created_at=NOW)
    return SigningKey(claim, CryptoSigner(private))


def event(n: int) -> RunBegan:
    made = MadeBy(version="1", code="a" * 64, lock="b" * 64, platform="c" * 64, python="3.11")
    asked = AskedBy(user="steward", host="office")
    named = {"run": f"run-{n}", "release": "survey", "series": "survey", "dataset": None}
    return RunBegan(**named, spec="record:" + "f" * 64, asked_by=asked, made_by=made)


def ledger_of(n: int, key: SigningKey, folder: Path) -> Ledger:
    """A ledger of n entries, written at once."""
    ledger, head = Ledger(folder), LedgerHead("0" * 32)
    folder.mkdir(mode=0o700)
    with ledger.path.open("wb") as file:
        for number in range(n):
            line = _line(head, event(number) if number else LedgerOpened(key=key.claim), key)
            file.write(line + b"\n")
            head = head.add_leaf(head.ledger, hash_leaf(line), len(line) + 1)
    ledger.head_path.write_bytes(serialise_head(head))
    return ledger


def _line(head: LedgerHead, said: EntryEvent, key: SigningKey) -> bytes:
    entry = Entry(ledger=head.ledger, index=head.size, previous=head.last, at=NOW, event=said)
    return sign_envelope(entry.model_dump(mode="json"), ENTRY_TYPE, key.signer)


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds that passed, and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def append_speed(most: int) -> pd.DataFrame:
    """Appends of one process to short and long ledgers, beside the same bytes appended and synced without more."""
    key, rows = new_key(), []
    with tempfile.TemporaryDirectory() as folder:
        for n in (10, 1_000, most):
            ledger = ledger_of(n, key, Path(folder, str(n)))
            ledger.append(event(0), key)
            wall, cpu = measured(lambda ledger=ledger: [ledger.append(event(i), key) for i in range(APPENDS)])
            plain, _ = measured(lambda ledger=ledger: plain_appends(ledger.path, APPENDS))
            row = {"entries": n, "ms": 1e3 * wall / APPENDS, "CPU ms": 1e3 * cpu / APPENDS, "appends/s": APPENDS / wall}
            rows.append(row | {"plain ms": 1e3 * plain / APPENDS, "ours/plain": wall / plain})
    table = pd.DataFrame(rows)
    table["CPU / CPU at 10"] = table["CPU ms"] / table["CPU ms"].iloc[0]
    return table


def plain_appends(path: Path, n: int) -> None:
    line = path.read_bytes()[-1_181:]
    descriptor = os.open(path.with_suffix(".plain"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for _ in range(n):
        os.write(descriptor, line)
        os.fsync(descriptor)
    os.close(descriptor)


def verification_speed(most: int) -> pd.DataFrame:
    """The whole check of a ledger, beside a reading with one SHA-256 and one Ed25519 check for each line."""
    key, rows = new_key(), []
    trusted = Keyring((KnownKey(key.claim, key.signer.public_key),))
    with tempfile.TemporaryDirectory() as folder:
        for n in (most // 10, most):
            ledger = ledger_of(n, key, Path(folder, str(n)))
            before = peak_megabytes()
            found = []
            _, cpu = measured(lambda ledger=ledger, found=found: found.append(verify_ledger(ledger, trusted)))
            assert found[0].sound
            grown = peak_megabytes() - before
            _, plain = measured(lambda ledger=ledger: plain_verification(ledger.path, key))
            row = {"entries": n, "MB": found[0].n_bytes / 1e6, "CPU s": cpu, "ms an entry": 1e3 * cpu / n, "plain CPU s": plain}
            rows.append(row | {"ours/plain": cpu / plain, "peak grew by MB": grown})
    return pd.DataFrame(rows)


def plain_verification(path: Path, key: SigningKey) -> None:
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.signer.public_key.keyval["public"]))
    with path.open("rb") as file:
        for line in file:
            envelope = json.loads(line)
            kind, payload = envelope["payloadType"].encode(), base64.b64decode(envelope["payload"])
            signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
            public.verify(base64.b64decode(envelope["signatures"][0]["sig"]), signed)
            hashlib.sha256(b"\x00" + line[:-1]).digest()


def peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def proof_speed(most: int) -> pd.DataFrame:
    """Making and checking the proof that the ledger holds an entry; its length beside that of the ledger."""
    key = new_key()
    trusted = Keyring((KnownKey(key.claim, key.signer.public_key),))
    with tempfile.TemporaryDirectory() as folder:
        ledger = ledger_of(most, key, Path(folder, "ledger"))
        made = []
        _, making = measured(lambda: made.append(prove_entry(ledger, str(most // 3), key)[0]))
        _, checking = measured(lambda: check_proof(made[0], trusted))
        n_bytes = len(made[0].model_dump_json())
        row = {"entries": most, "CPU s to make": making, "CPU ms to check": 1e3 * checking, "bytes": n_bytes}
        return pd.DataFrame([row | {"ledger/proof": ledger.head().n_bytes / n_bytes}])


CLAIMS = {claim.__name__: claim for claim in (append_speed, verification_speed, proof_speed)}


def main(
    only: Annotated[list[str] | None, typer.Option(help=f"Claims to measure, of {', '.join(CLAIMS)}; default: all.")] = None,
    most: Annotated[int, typer.Option(help="Entries of the longest ledger.", min=100)] = 100_000,
) -> None:
    """Measure the claims and print a table for each."""
    for name in only or CLAIMS:
        if name not in CLAIMS:
            raise typer.BadParameter(f"{name} is not one of {', '.join(CLAIMS)}", param_hint="--only")
        print(f"\n{name}: {CLAIMS[name].__doc__}")
        print(CLAIMS[name](most).to_string(index=False, float_format="{:.2f}".format, na_rep=""), flush=True)


if __name__ == "__main__":
    typer.run(main)
