"""Check a released file against its certificate. Needs the two files and the issuer's public key, and nothing else.

Nothing that the certificate says is looked at before its signature was found good.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tasks.audit.certificates.approval import PREDICATE_TYPE as APPROVAL_TYPE
from tasks.audit.certificates.approval import read_approval
from tasks.audit.certificates.certificate_statements import NotValid
from tasks.audit.certificates.revocation import FILE as REVOCATION
from tasks.audit.certificates.revocation import PREDICATE_TYPE as REVOCATION_TYPE
from tasks.audit.certificates.revocation import read_revocation
from tasks.audit.signing.envelope import LARGEST_BYTES, STATEMENT_PAYLOAD_TYPE, NotAnEnvelope, SignedEnvelope, open_envelope
from tasks.audit.signing.keyring import KeyRefused, Keyring
from tasks.microdata.canonical import canonical
from tasks.microdata.regular_files import LARGEST_TABLE, open_regular_file, read_file
from tasks.report.predicate import OLDER_PREDICATE_TYPES, PREDICATE_TYPE, STATEMENT_TYPE, FileClaim, Predicate

APPROVALS = "approval-*.json"
_VERSION = re.compile(r"(urn:sdcert:predicate:release:)([0-9]{1,9})")
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class CertificateCheck:
    """One thing that was looked at.

    matches: None where it decides nothing. says: a sentence; may hold names from the files. warning: it decides nothing, and
    the reader must know it all the same.
    """

    what: str
    matches: bool | None
    says: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class CertificateVerification:
    """What was found. predicate: what the certificate says, once its signature was found good; None otherwise.

    sha256: of the certificate. document: the name of the document that the file is, where it is not the released file.
    not_covered: what the file holds beside the certified table, in words.
    """

    checks: tuple[CertificateCheck, ...]
    predicate: Predicate | None = None
    sha256: str = ""
    document: str | None = None
    not_covered: tuple[str, ...] = ()

    @property
    def matches(self) -> bool:
        return self.predicate is not None and not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        return tuple(check.what for check in self.checks if check.matches is False)

    @property
    def has_revocation_warning(self) -> bool:
        """Was another certificate of the same data revoked?"""
        return any(check.warning for check in self.checks if check.what == "revocation")


class _Stop(Exception):
    """A check failed without which the others mean nothing."""

    def __init__(self, what: str, says: str) -> None:
        super().__init__(says)
        self.check = CertificateCheck(what, False, says)


def verify_file(
    path: Path, certificate: bytes, keyring: Keyring, at: datetime, *, beside: Path | None = None, content_only: bool = False
) -> CertificateVerification:
    """Check a released file, or a document issued with it, against the bytes of a certificate, as of a date.

    Parameters
    ----------
    at: with its time zone. beside: the folder in which approvals and a revocation stand; None: none are looked for.
    content_only: a file of other bytes matches if its table does, whatever else it holds.

    The bytes of the file are compared; where they differ, its content, in whatever format of table it is. Raises OSError where
    the file cannot be read. Cost: one pass over the file; where its bytes differ, reading the table, and looking at every byte.
    """
    digest = hashlib.sha256(certificate).hexdigest()
    checks: list[CertificateCheck] = []
    try:
        envelope = _open_certificate(certificate)
        checks.append(CertificateCheck("form", True, "a signed envelope, byte for byte as it was written"))
        signer = _find_signer(envelope, keyring)
        predicate = _parse_predicate(envelope.value)
        checks.append(_check_signature_date(envelope, keyring, predicate, signer))
    except _Stop as stop:
        return CertificateVerification((*checks, stop.check), sha256=digest)
    sha256 = _compute_sha256(path)
    document = next((one.name for one in predicate.documents if one.sha256 == sha256), None)
    file_checks, beyond = _check_file(path, sha256, document, predicate, content_only)
    checks += [_check_verdict(predicate), *file_checks, *_check_dates(predicate, at)]
    checks += [*_check_revocation(digest, keyring, beside), *_check_data_revocations(digest, keyring, predicate)]
    checks += _check_approvals(digest, keyring, beside, predicate)
    return CertificateVerification(tuple(checks), predicate, digest, document, beyond)


def _open_certificate(content: bytes) -> SignedEnvelope:
    try:
        return open_envelope(content, STATEMENT_PAYLOAD_TYPE)
    except NotAnEnvelope as error:
        raise _Stop("form", f"this is no certificate: {error}") from None


def _find_signer(envelope: SignedEnvelope, keyring: Keyring) -> str:
    try:
        return keyring.signer_of(envelope, purpose="certificates").name
    except KeyRefused as refused:
        older = "; if the issuer changed keys since, ask for the key it names, or for a trust file, which holds all of them"
        raise _Stop("signature", refused.reason + (older if refused.code == "unknown-key" else "")) from None


def _check_signature_date(envelope: SignedEnvelope, keyring: Keyring, predicate: Predicate, signer: str) -> CertificateCheck:
    try:
        keyring.require_valid_signer(envelope, purpose="certificates", signed_at=predicate.issued_at)
    except KeyRefused as refused:
        return CertificateCheck("signature", False, refused.reason)
    return CertificateCheck("signature", True, f"signed by {signer}")


def _parse_predicate(value: Any) -> Predicate:
    """What a signed statement says; its signature is good, so that what is wrong here is of another kind or version."""
    fields = ("_type", "predicate", "predicateType", "subject")
    if not isinstance(value, dict) or tuple(sorted(value)) != fields or value["_type"] != STATEMENT_TYPE:
        raise _Stop("statement", "what was signed is no in-toto statement of version 1")
    if value["predicateType"] not in (PREDICATE_TYPE, *OLDER_PREDICATE_TYPES):
        raise _Stop("statement", _describe_other_version(value["predicateType"]))
    try:
        predicate = Predicate.model_validate_json(canonical(value["predicate"]))
    except ValidationError as error:
        location = ".".join(str(step) for step in error.errors()[0]["loc"][:3])
        raise _Stop("statement", f"a certificate of this version does not have what this one has at {location}") from None
    if value["subject"] != _create_subject(predicate):
        raise _Stop("statement", "it contradicts itself: its subject is not the file that it speaks of")
    return predicate


def _describe_other_version(kind: Any) -> str:
    found = _VERSION.fullmatch(kind) if isinstance(kind, str) else None
    own = _VERSION.fullmatch(PREDICATE_TYPE)
    if found is None or own is None:
        return "what was signed is a statement of another kind, not a certificate of a release"
    if int(found[2]) > int(own[2]):
        return f"it was made by a newer program (version {found[2]} of the form; this one reads {own[2]}): update this program"
    return f"it has version {found[2]} of the form, which was never signed; this program reads {own[2]}"


def _create_subject(predicate: Predicate) -> list[dict[str, Any]]:
    """The subject that a statement must have: the released file, or the report where nothing was released."""
    claimed = predicate.claim.file
    if isinstance(claimed, FileClaim):
        content = {} if claimed.content_address == "not assessed" else {"sdcertContent": claimed.content_address}
        return [{"name": claimed.name, "digest": {"sha256": claimed.sha256, **content}}]
    return [{"name": one.name, "digest": {"sha256": one.sha256}} for one in predicate.documents if one.name == "report.html"]


def _check_verdict(predicate: Predicate) -> CertificateCheck:
    claim = predicate.claim
    if claim.verdict != "certified" or not isinstance(claim.file, FileClaim):
        return CertificateCheck(
            "verdict", False, f"the statement says that the release was NOT certified: it is {claim.verdict}"
        )
    if claim.not_for_publication:
        return CertificateCheck("verdict", False, "the statement is of a rehearsal, not for publication: it certifies nothing")
    return CertificateCheck(
        "verdict", True, f"{predicate.verdict_word} on {predicate.issued_at:%Y-%m-%d}, policy {claim.policy.id}"
    )


FileChecks = tuple[tuple[CertificateCheck, ...], tuple[str, ...]]  # and what the certificate does not cover


def _check_file(path: Path, sha256: str, document: str | None, predicate: Predicate, content_only: bool) -> FileChecks:
    claimed = predicate.claim.file
    if isinstance(claimed, FileClaim) and sha256 == claimed.sha256:
        return _create_file_check(True, f"byte for byte the released file ({claimed.name})")
    if document is not None:
        return _create_file_check(True, f"byte for byte the document that was issued with the release ({document})")
    if path.name in {one.name for one in predicate.documents}:
        return _create_file_check(False, "the document is not, byte for byte, the one that was issued under this name")
    if not isinstance(claimed, FileClaim):
        return _create_file_check(False, "it is none of the documents of a release that published nothing else")
    return _check_content(path, claimed, content_only)


def _check_content(path: Path, claimed: FileClaim, content_only: bool) -> FileChecks:
    """Imports the readers of tables, which take seconds, only where the bytes are other ones."""
    if claimed.kind == "model":
        return _create_file_check(False, "its bytes are not those of the released model, whose content has no other form")
    if claimed.content_address == "not assessed":
        return _create_file_check(
            False, "its bytes are not those of the released file, and no address of the content is stated"
        )
    if path.stat().st_size > LARGEST_TABLE:
        return _create_file_check(False, "its bytes are not those of the released file; it is too large to compare the content")
    from tasks.audit.certificates.same_content import OtherData, compare_content

    try:
        found = compare_content(read_file(path, LARGEST_TABLE), path.name, claimed)
    except OtherData as other:
        return _create_file_check(False, f"neither its bytes nor its content are those of the released file: {other}")
    if not found.not_covered:
        return _create_file_check(True, f"other bytes than {claimed.name}, and the same data (read as {found.read_as})")
    beyond = tuple(
        CertificateCheck("content", None, f"not covered by the certificate: {one}", warning=True) for one in found.not_covered
    )
    same = f"other bytes than {claimed.name}; its table is the same data (read as {found.read_as})"
    more = "it holds more than the table: use the released file itself, or write `--content-only` to rely on the table alone"
    file = CertificateCheck(
        "file", content_only, f"{same}, and the table alone was compared" if content_only else f"{same}, but {more}"
    )
    return (file, *beyond), found.not_covered


def _create_file_check(matches: bool, says: str) -> FileChecks:
    return (CertificateCheck("file", matches, says),), ()


def _check_dates(predicate: Predicate, at: datetime) -> Iterator[CertificateCheck]:
    review = f"{predicate.review_by:%Y-%m-%d}"
    if at < predicate.issued_at:
        yield CertificateCheck(
            "date", False, f"on {at:%Y-%m-%d %H:%M} it had not been issued: that was {predicate.issued_at:%Y-%m-%d %H:%M}"
        )
    elif at > predicate.review_by:
        yield CertificateCheck("date", False, f"it was to be reviewed by {review}, which is past: new attacks may be known")
    else:
        yield CertificateCheck("date", True, f"to be reviewed by {review}")


def _check_revocation(digest: str, keyring: Keyring, beside: Path | None) -> Iterator[CertificateCheck]:
    """A revocation that cannot be checked counts as one: a spoiled one looks the same."""
    known = keyring.revocation_of(digest)
    if known is not None:
        yield CertificateCheck("revocation", False, f"it was revoked on {known.at:%Y-%m-%d}: {known.reason}")
        return
    content = None if beside is None else read_small_file(beside / REVOCATION)
    if content is None:
        yield CertificateCheck("revocation", True, "no revocation is known here; the issuer may know of one")
        return
    try:
        revocation = read_revocation(content, digest, keyring).predicate
        yield CertificateCheck("revocation", False, f"it was revoked on {revocation.at:%Y-%m-%d}: {revocation.reason}")
    except NotValid as error:
        yield CertificateCheck(
            "revocation", False, f"a revocation stands beside it and cannot be checked ({error}): ask the issuer"
        )


def _check_data_revocations(digest: str, keyring: Keyring, predicate: Predicate) -> Iterator[CertificateCheck]:
    """Revoked certificates of the same data. They decide nothing: what was wrong may have been what that certificate said.

    See SECURITY.md. Whether this one was issued with that in mind is for the reader to ask: dates are the signer's own.
    """
    claimed = predicate.claim.file
    if not isinstance(claimed, FileClaim) or keyring.revocation_of(digest) is not None:
        return
    for other in keyring.revocations_of_data(claimed.sha256, claimed.content_address):
        order = "before" if predicate.issued_at < other.at else "after"
        text = f"another certificate of the same data was revoked on {other.at:%Y-%m-%d}: {other.reason}"
        yield CertificateCheck("revocation", None, f"{text} (this one was issued {order} that: ask the issuer)", warning=True)


def _check_approvals(digest: str, keyring: Keyring, beside: Path | None, predicate: Predicate) -> Iterator[CertificateCheck]:
    """Approvals decide nothing here: whose keys count as a board's is for the reader to say.

    A public release that is certified with exceptions is told until somebody else than who wrote its policy has approved it.
    """
    approved = False
    for path in [] if beside is None else sorted(beside.glob(APPROVALS)):
        try:
            found = read_approval(read_small_file(path) or b"", digest, keyring)
        except NotValid as error:
            yield CertificateCheck("approval", None, f"{path.name} does not count: {error}")
            continue
        flags = f" ({'; '.join(found.predicate.flags)})" if found.predicate.flags else ""
        approved = approved or found.predicate.independent is True
        yield CertificateCheck(
            "approval", None, f"{path.name}: approved by {found.predicate.by} as {found.predicate.role}{flags}"
        )
    excepted = predicate.not_claimed.exceptions
    if excepted and not approved and beside is not None and predicate.context.environment == "public":
        text = f"no second person has approved this public release, which is certified except {', '.join(excepted)}"
        yield CertificateCheck(
            "approval", None, f"{text}: `sdcert approve` writes an approval, which belongs beside the certificate", warning=True
        )


def describe_statement(content: bytes) -> tuple[str, list[str]] | None:
    """What kind of signed statement these bytes are, in words, and the names of the files it speaks of; nothing is checked.

    None for anything else.
    """
    try:
        value = open_envelope(content, STATEMENT_PAYLOAD_TYPE).value
        kind, names = value["predicateType"], [str(one["name"]) for one in value["subject"]]
        claim = value["predicate"].get("claim", {})
        certified = claim.get("verdict") == "certified" and claim.get("not_for_publication") is False
    except (NotAnEnvelope, KeyError, TypeError, AttributeError):
        return None
    itself = "the certificate itself" if certified else "the signed statement itself"
    kinds = {
        **dict.fromkeys((PREDICATE_TYPE, *OLDER_PREDICATE_TYPES), itself),
        APPROVAL_TYPE: "an approval, which `sdcert verify` reads beside the certificate",
        REVOCATION_TYPE: "a revocation, which `sdcert verify` reads beside the certificate",
    }
    return (kinds[kind], names) if kind in kinds else None


def read_small_file(path: Path) -> bytes | None:
    """The bytes of a file of the size that an envelope can have; none of them where it cannot be read as one.

    None where nothing of this name is there.
    """
    try:
        if not path.is_file():
            return b"" if path.exists() else None
        with open_regular_file(path) as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError:
        return b""
    return content if len(content) <= LARGEST_BYTES else b""


def _compute_sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open_regular_file(path) as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()
