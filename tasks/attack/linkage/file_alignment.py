"""Whose each record of an intruder's file is, by a key that the evaluation alone looks at; the ground truth of an attack with
it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.attack.linkage.external_files import FileUse
from tasks.attack.linkage.holding import apply_holdings
from tasks.microdata.codes import row_codes
from tasks.microdata.errors import InputError
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.positions import extract_positions
from tasks.microdata.schema import CATEGORICAL, Role, Schema
from tasks.microdata.table import Booleans, Integers, Microdata, encode_jointly
from tasks.microdata.units import Counts, Units, find_units


@dataclass(frozen=True, slots=True)
class FileMatch:
    """The records of a file in an order that does not depend on the file's.

    order: shape (e,), which row of the file each record is. unit: its unit of the source, -1 where it is in nobody's row there.
    label: one number per person (record), ascending: the first row of the unit in the source; from n on who is not in it.
    counts: what is looked for.
    """

    order: Integers
    unit: Integers
    label: Integers
    counts: Counts

    @property
    def n_persons(self) -> int:
        return len(np.unique(self.label))

    @property
    def n_in_source(self) -> int:
        return len(np.unique(self.label[self.unit >= 0]))


def align_external_file(source: GroundTruth, schema: Schema, file: Microdata, use: FileUse) -> GroundTruth:
    """The ground truth of an attack by somebody who has a file: its records are looked for, by the attributes that it has.

    Meaning: the file has e records in any order, of people who may be in the source or not, and in the release or not; people
    of the source who are in no record of it are not looked for, but stand in the release, and are confused with those who are.
    Whose record is whose follows from a key: the released rows of a record are those of the source's rows with its key.

    Parameters
    ----------
    source: the scene of the declared intruder. file: the columns of `use`, as they were read.

    Returns a scene of e records: `original` has the attributes that the file has, with its values (converted), and those that
    the intruder may learn, confidential attributes and group keys, with the values of the source; these are missing (and not
    `known`) for who is not in the source, and for a person whose rows disagree. Its rows stand in the order of the source, so
    that a shuffled file gives the same figures to the bit, and a copy of the source those of the declared intruder.
    Raises InputError as `match_file_records` and for values that cannot be compared with the table's. Cost: O((n + e) log (n +
    e)). Example: seven records, of which five are in the source and three in the release: four targets are absent.
    """
    found = match_file_records(source.original, source.units, file, use)
    known = convert_file_values(source.original, schema, file, found, use)
    secret = [name for name in schema.find_by_role(Role.CONFIDENTIAL, Role.GROUP) if name not in known.names]
    truths = {name: _truth(source.original, source.units, found, name) for name in secret}
    columns = {name: known.column(name) for name in known.names}
    table = Microdata(pa.table(columns | {name: column for name, (column, _) in truths.items()}))
    labels, of_record = np.unique(found.label, return_inverse=True)
    return replace(
        source,
        original=table,
        units=Units(of_record.astype(np.int64), len(labels), source.units.counts),
        whose=_map_rows_to_units(source, labels),
        known={name: is_known for name, (_, is_known) in truths.items()},
    )


def match_file_records(original: Microdata, units: Units, file: Microdata, use: FileUse) -> FileMatch:
    """Match the records of a file with the units of the source by the key.

    Raises InputError for a key that is missing in a record of the file, holds another kind of values than the source's, is that
    of several units of the source, stands in several records of a file of which each is one record, or is nobody's in the
    source.
    """
    mine, theirs = extract_keys(original, file, use)
    own, known = encode_jointly(mine, theirs)
    if (own < 0).any():
        what = f"{int((own < 0).sum()):,} of the file's {file.n:,} records have no key: whose they are is not known"
        remedy = "leave them out; give people who are not in the source keys that nobody else has"
        raise _bad_key(use, "file-without-key", what, "a key in every record", remedy)
    unit_of = _find_unit_of_key(known, units, int(max(own.max(), known.max())) + 1, use)
    unit, first = unit_of[own], np.unique(units.of_row, return_index=True)[1]
    if (unit < 0).all():
        what = f"none of the file's {file.n:,} records has a key of the source: no link could be right"
        remedy = f"match it by the columns that hold the same keys (`key: {{COLUMN: {use.key[1]}}}`), written alike"
        raise _bad_key(use, "nobody-in-source", what, "records of whom some are in the source", remedy)
    label = np.where(unit >= 0, first[unit], len(units.of_row) + own)
    if units.counts == "records" and len(np.unique(label)) < file.n:
        what = f"{file.n - len(np.unique(label)):,} of the file's {file.n:,} records repeat the key of another one"
        remedy = "leave one record of each; where persons have several rows, in the source too, name its `person`"
        raise _bad_key(use, "repeated-key", what, "one record for each key", remedy)
    columns = [column for column, _ in use.columns]
    order = np.lexsort((row_codes(file, tuple(columns)), label))
    return FileMatch(order, unit[order], label[order], units.counts)


def refuse_unfit_file(original: Microdata, schema: Schema, file: Microdata, use: FileUse) -> FileMatch:
    """`match_file_records`, with all that else can be wrong with a file told before anything is masked."""
    found = match_file_records(original, find_units(original, schema), file, use)
    convert_file_values(original, schema, file, found, use)
    return found


def extract_keys(original: Microdata, file: Microdata, use: FileUse) -> tuple[pa.Array, pa.Array]:
    """The keys of file and source as values of one kind: whole numbers stored as decimals are whole numbers."""
    mine, theirs = file.column(use.key[0]), original.column(use.key[1])
    kinds = {mine.type, theirs.type}
    if len(kinds) == 1 or mine.null_count == len(mine):
        return mine if len(kinds) == 1 else pa.nulls(len(mine), theirs.type), theirs
    if kinds == {pa.int64(), pa.float64()}:
        try:
            return mine.cast(pa.int64()), theirs.cast(pa.int64())
        except pa.ArrowInvalid:
            pass
    what = f"the key holds {mine.type} values in the file and {theirs.type} values in the source: which are alike is not sure"
    raise _bad_key(use, "key-other-kind", what, f"{theirs.type} values", "write the keys alike in both")


def _find_unit_of_key(known: Integers, units: Units, n_keys: int, use: FileUse) -> Integers:
    """Shape (n_keys,): the source's unit with each key, -1 where there is none."""
    keyed = np.unique(np.stack([known, units.of_row])[:, known >= 0], axis=1)
    shared = len(keyed[0]) - len(np.unique(keyed[0]))
    if shared:
        what = f"{shared:,} keys of the source stand in the rows of several {units.counts}, so that they name nobody"
        remedy = f"match the file by another column, or declare whose rows belong together: `person: {use.key[1]}`"
        raise _bad_key(use, "ambiguous-key", what, "one person (record) for each key", remedy)
    unit_of = np.full(n_keys, -1, dtype=np.int64)
    unit_of[keyed[0]] = keyed[1]
    return unit_of


def convert_file_values(original: Microdata, schema: Schema, file: Microdata, found: FileMatch, use: FileUse) -> Microdata:
    """The attributes that the file has, converted, in the order of the table; of the same kind as the source's."""
    columns = {name: _check_value_type(file.column(column), original, name, use) for column, name in use.columns}
    converted = {name for name, _ in use.convert}
    for name in columns:
        if name not in converted:
            _check_positions(Microdata.from_columns({name: columns[name]}), schema, name, use)
    sorted_ = Microdata(pa.table(columns)).take(found.order)
    done = apply_holdings(sorted_, schema, use.convert, f"{use.location}.convert")
    for name in converted:
        _check_value_type(done.column(name), original, name, use)
        _check_positions(done, schema, name, use)
    return done


def _check_value_type(column: pa.Array, original: Microdata, name: str, use: FileUse) -> pa.Array:
    kind = original.arrow.schema.field(name).type
    numbers = all(pa.types.is_integer(one) or pa.types.is_floating(one) for one in (column.type, kind))
    if column.type == kind or numbers:
        return column
    if column.null_count == len(column):
        return pa.nulls(len(column), kind)
    what = f"`{name}` holds {column.type} values in the file and {kind} values in the source: they cannot be compared"
    raise InputError("file-other-kind", f"{use.location}.attributes", what, f"{kind} values",
                     "write it as in the source, convert it, or leave it out of `attributes`")  # fmt: skip


def _check_positions(data: Microdata, schema: Schema, name: str, use: FileUse) -> None:
    """InputError for a category outside the order of an ordinal attribute."""
    if schema[name].scale not in CATEGORICAL:
        extract_positions(data, schema, name, f"{use.location}.attributes: {name}")


def _truth(original: Microdata, units: Units, found: FileMatch, name: str) -> tuple[pa.Array, Booleans]:
    """What the source says of an attribute of each record's unit, and whether it says one thing."""
    (codes,) = encode_jointly(original.column(name))
    low, high = np.full(units.n_units, np.iinfo(np.int64).max), np.full(units.n_units, -1)
    np.minimum.at(low, units.of_row, codes)
    np.maximum.at(high, units.of_row, codes)
    is_known = (found.unit >= 0) & (low == high)[found.unit]
    rows = pa.array(np.where(is_known, found.label, 0), mask=~is_known)
    return pc.take(original.column(name), rows), is_known


def _map_rows_to_units(source: GroundTruth, labels: Integers) -> Integers:
    """Shape (m,): the unit of each masked row among the file's, further numbers for those of others."""
    first = np.unique(source.units.of_row, return_index=True)[1]
    of_row = first[source.unit_of_row]
    position = np.minimum(np.searchsorted(labels, of_row), len(labels) - 1)
    there = labels[position] == of_row
    others = np.unique(of_row[~there], return_inverse=True)[1]
    whose = position.astype(np.int64)
    whose[~there] = len(labels) + others
    return whose


def _bad_key(use: FileUse, code: str, what: str, allowed: str, remedy: str) -> InputError:
    return InputError(code, f"{use.location}.key", what, allowed, remedy)
