"""Witnesses: signed statements of the ledger's size and root, kept where nobody who can write the ledger can change them.

A key shows who wrote an entry. It does not show that its holder has not written the ledger anew: that shows a root that left
the house before.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AwareDatetime, Field, StringConstraints, ValidationError
from pydantic_core import to_json

from tasks.audit.ledger.ledger import Ledger
from tasks.audit.ledger.merkle import compute_root
from tasks.audit.signing.envelope import (
    LARGEST_BYTES,
    STATEMENT_PAYLOAD_TYPE,
    TREE_HEAD_TYPE,
    NotAnEnvelope,
    SignedEnvelope,
    open_envelope,
    sign_envelope,
)
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import open_regular_file
from tasks.microdata.spec import Spec
from tasks.report.predicate import Digest, LedgerClaim

if TYPE_CHECKING:
    from tasks.audit.signing.keys import SigningKey

LARGEST_SIZE = 1 << 53


class SignedTreeHead(Spec):
    """How many entries a ledger had at a time, and the root of the Merkle tree over them."""

    ledger: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    size: Annotated[int, Field(ge=1, le=LARGEST_SIZE)]
    root: Digest
    at: AwareDatetime


@dataclass(frozen=True, slots=True)
class Witness:
    """What a file says that the ledger was. entry, digest: of a certificate, the attempt that it names and its leaf hash."""

    source: str
    ledger: str
    size: int
    root: str
    envelope: SignedEnvelope
    entry: int | None = None
    digest: str | None = None


def create_witness(ledger: Ledger, key: SigningKey, at: datetime | None = None) -> bytes:
    """The signed head of the ledger as it is now. Cost: one reading of the file, a second for a million entries or so.

    Raises InputError where there is no ledger, or it does not agree with head.json.
    """
    return sign_tree_head(*read_leaves(ledger), key, at)


def read_leaves(ledger: Ledger) -> tuple[str, list[bytes]]:
    """The id of the ledger, and the leaf hash of every line, with no append under way.

    Raises InputError where there is no ledger, or it does not agree with head.json.
    """
    if not ledger.exists():
        raise create_no_ledger_error()
    with ledger.hold_lock():
        head = ledger.head()
        leaves = [line.leaf for line in ledger.lines()]
    if not leaves:
        raise create_no_ledger_error()
    if compute_root(leaves).hex() != head.root:
        raise ledger.create_damage_error("the entries of ledger.jsonl are not those of head.json")
    return head.ledger, leaves


def sign_tree_head(ledger: str, leaves: list[bytes], key: SigningKey, at: datetime | None = None) -> bytes:
    """Size and root, signed."""
    value = SignedTreeHead(ledger=ledger, size=len(leaves), root=compute_root(leaves).hex(), at=at or datetime.now(UTC))
    return sign_envelope(value.model_dump(mode="json"), TREE_HEAD_TYPE, key.signer)


def open_tree_head(content: bytes) -> tuple[SignedTreeHead, SignedEnvelope]:
    """A signed head; its signature is not checked. Raises NotAnEnvelope."""
    envelope = open_envelope(content, TREE_HEAD_TYPE)
    try:
        return SignedTreeHead.model_validate_json(envelope.payload), envelope
    except ValidationError:
        raise NotAnEnvelope("what is signed is not a head of the ledger") from None


def read_witness(path: Path) -> Witness:
    """A file that `sdcert audit witness` wrote, or a certificate, which names the head that the ledger had before its masking.

    Raises InputError where it is neither.
    """
    content = read_witness_file(path, "a witness")
    try:
        return _parse_witness(content.removesuffix(b"\n"), path.name)
    except NotAnEnvelope as error:
        what = f"this is no witness: {error}"
        allowed = "a file that `sdcert audit witness` wrote, or the certificate of a release"
        raise InputError("not-a-witness", str(path), what, allowed, "give the file as it was handed over") from None


def read_witness_file(path: Path, what: str) -> bytes:
    """The bytes of a file that somebody gave. Raises InputError where it cannot be read, or is too large to be one."""
    try:
        with open_regular_file(path) as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        reason = f"{what} cannot be read ({error.strerror})"
        raise InputError("unreadable-file", str(path), reason, "a file that you may read", "check the path") from None
    if len(content) > LARGEST_BYTES:
        raise InputError(
            "not-a-witness", str(path), f"it is too large for {what}", f"{LARGEST_BYTES:,} bytes", "check the path"
        )
    return content


def create_no_ledger_error() -> InputError:
    remedy = "check SDCERT_HOME; the ledger begins with the first release: `sdcert certify RELEASE.yaml`"
    return InputError("no-ledger", "ledger", "there is no ledger in this home yet", "a home with a ledger", remedy)


def _parse_witness(content: bytes, name: str) -> Witness:
    try:
        head, envelope = open_tree_head(content)
    except NotAnEnvelope:
        return _read_certificate_witness(open_envelope(content, STATEMENT_PAYLOAD_TYPE), name)
    return Witness(name, head.ledger, head.size, head.root, envelope)


def _read_certificate_witness(envelope: SignedEnvelope, name: str) -> Witness:
    try:
        recorded = LedgerClaim.model_validate_json(to_json(_extract_recorded_head(envelope.value)))
    except (ValidationError, ValueError):
        raise NotAnEnvelope("it is a signed statement that names no head of the ledger") from None
    return Witness(
        name, recorded.ledger, recorded.tree_size, recorded.root, envelope, recorded.attempt_entry, recorded.attempt_digest
    )


def _extract_recorded_head(value: Any) -> Any:
    predicate = value.get("predicate") if isinstance(value, dict) else None
    return predicate.get("recorded") if isinstance(predicate, dict) else None
