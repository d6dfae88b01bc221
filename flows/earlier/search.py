"""Look in the ledger for certified releases about the persons of a run, whatever their series is called."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from flows.run.history import manifest_path
from tasks.audit.series.past_releases import PERSONS, PastRelease, list_past_releases
from tasks.microdata.errors import SdcertError
from tasks.microdata.persons import ComputeDigest, count_common_persons, digest_persons, have_common_rows, match_rows
from tasks.microdata.refs import TableRef
from tasks.microdata.regular_files import read_file
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Damaged, Store

EARLIER = "earlier"  # in a private manifest: the runs whose releases counted


class ReleasedMeanwhile(Exception):
    """Another run released a table of the same persons while this one was attacked without it."""


@dataclass(frozen=True, slots=True)
class Population:
    """The persons of a run. source: address of its source. data: its records, without a control that was set aside.

    columns: those that tell rows or persons apart across versions. series: decides where persons are no longer known.
    """

    source: str
    data: Microdata
    columns: tuple[str, ...]
    series: str


@dataclass(slots=True)
class EarlierSearch:
    """The search of one run, which can be repeated. run: its own id, which does not count.

    Each certified release is looked at once: the next look costs one question to the index where there is none that is new.
    """

    run: str
    _population: Population | None = None
    _seen: set[str] = field(default_factory=set)
    _found: list[PastRelease] = field(default_factory=list)
    _persons: Microdata | None = None
    _known: dict[str, bool | None] = field(default_factory=dict)

    def find_releases(self, population: Population) -> tuple[PastRelease, ...]:
        """Every release that counts, oldest first."""
        self._population = population
        for past in list_past_releases({*self._seen, self.run}):
            self._seen.add(past.run)
            if not past.never_published and self._is_about(past, population):
                self._found.append(past)
        return tuple(sorted(self._found, key=lambda one: one.order))

    def refuse_new_releases(self) -> None:
        """ReleasedMeanwhile where a release counts that was not found before. Call while the ledger is held."""
        known = len(self._found)
        if self._population is not None and len(self.find_releases(self._population)) > known:
            raise ReleasedMeanwhile

    def store_persons(self) -> TableRef:
        """Keep the digests of the persons that were looked for; returns their address."""
        if self._population is None:
            raise RuntimeError("persons are stored after earlier releases about them were looked for")
        return Store().put_table(self._digest(self._population))

    def _digest(self, population: Population) -> Microdata:
        if self._persons is None:
            self._persons = digest_persons(population.data, population.columns, open_person_digest())
        return self._persons

    def _is_about(self, past: PastRelease, population: Population) -> bool:
        if past.source == population.source:
            return True
        common = self._compare_digests(past, population)
        if common is None:
            common = self._compare_sources(past, population)
        return past.series == population.series if common is None else common

    def _compare_digests(self, past: PastRelease, population: Population) -> bool | None:
        """Do the digests that the past run kept say that it was about the same persons? None where they cannot say it."""
        address = read_persons_address(past)
        if address is None:
            return None
        if address not in self._known:
            self._known[address] = share_digests(self._digest(population), read_kept_digests(address))
        return self._known[address]

    def _compare_sources(self, past: PastRelease, population: Population) -> bool | None:
        """The same by the past run's own records, where the store still has them."""
        address = past.data
        if address is None:
            return None
        if address not in self._known:
            try:
                self._known[address] = share_persons(population, Store().table(TableRef(address)))
            except Damaged:
                self._known[address] = None
        return self._known[address]


def read_kept_digests(address: TableRef) -> Microdata | None:
    """The digests of the persons of a run; None where the store has lost them."""
    try:
        return Store().table(address)
    except Damaged:
        return None


def share_digests(one: Microdata | None, other: Microdata | None) -> bool | None:
    """Do two releases have a person in common, by the digests of their persons? None where these cannot say it."""
    common = None if one is None or other is None else count_common_persons(one, other)
    return None if common is None else common > 0


def share_persons(population: Population, older: Microdata) -> bool | None:
    """Does a table hold a person of the population? None where nothing tells.

    By columns that tell persons apart, where both have one of them; else by whole rows.
    """
    data = population.data
    common = [name for name in population.columns if name in data.names and name in older.names]
    if common:
        return any((match_rows(data, older, name) >= 0).any() for name in common)
    if set(data.names) == set(older.names):
        return bool((match_rows(data, older) >= 0).any())
    return have_common_rows(data, older)


def open_person_digest() -> ComputeDigest:
    """The digest of what tells a person apart, under the key of the home's store; no address of an artifact is one."""
    store = Store()
    return lambda content: bytes.fromhex(store.digest(b"person:" + content))


def read_persons_address(past: PastRelease) -> TableRef | None:
    """Where a past run kept the digests of its persons, as its private manifest says; None where that is not the run's own."""
    facts = read_private_facts(past)
    address = facts.get(PERSONS)
    return TableRef(address) if isinstance(address, str) else None


def read_private_facts(past: PastRelease) -> dict[str, object]:
    """The private manifest that the ledger names; empty where there is none, or another one in its place."""
    try:
        content = read_file(manifest_path(past.run))
        facts = json.loads(content) if Store().digest(content) == past.manifest else {}
    except (OSError, ValueError, RecursionError, SdcertError):
        return {}
    return facts if isinstance(facts, dict) else {}


def select_releases(runs: Iterable[str], _: Population) -> tuple[PastRelease, ...]:
    """The past releases of these runs, oldest first: what a run found that is computed again, whatever became of them since."""
    wanted = set(runs)
    return tuple(one for one in list_past_releases() if one.run in wanted) if wanted else ()
