"""What a check of the ledger finds: which kind, where, and one sentence for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

What = Literal[
    "missing",  # there is no ledger where there must be one
    "removed",
    "changed",
    "reordered",
    "inserted",
    "truncated",  # entries at the end are gone
    "torn",  # the end is not whole
    "key",  # signed by a key that may not sign, or may no longer
    "clock",
    "sequence",  # a run was certified that had not begun, or without its attempt
    "head",  # head.json does not fit
    "witness",
    "record",  # of the cache: not what the ledger says of a stage
]
MOST = 1_000


@dataclass(frozen=True, slots=True)
class LedgerFinding:
    """Something that is not as it was written. entry: its index, where it is about one; byte: where its line begins."""

    what: What
    says: str
    entry: int | None = None
    byte: int | None = None


@dataclass(slots=True)
class LedgerFindings:
    """The first `MOST` findings, and how many there are in all."""

    kept: list[LedgerFinding] = field(default_factory=list)
    count: int = 0

    def add(self, what: What, says: str, entry: int | None = None, byte: int | None = None) -> None:
        self.count += 1
        if len(self.kept) < MOST:
            self.kept.append(LedgerFinding(what, says, entry, byte))
