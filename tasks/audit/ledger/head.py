"""Where the ledger ended at the last append (head.json, beside the ledger); rebuilt from the ledger if lost. Not signed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field, ValidationError

from tasks.audit.ledger.entries import NOTHING_BEFORE
from tasks.audit.ledger.merkle import CompactRange
from tasks.microdata.canonical import canonical
from tasks.microdata.spec import Spec
from tasks.report.predicate import Digest

LARGEST_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class LedgerHead:
    """Where the ledger ends. ledger: its id, empty before the first entry. n_bytes: its length. last_byte: where the last entry
    begins. last: the leaf hash of the last entry.
    """

    ledger: str = ""
    n_bytes: int = 0
    last_byte: int = 0
    last: str = NOTHING_BEFORE
    tree: CompactRange = field(default_factory=CompactRange)

    @property
    def size(self) -> int:
        """How many entries."""
        return self.tree.size

    @property
    def root(self) -> str:
        """The root of the Merkle tree over all entries, in hexadecimal."""
        return self.tree.root().hex()

    def add_leaf(self, ledger: str, leaf: bytes, n_bytes: int) -> LedgerHead:
        """The head with one line more; n_bytes: its length with the line break."""
        return LedgerHead(ledger, self.n_bytes + n_bytes, self.n_bytes, leaf.hex(), self.tree.append(leaf))


class _HeadFile(Spec):
    """check: SHA-256 of the rest, against decay: what is wrong here would go into every later entry and certificate."""

    check: Digest = NOTHING_BEFORE
    ledger: str
    size: Annotated[int, Field(ge=1)]
    n_bytes: Annotated[int, Field(ge=1)]
    last_byte: Annotated[int, Field(ge=0)]
    last: Digest
    peaks: tuple[Digest, ...]


def serialise_head(head: LedgerHead) -> bytes:
    """The content of head.json."""
    peaks = tuple(peak.hex() for peak in head.tree.peaks)
    kept = _HeadFile(
        ledger=head.ledger, size=head.size, n_bytes=head.n_bytes, last_byte=head.last_byte, last=head.last, peaks=peaks
    )
    check = hashlib.sha256(canonical(kept.model_dump(mode="json"))).hexdigest()
    return canonical(kept.model_copy(update={"check": check}).model_dump(mode="json")) + b"\n"


def parse_head(content: bytes) -> LedgerHead | None:
    """The head that a head.json speaks of; None where it is not one."""
    try:
        kept = _HeadFile.model_validate_json(content)
    except ValidationError:
        return None
    tree = CompactRange(kept.size, tuple(bytes.fromhex(peak) for peak in kept.peaks))
    head = LedgerHead(kept.ledger, kept.n_bytes, kept.last_byte, kept.last, tree)
    whole = len(kept.peaks) == kept.size.bit_count() and kept.last_byte < kept.n_bytes
    return head if whole and serialise_head(head) == content else None
