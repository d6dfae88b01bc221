"""Those who hold external files, each one of them or several together, with what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.attack.linkage.combined_files import FilePart, combine_files
from tasks.attack.linkage.external_files import FILE
from tasks.attack.linkage.file_alignment import FileMatch, refuse_unfit_file
from tasks.attack.threat import Intruder, IntruderSpec, holders
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata


@dataclass(frozen=True, slots=True)
class HeldFile:
    """The holder of one file or of several together, the table that they hold, and whose its records are."""

    holder: Intruder
    table: Microdata
    match: FileMatch


def hold_files(spec: IntruderSpec, original: Microdata, schema: Schema, tables: tuple[Microdata, ...]) -> tuple[HeldFile, ...]:
    """Who holds each file, then who holds several together. tables: of each file, the columns that were read.

    Somebody who holds several is one intruder more: those who hold one of them stay, so that the worst of all is told.

    Raises InputError for a file, or a combination of files, that does not fit the table.
    """
    single = tuple(_hold_each(spec, original, schema, tables))
    return (*single, *_hold_together(spec, original, schema, {one.holder.name: one for one in single}))


def _hold_each(spec: IntruderSpec, original: Microdata, schema: Schema, tables: tuple[Microdata, ...]) -> Iterator[HeldFile]:
    for holder, table in zip(holders(spec, schema, tuple(one.names for one in tables)), tables, strict=True):
        if holder.file is not None:
            yield HeldFile(holder, table, refuse_unfit_file(original, schema, table, holder.file))


def _hold_together(spec: IntruderSpec, original: Microdata, schema: Schema, single: dict[str, HeldFile]) -> Iterator[HeldFile]:
    for number, wanted in enumerate(spec.combine):
        held = [single[f"{FILE}:{name}"] for name in wanted.files]
        parts = tuple(FilePart(one.table, one.holder.file, one.match) for one in held if one.holder.file is not None)
        table, use = combine_files(original, schema, parts, wanted, number)
        knows = tuple(name for _, name in use.columns)
        holder = Intruder(wanted.holder, knows, spec.participation_known, file=use)
        yield HeldFile(holder, table, refuse_unfit_file(original, schema, table, use))
