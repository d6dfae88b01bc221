"""Ledgers of made-up runs, quickly: for look-ups in many entries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from securesystemslib.signer import CryptoSigner

from tasks.audit.ledger.entries import Entry
from tasks.audit.ledger.head import LedgerHead, serialise_head
from tasks.audit.ledger.merkle import hash_leaf
from tasks.audit.lookup.index import Index
from tasks.audit.signing.envelope import ENTRY_TYPE, sign_envelope

START = datetime(2026, 1, 1, 9, tzinfo=UTC)
VERDICTS = ("certified", "certified", "refused", "undecided", "failed", "interrupted", None)
COLUMNS = ("age", "income", "educ", "popul", "PID", "vote", "TVnews", "selfLR")
DOCUMENTS = ("report.html", "scorecard.json")
MADE_BY = {"version": "0.1.0", "python": "3.11.9"} | dict.fromkeys(("code", "lock", "platform"), "c" * 64)


def digest(*parts: object) -> str:
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()


def began(run: str, **change: Any) -> dict[str, Any]:
    asked = {"user": "steward", "host": "office", "deployment": None, "flow_run": None}
    plain = {"kind": "began", "run": run, "release": "anes96", "series": "anes", "spec": f"record:{digest('spec')}",
             "dataset": "anes96", "asked_by": asked, "made_by": MADE_BY}  # fmt: skip
    return plain | change


def attempt(run: str, **change: Any) -> dict[str, Any]:
    plain = {"kind": "attempt", "run": run, "series": "anes", "source": f"table:{digest('source')}",
             "source_file": digest("file"), "masking": f"record:{digest('masking')}", "draw": digest("draw")[:32],
             "policy": digest("policy"), "attempts": 1}  # fmt: skip
    return plain | change


def ended(run: str, **change: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {"kind": "ended", "run": run, "release": "anes96", "series": "anes", "outcome": "certified",
                             "not_for_publication": False, "certificate": digest(run, "certificate"),
                             "documents": [{"name": name, "sha256": digest(run, name)} for name in DOCUMENTS],
                             "criteria": [criterion(), criterion(measure="k_anonymity", direction="at_least", limit=5.0)],
                             "attributes": [attribute(name) for name in COLUMNS],
                             "stages": {"ingest": {"cached": False, "produced": {"data": f"table:{digest('source')}"}}},
                             "manifest": digest(run, "manifest")}  # fmt: skip
    plain |= change
    if plain["outcome"] == "certified" and "released" not in change:
        plain["released"] = released(run)
    return plain


def released(run: str, **change: Any) -> dict[str, Any]:
    columns = [{"name": name, "type": "int64"} for name in COLUMNS]
    return {"name": "released.csv", "sha256": digest(run, "released"), "content_address": f"sha256:{digest(run, 'content')}",
            "rows": 944, "columns": columns} | change  # fmt: skip


def attribute(name: str, **change: Any) -> dict[str, Any]:
    return {"name": name, "role": "quasi_identifier", "masks": ["microaggregation"], "published": True} | change


def criterion(**change: Any) -> dict[str, Any]:
    plain = {"measure": "reidentification", "decision": "pass", "deciding_value": 0.08, "deciding_bound": "high",
             "direction": "at_most", "limit": 0.15, "attribute": None, "attack": "transparency", "intruder": "declared",
             "p_percent": None}  # fmt: skip
    return plain | change


def runs(n: int) -> Iterator[dict[str, Any]]:
    """The events of n runs of 50 releases, most of them ended; three entries a run."""
    for number in range(n):
        run = f"{START + timedelta(minutes=10 * number):%Y%m%dT%H%M%SZ}-{number:06x}"
        name = {"release": f"release-{number % 50}", "series": f"series-{number % 25}"}
        yield began(run, **name, dataset=f"data-{number % 10}")
        yield attempt(run, series=name["series"], source_file=digest("file", number % 10), attempts=1 + number // 25)
        outcome = VERDICTS[number % len(VERDICTS)]
        if outcome is not None:
            certificate = digest(run, "certificate") if outcome in ("certified", "refused", "undecided") else None
            yield ended(run, **name, outcome=outcome, certificate=certificate)


def claim_of(signer: CryptoSigner) -> dict[str, Any]:
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signer.public_key.keyval["public"]))
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    return {"key_id": signer.public_key.keyid, "purpose": "certificates", "name": "certificates",
            "public_key": pem, "created_at": START.isoformat()}  # fmt: skip


def lines(events: Iterable[dict[str, Any]], signer: CryptoSigner, *, ledger: str = "1" * 32) -> Iterator[bytes]:
    """Signed lines of a ledger, one minute apart."""
    key = claim_of(signer)
    previous = "0" * 64
    for index, event in enumerate([{"kind": "opened", "key": key}, *events]):
        at = START + timedelta(minutes=index)
        fields = {"ledger": ledger, "index": index, "previous": previous, "at": at.isoformat(), "event": event}
        value = {"schema_version": "1", **fields}
        line = sign_envelope(Entry.model_validate_json(_json(value)).model_dump(mode="json"), ENTRY_TYPE, signer)
        previous = hash_leaf(line).hex()
        yield line


def last_certificate(index: Index, series: str) -> str | None:
    """The SHA-256 of the last certificate of a series."""
    found = index.last_release_of(series)
    return None if found is None else found.ending.certificate


def write_trail(home: Path, events: Iterable[dict[str, Any]], *, ledger: str = "1" * 32) -> Path:
    """The ledger of a home, made anew, and the public record of the key that signed it; returns its file."""
    path = home / "ledger" / "ledger.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    signer = CryptoSigner.generate_ed25519()
    record = home / "keys" / "signing" / f"{signer.public_key.keyid}.json"
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_bytes(_json({"claim": claim_of(signer)}))
    head = LedgerHead(ledger)
    with path.open("wb") as file:
        for line in lines(events, signer, ledger=ledger):
            file.write(line + b"\n")
            head = head.add_leaf(ledger, hash_leaf(line), len(line) + 1)
    (path.parent / "head.json").write_bytes(serialise_head(head))
    return path


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
