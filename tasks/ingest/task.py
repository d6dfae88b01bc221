"""The cached task of the stage: source in, table and ingest report out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tasks.ingest.external_table import FilePlan, read_external, read_external_table, relocate_errors
from tasks.ingest.methods import IngestPlan, ingest_raw_table
from tasks.ingest.outputs import FileOutputs, IngestOutputs, PersonOutputs
from tasks.ingest.readers.raw import RawTable
from tasks.ingest.released_table import ReleasedTablePlan, read_released_table, type_released_table
from tasks.ingest.sources import SourceSpec, list_source_files, read
from tasks.microdata.alignment import ABSENT
from tasks.microdata.errors import InputError
from tasks.microdata.persons import match_rows
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store
from tasks.runtime.stages import stage


def source_digest(source: SourceSpec) -> str:
    """The keyed digest of what a source consists of: what tells a changed source from an unchanged one.

    Of a folder the names inside it count as well (they are values where they say `key=value`); of a query its rows, so that it
    is run for the digest.
    """
    return _digest(source, None)


@stage("ingest", rooms=("ingest",))
def ingest_source(plan: RecordRef[IngestPlan], digest: str) -> IngestOutputs:
    """Read, type and validate the source that had this digest."""
    store = Store()
    wanted = store.record(plan, IngestPlan)
    raw = read(wanted.source, wanted.attributes)
    found = ingest_raw_table(raw, wanted, confirm=True)
    if _digest(wanted.source, raw) != digest:
        raise InputError(
            "source-changed",
            "source",
            "the source changed while it was read",
            "a source at rest",
            "run again when it is complete",
        )
    del raw  # with the bytes of the file, before those of the table are made
    return {"data": store.put_table(found.data), "report": store.put_record(found.report)}


@stage("external", rooms=("ingest",))
def ingest_file(plan: RecordRef[FilePlan], digest: str) -> FileOutputs:
    """Read a file of the intruder that had this digest; it is as private as the source."""
    store = Store()
    wanted = store.record(plan, FilePlan)
    raw = read_external_table(wanted)
    found = read_external(raw, wanted)
    if _digest(wanted.source, raw) != digest:
        what, remedy = "the file changed while it was read", "run again when it is complete"
        raise InputError("source-changed", wanted.place, what, "a file at rest", remedy)
    return {"data": store.put_table(found.data), "notes": store.put_record(found.notes, tuple[str, ...])}


@stage("ingest released", rooms=("ingest",))
def ingest_released(plan: RecordRef[ReleasedTablePlan], digest: str) -> FileOutputs:
    """Read, type and validate the table masked elsewhere that had this digest."""
    store = Store()
    wanted = store.record(plan, ReleasedTablePlan)
    raw = read_released_table(wanted)
    found = type_released_table(raw, wanted)
    if _digest(wanted.source, raw) != digest:
        what, remedy = "the released table changed while it was read", "run again when it is complete"
        raise InputError("released-changed", "released", what, "a table at rest", remedy)
    return {"data": store.put_table(found.data), "notes": store.put_record(found.notes, tuple[str, ...])}


@stage("match persons", rooms=("ingest",))
def match_persons(newer: TableRef, older: TableRef, column: str | None) -> PersonOutputs:
    """Find the person of each row of a newer table among the rows of an older one, by a column of both or by whole rows.

    The row is missing where the person is not in the older table. Every row of the same table is its own.
    """
    store = Store()
    table = store.table(newer)
    rows = np.arange(table.n) if newer == older else match_rows(table, store.table(older), column)
    record = pa.array(rows, pa.int64(), mask=rows == ABSENT)
    return {"persons": store.put_table(Microdata.from_columns({"record": record}))}


def file_digest(plan: FilePlan) -> str:
    """`source_digest` of a file of the intruder; InputError names its place in the release file."""
    with relocate_errors(plan.place):
        return _digest(plan.source, None)


def _digest(source: SourceSpec, rows: RawTable | None) -> str:
    """Of the files as they are now; of a query the rows that were read, or are read now."""
    store = Store()
    if source.sql is not None:
        return store.digest((rows or read(source)).content())
    return store.digest("".join(f"{name}{store.file_digest(path)}" for name, path in list_source_files(source)).encode())
