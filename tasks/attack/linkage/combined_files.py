"""Several files of one intruder as one: their records are joined by whose they are, or by attributes that the files share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from tasks.attack.linkage.external_files import FILE, FileUse
from tasks.attack.linkage.file_alignment import FileMatch, convert_file_values, extract_keys
from tasks.attack.together.likely_records import join_likely_records
from tasks.microdata.codes import joint_codes
from tasks.microdata.errors import InputError, NotFollowed
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Name, Names, Spec
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Integers, Microdata, encode_jointly

AND = "+"  # between the names of files that are used together: no name of a file has it


class CombinedFilesSpec(Spec):
    """Files that somebody holds together; the holder is called `file:<name>+<name>`.

    files: their names, of `intruder.files`, or their places in that list, from 1, where they have none. Of an attribute that
        several have, what the first of these says counts, where it says something.
    by: published attributes, which all of them have, by which the intruder finds out which records are one person's: those that
        show what no other record of their file shows. Default: the files say who their people are, and people are joined by the
        keys.
    matching: of `by`: `equal`: what both files say must be equal; `likely`: alike is enough, where two records are more
        probably one person's than not, all records weighed together.
    """

    files: Annotated[tuple[Name, ...], Field(min_length=2)]
    by: Names | None = None
    matching: Literal["equal", "likely"] = Field("equal", exclude_if=lambda given: given == "equal")

    @model_validator(mode="after")
    def _is_likely_by_attributes(self) -> Self:
        if self.matching == "likely" and self.by is None:
            raise ValueError("`matching: likely` compares attributes: name those that all of the files have, `by: [attribute]`")
        return self

    @property
    def holder(self) -> str:
        return f"{FILE}:{AND.join(self.files)}"


@dataclass(frozen=True, slots=True)
class FilePart:
    """One of the files: its columns as they were read, how they are used, and whose its records are."""

    table: Microdata
    use: FileUse
    match: FileMatch


def name_combined_files(combine: tuple[CombinedFilesSpec, ...], files: tuple[str, ...]) -> tuple[str, ...]:
    """What the holders of several files are called. files: the names of those who hold one.

    Raises InputError for a file that is not there or named twice, and for two combinations of the same files.
    """
    known, names = tuple(name.removeprefix(f"{FILE}:") for name in files), tuple(one.holder for one in combine)
    for i, one in enumerate(combine):
        where = f"intruder.combine[{i}].files"
        for position, name in enumerate(one.files):
            if name not in known:
                remedy = did_you_mean(name, known, "name the files, or number them from 1 where they have no name")
                what = f"there is no file `{name}` among those of the intruder"
                raise InputError("unknown-file", where, what, ", ".join(known) or "none", remedy, name)
            if name in one.files[:position]:
                what = f"`{name}` is combined with itself"
                raise InputError("duplicate-file", where, what, "each file once", "name it once", name)
        if any(set(one.files) == set(other.files) for other in combine[:i]):
            what = "these files are combined twice"
            raise InputError(
                "duplicate-file", where, what, "other files in each", "take one of the two out", AND.join(one.files)
            )
    return names


def combine_files(
    original: Microdata, schema: Schema, parts: tuple[FilePart, ...], spec: CombinedFilesSpec, number: int
) -> tuple[Microdata, FileUse]:
    """The files as one table, and how it is used. number: the place among the combinations, from 0.

    Meaning: joined by the keys, the table has a record for everybody who is in any of the files; of who is in one of them only
    what that says is known. Joined by attributes, it has the records of the first file, to which the others add what they say
    of the record that shows the same; nothing is added where a value is missing or several records of a file show the same.
    With `matching: likely` each is joined with the record that is probably the same person's (`join_likely_records`).
    Such a join may be false, as an intruder's would be. Of an attribute that several have the first that says something counts.

    Raises InputError for files whose keys are matched with different columns of the source, which repeat a key, or lack an
    attribute of `by`, where no record is joined, and where too many pairs are to be weighed. Cost: O(e log e) for e records,
    and that of `join_likely_records`. Example: a register of a, b with their ages and a survey of b, c with their towns: a with
    an age, b with both, c with a town.
    """
    location = f"intruder.combine[{number}]"
    values = [convert_file_values(original, schema, one.table, one.match, one.use) for one in parts]
    keys = [extract_keys(original, one.table, one.use)[0].take(pa.array(one.match.order)) for one in parts]
    if spec.by is None:
        positions = _join_by_keys(parts, keys, location)
    else:
        _refuse_attributes_of_one(values, spec.by, location)
        likely = spec.matching == "likely"
        joined = (
            _join_likely(values, _identify_people(parts, keys), schema, spec.by, location)
            if likely
            else _join_by_attributes(values, spec.by, location)
        )
        positions = [np.arange(values[0].n), *joined]
    if spec.by is not None:
        keys = keys[:1]
    key = parts[0].use.key[1]
    names = [name for name in schema.release_columns if any(name in one.names for one in values)]
    columns = {
        name: _take_first([(one.column(name), at) for one, at in zip(values, positions, strict=True) if name in one.names])
        for name in names
    }
    table = Microdata(pa.table({key: _take_first(list(zip(keys, positions, strict=False))), **columns}))
    return table, FileUse(location, (key, key), tuple((name, name) for name in names))


def _join_by_keys(parts: tuple[FilePart, ...], keys: list[pa.Array], location: str) -> list[Integers]:
    """Of each file, which of its records is each person's; -1 where the person is not in it."""
    matched = sorted({one.use.key[1] for one in parts})
    if len(matched) > 1:
        what = f"the files have no key in common: they are matched with the columns {', '.join(matched)} of the source"
        remedy = "match all with one column, or say by which attributes the intruder joins them: `by: [attribute]`"
        raise InputError("no-common-key", location, what, "one column of the source for all keys", remedy)
    codes = encode_jointly(*keys)
    n = max(int(one.max(initial=-1)) for one in codes) + 1
    times = [np.bincount(one, minlength=n) for one in codes]
    for part, count in zip(parts, times, strict=True):
        if count.max(initial=0) > 1:
            what = f"{int((count - 1).clip(0).sum()):,} records of `{part.use.location}` repeat the key of another one"
            remedy = "leave one record of each, or combine it by attributes: `by: [attribute]`"
            raise InputError("repeated-key", location, what, "one record for each key in files that are combined", remedy)
    if int(np.sum([count > 0 for count in times], axis=0).max(initial=0)) < 2:
        what, remedy = "nobody is in two of the files: together they tell no more than alone", "take the combination out"
        raise InputError("nothing-joined", location, what, "files with people in common, by their keys", remedy)
    return [_invert(one, np.arange(len(one)), n) for one in codes]


def _refuse_attributes_of_one(values: list[Microdata], by: tuple[str, ...], location: str) -> None:
    shared = [name for name in values[0].names if all(name in one.names for one in values)]
    for name in by:
        if name not in shared:
            what, remedy = (
                f"not all of the files have the attribute `{name}`",
                did_you_mean(name, shared, "join by another one"),
            )
            allowed = ", ".join(shared) or "they have none in common"
            raise InputError("no-common-attribute", f"{location}.by", what, allowed, remedy, name)


def _join_by_attributes(values: list[Microdata], by: tuple[str, ...], location: str) -> list[Integers]:
    """Of each further file, which of its records is joined with each of the first; -1 for none."""
    bounds = np.cumsum([one.n for one in values])[:-1]
    columns = [np.concatenate(encode_jointly(*(one.column(name) for one in values))) for name in by]
    missing = np.any([column < 0 for column in columns], axis=0)
    codes = np.split(np.where(missing, -1, joint_codes(columns, len(missing))), bounds)
    n = len(missing)
    single = [_find_single(one, n) for one in codes]
    first = np.where(codes[0] >= 0, codes[0], 0)
    alone = (codes[0] >= 0) & (single[0][first] >= 0)
    joined = [np.where(alone, one[first], -1) for one in single[1:]]
    if not any((one >= 0).any() for one in joined):
        what = f"no record of the first file shows, in {', '.join(by)}, what just one record of another file shows"
        remedy = "join by more attributes, by attributes that are written alike in both, or with `matching: likely`"
        raise InputError("nothing-joined", f"{location}.by", what, "attributes that tell records apart in each file", remedy)
    return joined


def _join_likely(
    values: list[Microdata], people: list[Integers], schema: Schema, by: tuple[str, ...], location: str
) -> list[Integers]:
    """As `_join_by_attributes`. people: of each file, who each record is, see `_identify_people`."""
    found = []
    for other, person in zip(values[1:], people[1:], strict=True):
        pairs = _find_common_people(people[0], person)
        try:
            joined = join_likely_records(values[0].select(by), other.select(by), schema, pairs)[0] if len(pairs[0]) else None
        except NotFollowed as refused:
            remedy = "join by more attributes, among them some that are equal in both files"
            raise InputError("too-many-pairs", f"{location}.by", str(refused), "smaller files", remedy) from None
        found.append(np.full(values[0].n, -1, dtype=np.int64) if joined is None else joined)
    if not any((one >= 0).any() for one in found):
        what = f"no record of the first file is, by {', '.join(by)}, more probably than not the same person's as one of another"
        remedy = "join by more attributes, or take the combination out"
        raise InputError("nothing-joined", f"{location}.by", what, "attributes that tell records apart in each file", remedy)
    return found


def _identify_people(parts: tuple[FilePart, ...], keys: list[pa.Array]) -> list[Integers]:
    """Of each file, who each record is: people of the source, and others by their keys; -1 where the keys of others cannot be
    compared with those of the first file. Others count as well: whom both files hold, an intruder joins, in the source or not.
    """
    n_units = 1 + max(int(one.match.unit.max(initial=-1)) for one in parts)
    comparable = [one.use.key[1] == parts[0].use.key[1] for one in parts]
    codes = iter(encode_jointly(*(one for one, same in zip(keys, comparable, strict=True) if same)))
    others = [n_units + next(codes) if same else np.full(len(one), -1) for one, same in zip(keys, comparable, strict=True)]
    return [np.where(one.match.unit >= 0, one.match.unit, other) for one, other in zip(parts, others, strict=True)]


def _find_common_people(one: Integers, other: Integers) -> tuple[Integers, Integers]:
    """The records of people with just one record in each of two files."""
    (here, place), (there, place_there) = (_list_single(person) for person in (one, other))
    _, at, at_there = np.intersect1d(here, there, assume_unique=True, return_indices=True)
    return place[at], place_there[at_there]


def _list_single(person: Integers) -> tuple[Integers, Integers]:
    """The people who have one record, and that record."""
    found, first, times = np.unique(person, return_index=True, return_counts=True)
    kept = (times == 1) & (found >= 0)
    return found[kept], first[kept]


def _find_single(codes: Integers, n: int) -> Integers:
    """Shape (n,): the one record with each code; -1 where there is none or several."""
    found = _invert(codes[codes >= 0], np.flatnonzero(codes >= 0), n)
    found[np.bincount(codes[codes >= 0], minlength=n) != 1] = -1
    return found


def _invert(codes: Integers, records: Integers, n: int) -> Integers:
    found = np.full(n, -1, dtype=np.int64)
    found[codes] = records
    return found


def _take_first(columns: Iterable[tuple[pa.Array, Integers]]) -> pa.Array:
    """What the first column says that says something; of each column, which of its values stands in each place, -1 for none."""
    taken = [pc.take(column, pa.array(at, mask=at < 0)) for column, at in columns]
    if len({one.type for one in taken}) > 1:  # whole numbers in one file, decimals in another
        taken = [one.cast(pa.float64()) for one in taken]
    return pc.coalesce(*taken)
