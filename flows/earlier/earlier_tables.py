"""The tables of a past release in the private store, and whose row in them is whose."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from pydantic import ValidationError

from flows.kinds.base import ReleaseJob
from tasks.attack.together.earlier_release import EarlierTables
from tasks.ingest.task import match_persons
from tasks.mask.outputs import Mechanisms
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Damaged, Store

GONE = "its tables are no longer in the private store of this home"
OTHER_VERSION = "its tables were written by another version of sdcert, which this one cannot read"
NOTHING_COMMON = "nothing tells which of its rows belong to the persons of this source"
STEP = "earlier"
NEEDED = ("data", "masked", "alignment", "schema", "mechanisms")


class NotThere(Exception):
    """The tables of a past release cannot be given to an attack; the text says why."""


def find_earlier_tables(job: ReleaseJob, name: str, addresses: dict[str, str], columns: tuple[str, ...]) -> EarlierTables:
    """The tables of an earlier release with the rows of the persons of this one.

    name: what the release is called in figures. addresses: by the names in `NEEDED`. columns: those that tell rows or persons
    apart, the best first.
    Raises NotThere where one is gone or cannot be read, or nothing tells whose rows are whose.
    """
    store = Store()
    if any(name not in addresses or not store.intact(addresses[name]) for name in NEEDED):
        raise NotThere(GONE)
    try:
        older = store.table(TableRef(addresses["data"]))
        store.record(RecordRef(addresses["schema"]), Schema)
        store.record(RecordRef(addresses["mechanisms"]), Mechanisms)
    except (Damaged, ValidationError):
        raise NotThere(OTHER_VERSION) from None
    data = TableRef(addresses["data"])
    column = find_matching_column(store.table(job.masked.data), older, columns)
    return EarlierTables(
        data=data,
        masked=TableRef(addresses["masked"]),
        alignment=TableRef(addresses["alignment"]),
        schema=RecordRef(addresses["schema"]),
        mechanisms=RecordRef(addresses["mechanisms"]),
        persons=job.runner.run(f"{STEP} {name}", match_persons.bind(job.masked.data, data, column))["persons"],
    )


def find_matching_column(newer: Microdata, older: Microdata, columns: tuple[str, ...]) -> str | None:
    """By what rows are matched: the first of `columns` that both tables have; None: whole rows, over the columns of both.

    Raises NotThere where they have none in common.
    """
    if not set(newer.names) & set(older.names):
        raise NotThere(NOTHING_COMMON)
    return next((name for name in columns if name in newer.names and name in older.names), None)
