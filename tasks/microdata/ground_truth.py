"""The ground truth of a release: whose row is whose. The evaluation knows it, and no intruder does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tasks.microdata.alignment import ABSENT, Alignment, RowAlignment, require_alignment
from tasks.microdata.schema import Schema
from tasks.microdata.table import Booleans, Floats, Integers, Microdata
from tasks.microdata.units import RowGroups, Units, find_units, group_rows


@dataclass(frozen=True, slots=True)
class RecordPairs:
    """Who is who: record records[i] is released as row rows[i]."""

    records: Integers
    rows: Integers


@dataclass(frozen=True)
class GroundTruth:
    """What the scoring knows and no intruder does: whose row is whose.

    original, masked: n and m rows. units: of the original's rows. belonging: whose the masked rows are; what needs to know that
    raises NotApplicable where they are nobody's.
    For a file of the intruder `original` is that file (`linkage.file_alignment`), and two more are given. whose: shape (m,),
    the unit of each masked row, from n_units on those of people who are not in the file. known: of some attributes, shape (n,)
    each, of which records the original value is known. chances: by attribute, what
    `score.linkage.compute_majority_chance` found, which is asked for by each attack.
    """

    original: Microdata
    masked: Microdata
    belonging: RowAlignment
    units: Units
    whose: Integers | None = None
    known: Mapping[str, Booleans] = field(default_factory=dict)
    chances: dict[str, float] = field(default_factory=dict, init=False, compare=False, repr=False)

    @classmethod
    def create_from_tables(cls, original: Microdata, masked: Microdata, schema: Schema, belonging: RowAlignment) -> GroundTruth:
        """Raises ValueError where the alignment is not that of the tables, InputError as `find_units`."""
        if original.n != belonging.n_records or masked.n != belonging.n_rows:
            shapes = f"{belonging.n_records} records and {belonging.n_rows} masked rows"
            raise ValueError(f"the tables have {original.n} and {masked.n} rows, their alignment {shapes}")
        return cls(original, masked, belonging, find_units(original, schema))

    @property
    def alignment(self) -> Alignment:
        """Of the source's records; raises NotApplicable where the masked rows belong to nobody."""
        return require_alignment(self.belonging)

    def restrict_to(self, held: Integers) -> GroundTruth:
        """The ground truth of somebody who has a share of the records: rows of `original`, ascending, of persons all or
        none.
        """
        _, of_record = np.unique(self.units.of_row[held], return_inverse=True)
        kept = np.zeros(self.units.n_units, dtype=bool)
        kept[self.units.of_row[held]] = True
        number = np.where(kept, np.cumsum(kept) - 1, int(kept.sum()) + np.cumsum(~kept) - 1)
        others = self.unit_of_row >= self.units.n_units
        whose = np.where(others, self.unit_of_row, number[np.where(others, 0, self.unit_of_row)])
        return replace(
            self,
            original=self.original.take(held),
            units=Units(of_record.astype(np.int64), int(kept.sum()), self.units.counts),
            whose=whose.astype(np.int64),
            known={name: known[held] for name, known in self.known.items()},
        )

    @property
    def unit_of_row(self) -> Integers:
        """Shape (m,): the unit of each masked row."""
        return self.units.of_row[self.alignment.record] if self.whose is None else self.whose

    @property
    def own_row(self) -> Integers:
        """Shape (n,): the masked row of each record, ABSENT where it is not released. Where records are units."""
        if self.whose is None:
            return self.alignment.row_by_record
        rows = np.full(self.units.n_units, ABSENT, dtype=np.int64)
        of_the_file = np.flatnonzero(self.whose < self.units.n_units)
        rows[self.whose[of_the_file]] = of_the_file
        return rows

    @property
    def record_pairs(self) -> RecordPairs:
        """Who is who, for attacks that learn from it: the worst case of a family of attacks."""
        if self.whose is None:
            return RecordPairs(self.alignment.record, np.arange(self.masked.n))
        own = self.own_row
        return RecordPairs(np.flatnonzero(own >= 0), own[own >= 0])

    @property
    def complete(self) -> bool:
        """Is every unit in the release?"""
        return self.alignment.complete if self.whose is None else bool((self.released_sizes > 0).all())

    @property
    def most_candidates(self) -> int:
        """Among how many units a guess may be: those of the original, or those that are released."""
        n_released = 0 if self.whose is None else len(np.unique(self.whose))
        return max(self.units.n_units, n_released)

    def find_known_units(self, name: str) -> Booleans:
        """Shape (n_units,): is the original value of an attribute known of the unit?"""
        units = np.ones(self.units.n_units, dtype=bool)
        if name in self.known:
            units[self.units.of_row] = self.known[name]
        return units

    @property
    def rows_by_unit(self) -> RowGroups:
        """The masked rows of each unit; absent units have none."""
        return group_rows(self.unit_of_row, self.units.n_units)

    @cached_property
    def record_sizes(self) -> Integers:
        """Shape (n_units,): how many records each unit has."""
        return np.bincount(self.units.of_row, minlength=self.units.n_units)

    @cached_property
    def released_sizes(self) -> Integers:
        """Shape (n_units,): how many masked rows each unit has; absent units have none."""
        units = self.unit_of_row
        return np.bincount(units[(units >= 0) & (units < self.units.n_units)], minlength=self.units.n_units)

    def chance(self, of: Booleans | None = None, *, searched: bool, n_given: int | None = None) -> float:
        """The mean credit over some units of a guess that does not look; `searched`: the released rows look for their records.

        A unit with r of the m released rows expects r/m, which add up to 1 over all units. Searched, a unit with r of the n
        records expects r/n if one of its rows is released, else 0. of: shape (n_units,); default: all.
        n_given: so many of those who search, drawn at random, are given a guess, and the others none, as where records and rows
        are assigned to each other one to one and there are more that search. Default: all of them.
        Example: 80 records, of which 60 are released, are assigned to the 60 rows: 60/80 of them a row, which is 1/60 of those
        that are there: 1/80, and over all 60/80^2.
        """
        released, records = self.released_sizes, self.record_sizes
        held: npt.NDArray[Any] = records * (released > 0) if searched else released
        if n_given is not None:
            held = held * (n_given / self.masked.n if searched else _compute_chance_of_any(records, n_given, self.original.n))
        chosen = held if of is None else held[of]
        return float(chosen.sum()) / (len(chosen) * (self.original.n if searched else self.masked.n))


def _compute_chance_of_any(records: Integers, drawn: int, n: int) -> Floats:
    """How likely one of the records of each unit is among those drawn from n at random."""
    from scipy.stats import hypergeom

    counts, position = np.unique(records, return_inverse=True)
    chances: Floats = np.asarray(hypergeom.sf(0, n, drawn, counts))
    return chances[position]
