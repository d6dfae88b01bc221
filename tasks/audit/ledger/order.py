"""Does every entry follow the one before it? Says what became of those that do not stand where they were written."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tasks.audit.ledger.entries import NOTHING_BEFORE, ClockSetBack, Entry
from tasks.audit.ledger.ledger_findings import MOST, LedgerFindings

BACKWARDS = timedelta(minutes=1)  # clocks are set


@dataclass(slots=True)
class _Damaged:
    """A run of lines that hold no verified entry."""

    first_byte: int
    why: str
    lines: int = 1


@dataclass(slots=True)
class Order:
    """The chain so far. last: the leaf hash of the entry with the highest index; none where its line is damaged."""

    found: LedgerFindings
    ledger: str = ""
    expected: int = 0
    last: str | None = NOTHING_BEFORE
    latest: datetime | None = None
    earliest: datetime | None = None
    damaged: _Damaged | None = None
    missing: list[range] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def damage(self, first_byte: int, why: str) -> None:
        """A line holds no entry, or one that nobody known signed."""
        if self.damaged is None:
            self.damaged = _Damaged(first_byte, why)
        else:
            self.damaged.lines += 1

    def take(self, entry: Entry, leaf: str, byte: int) -> None:
        """A verified entry comes next."""
        self.ledger = self.ledger or entry.ledger
        if entry.ledger != self.ledger:
            self.found.add("inserted", f"entry {entry.index} is of another ledger, {entry.ledger}", entry.index, byte)
            return
        self._settle(entry.index)
        if entry.index < self.expected:
            self._late(entry.index, byte)
            return
        if entry.index > self.expected:
            self._gap(entry.index, byte)
        elif self.last is not None and entry.previous != self.last:
            says = f"entry {entry.index} was appended to another entry {entry.index - 1} than the one that stands before it"
            self.found.add("changed", says, entry.index, byte)
        self._clock(entry, byte)
        self.expected, self.last = entry.index + 1, leaf

    def finish(self, acknowledged: int | None) -> None:
        """Nothing comes any more. acknowledged: how many entries head.json speaks of, if it does."""
        if self.damaged is not None:
            self._settle(self.expected + self.damaged.lines if acknowledged != self.expected else self.expected)

    def _settle(self, index: int) -> None:
        """Say what the damaged lines were, now that entry `index` follows them."""
        damaged, self.damaged = self.damaged, None
        if damaged is None:
            return
        first, n = self.expected, damaged.lines
        if index <= first:
            location = f"behind entry {first - 1}" if first else "before entry 0"
            self.found.add("inserted", f"{_lines(n)} {location}, never appended: {damaged.why}", None, damaged.first_byte)
            return
        self.found.add("changed", f"{_format_entry_range(first, first + n)}: {damaged.why}", first, damaged.first_byte)
        self.expected, self.last = min(first + n, index), None

    def _gap(self, index: int, byte: int) -> None:
        self.found.add(
            "removed",
            f"{_format_entry_range(self.expected, index)}: not at its place before entry {index}",
            self.expected,
            byte,
        )
        if len(self.missing) < MOST:
            self.missing.append(range(self.expected, index))

    def _late(self, index: int, byte: int) -> None:
        if any(index in gap for gap in self.missing):
            self.found.add("reordered", f"entry {index} stands behind entry {self.expected - 1}", index, byte)
        else:
            self.found.add("inserted", f"entry {index} stands here once more, behind entry {self.expected - 1}", index, byte)

    def _clock(self, entry: Entry, byte: int) -> None:
        self.earliest = self.earliest or entry.at
        if isinstance(entry.event, ClockSetBack):
            self._set_back(entry, entry.event)
            return
        if self.latest is not None and self.latest - entry.at > BACKWARDS:
            says = (
                f"entry {entry.index} gives a time {_seconds(self.latest - entry.at)} seconds before that of an earlier entry"
            )
            self.found.add("clock", says, entry.index, byte)
        self.latest = entry.at if self.latest is None else max(self.latest, entry.at)

    def _set_back(self, entry: Entry, admitted: ClockSetBack) -> None:
        """The holder of the key vouches for the clock: what follows is compared with what it said then."""
        self.latest = entry.at
        if len(self.notes) < MOST:
            self.notes.append(f"entry {entry.index}: {clock_in_words(admitted, entry.at)}")


def clock_in_words(admitted: ClockSetBack, at: datetime) -> str:
    """`the clock was set back from 2026-11-23 10:00 to 2026-11-22 10:00 UTC, by ada at here: it was a day ahead`"""
    from_to = f"from {admitted.latest.astimezone(UTC):%Y-%m-%d %H:%M} to {at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"the clock was set back {from_to}, by {admitted.asked_by.user} at {admitted.asked_by.host}: {admitted.reason}"


def _format_entry_range(first: int, end: int) -> str:
    return f"entry {first}" if end == first + 1 else f"entries {first} to {end - 1}"


def _lines(n: int) -> str:
    return "1 line" if n == 1 else f"{n} lines"


def _seconds(gap: timedelta) -> int:
    return int(gap.total_seconds())
