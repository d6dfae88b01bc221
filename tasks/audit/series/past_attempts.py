"""One run of a series: what was tried, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.audit.ledger.entries import AttemptMade, RunOutcome
from tasks.audit.lookup.index_rows import RunEntries, extract_adopted_digest

DECIDED = ("certified", "refused", "undecided")


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAttempt:
    """One run. release: its name. spec: address of its release file.

    source, source_file, adopted, draw: of its attempt, None where none was made.
    outcome: None where it never said. publishable: not a rehearsal. order: the number of its last word in the ledger.
    """

    run: str
    began_at: datetime
    order: int
    release: str | None = None
    spec: str | None = None
    source: str | None = None
    source_file: str | None = None
    adopted: str | None = None
    draw: str | None = None
    outcome: RunOutcome | None = None
    publishable: bool = True
    review_by: datetime | None = None
    revoked: bool = False

    @classmethod
    def from_entries(cls, found: RunEntries) -> PastAttempt:
        """What the ledger says of a run."""
        ended, attempt = found.ending, found.attempts[-1] if found.attempts else None
        named = found.began or ended
        return cls(
            run=found.run,
            began_at=found.began_at,
            order=max(number for number, entry in found.entries if entry.event.kind in ("began", "attempt", "ended")),
            release=None if named is None else named.release,
            spec=None if found.began is None else found.began.spec,
            **_extract_attempt_fields(attempt),
            outcome=None if ended is None else ended.outcome,
            publishable=not found.is_rehearsal,
            review_by=None if ended is None else ended.review_by,
            revoked=bool(found.revocations),
        )

    @property
    def has_verdict(self) -> bool:
        return self.outcome in DECIDED

    @property
    def has_certificate(self) -> bool:
        """It ended with a certificate for publication, revoked or not."""
        return self.outcome == "certified" and self.publishable


def _extract_attempt_fields(attempt: AttemptMade | None) -> dict[str, str | None]:
    if attempt is None:
        return {}
    return {
        "source": attempt.source,
        "source_file": attempt.source_file,
        "adopted": extract_adopted_digest(attempt),
        "draw": attempt.draw,
    }
