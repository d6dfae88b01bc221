"""Signed statements about a certificate that come after it, each in a file of its own beside it: approvals, the revocation.

They are bound to the SHA-256 of the certificate's bytes and have its subject, so that a certificate never changes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import AwareDatetime, ValidationError

from tasks.audit.ledger.entries import KeyPurpose
from tasks.audit.signing.envelope import STATEMENT_PAYLOAD_TYPE, NotAnEnvelope, SignedEnvelope, open_envelope, sign_envelope
from tasks.audit.signing.keyring import KeyRefused, Keyring, KnownKey
from tasks.audit.signing.keys import SigningKey
from tasks.microdata.canonical import canonical
from tasks.microdata.spec import Spec
from tasks.report.predicate import Digest

IN_TOTO = "https://in-toto.io/Statement/v1"


class StatementPredicate(Spec):
    """What every statement beside a certificate says: which certificate (SHA-256 of its bytes), of which run, and when."""

    certificate: Digest
    run: str
    release: str
    at: AwareDatetime


StatementT = TypeVar("StatementT", bound=StatementPredicate)


class NotValid(Exception):
    """A file beside a certificate says nothing that can be relied upon; the text says why, without its content."""


@dataclass(frozen=True, slots=True)
class UncheckedCertificate:
    """A certificate as far as others refer to it: the digest of its bytes, and the statement inside, not yet checked."""

    sha256: str
    statement: dict[str, Any]
    envelope: SignedEnvelope

    @property
    def predicate(self) -> dict[str, Any]:
        return dict(self.statement["predicate"])


def open_certificate(content: bytes) -> UncheckedCertificate:
    """The bytes of a certificate, opened; its signature is not checked. Raises NotAnEnvelope."""
    envelope = open_envelope(content, STATEMENT_PAYLOAD_TYPE)
    if not isinstance(envelope.value, dict) or not isinstance(envelope.value.get("predicate"), dict):
        raise NotAnEnvelope("it holds no in-toto statement")
    return UncheckedCertificate(hashlib.sha256(content).hexdigest(), envelope.value, envelope)


def sign_statement(subject: list[dict[str, Any]], predicate_type: str, statement: StatementPredicate, key: SigningKey) -> bytes:
    """The signed in-toto statement, as the bytes of its file."""
    predicate = statement.model_dump(mode="json")
    value = {"_type": IN_TOTO, "subject": subject, "predicateType": predicate_type, "predicate": predicate}
    return sign_envelope(value, STATEMENT_PAYLOAD_TYPE, key.signer)


def verify_statement(
    content: bytes, predicate_type: str, kind: type[StatementT], certificate: str, keyring: Keyring, purpose: KeyPurpose
) -> tuple[StatementT, KnownKey]:
    """What a file beside a certificate says, and whose key signed it.

    certificate: the SHA-256 that it must be about. Raises NotValid: not a statement of this kind, about another certificate, or
    signed by no key that is good for it.
    """
    try:
        envelope = open_envelope(content, STATEMENT_PAYLOAD_TYPE)
        statement = _parse_statement(envelope.value, predicate_type, kind)
        if statement.certificate != certificate:
            raise NotValid("it is about another certificate")
        return statement, keyring.require_valid_signer(envelope, purpose=purpose, signed_at=statement.at)
    except (NotAnEnvelope, KeyRefused) as error:
        raise NotValid(str(error)) from None


def _parse_statement(value: Any, predicate_type: str, kind: type[StatementT]) -> StatementT:
    fields = ("_type", "predicate", "predicateType", "subject")
    if not isinstance(value, dict) or tuple(sorted(value)) != fields or value["_type"] != IN_TOTO:
        raise NotValid("it holds no in-toto statement")
    if value["predicateType"] != predicate_type:
        raise NotValid("it is a statement of another kind")
    try:
        return kind.model_validate_json(canonical(value["predicate"]))
    except ValidationError:
        raise NotValid("its fields are not those of this kind of statement") from None


def create_statement_schema(kind: type[StatementPredicate], predicate_type: str) -> dict[str, Any]:
    """The JSON schema of a predicate, for those who check statements without this program."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": predicate_type, **kind.model_json_schema()}
