"""How certificate_v2/ was made: `python tests/audit/golden/make_certificate.py FOLDER`.

Never run it over the files that are there: whatever later versions of the program do, these must go on being verified. The
private key was thrown away when the process ended.
"""

from __future__ import annotations

import hashlib
import json
import sys
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from securesystemslib.signer import CryptoSigner

from tasks.audit.signing.envelope import STATEMENT_PAYLOAD_TYPE, sign_envelope
from tasks.microdata.canonical import canonical
from tasks.microdata.table import DATE, MOMENT, TIME, Microdata
from tasks.report.predicate import PREDICATE_TYPE, STATEMENT_TYPE, Predicate
from tasks.report.publication import encode
from tasks.report.statement import create_column_claims
from tasks.runtime.artifacts import content_address

ISSUED = "2026-11-21T09:31:00Z"
LINES = ({"measure": "reidentification", "at_most": 0.15}, {"measure": "sse_percent", "at_most": 20.0})


def table() -> Microdata:
    """Every logical type, a gap in each, digits that are text, texts that CSV must quote."""
    days = [date(2026, 1, 1 + row) for row in range(11)]
    return Microdata(
        pa.table(
            {
                "age": pa.array([31, 31, 31, 44, 44, 44, 58, 58, 58, None, 70, 70], pa.int64()),
                "income": pa.array([1200.5, 1200.5, 1e-3, 3e15, -0.5, 0.1, 7, 8.25, 9, 10, None, 12], pa.float64()),
                "region": pa.array(["01", "02", "03", "01", None, "02", "03", "01", "02", "03", "01", "02"], pa.string()),
                "answer": pa.array(["yes", "no", "a, b", 'he said "no"', "é漢字", None, *["no"] * 6], pa.string()),
                "insured": pa.array([True, False, None] * 4, pa.bool_()),
                "visit": pa.array([*days, None], DATE),
                "seen": pa.array([datetime(2026, 1, 1, row, 30, 0, 250_000 * (row % 2)) for row in range(11)] + [None], MOMENT),
                "woke": pa.array([time(6, 5 * row) for row in range(11)] + [None], TIME),
            }
        )
    )


def said(released: bytes, documents: dict[str, bytes]) -> dict[str, Any]:
    """What the certificate says."""
    digests = [{"name": name, "sha256": _sha256(content)} for name, content in documents.items()]
    risk = {"attacks": ["distance_linkage"], "measure": "reidentification", "value": 0.083, "decision": "pass"}
    none = dict.fromkeys(("attacks", "measure", "value", "decision"), "not assessed")
    attributes = [
        {
            "name": column.name, "role": "quasi_identifier" if column.name == "age" else "confidential", "scale": "numeric",
            "decided_by": "declared", "mask": ["microaggregation"] if column.name == "age" else [],
            "parameters": [{"method": "microaggregation", "parameters": {"k": 3}}] if column.name == "age" else [],
            "known_to_intruder": column.name == "age", "published": True, "published_as_pseudonym": False,
            "published_unmasked": column.name != "age", "derived_from": [], "epsilon": "not assessed",
        }
        for column in create_column_claims(table())
    ]  # fmt: skip
    criteria = [
        {
            "measure": line["measure"], "attack": "distance_linkage" if line is LINES[0] else None,
            "intruder": "declared" if line is LINES[0] else None, "attribute": None, "p_percent": None, "direction": "at_most",
            "limit": line["at_most"], "deciding_bound": "value", "deciding_value": value, "decision": "pass",
            "reason": "within the limit", "subgroup": None,
        }
        for line, value in zip(LINES, (0.083, 8.1), strict=True)
    ]  # fmt: skip
    value = {
        "schema_version": "2", "release": "golden", "series": "golden", "run": "20261121T093100Z-000001",
        "claim": {
            "verdict": "certified", "not_for_publication": False,
            "file": {
                "name": "released.csv", "sha256": _sha256(released), "content_address": content_address(table()),
                "rows": table().n, "columns": [column.model_dump() for column in create_column_claims(table())],
            },
            "policy": {
                "id": "golden/policy", "version": "2026-2", "author": "disclosure control unit",
                "digest": _sha256(canonical(LINES)), "lines": LINES,
            },
            "criteria": criteria,
            "attacks": [
                {
                    "attack": "distance_linkage", "method": "distance_linkage", "intruder": "declared", "status": "ok",
                    "knows_data": "the original age of every record", "knows_mechanism": "nothing",
                    "settings": "to the release, ties shared", "reason": None,
                }
            ],
            "date": ISSUED,
        },
        "not_claimed": {
            "anonymity_in_law": "This is not a determination of anonymity in law.",
            "attacks_omitted": [{"attack": "transparency", "reason": "shown in an earlier edition"}],
            "attacks_not_in_catalogue": ["probabilistic linkage"],
        },
        "criteria_wp29": {"singling_out": none, "linkability": risk, "inference": none},
        "context": {"environment": "public", "purpose": "teaching", "recipients": "not assessed", "prior_releases": []},
        "data": {
            "unit": "person", "persons": "not assessed", "rows_in": 12, "rows_out": 12, "sampling_fraction": 0.01,
            "sampled": [], "period": "2026",
            "special_categories": [], "source": {"algorithm": "hmac-sha256", "digest": "ef" * 32},
        },
        "attack_model": {
            "declared_knows": ["age"], "participation_known": True, "targets": 1.0, "insiders": [], "maximum_risk": 0.33,
            "average_risk": 0.083, "direction": ["to_release"], "scale": ["release"], "credit": ["shared"],
        },
        "attributes": attributes, "documents": digests, "approvals": [], "issued_at": ISSUED,
        "review_by": "2028-11-21T09:31:00Z", "revoked_by": None, "previous_certificate": "none", "attempts": 1,
        "recorded": {
            "ledger": "1" * 32, "attempt_entry": 4, "attempt_digest": "23" * 32, "tree_size": 5, "root": "45" * 32,
        },
        "made_by": {
            "version": "0.1.0", "code": "67" * 32, "lock": "89" * 32, "platform": "0a" * 32, "python": "3.11.7",
        },
        "sweep": "not assessed", "seed_entropy_bits": 256, "attack_catalogue_version": "2",
        "utility": ["means of income are kept"], "residual": ["one in twelve is found again"],
    }  # fmt: skip
    return Predicate.model_validate_json(json.dumps(value)).model_dump(mode="json")


def main(folder: Path) -> None:
    released = encode(table(), "csv")
    documents = {"report.html": b"<!doctype html><title>golden</title>\n", "scorecard.json": b"{}\n"}
    predicate = said(released, documents)
    claimed = predicate["claim"]["file"]
    digest = {"sha256": claimed["sha256"], "sdcertContent": claimed["content_address"]}
    subject = [{"name": "released.csv", "digest": digest}]
    value = {"_type": STATEMENT_TYPE, "subject": subject, "predicateType": PREDICATE_TYPE, "predicate": predicate}
    private = Ed25519PrivateKey.generate()
    pem = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    envelope = sign_envelope(value, STATEMENT_PAYLOAD_TYPE, CryptoSigner(private))
    files = {**documents, "released.csv": released, "certificate.json": envelope, "sdcert.pem": pem}
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
