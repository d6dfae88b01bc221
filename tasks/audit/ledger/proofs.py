"""Proofs that can be checked without the ledger: that it holds an entry, and that it begins with what a witness saw.

A proof is a JSON file with a signed head, the hashes that lead to its root (RFC 6962), and what it is about.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from tasks.audit.ledger.entries import Entry
from tasks.audit.ledger.ledger import Ledger, open_entry
from tasks.audit.ledger.merkle import hash_leaf, prove_consistency, prove_inclusion, verify_consistency, verify_inclusion
from tasks.audit.ledger.witness import SignedTreeHead, open_tree_head, read_leaves, read_witness_file, sign_tree_head
from tasks.audit.signing.envelope import ENTRY_TYPE, NotAnEnvelope, SignedEnvelope, open_envelope
from tasks.audit.signing.keyring import KeyRefused, Keyring
from tasks.microdata.canonical import canonical
from tasks.microdata.errors import InputError
from tasks.microdata.spec import Spec
from tasks.report.predicate import Digest

if TYPE_CHECKING:
    from tasks.audit.signing.keys import SigningKey

Hashes = Annotated[tuple[Digest, ...], Field(max_length=128)]
_INDEX = re.compile(r"[0-9]{1,12}")
_ENDED = b'"kind":"ended"'


class InclusionProof(Spec):
    """That the ledger holds an entry. entry, head: the line of the ledger and the signed head, byte for byte."""

    kind: Literal["membership"] = "membership"
    entry: str
    path: Hashes
    head: str


class ConsistencyProof(Spec):
    """That the ledger begins with what a witness saw. first, head: the older and the newer signed head, byte for byte."""

    kind: Literal["consistency"] = "consistency"
    first: str
    path: Hashes
    head: str


LedgerProof = Annotated[InclusionProof | ConsistencyProof, Field(discriminator="kind")]
_PROOF: TypeAdapter[InclusionProof | ConsistencyProof] = TypeAdapter(LedgerProof)


@dataclass(frozen=True, slots=True)
class ProofCheck:
    """What a proof says, and what is wrong with it. entry: that it is about; head, first: the signed heads."""

    head: SignedTreeHead
    faults: tuple[str, ...]
    entry: Entry | None = None
    first: SignedTreeHead | None = None


def prove_entry(ledger: Ledger, which: str, key: SigningKey) -> tuple[InclusionProof, int]:
    """The proof that the ledger holds an entry, and the entry's index.

    which: an index, or a run id or its beginning: the entry in which the run ended, or its last one.
    Raises InputError where there is none, or the runs are several. Cost: two readings of the ledger.
    """
    named, leaves = read_leaves(ledger)
    index = int(which) if _INDEX.fullmatch(which) and int(which) < len(leaves) else _find_run_entry(ledger, which, len(leaves))
    line = next(line for line in ledger.lines() if line.index == index)
    path = tuple(step.hex() for step in prove_inclusion(leaves, index))
    head = sign_tree_head(named, leaves, key).decode()
    return InclusionProof(entry=line.content.decode(errors="replace"), path=path, head=head), index


def prove_since(ledger: Ledger, witness: Path, key: SigningKey) -> tuple[ConsistencyProof, int]:
    """The proof that the ledger still begins with what a witness saw, and how many entries that were.

    Raises InputError where the file is no witness, or the ledger does not begin so: there is no proof then.
    """
    content = read_witness_file(witness, "a witness").removesuffix(b"\n")
    try:
        first, _ = open_tree_head(content)
    except NotAnEnvelope as error:
        raise _create_witness_error(witness, str(error)) from None
    named, leaves = read_leaves(ledger)
    if first.ledger != named or first.size > len(leaves):
        raise _create_proof_error("it is of another ledger, or saw more entries than there are")
    path = prove_consistency(leaves, first.size)
    head = sign_tree_head(named, leaves, key)
    now, _ = open_tree_head(head)
    if not verify_consistency(first.size, bytes.fromhex(first.root), now.size, bytes.fromhex(now.root), path):
        raise _create_proof_error("the first entries are not those that it saw")
    return ConsistencyProof(first=content.decode(), path=tuple(step.hex() for step in path), head=head.decode()), first.size


def serialise_proof(proof: InclusionProof | ConsistencyProof) -> bytes:
    """The content of a proof's file."""
    return canonical(proof.model_dump(mode="json")) + b"\n"


def read_proof(path: Path) -> InclusionProof | ConsistencyProof:
    """Raises InputError where the file is no proof."""
    content = read_witness_file(path, "a proof")
    try:
        proof = _PROOF.validate_json(content)
        if serialise_proof(proof) == content:
            return proof
        why = "it is not byte for byte as it was written"
    except (ValidationError, ValueError):
        why = "it is not JSON with the fields of one"
    allowed = "a file that `sdcert audit prove` wrote"
    raise InputError("not-a-proof", str(path), f"this is no proof: {why}", allowed, "ask for the file again")


def check_proof(proof: InclusionProof | ConsistencyProof, keyring: Keyring) -> ProofCheck:
    """Check a proof by the keys that are trusted. Raises InputError where a part of it is not even an entry or a head."""
    try:
        head, envelope = open_tree_head(proof.head.encode())
        faults = list(_list_refusals(keyring, envelope, head, "the head"))
        match proof:
            case InclusionProof():
                return _check_entry(proof, head, keyring, faults)
            case ConsistencyProof():
                return _check_consistency(proof, head, keyring, faults)
    except (NotAnEnvelope, UnicodeEncodeError) as error:
        reason = str(error) if isinstance(error, NotAnEnvelope) else "it is no text"
        what, allowed = f"a part of this proof was changed: {reason}", "a file that `sdcert audit prove` wrote"
        raise InputError("not-a-proof", "proof", what, allowed, "ask for the file again") from None


def _check_entry(proof: InclusionProof, head: SignedTreeHead, keyring: Keyring, faults: list[str]) -> ProofCheck:
    line = proof.entry.encode()
    entry, envelope = open_entry(line), open_envelope(line, ENTRY_TYPE)
    faults.extend(_list_refusals(keyring, envelope, entry, "the entry"))
    path = [bytes.fromhex(step) for step in proof.path]
    if entry.ledger != head.ledger:
        faults.append("the entry is of another ledger than the head")
    if not verify_inclusion(hash_leaf(line), entry.index, head.size, path, bytes.fromhex(head.root)):
        faults.append(f"the hashes do not lead from entry {entry.index} to the root of {head.size:,} entries")
    return ProofCheck(head, tuple(faults), entry=entry)


def _check_consistency(proof: ConsistencyProof, head: SignedTreeHead, keyring: Keyring, faults: list[str]) -> ProofCheck:
    first, envelope = open_tree_head(proof.first.encode())
    faults.extend(_list_refusals(keyring, envelope, first, "the older head"))
    path = [bytes.fromhex(step) for step in proof.path]
    if first.ledger != head.ledger:
        faults.append("the two heads are of different ledgers")
    if not verify_consistency(first.size, bytes.fromhex(first.root), head.size, bytes.fromhex(head.root), path):
        faults.append(f"the hashes do not show that {first.size:,} entries are the beginning of {head.size:,}")
    return ProofCheck(head, tuple(faults), first=first)


def _list_refusals(keyring: Keyring, envelope: SignedEnvelope, signed: SignedTreeHead | Entry, what: str) -> Iterator[str]:
    try:
        keyring.require_valid_signer(envelope, purpose="certificates", signed_at=signed.at)
    except KeyRefused as error:
        yield f"{what}: {error.reason}"


def _find_run_entry(ledger: Ledger, which: str, size: int) -> int:
    """The entry in which a run ended, or its last one."""
    found: dict[str, int] = {}
    ended: set[str] = set()
    pattern = re.compile(rb'"run":"(' + re.escape(which.encode(errors="replace")) + rb'[^"\\]{0,200})"')
    for line in ledger.lines():
        payload = _extract_payload(line.content)
        run = pattern.search(payload)
        if run is not None and line.index < size and (name := run[1].decode(errors="replace")) not in ended:
            found[name] = line.index
            ended |= {name} if _ENDED in payload else set()
    if len(found) == 1 or which in found:
        return found.get(which, next(iter(found.values())))
    what = "several runs begin so" if found else "the ledger has no such entry and no such run"
    remedy = "give the whole id" if found else "see `sdcert audit find` or `sdcert runs`"
    raise InputError("no-such-entry", "sdcert audit prove", what, f"a run id, or an index below {size}", remedy, which)


def _extract_payload(line: bytes) -> bytes:
    try:
        return base64.b64decode(json.loads(line)["payload"])
    except (ValueError, TypeError, KeyError):
        return b""


def _create_proof_error(why: str) -> InputError:
    what = f"there is no proof that the ledger begins with what this witness saw: {why}"
    remedy = "`sdcert audit verify --witness FILE` says more; if it finds the same, entries were changed or removed"
    return InputError("no-proof", "sdcert audit prove --since", what, "a witness of this ledger", remedy)


def _create_witness_error(path: Path, why: str) -> InputError:
    allowed = "a file that `sdcert audit witness` wrote"
    return InputError("not-a-witness", str(path), f"this is no witness: {why}", allowed, "give the file as it was handed over")
