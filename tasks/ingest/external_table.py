"""Read a table beside the source, such as an external file: only the columns asked for, typed as the source's are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tasks.ingest import sources
from tasks.ingest.codebooks.codebook import Attributes
from tasks.ingest.methods import IngestPlan, ingest_raw_table
from tasks.ingest.readers.raw import RawTable
from tasks.ingest.sources import SourceSpec
from tasks.microdata.errors import InputError
from tasks.microdata.spec import Name, Spec
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Microdata


class FilePlan(Spec):
    """What reading a file of the intruder needs of a release file.

    source: its path already resolved. location: of the file in the release file, for messages. required: columns that it must
    have; optional: others that are read where it has them. declared: how its columns are written, by their names in it.
    """

    source: SourceSpec
    place: Name
    required: tuple[Name, ...]
    optional: tuple[Name, ...] = ()
    declared: Attributes = ()


@dataclass(frozen=True, slots=True)
class External:
    """The columns that were asked for and are there, and notes that hold no value."""

    data: Microdata
    notes: tuple[str, ...]


def read_external(raw: RawTable, plan: FilePlan) -> External:
    """Type the columns of a file that was read; the others are not looked at.

    Raises InputError, with the file's place in the release file, for a required column that is absent, one that is declared and
    absent, and cells that contradict their declaration.
    """
    names = raw.table.column_names
    for name in (*plan.required, *(one.name for one in plan.declared if one.name not in plan.optional)):
        if name not in names:
            what, remedy = "The file has no such column.", did_you_mean(name, names, "check the name")
            raise InputError("file-lacks-column", plan.place, what, ", ".join(names[:30]), remedy, name)
    wanted = {*plan.required, *plan.optional}
    kept = replace(raw, table=raw.table.select([name for name in names if name in wanted]))
    declared = tuple(one for one in plan.declared if one.name in wanted and one.name in names)
    with relocate_errors(plan.place):
        found = ingest_raw_table(kept, IngestPlan(source=plan.source, attributes=declared), confirm=True)
    return External(found.data, found.report.notes)


def read_external_table(plan: FilePlan) -> RawTable:
    """The table as its file holds it; InputError, with its place in the release file, as `sources.read`."""
    with relocate_errors(plan.place):
        return sources.read(plan.source, plan.declared)


@contextmanager
def relocate_errors(location: str) -> Iterator[None]:
    """Give the InputError of a reader the place of the file in the release file."""
    try:
        yield
    except InputError as error:
        within = error.where.removeprefix("source: ").removeprefix("source.")
        remedy = error.remedy.replace("`source.", f"`{location}.")
        raise replace(error, where=f"{location}: {within}", remedy=remedy) from None
