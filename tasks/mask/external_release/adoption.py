"""Adopting a table that another tool masked or made up: find out whose row is whose, and what was changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import field_validator, model_validator

from tasks.classify.methods import refuse_incomparable, refuse_undone_masks
from tasks.ingest.codebooks.codebook import Attributes
from tasks.ingest.released_table import ReleasedTablePlan, create_missing_key_error, create_released_table_plan
from tasks.ingest.sources import SourceSpec
from tasks.mask.external_release.declaration_check import find_false_declaration
from tasks.mask.external_release.released import FalseDeclaration, Synthetic, Undeclared
from tasks.mask.external_release.row_order import refuse_other_order
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Masking, Mechanism, resolve_steps
from tasks.mask.pseudonyms import Pseudonyms
from tasks.microdata.alignment import Alignment, NoAlignment, RowAlignment
from tasks.microdata.codes import joint_codes
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Name, Public, Spec
from tasks.microdata.table import Integers, Microdata, encode_jointly

_OTHER_NAMES = (None, "nobody", "synthetic", "None", "null")
_NO_MECHANISM = (
    "`mechanism` says how a record was turned into its row, and where the rows belong to nobody no record was: take it out (a "
    "tool that made the table can be named as `tool`), or align by row or by key, where row i was made from record i"
)


class ReleasedSpec(SourceSpec):
    """A table that was masked elsewhere: where it is, how its rows belong to the source's, and what is known of its masking.

    align: `row`: row i of it is the masked row i of the source; `key`: both tables hold the release's `key`; `none`: a fully
        synthetic table, of any number of rows, which belong to nobody. Only the evaluator uses this; the key is not published,
        and the rows are shuffled like any other release's. Synthetic values are masked ones where each row was made from one
        record: align those by row or by key.
    mechanism: the steps by which it was masked, if they are known; the transparency attack then uses them.
    tool: what masked it, for the report.
    """

    align: Public[Literal["row", "key", "none"]] = "row"
    mechanism: Public[tuple[Masking, ...]] = ()
    tool: Public[Name | None] = None

    @field_validator("align", mode="before")
    @classmethod
    def _nobody_is_none(cls, given: Any) -> Any:
        if given in _OTHER_NAMES:
            raise ValueError("for a fully synthetic table, whose rows belong to nobody, write `align: none`")
        return given

    @model_validator(mode="after")
    def _nothing_was_done_to_nobodys_rows(self) -> Self:
        if self.align == "none" and self.mechanism:
            raise ValueError(_NO_MECHANISM)
        return self

    @model_validator(mode="after")
    def _pseudonyms_are_made_here(self) -> Self:
        if any(isinstance(step, Pseudonyms) for step in self.mechanism):
            raise ValueError(
                "pseudonyms are made here only, in `masking`: identifiers of a table masked elsewhere are left out"
            )
        return self


class AdoptionPlan(Spec):
    """What adopting needs of a release file: the masked table, the declarations of its attributes, and the key."""

    released: ReleasedSpec
    attributes: Attributes = ()
    key: Name | None = None

    def create_reading_plan(self, schema: Schema, *, may_lack: bool = False) -> ReleasedTablePlan:
        """What the table is read by. may_lack: is one of the published columns enough?"""
        source = SourceSpec.model_validate(self.released.model_dump(include=set(SourceSpec.model_fields)))
        key = self.key if self.released.align == "key" else None
        return create_released_table_plan(source, self.attributes, schema, key, may_lack=may_lack)


@dataclass(frozen=True, slots=True)
class AdoptionResult:
    """A table masked elsewhere, put beside its source.

    data: the published columns, row i being the released form of record `alignment.record[i]`, or of none; of these the rows
    stand in an order of their own, so that no figure depends on that of the file. `alignment.position` is the row of
    the table as it was given. mechanisms: what was declared, `FalseDeclaration` where the table shows something else than the
    declared steps produce, and `Undeclared` for changes that no declaration covers.
    notes: what a reader should know of the table; they hold counts and column names.
    """

    data: Microdata
    alignment: RowAlignment
    mechanisms: tuple[Mechanism, ...]
    notes: tuple[str, ...]


def adopt(
    original: Microdata, schema: Schema, plan: AdoptionPlan, given: Microdata, notes: tuple[str, ...] = ()
) -> AdoptionResult:
    """Align a table that was masked or made elsewhere with its source, unless its rows belong to nobody.

    given: the table as it was read (`ingest_released_table`); notes: what reading it found.
    It is taken as it is: no value is rounded, repaired or masked again. Columns whose role is not published are left out.

    Returns the table with what is known of its mechanism; the mechanism is never guessed from the values, but the declared
    steps are simulated and compared with them (`find_false_declaration`).
    Raises InputError for columns that hold another kind of values than the source's; rows that are not, or not in the order
    of, those of the source (`align: row`); a key that is missing, repeated, or unknown to the source (`align: key`); a
    published unmasked column that undoes what was masked; a step that does not fit.
    Cost: O(n log n), and that of `find_false_declaration`.
    """
    if plan.released.align == "none":
        return _adopt_synthetic_table(original, given, schema, notes)
    record, rows = _align_rows(original, given, plan)
    data = Microdata(pa.table({name: given.column(name) for name in schema.release_columns})).take(rows)
    _refuse_other_kinds(original, data)
    refuse_incomparable(data, schema, where="released")
    if plan.released.align == "row":
        refuse_other_order(original, given, data)
    mechanisms = _mechanisms(original, data, schema, plan, record)
    notes = (*notes, *(step.reason for step in mechanisms if isinstance(step, FalseDeclaration)))
    touched = tuple(name for name in schema.names if any(name in step.target_attributes for step in mechanisms))
    refuse_undone_masks(original, schema, touched)
    if len(record) < original.n:
        notes = (*notes, f"{original.n - len(record):,} of {original.n:,} records of the source are not in the released table")
    return AdoptionResult(data, Alignment(record, rows, original.n), mechanisms, notes)


def find_released_records(original: Microdata, plan: AdoptionPlan, given: Microdata) -> Integers:
    """The rows of the source that a table masked elsewhere holds, ascending. Raises InputError as `adopt`."""
    return _align_rows(original, given, plan)[0]


def _adopt_synthetic_table(original: Microdata, given: Microdata, schema: Schema, notes: tuple[str, ...]) -> AdoptionResult:
    """A table of any number of rows, none of which is anybody's."""
    data = Microdata(pa.table({name: given.column(name) for name in schema.release_columns}))
    _refuse_other_kinds(original, data)
    refuse_incomparable(data, schema, where="released")
    rows = np.lexsort([encode_jointly(data.column(name))[0] for name in reversed(schema.release_columns)]).astype(np.int64)
    copies = _count_copied_rows(original.select(schema.release_columns), data)
    message = (f"{copies:,} of the {data.n:,} rows of the released table, which are declared to belong to nobody, are equal in "
            "every published column to a record of the source",) if copies else ()  # fmt: skip
    steps = (Synthetic(attributes=schema.release_columns),)
    return AdoptionResult(data.take(rows), NoAlignment(rows, original.n), steps, (*notes, *message))


def _count_copied_rows(original: Microdata, data: Microdata) -> int:
    """How many rows of a table are rows of its source."""
    pairs = [encode_jointly(original.column(name), data.column(name)) for name in data.names]
    codes = joint_codes([np.concatenate(pair) for pair in pairs], original.n + data.n)
    return int(np.isin(codes[original.n :], codes[: original.n]).sum())


def _align_rows(original: Microdata, given: Microdata, plan: AdoptionPlan) -> tuple[Integers, Integers]:
    """The records that are released, ascending, and the row of each in the released table."""
    if plan.released.align == "key":
        return _align_by_key(original, given, plan)
    if given.n != original.n:
        raise InputError(
            "rows-do-not-align",
            "released.align",
            f"The released table has {given.n:,} rows and the source {original.n:,}: they do not belong together in order.",
            f"{original.n:,} rows in the order of the source",
            "align by a key (`key: <column>` and `align: key`), or give the table with all its rows in order; a fully "
            "synthetic table, whose rows belong to nobody, has `align: none`",
        )
    return np.arange(original.n, dtype=np.int64), np.arange(original.n, dtype=np.int64)


def _align_by_key(original: Microdata, given: Microdata, plan: AdoptionPlan) -> tuple[Integers, Integers]:
    where, key = "released.align", plan.key
    if key is None:
        raise InputError("no-key", where, "`align: key` needs the column that tells the rows apart.", "`key: <column>`",
                         "name it as `key:` of the release")  # fmt: skip
    if key not in given.names:
        raise create_missing_key_error(key, found_in=", ".join(given.names[:30]))
    _refuse_other_kinds(original.select([key]), given.select([key]))
    known, shown = encode_jointly(original.column(key), given.column(key))
    missing, repeated = int((shown < 0).sum()), len(shown) - len(np.unique(shown))
    foreign = int((~np.isin(shown, known)).sum())
    if missing or repeated or foreign:
        what = (
            f"The key `{key}` does not align the released table: {missing:,} rows have none, {repeated:,} repeat one, "
            f"{foreign:,} have one that the source does not know."
        )
        raise InputError("key-does-not-align", where, what, "each released row's key once, and in the source",
                         "correct the keys; rows that belong to nobody have `align: none`")  # fmt: skip
    row_of_code = np.full(int(max(known.max(), shown.max())) + 1, -1, dtype=np.int64)
    row_of_code[shown] = np.arange(len(shown))
    rows = row_of_code[known]
    record = np.flatnonzero(rows >= 0)
    return record.astype(np.int64), rows[record]


def _refuse_other_kinds(original: Microdata, data: Microdata) -> None:
    for name in data.names:
        was, now = (table.arrow.schema.field(name).type for table in (original, data))
        both_numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in (was, now))
        if was != now and not both_numbers and not pc.all(pc.is_null(data.column(name))).as_py():
            what = f"The column holds {now} values in the released table and {was} values in the source."
            remedy = "publish values of the source's kind (for bands of numbers their midpoints), or declare missing codes"
            raise InputError("released-other-kind", f"released: column {name}", what, f"{was} values", remedy)


def _counting_rows(step: Masking) -> Masking:
    """Other tools count rows in groups of k, unless the declaration says that they count persons."""
    counts_rows = isinstance(step, Microaggregation) and step.count is None
    return step.model_copy(update={"count": "rows"}) if counts_rows else step


def _mechanisms(
    original: Microdata, data: Microdata, schema: Schema, plan: AdoptionPlan, record: Integers
) -> tuple[Mechanism, ...]:
    """The declared steps, what contradicts them, and an undeclared one for every further attribute that differs."""
    resolved = resolve_steps(plan.released.mechanism, schema, "released.mechanism")
    declared: tuple[Masking, ...] = tuple(map(_counting_rows, resolved))
    covered = {name for step in declared for name in step.target_attributes}
    released = original.take(record)
    changed = tuple(name for name in data.names if name not in covered and _differs(released, data, name))
    false = find_false_declaration(original, data, schema, declared, record)
    contradicted: tuple[Mechanism, ...] = () if false is None else (false,)
    return (*declared, *contradicted, *((Undeclared(attributes=changed),) if changed else ()))


def _differs(original: Microdata, data: Microdata, name: str) -> bool:
    before, after = encode_jointly(original.column(name), data.column(name))
    return bool((before != after).any())
