"""Approvals: a person's signature under a certificate. The machine's verdict is not the decision of a review board."""

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
from tasks.microdata.spec import Name, Reason, Spec
from tasks.report.predicate import NOT_ASSESSED, Digest, NotAssessed

PREDICATE_TYPE = "urn:sdcert:predicate:approval:1"
WROTE_POLICY = "the approver wrote the policy that decided"
ASKED = "the approver asked for the run"
AUTHOR_UNDECLARED = "the release file does not say who wrote the policy; it was taken to be who first asked for a run under it"


class PolicyAuthor(Spec):
    """Who wrote the policy, and who says so: the certificate, or the ledger's first attempt with this policy."""

    name: str
    known_from: Literal["certificate", "ledger"]


class ApprovalPredicate(StatementPredicate):
    """A person approves a release.

    by: the person, as they call themselves: what proves it is their key. policy: SHA-256 of the policy's canonical lines.
    independent: is the approver another person than who wrote the policy? "not assessed" where nobody declared who did.
    """

    schema_version: Literal["1"] = "1"
    by: Name
    role: Name
    reason: Reason
    policy: Digest
    policy_author: PolicyAuthor | NotAssessed
    independent: bool | NotAssessed
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VerifiedApproval:
    """An approval whose signature is good: what it says, who signed, and the digest of its file."""

    predicate: ApprovalPredicate
    key: KnownKey
    sha256: str


@dataclass(frozen=True, slots=True)
class Independence:
    independent: bool | NotAssessed
    flags: tuple[str, ...]


def judge_independence(by: str, key_of: str, author: PolicyAuthor | None, asked_by: str | None) -> Independence:
    """Is the approver who wrote the policy or who asked for the run, by the own name or by that of the key?

    Names are compared without regard to capitals and blanks. An author whom the ledger alone knows is a user name: if it is
    none of the approver's, that proves nothing, and independence is not assessed.
    """
    own = {_normalise_name(by), _normalise_name(key_of)}
    wrote = author is not None and _normalise_name(author.name) in own
    declared = author is not None and author.known_from == "certificate"
    flags = {
        WROTE_POLICY: wrote,
        ASKED: asked_by is not None and _normalise_name(asked_by) in own,
        AUTHOR_UNDECLARED: not declared,
        f"signed with the key of {key_of}": len(own) > 1,
    }
    independent: bool | NotAssessed = not wrote if wrote or declared else NOT_ASSESSED
    return Independence(independent, tuple(words for words, raised in flags.items() if raised))


def sign_approval(subject: list[dict[str, Any]], approval: ApprovalPredicate, key: SigningKey) -> bytes:
    """The signed approval, as the bytes of its file. subject: that of the certificate."""
    return sign_statement(subject, PREDICATE_TYPE, approval, key)


def read_approval(content: bytes, certificate_sha256: str, keyring: Keyring) -> VerifiedApproval:
    """The approval in a file; raises beside.NotValid unless a person's key, known and good, signed it for this certificate."""
    approval, key = verify_statement(content, PREDICATE_TYPE, ApprovalPredicate, certificate_sha256, keyring, "approvals")
    return VerifiedApproval(approval, key, hashlib.sha256(content).hexdigest())


def create_approval_schema() -> dict[str, Any]:
    return create_statement_schema(ApprovalPredicate, PREDICATE_TYPE)


def _normalise_name(name: str) -> str:
    return "".join(name.split()).casefold()
