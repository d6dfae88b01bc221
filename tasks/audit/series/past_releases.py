"""The certified releases of this home, whatever their series: what the ledger says of each, and where its tables are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tasks.audit.ledger.entries import ReleasedTable
from tasks.audit.lookup.index import Index
from tasks.audit.lookup.index_rows import RunEntries
from tasks.audit.lookup.query import Query

PERSONS = "persons"  # in a private manifest: address of the digests of the released persons
MADE_BY = {"masked": "mask", "alignment": "mask", "mechanisms": "mask", "schema": "classify"}  # stages, by what they make
KEEP_RELEASED = "keep released"  # the stage that keeps groups of an earlier release
SELECT_RECORDS = ("control", KEEP_RELEASED, "ingest")  # stages that make the table that is masked, the last of them first
FEW = 20  # of so many runs each is read by itself, of more all certified ones at once


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRelease:
    """A run that was certified for publication. A revocation recalls no file, so that a revoked release is one too.

    order: the number of its last word in the ledger. source: address of the table that was read. draw: id of the seed. Both are
    None where no attempt says it.
    made: what each stage made, by the names of the stages. manifest: keyed digest of its private manifest. never_published:
    somebody signed that nobody outside was given the file.
    """

    run: str
    release: str
    series: str
    order: int
    certificate: str | None
    released: ReleasedTable | None
    source: str | None
    made: dict[str, dict[str, str]]
    manifest: str | None
    never_published: bool = False
    draw: str | None = None

    @classmethod
    def from_entries(cls, found: RunEntries) -> PastRelease | None:
        """What the ledger says of a run; None for one that was not released."""
        ended = found.ending
        if ended is None or not ended.is_release:
            return None
        attempts = found.attempts
        return cls(
            run=found.run,
            release=ended.release,
            series=ended.series,
            order=found.ending_number,
            certificate=ended.certificate,
            released=ended.released,
            source=attempts[-1].source if attempts else None,
            draw=attempts[-1].draw if attempts else None,
            made={name: stage.produced for name, stage in ended.stages.items()},
            manifest=ended.manifest,
            never_published=any(one.never_published for one in found.revocations),
        )

    @property
    def data(self) -> str | None:
        """Address of the records that were masked: without those that were set aside as a control, or wait for a group."""
        found = (self.made.get(stage, {}).get("data") for stage in SELECT_RECORDS)
        return next((address for address in found if address is not None), None)

    @property
    def tables(self) -> dict[str, str]:
        """Addresses of what attacks on later releases need of a masked table, as far as the ledger says them.

        `data`, `masked`, `alignment`, `mechanisms`, `schema`.
        """
        found = {name: self.made.get(stage, {}).get(name) for name, stage in MADE_BY.items()} | {"data": self.data}
        return {name: address for name, address in found.items() if address is not None}


def list_past_releases(seen: Collection[str] = ()) -> tuple[PastRelease, ...]:
    """Every release, oldest first. seen: runs that need not be looked at.

    Cost: one question to the index where all are seen; else their entries are read.
    """
    with Index.current() as index:
        new = {row["run"] for row, _ in index.list_certified_runs()}.difference(seen)
        if not new:
            return ()
        entries = [index.run(run) for run in new] if len(new) <= FEW else index.find(Query(verdict="certified"))
    found = (PastRelease.from_entries(one) for one in entries if one.run in new)
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.order))
