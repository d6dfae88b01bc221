"""Frozen groups: people who were released keep group and published values, and newcomers are grouped among themselves.

A group that loses 1..k-1 of its members would tell who left: the rows that vanish from the file are theirs, and the rows that
stay are fewer than k. So such a group stays as it was published, with the rows of those who left, until all of them leave (or,
where it is large, k leave and k stay). The alternative, to withhold the whole group, is as safe and costs about k rows for each
person who leaves, in this release and in all later ones. Keeping the rows tells nobody anything that the earlier file does not.

Somebody who left with their group and comes back is not released again: beside the others of their new group they would be the
one who stood in the old one. A group of newcomers that shows the same as an older one is a group of its own here: otherwise
one of each could leave, and be told by who was there before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.mask.groups.kept_groups import NEWCOMER, KeptGroups
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.step import MaskStep
from tasks.microdata.codes import joint_codes, row_codes
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Booleans, Integers, Microdata, encode_jointly
from tasks.microdata.units import list_person_columns
from tasks.microdata.words import join_with_and

BlockSizes = tuple[tuple[tuple[str, ...], int], ...]  # attributes that are grouped together, and the smallest group


@dataclass(frozen=True, slots=True)
class EarlierGroups:
    """The release whose groups are kept.

    masked: its m rows. record: shape (m,): the row in `source` of each. history: `FrozenMasking.history` of that release; None:
    it kept no groups itself.
    """

    source: Microdata
    masked: Microdata
    record: Integers
    history: Microdata | None = None


@dataclass(frozen=True, slots=True)
class FrozenMasking:
    """What is masked in place of the source, and by which steps.

    data: the records of the source without those that wait, then the rows of people who left and whose groups stay.
    steps: frozen ones have the groups that they keep. history: a row for everybody who was ever released: key, cohort (who were
        newcomers together, numbered from 0) and whether their row has left.
    kept, new, waiting, returned, left: how many records.
    """

    data: Microdata
    steps: tuple[MaskStep, ...]
    history: Microdata
    kept: int
    new: int
    waiting: int
    returned: int
    left: int

    def describe(self) -> tuple[str, ...]:
        """What the steward should know."""
        found = [f"masking: {self.kept:,} records keep the groups of the earlier release, and {self.new:,} are new"]
        if self.waiting:
            found.append(
                f"masking: {self.waiting:,} new records are not released: fewer than k of them have the same gaps. They wait "
                "for a release with more newcomers"
            )
        if self.returned:
            found.append(
                f"masking: {self.returned:,} people who left with their groups and are back are not released again: they would "
                "be told apart from the others of a new group"
            )
        if self.left:
            found.append(
                f"masking: the rows of {self.left:,} people who have left the source stay in the release as they were "
                "published: without them the rest of their groups, and they themselves, would be told apart"
            )
        return tuple(found)


def freeze_groups(
    source: Microdata, schema: Schema, steps: tuple[MaskStep, ...], key: str | None, earlier: EarlierGroups | None
) -> FrozenMasking:
    """Prepare a release in which the groups of an earlier one are kept.

    Meaning: who holds both files learns no more of a group than one of them tells, as long as the columns beside do not change.
    Formula in words: a person of both sources keeps the group of the earlier release. The rows of people who left stay, unless
    in every block their group leaves whole, or k or more of it leave and k or more stay. Newcomers that miss the same
    attributes of a block are grouped if they are k or more; the others wait, and are no part of `data`, and neither is somebody
    whose row has left before.

    Parameters
    ----------
    source: all columns. steps: with their attributes resolved. key: the column that tells people apart across versions;
        default: the person key. earlier: the release whose groups are kept, with the same blocks; None: this is the first.

    Raises InputError without a key, for a key that is missing or repeated, and where the earlier table lacks a column or has
    it in another type. Cost: O(n log n) for each block.
    Example: groups {a, b, c} and {d, e, f} with k = 3; a has left and g, h are new: a's row stays, g and h wait.
    """
    frozen = [step for step in steps if isinstance(step, Microaggregation) and step.frozen]
    blocks = tuple(block for step in frozen for block in step.groups)
    name = _find_key(source, schema, key)
    if earlier is None:
        row, data = np.full(source.n, NEWCOMER, dtype=np.int64), source
        before = _create_history(source.column(name).slice(0, 0), np.zeros(0, dtype=np.int64), departed=False)
        cohort = np.zeros(0, dtype=np.int64)
    else:
        _refuse_other_columns(source, earlier)
        row, left = _match_people(source, earlier, name)
        cohort, before = _find_cohorts(earlier, name)
        stays = _find_rows_to_keep(earlier.masked, blocks, left, cohort)
        data = Microdata(pa.concat_tables([source.arrow, _take_rows(earlier, source, np.flatnonzero(stays))]))
        row = np.concatenate([row, np.flatnonzero(stays)])
        leaving = np.flatnonzero(left & ~stays)
        gone = earlier.source.column(name).take(pa.array(earlier.record[leaving]))
        before = _stack(before, _create_history(gone, cohort[leaving], departed=True))
    returned = np.asarray(pc.is_in(data.column(name), value_set=before.column("key"))) & (row < 0)
    waits = _find_waiting(data, blocks, (row < 0) & ~returned)
    absent, left_behind = waits | returned, data.n - source.n
    data, row = data.take(np.flatnonzero(~absent)), row[~absent]
    if not data.n:
        what, allowed = "fewer than k records have the same gaps, so all of them would wait", "k records or more"
        raise InputError("group-too-small", "masking", what, allowed, "lower k, or wait for more records")
    prepared = steps if earlier is None else tuple(_keep_groups(step, earlier.masked, row) for step in steps)
    new = int((row < 0).sum())
    cohorts = np.full(len(row), _number_next_cohort(cohort, before), dtype=np.int64)
    cohorts[row >= 0] = cohort[row[row >= 0]]
    history = _stack(_create_history(data.column(name), cohorts, departed=False), before)
    counts = (len(row) - new, new, int(waits.sum()), int(returned.sum()), left_behind)
    return FrozenMasking(data, prepared, history, *counts)


def _create_history(keys: pa.Array, cohorts: Integers, *, departed: bool) -> Microdata:
    columns = {"key": keys, "cohort": pa.array(cohorts, pa.int64()), "departed": pa.array([departed] * len(keys), pa.bool_())}
    return Microdata.from_columns(columns)


def _stack(first: Microdata, second: Microdata) -> Microdata:
    return Microdata(pa.concat_tables([first.arrow, second.arrow.cast(first.arrow.schema)]))


def _find_cohorts(earlier: EarlierGroups, key: str) -> tuple[Integers, Microdata]:
    """The cohort of each masked row, shape (m,), and the part of the history that is about people whose rows have left."""
    keys = earlier.source.column(key).take(pa.array(earlier.record))
    if earlier.history is None:
        nobody = _create_history(keys.slice(0, 0), np.zeros(0, dtype=np.int64), departed=True)
        return np.zeros(len(keys), dtype=np.int64), nobody
    known, cohorts = earlier.history.column("key").cast(keys.type), earlier.history.floats("cohort").astype(np.int64)
    place = np.array(pc.index_in(keys, value_set=known).to_numpy(zero_copy_only=False), dtype=np.int64)
    gone = np.flatnonzero(earlier.history.floats("departed") > 0)
    return cohorts[place], _create_history(known.take(pa.array(gone)), cohorts[gone], departed=True)


def _number_next_cohort(cohort: Integers, before: Microdata) -> int:
    return 1 + max(int(cohort.max(initial=-1)), int(before.floats("cohort").max(initial=-1)))


def continues_groups(steps: Iterable[MaskStep], mechanisms: Sequence[MaskStep]) -> bool:
    """Did a release with these mechanisms publish the groups that the frozen steps keep: the same blocks, and the same k?

    steps, mechanisms: with their attributes resolved. Another mask of the same attributes hides what the groups showed.
    """
    return all(_publishes_groups(step, mechanisms) for step in steps if isinstance(step, Microaggregation) and step.frozen)


def refuse_unfit_pipeline(steps: Sequence[MaskStep], where: str) -> None:
    """InputError for frozen groups beside a step that masks their attributes again, or leaves out records."""
    for i, step in enumerate(steps):
        if not (isinstance(step, Microaggregation) and step.frozen):
            continue
        for j, other in enumerate(steps):
            again = set(other.target_attributes) & set(step.target_attributes)
            if j != i and (again or getattr(other, "method", None) == "sampling"):
                done = f"masks {join_with_and(sorted(again))} too" if again else "draws a sample"
                what = f"{where}[{j}] {done}, and the groups of {where}[{i}] are to stay as they were published"
                allowed, remedy = "steps that leave the records and their groups alone", "take one of the two out"
                raise InputError("frozen-with-other-step", f"{where}[{i}].frozen", what, allowed, remedy)


def _publishes_groups(step: Microaggregation, mechanisms: Sequence[MaskStep]) -> bool:
    touching = [one for one in mechanisms if set(one.target_attributes) & set(step.target_attributes)]
    sampled = any(getattr(one, "method", None) == "sampling" for one in mechanisms)
    return (
        not sampled
        and len(touching) == 1
        and isinstance(touching[0], Microaggregation)
        and _list_sets(touching[0]) == _list_sets(step)
    )


def _list_sets(step: Microaggregation) -> set[tuple[frozenset[str], int]]:
    return {(frozenset(names), k) for names, k in step.groups}


def _find_key(source: Microdata, schema: Schema, key: str | None) -> str:
    """The column that has a value of its own in every row."""
    names = list_person_columns(schema, key)
    if not names:
        what = "groups are to be kept, and no column tells people apart in two versions of the source"
        raise InputError("no-key", "key", what, "a column with a value of its own for every person", "name it as `key`")
    persons = schema.find_by_role(Role.PERSON)
    for name in (*persons, *(one for one in names if one not in persons)):
        column = source.column(name)
        if column.null_count or len(column.unique()) < len(column):
            what = f"`{name}` is missing or repeated in some rows, and groups are kept row by row"
            remedy = "keep one row for each person, or take `frozen` out"
            raise InputError("repeated-key", f"attributes.{name}", what, "a value of its own in every row", remedy)
    return names[-1]


def _refuse_other_columns(source: Microdata, earlier: EarlierGroups) -> None:
    for name in source.names:
        kinds = [
            table.arrow.schema.field(name).type if name in table.names else None
            for table in (source, earlier.source, *((earlier.masked,) if name in earlier.masked.names else ()))
        ]
        if len(set(kinds)) > 1:
            had = "did not have it" if None in kinds else f"had it as {kinds[1]}, and it is {kinds[0]} now"
            what = f"groups are to be kept, and the source of the earlier release {had}: `{name}`"
            allowed = "the columns of the earlier release, in the same types"
            remedy = "leave the column out at the source, or declare it as it was"
            raise InputError("other-columns", f"source: column {name}", what, allowed, remedy)


def _match_people(source: Microdata, earlier: EarlierGroups, key: str) -> tuple[Integers, Booleans]:
    """The earlier masked row of each record, NEWCOMER where there is none, and of each of those rows: has its person left?"""
    released = earlier.source.column(key).take(pa.array(earlier.record))
    now, before = encode_jointly(source.column(key), released)
    found = np.full(int(max(now.max(initial=-1), before.max(initial=-1))) + 2, NEWCOMER, dtype=np.int64)
    found[before] = np.arange(len(before))
    return found[now], ~np.isin(before, now)


def _find_rows_to_keep(masked: Microdata, blocks: BlockSizes, left: Booleans, cohort: Integers) -> Booleans:
    """Which rows of people who left must stay; a row that stays in one block stays in all of them."""
    stays = np.zeros(masked.n, dtype=bool)
    groups = [(joint_codes([row_codes(masked, names), cohort], masked.n), k) for names, k in blocks]
    while True:
        before = int(stays.sum())
        for of_row, k in groups:
            leaving = np.bincount(of_row[left & ~stays], minlength=int(of_row.max(initial=-1)) + 1)
            staying = np.bincount(of_row, minlength=len(leaving)) - leaving
            tells = (staying > 0) & ((leaving < k) | (staying < k))
            stays |= left & tells[of_row]
        if int(stays.sum()) == before:
            return stays


def _take_rows(earlier: EarlierGroups, source: Microdata, rows: Integers) -> pa.Table:
    return earlier.source.select(source.names).take(earlier.record[rows]).arrow.cast(source.arrow.schema)


def _find_waiting(data: Microdata, blocks: BlockSizes, new: Booleans) -> Booleans:
    """Which newcomers share their gaps in a block with fewer than k; who waits is missed in other blocks."""
    waits = np.zeros(data.n, dtype=bool)
    gaps = []
    for names, k in blocks:
        missing = [data.missing(name) for name in names]
        gaps.append((joint_codes([one.astype(np.int64) for one in missing], data.n), np.logical_and.reduce(missing), k))
    while True:
        before = int(waits.sum())
        for pattern, empty, k in gaps:
            grouped = new & ~waits & ~empty
            waits |= grouped & (np.bincount(pattern[grouped], minlength=int(pattern.max(initial=-1)) + 1) < k)[pattern]
        if int(waits.sum()) == before:
            return waits


def _keep_groups(step: MaskStep, masked: Microdata, row: Integers) -> MaskStep:
    if not (isinstance(step, Microaggregation) and step.frozen):
        return step
    return step.model_copy(update={"kept": KeptGroups.from_released_rows(masked, step.target_attributes, row)})
