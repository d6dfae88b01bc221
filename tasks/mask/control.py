"""Records that are set aside before the table is masked, and released in no form: the non-members of membership inference."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Booleans, Integers, Microdata, shared_codes
from tasks.microdata.units import Counts, Units, units_of

FEWEST = 20  # persons (records) on either side: half of them choose a threshold, the others are judged by it
WHERE = "control.table"
_NUMBER = re.compile(r"(?P<sign>[+-]?)(?P<whole>[0-9]+)(?:\.(?P<part>[0-9]*))?")


def set_aside(units: Units, share: float, *, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """The rows that go on to be masked, and those of the control, both ascending: a simple random sample of the units.

    Meaning: an intruder asks of a record whether it is in the file. Without people of whom it is known that they are not, there
    is nothing to compare his answers with.

    units: records, or persons, who are set aside with all their rows. share: of the units, rounded to a whole number.

    Raises InputError where fewer than 20 units would be on either side. Cost: O(n).
    Example: a tenth of 300 records: 270 are masked, 30 are the control.
    """
    size = refuse_small_control(units, share)
    aside = np.zeros(units.n_units, dtype=bool)
    aside[rng.permutation(units.n_units)[:size]] = True
    of_row = aside[units.of_row]
    return np.flatnonzero(~of_row), np.flatnonzero(of_row)


def fitted_control(original: Microdata, control: Microdata, schema: Schema, key: str | None = None) -> Microdata:
    """The people of another table, who are said not to be in the source, in the columns and types of the source.

    Columns that the source has not are left out. Nobody may stand in both: see `_refuse_members`. A column that tells people
    apart and cannot be written in the source's type gets numbers that the source has not, one for each of its values.

    key: a column of both tables that tells their people apart, besides those of the schema.

    Raises InputError for a column that is not there or holds values of another kind, for somebody without a key, for somebody
    in both tables, and where fewer than 20 units are on either side. Cost: O(n d).
    """
    absent = [name for name in original.names if name not in control.names]
    if absent:
        named = ", ".join(f"`{name}`" for name in absent[:5])
        what = f"the table of the control lacks {len(absent)} of the source's columns: {named}"
        raise InputError("no-such-column", WHERE, what, "every column of the source", "add them", absent[0])
    keys = tuple(dict.fromkeys([*schema.with_role(Role.PERSON), *([key] if key is not None else [])]))
    telling = {*keys, *schema.with_role(Role.IDENTIFIER)}
    wanted = control.select(original.names)
    fitted = Microdata.of(
        {name: _like(wanted.column(name), original.column(name), name, tells=name in telling) for name in original.names}
    )
    _refuse_members(original, wanted, fitted, schema, keys)
    for side, table in (("source", original), ("table of the control", fitted)):
        units = units_of(table, schema)
        if units.n_units < FEWEST:
            what = f"the {side} has {_counted(units.n_units, units.counts)}"
            raise InputError(
                "control-too-small", WHERE, what, f"at least {FEWEST} on either side", "name more people", units.n_units
            )
    return fitted


def _like(column: pa.Array, source: pa.Array, name: str, *, tells: bool) -> pa.Array:
    """The column in the type of the source's. tells: it tells people apart, so that any value may stand for another."""
    wanted = source.type
    try:
        return column if column.type == wanted else column.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if tells and wanted in (pa.int64(), pa.float64()):
            return _numbered(column, source)
        what = f"`{name}` holds values of another kind ({column.type}) than in the source ({wanted})"
        remedy = "correct the column, or declare what it is under `attributes`"
        where, allowed = f"{WHERE}, column {name}", f"values of type {wanted}"
        raise InputError("wrong-type", where, what, allowed, remedy, str(column.type)) from None


def _numbered(column: pa.Array, source: pa.Array) -> pa.Array:
    """One number for each value, none of them in the source; missing stays missing."""
    (codes,) = shared_codes(_normal(column))
    n_values = int(codes.max(initial=-1)) + 1
    numbers = pa.array(np.arange(n_values + len(source))).cast(source.type)
    free = numbers.filter(pc.invert(pc.is_in(numbers, value_set=source)))
    return free.take(pa.array(codes, mask=codes < 0))


def _refuse_members(original: Microdata, control: Microdata, fitted: Microdata, schema: Schema, keys: tuple[str, ...]) -> None:
    """Refuse a control of people who stand in the source: of non-members that are members an attack finds nothing.

    Values are compared in their normal form (`_normal`). Nobody may share a key, nor another identifier whose values belong to
    one unit of the source each. What repeats in the source is shared by chance: an identifier that does, and without a key the
    whole rows, are refused where more than half of the control shares them, though most of the source's are distinct.

    control: its columns as they were read; fitted: in the types of the source. keys: of persons, and `key`.
    Raises InputError, which names columns and counts.
    """
    for name in keys:
        _refuse_without_key(_normal(control.column(name)), name)
        found, _ = _shared(control.column(name), original.column(name))
        _refuse_in_both(found, f"as `{name}` says")
    unit = units_of(original, schema).of_row
    for name in schema.with_role(Role.IDENTIFIER):
        if name not in keys:
            found, codes = _shared(control.column(name), original.column(name))
            held = np.unique(np.column_stack([unit, codes])[codes >= 0], axis=0)
            n_values = len(np.unique(held[:, 1]))
            if n_values == len(held) or (2 * n_values > len(held) and 2 * found.sum() > len(found)):
                _refuse_in_both(found, f"as `{name}` says")
    if not keys:
        found, n_distinct = _whole_rows_of(fitted, original)
        if 2 * n_distinct > original.n and 2 * found.sum() > len(found):
            _refuse_in_both(found, "as they are")


def _refuse_without_key(values: pa.Array, name: str) -> None:
    if values.null_count:
        what = (
            f"{values.null_count:,} of {len(values):,} rows of the control's table have no `{name}`: who they are is not known"
        )
        remedy = "fill the column in, or leave these rows out"
        raise InputError("key-missing", f"{WHERE}, column {name}", what, f"a `{name}` in every row", remedy, values.null_count)


def _shared(column: pa.Array, source: pa.Array) -> tuple[Booleans, Integers]:
    """Shapes (n of the control,) and (n of the source,): does a value stand in the source; the source's codes, missing -1."""
    mine, theirs = shared_codes(_normal(column), _normal(source))
    return np.isin(mine, theirs[theirs >= 0]), theirs


def _normal(column: pa.Array) -> pa.Array:
    """Texts that are equal where two values mean the same: 1.0, 1, "001" and " 1 " do, and "Ann" and " ANN". Blank: missing."""
    encoded = column.dictionary_encode()
    return pa.array([_normal_text(value) for value in encoded.dictionary.to_pylist()], type=pa.string()).take(encoded.indices)


def _normal_text(value: object) -> str | None:
    text = format(Decimal(repr(value)), "f") if isinstance(value, float) else str(value).strip().casefold()
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text or None
    sign, whole, part = number["sign"], number["whole"].lstrip("0") or "0", (number["part"] or "").rstrip("0")
    size = f"{whole}.{part}" if part else whole
    return f"-{size}" if sign == "-" and size != "0" else size


def _whole_rows_of(table: Microdata, other: Microdata) -> tuple[Booleans, int]:
    """Shape (n,): does each row stand in another table as it is? And how many distinct rows that one has."""
    pairs = [(table.column(name), other.column(name)) for name in table.names]
    codes = [shared_codes(*(map(_normal, pair) if pa.types.is_string(pair[0].type) else pair)) for pair in pairs]
    mine, theirs = (np.ascontiguousarray(np.column_stack([pair[side] for pair in codes])) for side in (0, 1))
    _, place = np.unique(np.concatenate([mine, theirs]), axis=0, return_inverse=True)
    return np.isin(place[: table.n], place[table.n :]), len(np.unique(place[table.n :]))


def _refuse_in_both(found: Booleans, told: str) -> None:
    n_found = int(found.sum())
    if n_found:
        rows = "1 row of the control's table stands" if n_found == 1 else f"{n_found:,} rows of the control's table stand"
        remedy = "take them out of the table (spaces, case, zeros in front and the type of a column make nobody another person)"
        raise InputError(
            "in-both", WHERE, f"{rows} in the source too, {told}", "people who are not in the source", remedy, n_found
        )


def _counted(n: int, counts: Counts) -> str:
    return f"{n:,} {counts.removesuffix('s') if n == 1 else counts}"


def refuse_small_control(units: Units, share: float) -> int:
    """How many units are set aside; InputError as `set_aside`."""
    size = round(share * units.n_units)
    if min(size, units.n_units - size) < FEWEST:
        least, most = FEWEST / units.n_units, 1 - FEWEST / units.n_units
        raise InputError(
            code="control-too-small",
            where="control",
            what=f"a control of {size:,} of {_counted(units.n_units, units.counts)} leaves too few on one side",
            allowed=f"{FEWEST} {units.counts} on each: {least:.3g} to {most:.3g}" if least <= most else f"{2 * FEWEST} in all",
            remedy="change the share, or leave `control` out",
            value=share,
        )
    return size
