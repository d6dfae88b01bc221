"""The revocation of a certificate: signed with the machine's key, and never undone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal

from tasks.audit.certificates.certificate_statements import (
    StatementPredicate,
    create_statement_schema,
    sign_statement,
    verify_statement,
)
from tasks.audit.signing.keyring import Keyring, KnownKey
from tasks.audit.signing.keys import SigningKey
from tasks.microdata.spec import Reason

PREDICATE_TYPE = "urn:sdcert:predicate:revocation:1"
FILE = "revocation.json"


class RevocationPredicate(StatementPredicate):
    """A certificate is no longer to be relied upon, from `at` on and for good.

    never_published: nobody outside was given the released file, so that it is no earlier release about its persons.
    """

    schema_version: Literal["1"] = "1"
    reason: Reason
    never_published: bool = False


@dataclass(frozen=True, slots=True)
class Revocation:
    """A revocation whose signature is good: what it says, which key signed, and the digest of its file."""

    predicate: RevocationPredicate
    key: KnownKey
    sha256: str


def sign_revocation(subject: list[dict[str, Any]], revocation: RevocationPredicate, key: SigningKey) -> bytes:
    """The signed revocation, as the bytes of its file. subject: that of the certificate."""
    return sign_statement(subject, PREDICATE_TYPE, revocation, key)


def read_revocation(content: bytes, certificate_sha256: str, keyring: Keyring) -> Revocation:
    """The revocation in a file; raises beside.NotValid unless a machine's key that is known and good signed it for this
    certificate."""
    revocation, key = verify_statement(
        content, PREDICATE_TYPE, RevocationPredicate, certificate_sha256, keyring, "certificates"
    )
    return Revocation(revocation, key, hashlib.sha256(content).hexdigest())


def create_revocation_schema() -> dict[str, Any]:
    return create_statement_schema(RevocationPredicate, PREDICATE_TYPE)
