"""Predicates that a released row suggests ("the values of this row"), and how many people of a table satisfy each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from tasks.attack.inference.inputs import has_order
from tasks.microdata.schema import Attribute, Schema
from tasks.microdata.table import Floats, Integers, Microdata, encode_jointly
from tasks.microdata.units import Units

NOWHERE = -1  # the predicate of nobody: no released row suggests one that such a record satisfies
LARGEST_SET = 3
MOST_LOOKUPS = 500_000_000  # sets of attributes times records: about 2 minutes


@dataclass(frozen=True, slots=True)
class Predicates:
    """The different predicates over one set of attributes, numbered 0..count-1.

    of_rows: shape (m,), the predicate that each released row suggests. of_tables: for each table of people, shape (n,), the one
    that each record satisfies, or -1. Predicates over one set exclude each other, so that there is at most one.
    """

    attributes: tuple[str, ...]
    count: int
    of_rows: Integers
    of_tables: tuple[Integers, ...]

    def join(self, other: Predicates) -> Predicates:
        """The predicates that ask for both: what a released row suggests by one set of attributes, and by another.

        Cost: O((m + n) log m).
        """
        codes, of_rows = np.unique(self.of_rows * other.count + other.of_rows, return_inverse=True)
        tables = zip(self.of_tables, other.of_tables, strict=True)
        found = tuple(_look_up(codes, mine * other.count + its, (mine >= 0) & (its >= 0)) for mine, its in tables)
        return Predicates(self.attributes + other.attributes, len(codes), of_rows, found)

    def count_units(self, table: int, units: Units) -> Integers:
        """Shape (count,): of how many units of a table a record satisfies each predicate."""
        satisfied = self.of_tables[table]
        inside = satisfied >= 0
        if units.counts == "records":
            return np.bincount(satisfied[inside], minlength=self.count)
        pairs = np.unique(satisfied[inside] * units.n_units + units.of_row[inside])
        return np.bincount(pairs // units.n_units, minlength=self.count)


def create_predicates(attribute: Attribute, rows: Microdata, tables: Sequence[Microdata]) -> Predicates:
    """The predicates over one attribute.

    Meaning: "the value of this released row". A number (a measured or ordered value) satisfies it if it is nearer to the
    released value than to its neighbours, the released values above and below; half way counts for the value above. The
    smallest and the largest released value have no end outwards. A category has to be equal. That a value is missing is a
    value of its own.

    rows: of the release. tables: of people, written as the release writes. Cost: O((m + n) log m).
    Example: released ages 20, 30, 30, 50: the predicates are below 25, 25 to below 40, 40 and more.
    Source: docs/SCIENCE.md section 5b.
    """
    name = attribute.name
    every = (rows, *tables)
    if has_order(attribute, every):
        found = _find_nearest(rows.positions(attribute), [table.positions(attribute) for table in tables])
    else:
        found = encode_jointly(*(table.column(name) for table in every))
    codes, of_rows = np.unique(found[0], return_inverse=True)
    of_tables = tuple(_look_up(codes, one, np.ones(len(one), dtype=bool)) for one in found[1:])
    return Predicates((name,), len(codes), of_rows.astype(np.int64), of_tables)


def list_predicates(
    schema: Schema, names: Sequence[str], largest: int, rows: Microdata, tables: Sequence[Microdata]
) -> Iterator[Predicates]:
    """The predicates over each set of at most so many attributes: in the order of the table, a set before those it begins.

    Cost: a `join` for each set.
    """
    single = [create_predicates(schema[name], rows, tables) for name in names]

    def extend(begun: Predicates, following: int) -> Iterator[Predicates]:
        yield begun
        if len(begun.attributes) < largest:
            for place in range(following, len(single)):
                yield from extend(begun.join(single[place]), place + 1)

    for place, one in enumerate(single):
        yield from extend(one, place + 1)


def choose_largest_set(attributes: int, records: int) -> int:
    """How many attributes a predicate has at most: 3, or fewer where there are too many sets of so many."""
    sizes = range(LARGEST_SET, 1, -1)
    return next((size for size in sizes if count_sets(attributes, size) * records <= MOST_LOOKUPS), 1)


def count_sets(attributes: int, largest: int) -> int:
    """How many sets of at most so many attributes there are. Example: 4 attributes, up to 3: 4 + 6 + 4."""
    return sum(comb(attributes, size) for size in range(1, largest + 1))


def _find_nearest(shown: Floats, asked: Sequence[Floats]) -> tuple[Integers, ...]:
    """The number of the nearest released value of each value, the first of `shown` itself; missing has the number -1."""
    values = np.unique(shown[~np.isnan(shown)])
    half_way = values[:-1] / 2 + values[1:] / 2
    ends = np.maximum(half_way, np.nextafter(values[:-1], np.inf))  # a value is nearest to itself, however near the next one is
    return tuple(np.where(np.isnan(one), -1, np.searchsorted(ends, one, side="right")) for one in (shown, *asked))


def _look_up(codes: Integers, asked: Integers, is_asked: np.ndarray) -> Integers:
    """Shape (n,): the place of each code among the sorted `codes`, or -1."""
    found = np.full(len(asked), NOWHERE, dtype=np.int64)
    if not len(codes):
        return found
    rows = np.flatnonzero(is_asked)
    place = np.minimum(np.searchsorted(codes, asked[rows]), len(codes) - 1)
    found[rows] = np.where(codes[place] == asked[rows], place, NOWHERE)
    return found
