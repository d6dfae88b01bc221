"""Reads a table that was masked or made elsewhere, its columns typed by the declarations of the source's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pydantic import Field

from tasks.ingest import sources
from tasks.ingest.codebooks.codebook import Attributes
from tasks.ingest.external_table import External
from tasks.ingest.methods import IngestPlan, ingest_raw_table
from tasks.ingest.readers.raw import RawTable
from tasks.ingest.sources import SourceSpec
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Name, Spec
from tasks.microdata.suggestion import did_you_mean


class ReleasedTablePlan(Spec):
    """What reading a table masked elsewhere needs.

    source: its path already resolved. attributes: the declarations of the columns that are read. published: the columns that it
    must have; known: all columns of the source. key: the column that aligns it with the source; None: its rows are in order.
    may_lack: is one of the published columns enough?
    """

    source: SourceSpec
    attributes: Attributes
    published: tuple[Name, ...]
    known: tuple[Name, ...]
    key: Name | None
    may_lack: bool = Field(False, exclude_if=lambda given: not given)


def create_released_table_plan(
    source: SourceSpec, attributes: Attributes, schema: Schema, key: str | None, *, may_lack: bool = False
) -> ReleasedTablePlan:
    """Plan to read the published columns, and the key where there is one."""
    wanted = {*schema.release_columns, key}
    declared = tuple(attribute for attribute in attributes if attribute.name in wanted)
    columns = schema.release_columns
    return ReleasedTablePlan(
        source=source, attributes=declared, published=columns, known=schema.names, key=key, may_lack=may_lack
    )


def ingest_released_table(plan: ReleasedTablePlan) -> External:
    """Read and type the table; InputErrors have the place `released`. Raises as `type_released_table` and `sources.read`."""
    return type_released_table(read_released_table(plan), plan)


def read_released_table(plan: ReleasedTablePlan) -> RawTable:
    """The table as its file holds it."""
    with _relocate_errors():
        return sources.read(plan.source, plan.attributes)


def type_released_table(raw: RawTable, plan: ReleasedTablePlan) -> External:
    """Type the columns of a table that was read.

    Raises InputError for a published column or key that it lacks, a column that the source does not have, and cells that
    contradict their declaration.
    """
    there = set(raw.table.column_names)
    lacking = plan.may_lack and not there.isdisjoint(plan.published)
    attributes = tuple(one for one in plan.attributes if not lacking or one.name in there or one.name == plan.key)
    try:
        with _relocate_errors():
            found = ingest_raw_table(raw, IngestPlan(source=plan.source, attributes=attributes), confirm=True, has_header=True)
    except InputError as error:
        if error.code != "unknown-attribute":
            raise
        raise _create_lacking_error(str(error.value), plan.key, found_in=error.allowed) from None
    names = found.data.names
    for name in plan.published:
        if name not in names and not lacking:
            raise _create_lacking_error(name, plan.key, found_in=", ".join(names[:30]))
    for name in names:
        if name not in plan.known:
            what = "The released table has a column that the source does not have."
            remedy = did_you_mean(name, plan.known, "drop or rename it")
            raise InputError("released-has-column", "released", what, ", ".join(plan.known[:30]), remedy, name)
    dropped = [name for name in names if name not in plan.published]
    note = (f"columns of the released table that are not published and were left out: {', '.join(dropped)}",) if dropped else ()
    return External(found.data, (*found.report.notes, *note))


def create_missing_key_error(key: str, *, found_in: str) -> InputError:
    """The InputError of a table that is to be aligned by a key that it lacks."""
    remedy = "add the key (it is not published), or align by row"
    return InputError("no-key-column", "released.align", "The released table lacks the key.", found_in, remedy, key)


def _create_lacking_error(name: str, key: str | None, *, found_in: str) -> InputError:
    if name == key:
        return create_missing_key_error(name, found_in=found_in)
    what = "The released table lacks a column that the source publishes."
    remedy = did_you_mean(name, found_in.split(", "), "declare it `role: identifier` if it is not released, or add it")
    return InputError("released-lacks-column", "released", what, found_in, remedy, name)


@contextmanager
def _relocate_errors() -> Iterator[None]:
    """Give the InputError of a reader the place of the table in the release file."""
    try:
        yield
    except InputError as error:
        remedy = error.remedy
        if error.code == "not-numeric":
            remedy += "; bands such as 40-49 are not compared with numbers: give their midpoints"
        raise replace(error, where=f"released: {error.where}", remedy=remedy) from None
