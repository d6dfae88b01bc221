"""The family of a certified release: the other certified releases of this home about the same persons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import ValidationError

from flows.earlier.search import (
    EARLIER,
    open_person_digest,
    read_kept_digests,
    read_persons_address,
    read_private_facts,
    share_digests,
)
from tasks.audit.series.past_releases import PERSONS, PastRelease, list_past_releases
from tasks.microdata.persons import digest_persons
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import list_person_columns
from tasks.runtime.artifacts import Damaged, Store
from tasks.runtime.settings import Home


@dataclass(slots=True)
class ReleaseFamilies:
    """Every certified release of a home, and which of them are about the same persons. Writes nothing.

    past: oldest first, without those that nobody outside was given.
    A run that looked for earlier releases wrote down which ones counted. Of runs before that the digests of their persons are
    compared, as far as the store still has these or the table; where it has not, the series tells.
    """

    past: tuple[PastRelease, ...]
    _facts: dict[str, dict[str, object]] = field(default_factory=dict)
    _persons: dict[str, Microdata | None] = field(default_factory=dict)
    _common: dict[tuple[str, str], bool | None] = field(default_factory=dict)
    _runs: dict[tuple[object, ...], tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def from_ledger(cls) -> ReleaseFamilies:
        """Those of the current home. Cost: each certified run's entries and private manifest are read."""
        return cls(tuple(one for one in list_past_releases() if not one.never_published))

    def find_release(self, run: str) -> PastRelease | None:
        return next((one for one in self.past if one.run == run), None)

    def list_relatives(self, of: PastRelease) -> tuple[PastRelease, ...]:
        """The other releases about persons of this one, oldest first."""
        return tuple(one for one in self.past if one.run != of.run and self._is_related(one, of))

    def find_later(self, than: PastRelease) -> Iterator[PastRelease]:
        """Those of its relatives that were released after it, newest first."""
        for one in reversed(self.past):
            if one.order <= than.order:
                return
            if self._is_related(one, than):
                yield one

    def list_runs_of_same_table(self, past: PastRelease) -> tuple[str, ...]:
        """The runs that released the table of this one, itself among them."""
        if not self._runs:
            for one in self.past:
                name = identify_table(one)
                self._runs[name] = (*self._runs.get(name, ()), one.run)
        return self._runs.get(identify_table(past), ())

    def read_facts(self, past: PastRelease) -> dict[str, object]:
        """The private manifest of a run as the ledger names it; empty where there is none."""
        if past.run not in self._facts:
            has_key = (Home.current().root / "keys" / "store.key").exists()  # asking for it would make one
            self._facts[past.run] = read_private_facts(past) if has_key else {}
        return self._facts[past.run]

    def _is_related(self, one: PastRelease, other: PastRelease) -> bool:
        older, newer = sorted((one, other), key=lambda past: past.order)
        if newer.source is not None and newer.source == older.source:
            return True
        counted = self.read_facts(newer).get(EARLIER)
        if isinstance(counted, list):
            return older.run in counted
        common = self._compare_persons(newer, older)
        return newer.series == older.series if common is None else common

    def _compare_persons(self, newer: PastRelease, older: PastRelease) -> bool | None:
        """Do two releases have a person in common? None where nothing is left that could tell."""
        pair = newer.data or newer.run, older.data or older.run
        if pair not in self._common:
            self._common[pair] = share_digests(self._find_persons(newer), self._find_persons(older))
        return self._common[pair]

    def _find_persons(self, past: PastRelease) -> Microdata | None:
        """Digests of the persons of a release: those that its run kept, else those of its table in the store."""
        name = past.data or past.run
        if name not in self._persons:
            self._persons[name] = next(self._read_persons(past), None)
        return self._persons[name]

    def _read_persons(self, past: PastRelease) -> Iterator[Microdata]:
        facts = self.read_facts(past)
        if PERSONS in facts and (address := read_persons_address(past)) is not None:
            kept = read_kept_digests(address)
            yield from () if kept is None else (kept,)
        spec, addresses = facts.get("spec"), past.tables
        if not isinstance(spec, dict) or not {"data", "schema"} <= addresses.keys():
            return
        try:
            schema = Store().record(RecordRef[Schema](addresses["schema"]), Schema)
            columns = list_person_columns(schema, spec.get("key"))[::-1]
            yield digest_persons(Store().table(TableRef(addresses["data"])), columns, open_person_digest())
        except (Damaged, ValidationError):
            return


def identify_table(past: PastRelease) -> tuple[object, ...]:
    """What tells the released table from those of other runs."""
    masked = past.made.get("mask", {}).get("masked")
    return past.data, masked or (past.run if past.released is None else past.released.content_address)
