"""What whoever certifies, approves or revokes should know of a clock that was set back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from tasks.audit.ledger.order import clock_in_words
from tasks.audit.lookup.index import Index


def find_clock_warnings() -> Iterator[str]:
    """A warning for each time that the clock was set back, for as long as the ledger holds dates that are still to come."""
    now = datetime.now(UTC)
    with Index.current() as index:
        noted = index.clock_set_back()
    for reading, at in noted:
        if reading.latest > now:
            yield f"{clock_in_words(reading, at)}; older entries of the ledger have later dates than this one"
