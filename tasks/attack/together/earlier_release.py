"""An earlier release about the same people, as the attacks on a newer one are given it."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.mask.methods import Mechanism
from tasks.mask.outputs import Mechanisms
from tasks.microdata.alignment import Alignment
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata


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
    release, or of the file. reason: why it cannot be attacked, where it has no tables.
    """

    name: str
    release: str
    tables: EarlierTables | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierView:
    """The tables of an earlier release as an attack reads them.

    original, masked: n_t and m_t rows. alignment: whose the masked rows are; for the scoring alone.
    record: shape (n,): the row in `original` of the person of each record of the newest source, -1 where they were not in it.
    """

    name: str
    original: Microdata
    masked: Microdata
    schema: Schema
    mechanisms: tuple[Mechanism, ...]
    alignment: Alignment
    record: Integers
