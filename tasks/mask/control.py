"""Records that are set aside before the table is masked, and released in no form: the non-members of membership inference."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.mask.copy_detection import ERROR, measure_copy_evidence
from tasks.microdata.codes import joint_codes
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Booleans, Integers, Microdata, encode_jointly
from tasks.microdata.units import Counts, Units, find_units, list_person_columns

FEWEST = 20  # persons (records) on either side: half of them choose a threshold, the others are judged by it
LARGEST_SHARE = 0.5
WHERE = "control.table"
_TELLING = (Role.IDENTIFIER, Role.PERSON, Role.GROUP)
_NUMBER = re.compile(r"(?P<sign>[+-]?)(?P<whole>[0-9]+)(?:\.(?P<part>[0-9]*))?")


def set_aside(units: Units, share: float, *, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """The rows that go on to be masked, and those of the control, both ascending: a simple random sample of the units.

    Meaning: an intruder asks of a record whether it is in the file. Without people of whom it is known that they are not, there
    is nothing to compare their answers with.

    units: records, or persons, who are set aside with all their rows. share: of the units, rounded to a whole number.

    Raises InputError where fewer than 20 units would be on either side. Cost: O(n).
    Example: a tenth of 300 records: 270 are masked, 30 are the control.
    """
    size = refuse_small_control(units, share)
    aside = np.zeros(units.n_units, dtype=bool)
    aside[rng.permutation(units.n_units)[:size]] = True
    of_row = aside[units.of_row]
    return np.flatnonzero(~of_row), np.flatnonzero(of_row)


def harmonise_control(original: Microdata, control: Microdata, schema: Schema, key: str | None = None) -> Microdata:
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
    keys = list_person_columns(schema, key)
    telling = {*keys, *schema.find_by_role(Role.IDENTIFIER)}
    wanted = control.select(original.names)
    fitted = Microdata.from_columns(
        {name: _like(wanted.column(name), original.column(name), name, tells=name in telling) for name in original.names}
    )
    _refuse_members(original, wanted, fitted, schema, keys)
    for side, table in (("source", original), ("table of the control", fitted)):
        units = find_units(table, schema)
        if units.n_units < FEWEST:
            what = f"the {side} has {_format_count(units.n_units, units.counts)}"
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
            return _number_values(column, source)
        what = f"`{name}` holds values of another kind ({column.type}) than in the source ({wanted})"
        remedy = "correct the column, or declare what it is under `attributes`"
        where, allowed = f"{WHERE}, column {name}", f"values of type {wanted}"
        raise InputError("wrong-type", where, what, allowed, remedy, str(column.type)) from None


def _number_values(column: pa.Array, source: pa.Array) -> pa.Array:
    """One number for each value, none of them in the source; missing stays missing."""
    (codes,) = encode_jointly(_normal(column))
    n_values = int(codes.max(initial=-1)) + 1
    numbers = pa.array(np.arange(n_values + len(source))).cast(source.type)
    free = numbers.filter(pc.invert(pc.is_in(numbers, value_set=source)))
    return free.take(pa.array(codes, mask=codes < 0))


def _refuse_members(original: Microdata, control: Microdata, fitted: Microdata, schema: Schema, keys: tuple[str, ...]) -> None:
    """Refuse a control of people who stand in the source: of non-members that are members an attack finds nothing.

    Values are compared in their normal form (`_normal`). Nobody may share a key, nor another identifier whose values belong to
    one unit of the source each; an identifier that repeats in the source is shared by chance, and refused where more than half
    of the control shares it, though most of the source's are distinct. A copy may have new identifiers: without them people of
    the control may resemble those of the source as those of another sample do, and no more (`measure_copy_evidence`).

    control: its columns as they were read; fitted: in the types of the source. keys: of persons, and `key`.
    Raises InputError, which names columns and counts.
    """
    for name in keys:
        _refuse_without_key(_normal(control.column(name)), name)
        found, _ = _find_shared_values(control.column(name), original.column(name))
        _refuse_in_both(found, f"as `{name}` says")
    unit = find_units(original, schema).of_row
    for name in schema.find_by_role(Role.IDENTIFIER):
        if name not in keys:
            found, codes = _find_shared_values(control.column(name), original.column(name))
            held = np.unique(np.column_stack([unit, codes])[codes >= 0], axis=0)
            n_values = len(np.unique(held[:, 1]))
            if n_values == len(held) or (2 * n_values > len(held) and 2 * found.sum() > len(found)):
                _refuse_in_both(found, f"as `{name}` says")
    names = [name for name in original.names if name not in keys and not _is_identifier(original, fitted, schema, name)]
    if names:
        _refuse_copies(original, fitted, schema, names)


def _is_identifier(original: Microdata, control: Microdata, schema: Schema, name: str) -> bool:
    """What a copy may have anew: identifiers, and what is withheld and occurs once in both tables, as numbers of rows do."""
    role = schema[name].role
    if role is not Role.WITHHELD:
        return role in _TELLING
    codes = np.concatenate(encode_jointly(original.column(name), control.column(name)))
    return len(np.unique(codes)) == len(codes)


def _refuse_copies(original: Microdata, control: Microdata, schema: Schema, names: list[str]) -> None:
    """Refuse a control whose people say what those of the source say more often, or more evenly, than by chance."""
    rows = _encode_rows(control.select(names), original.select(names))
    (units, _), (of_source, counts) = _find_sampling_units(control, schema), _find_sampling_units(original, schema)
    mine, theirs = _encode_units((rows[: control.n], units), (rows[control.n :], of_source))
    if measure_copy_evidence(mine, theirs) < -math.log(ERROR):
        return
    n_found = int(np.isin(mine, theirs).sum())
    _, position, times = np.unique(theirs, return_inverse=True, return_counts=True)
    alike = 100 * float((times[position] > 1).mean())
    what = (
        f"{n_found:,} of {len(mine):,} {counts} of the control's table say what {counts} of the source say, in every attribute "
        f"but identifiers ({alike:.3g} % of the source's own say what others of them say): it is a copy, or holds one"
    )
    allowed = f"people who are not in the source, under any identifiers (of other samples one in {1 / ERROR:,.0f} is refused)"
    do = "take the people of the source out of the table; if it was drawn stratified on every attribute, on fewer"
    raise InputError("in-both", WHERE, what, allowed, do, n_found)


def _find_sampling_units(table: Microdata, schema: Schema) -> tuple[Integers, str]:
    """Shape (n,): what was sampled as one, by row: households and enterprises, else persons, else records; and what it is."""
    for role, counts in ((Role.GROUP, "groups"), (Role.PERSON, "persons")):
        for name in schema.find_by_role(role):
            (codes,) = encode_jointly(table.column(name))
            return np.where(codes < 0, table.n + np.arange(table.n), codes), counts  # without a group: one of its own
    return np.arange(table.n), "records"


def _encode_rows(table: Microdata, other: Microdata) -> Integers:
    """Shape (n + n of the other,): equal where rows say the same."""
    pairs = ([one.column(name) for one in (table, other)] for name in table.names)
    codes = (encode_jointly(*(map(_normal, pair) if pa.types.is_string(pair[0].type) else pair)) for pair in pairs)
    return joint_codes(map(np.concatenate, codes), table.n + other.n)


def _encode_units(*tables: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
    """For the rows and units of two tables a code for each unit: equal where they have the same rows, in whatever order."""
    mine, theirs = (_list_rows_of_units(rows, units) for rows, units in tables)
    numbers: dict[bytes, int] = {}
    codes = np.array([numbers.setdefault(one, len(numbers)) for one in (*mine, *theirs)], dtype=np.int64)
    return codes[: len(mine)], codes[len(mine) :]


def _list_rows_of_units(rows: Integers, units: Integers) -> list[bytes]:
    order = np.lexsort((rows, units))
    starts = np.flatnonzero(np.diff(units[order], prepend=-1))
    content, ends = rows[order].tobytes(), np.append(starts[1:], len(rows))
    size = rows.itemsize
    return [content[start * size : end * size] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _refuse_without_key(values: pa.Array, name: str) -> None:
    if values.null_count:
        what = (
            f"{values.null_count:,} of {len(values):,} rows of the control's table have no `{name}`: who they are is not known"
        )
        remedy = "fill the column in, or leave these rows out"
        raise InputError("key-missing", f"{WHERE}, column {name}", what, f"a `{name}` in every row", remedy, values.null_count)


def _find_shared_values(column: pa.Array, source: pa.Array) -> tuple[Booleans, Integers]:
    """Shapes (n of the control,) and (n of the source,): does a value stand in the source; the source's codes, missing -1."""
    mine, theirs = encode_jointly(_normal(column), _normal(source))
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


def _refuse_in_both(found: Booleans, note: str) -> None:
    n_found = int(found.sum())
    if n_found:
        rows = "1 row of the control's table stands" if n_found == 1 else f"{n_found:,} rows of the control's table stand"
        remedy = "take them out of the table (spaces, case, zeros in front and the type of a column make nobody another person)"
        raise InputError(
            "in-both", WHERE, f"{rows} in the source too, {note}", "people who are not in the source", remedy, n_found
        )


def _format_count(n: int, counts: Counts) -> str:
    return f"{n:,} {counts.removesuffix('s') if n == 1 else counts}"


def refuse_small_control(units: Units, share: float) -> int:
    """How many units are set aside; InputError as `set_aside`."""
    size = round(share * units.n_units)
    if min(size, units.n_units - size) < FEWEST:
        least, most = FEWEST / units.n_units, LARGEST_SHARE
        raise InputError(
            code="control-too-small",
            where="control",
            what=f"a control of {size:,} of {_format_count(units.n_units, units.counts)} leaves too few on one side",
            allowed=f"{FEWEST} {units.counts} on each: {least:.3g} to {most:.3g}" if least <= most else f"{2 * FEWEST} in all",
            remedy="change the share, or leave `control` out",
            value=share,
        )
    return size
