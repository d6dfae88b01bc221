"""The certificate that is kept for good, and others made from it with a key of the test's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from securesystemslib.signer import CryptoSigner

from tasks.audit.certificates.certificate_verification import CertificateVerification, verify_file
from tasks.audit.ledger.entries import KeyClaim
from tasks.audit.signing.envelope import STATEMENT_PAYLOAD_TYPE, open_envelope, sign_envelope
from tasks.audit.signing.keyring import KeyRecord, Keyring, KnownKey
from tasks.microdata.table import Microdata
from tasks.report.statement import create_column_claims
from tasks.runtime.artifacts import content_address

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "certificate_v2"
TODAY = datetime(2027, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Issuer:
    """Signs what it is given, with a key that a keyring of its own knows."""

    signer: CryptoSigner
    record: KeyRecord

    @property
    def keyring(self) -> Keyring:
        return self.ring()

    def ring(self, *, revoked_certificates: tuple[Any, ...] = (), **change: Any) -> Keyring:
        """The keyring, with another fate of the key."""
        return Keyring((KnownKey.from_record(self.record.model_copy(update=change)),), revoked_certificates)

    def seal(self, statement: Any) -> bytes:
        return sign_envelope(statement, STATEMENT_PAYLOAD_TYPE, self.signer)


@pytest.fixture(scope="session")
def golden() -> Path:
    return GOLDEN


@pytest.fixture(scope="session")
def golden_keys() -> Keyring:
    return Keyring.from_files([GOLDEN / "sdcert.pem"])


@pytest.fixture(scope="session")
def issuer() -> Issuer:
    signer = CryptoSigner.generate_ed25519()
    key = signer.public_key
    pem = key_pem(key.keyval["public"])
    claim = KeyClaim(
        key_id=key.keyid,
        purpose="certificates",
        name="the machine",
        public_key=pem,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return Issuer(signer, KeyRecord(claim=claim))


def key_pem(hexadecimal: str) -> str:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(hexadecimal))
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


@pytest.fixture(scope="session")
def statement() -> Callable[..., dict[str, Any]]:
    """`statement(change)`: the golden statement, changed in place by a function."""
    plain = open_envelope((GOLDEN / "certificate.json").read_bytes(), STATEMENT_PAYLOAD_TYPE).value

    def changed(change: Callable[[dict[str, Any]], Any] = lambda value: None) -> dict[str, Any]:
        value = deepcopy(plain)
        change(value)
        return value

    return changed


@pytest.fixture
def checked(issuer, tmp_path) -> Callable[..., CertificateVerification]:
    """`checked(statement, file)`: what verification says of a statement that the issuer signed."""

    def check(value: Any, file: Path = GOLDEN / "released.csv", **options: Any) -> CertificateVerification:
        options = {"keyring": issuer.keyring, "at": TODAY} | options
        return verify_file(file, issuer.seal(value), **options)

    return check


@pytest.fixture
def of_table(statement) -> Callable[[Microdata], dict[str, Any]]:
    """The statement about another table, whose file nobody has."""

    def about(table: Microdata) -> dict[str, Any]:
        value = statement()
        columns = [column.model_dump() for column in create_column_claims(table)]
        digests = {"sha256": hashlib.sha256(b"elsewhere").hexdigest(), "content_address": content_address(table)}
        value["predicate"]["claim"]["file"] |= {**digests, "rows": table.n, "columns": columns}
        value["subject"][0]["digest"] = {"sha256": digests["sha256"], "sdcertContent": digests["content_address"]}
        return json.loads(json.dumps(value))

    return about
