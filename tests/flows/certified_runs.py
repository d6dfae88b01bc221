"""A certified run without the chain: its entries, its certificate and its manifest, as the flow leaves them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

POLICY = hashlib.sha256(b"the lines of a policy").hexdigest()
RUN = "20261121T093000Z-1f2e3d"


@dataclass(frozen=True)
class Issued:
    run: str
    folder: Path
    certificate: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.certificate).hexdigest()


def issue(
    folder: Path,
    *,
    run: str = RUN,
    outcome: str = "certified",
    rehearsal: bool = False,
    author: str = "Ada Author",
    asked_by: str = "steward",
) -> Issued:
    """Append the entries of a run to the home's ledger, and lay its certificate into a folder."""
    from tasks.audit.ledger.entries import AskedBy, AttemptMade, ReleasedTable, RunBegan, RunEnded
    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.signing.envelope import STATEMENT_PAYLOAD_TYPE, sign_envelope
    from tasks.audit.signing.keys import open_signing_key
    from tasks.report.predicate import MadeBy
    from tasks.runtime.settings import Home

    zero = "0" * 64
    key, ledger = open_signing_key(), Ledger.current()
    made_by = MadeBy(version="1", code=zero, lock=zero, platform=zero, python="3.11")
    who = AskedBy(user=asked_by, host="here")
    named: dict[str, Any] = {"run": run, "release": "survey", "series": "survey"}
    ledger.append(RunBegan(**named, spec=f"record:{zero}", dataset=None, asked_by=who, made_by=made_by), key)
    tried = {
        "source": f"table:{zero}",
        "source_file": zero,
        "masking": "steps",
        "draw": "draw",
        "policy": POLICY,
        "attempts": 1,
    }
    ledger.append(AttemptMade(run=run, series="survey", **tried), key)
    table = b"age\n1\n2\n"
    digests = {"sha256": hashlib.sha256(table).hexdigest(), "sdcertContent": f"sha256:{zero}"}
    predicate = {"issued_at": datetime.now(UTC).isoformat(), "claim": {"policy": {"author": author, "digest": POLICY}}}
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "released.csv", "digest": digests}],
        "predicateType": "urn:sdcert:predicate:release:2",
        "predicate": predicate,
    }
    certificate = sign_envelope(statement, STATEMENT_PAYLOAD_TYPE, key.signer)
    address = {"content_address": digests["sdcertContent"], "rows": 2, "columns": ()}
    released = ReleasedTable(name="released.csv", sha256=digests["sha256"], **address) if outcome == "certified" else None
    digest = hashlib.sha256(certificate).hexdigest()
    ended = RunEnded(**named, outcome=outcome, not_for_publication=rehearsal, released=released, certificate=digest)
    ledger.append(ended, key)
    folder.mkdir(parents=True)
    (folder / "released.csv").write_bytes(table)
    (folder / "certificate.json").write_bytes(certificate)
    manifest = Home.current().folder("runs", run) / "manifest.json"
    manifest.write_text(json.dumps({"run": run, "release": "survey", "folder": str(folder)}))
    return Issued(run, folder, certificate)
