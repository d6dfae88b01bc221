"""What the ingest stages return, by address."""

from __future__ import annotations

from typing import TypedDict

from tasks.ingest.methods import IngestReport
from tasks.microdata.refs import RecordRef, TableRef


class IngestOutputs(TypedDict):
    """The typed and validated source, and the report on how it was read."""

    data: TableRef
    report: RecordRef[IngestReport]


class PersonOutputs(TypedDict):
    """persons: one column `record`, with a row for each row of a newer table: the same person's row in an older one."""

    persons: TableRef


class FileOutputs(TypedDict):
    """A table beside the source, and notes for the steward on how it was read."""

    data: TableRef
    notes: RecordRef[tuple[str, ...]]
