"""An earlier release about the same people, as the attacks on a newer one are given it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from tasks.mask.methods import Mechanism
from tasks.mask.outputs import Mechanisms
from tasks.microdata.alignment import Alignment
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata

T = TypeVar("T")


class ArtifactReader(Protocol):
    """The store, as far as it reads tables and records by their addresses."""

    def table(self, address: TableRef) -> Microdata: ...

    def record(self, address: RecordRef[T], kind: type[T]) -> T: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierTables:
    """The tables of an earlier release in the private store.

    data: its source. masked, alignment, schema, mechanisms: what the mask stage made of it. persons: a table with one column
    `record`, one row for each record of the newest source: the person's row in `data`, missing where the person was not in it.
    """

    data: TableRef
    masked: TableRef
    alignment: TableRef
    schema: RecordRef[Schema]
    mechanisms: RecordRef[Mechanisms]
    persons: TableRef


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRelease:
    """A release that counts: what it is called in figures and in the report, and its tables.

    name: the run that certified it, or `file:1` for the first file that the release file names. release: the name of the
    release, or of the file. reason: why it cannot be attacked, where it has no tables. series: by which its pseudonyms stay the
    same, where they do.
    """

    name: str
    release: str
    series: str = ""
    tables: EarlierTables | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierView:
    """The tables of an earlier release as an attack reads them.

    original, masked: n_t and m_t rows. alignment: whose the masked rows are; for the scoring alone.
    record: shape (n,): the row in `original` of the person of each record of the attacked source, -1 where they were not in it.
    series: as in `EarlierRelease`.
    """

    name: str
    original: Microdata
    masked: Microdata
    schema: Schema
    mechanisms: tuple[Mechanism, ...]
    alignment: Alignment
    record: Integers
    series: str = ""


def read_earlier_view(store: ArtifactReader, release: EarlierRelease, tables: EarlierTables) -> EarlierView:
    """The tables of an earlier release."""
    original = store.table(tables.data)
    persons = store.table(tables.persons).floats("record")
    return EarlierView(
        name=release.name,
        original=original,
        masked=store.table(tables.masked),
        schema=store.record(tables.schema, Schema),
        mechanisms=store.record(tables.mechanisms, Mechanisms),
        alignment=Alignment.from_table(store.table(tables.alignment), original.n),
        record=np.where(np.isnan(persons), -1, persons).astype(np.int64),
        series=release.series,
    )
