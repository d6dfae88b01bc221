"""A series: the attempts and the releases about one population that the ledger of this home has under one name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.audit.ledger.entries import AttemptMade
from tasks.audit.lookup.index import Index
from tasks.audit.lookup.index_rows import RunEntries
from tasks.audit.lookup.query import Query
from tasks.audit.series.past_attempts import PastAttempt


@dataclass(frozen=True, slots=True)
class Series:
    """What hangs on a name: how often a source was tried, the last draw, the chain of certificates and the one that stands.

    The same persons are in all versions of its source. `list_person_columns` (`tasks/microdata/units.py`) says which columns
    tell them apart; where there are none, only a whole row does. The seed and the key of its pseudonyms are in
    `tasks/runtime/draws.py`, which asks here where its own note of them is gone. Every method reads the ledger by its index.
    """

    name: str

    def list_attempts(self) -> tuple[AttemptMade, ...]:
        """Every attempt, oldest first, those of rehearsals too."""
        with Index.current() as index:
            return index.attempts_of(self.name)

    def list_past_attempts(self) -> tuple[PastAttempt, ...]:
        """Every run, in the order of their last words. Cost: the entries of the series are read."""
        with Index.current() as index:
            found = [PastAttempt.from_entries(one) for one in index.find(Query(series=self.name))]
        return tuple(sorted(found, key=lambda one: one.order))

    def list_last_ended(self, number: int) -> tuple[RunEntries, ...]:
        """Of so many runs, the newest, those that ended, in the order in which they did."""
        with Index.current() as index:
            found = [one for one in index.find(Query(series=self.name, last=number)) if one.ending is not None]
        return tuple(sorted(found, key=lambda one: one.ending_number))

    def list_serious_runs(self) -> Iterator[RunEntries]:
        """Every run that was no rehearsal, newest first: the draw of a rehearsal may have been chosen. Read one by one."""
        with Index.current() as index:
            yield from (found for found, _ in index.each(Query(series=self.name)) if not found.is_rehearsal)

    def find_last_draw(self) -> str | None:
        """The draw of the last attempt that was no rehearsal."""
        return next((found.attempts[-1].draw for found in self.list_serious_runs() if found.attempts), None)

    def find_last_release(self) -> RunEntries | None:
        """The last run that was certified for publication, revoked or not."""
        with Index.current() as index:
            return index.last_release_of(self.name)

    def find_standing_release(self) -> RunEntries | None:
        """The same, unless it was revoked: an older one does not take its place by itself."""
        last = self.find_last_release()
        return None if last is None or last.revocations else last
