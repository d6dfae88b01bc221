"""The attributes of one block as numbers: the values that are aggregated, and the coordinates in which records are near.

The distance of mixed records is that of linkage (`attack.neighbours`): every attribute adds 2 on average to the squared
distance of two records. Measured and ordinal attributes count the squared difference in standard deviations (n - 1),
categories 2 * [x differs from y] / m, with m the share of pairs of records that differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.mask.fitting import extract_varying_positions, refuse_constant
from tasks.mask.groups.group_aggregates import Aggregate
from tasks.mask.precision_grid import round_to_grid
from tasks.mask.step import MaskContext
from tasks.microdata.codes import joint_codes
from tasks.microdata.errors import InputError
from tasks.microdata.scaling import compute_share_of_unequal_pairs, standardise_values
from tasks.microdata.schema import CATEGORICAL, Attribute
from tasks.microdata.table import Floats, Integers, Microdata, encode_jointly

MOST_CATEGORIES = 200  # of one attribute; each is a coordinate of every record


@dataclass(frozen=True, slots=True)
class BlockColumn:
    """One attribute of a block.

    values: shape (n,), NaN is missing: positions, or codes of `categories` where the attribute is nominal.
    coordinates: shape (n, d), NaN where the value is missing.
    """

    attribute: Attribute
    values: Floats
    coordinates: Floats
    aggregate: Aggregate
    categories: pa.Array | None = None


@dataclass(frozen=True, slots=True)
class PatternGroups:
    """The groups of the records that share a pattern of missing values: rows, the columns they have, and a group for each."""

    rows: Integers
    columns: list[int]
    of_row: Integers


@dataclass(frozen=True, slots=True)
class AttributeBlock:
    """Attributes that are grouped together, the smallest group, and the groups, pattern by pattern."""

    columns: list[BlockColumn]
    k: int
    groups: list[PatternGroups]


def create_block_column(site: MaskContext, name: str, aggregate: Aggregate, *, standardize: bool) -> BlockColumn:
    """One attribute as the partition sees it.

    standardize: coordinates are divided by the standard deviation (categories by the share of pairs that differ); otherwise
    numbers count as they are and two different categories are at distance 1.

    Raises InputError for a constant, an infinite value, a category outside the declared order, and too many categories.
    """
    attribute = site.schema[name]
    if attribute.scale in CATEGORICAL:
        return _nominal(site, attribute, aggregate, standardize=standardize)
    positions = extract_varying_positions(site.data, site.schema, name, site.where)
    coordinates = standardise_values(positions) if standardize else positions
    return BlockColumn(attribute, positions, coordinates[:, None], aggregate)


def publish_column(data: Microdata, column: BlockColumn, values: Floats, site: MaskContext) -> Microdata:
    """The table with the column replaced by aggregated values, on the grid of the source."""
    name, missing = column.attribute.name, np.isnan(values)
    if column.categories is not None:
        codes = pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)
        return data.replace_column(name, column.categories.take(codes))
    if column.aggregate not in ("median category", "plurality"):
        values = round_to_grid(values, site.precision[name])
    return data.replace_positions(column.attribute, values)


def _nominal(site: MaskContext, attribute: Attribute, aggregate: Aggregate, *, standardize: bool) -> BlockColumn:
    name = attribute.name
    location = f"{site.where}.attributes: {name}"
    (codes,) = encode_jointly(site.data.column(name))
    found = pc.unique(site.data.column(name).drop_null())
    categories = found.take(pc.sort_indices(found))
    refuse_constant(name, location, varies=len(categories) > 1)
    if len(categories) > MOST_CATEGORIES:
        what = f"`{name}` has {len(categories):,} categories"
        remedy = "group its categories before (recoding), or take it out of the step"
        raise InputError("categories", location, what, f"2 to {MOST_CATEGORIES} categories", remedy)
    values = np.where(codes < 0, np.nan, codes.astype(np.float64))
    weight = 1 / compute_share_of_unequal_pairs(values) if standardize else 0.5
    coordinates = np.where((codes < 0)[:, None], np.nan, np.sqrt(weight) * (codes[:, None] == np.arange(len(categories))))
    return BlockColumn(attribute, values, coordinates, aggregate, categories)


def compute_coordinates(columns: list[BlockColumn], rows: Integers, having: list[int]) -> Floats:
    """Where the rows of a pattern stand, in the columns that they have."""
    return np.column_stack([columns[j].coordinates[rows] for j in having])


def patterns(columns: list[BlockColumn]) -> list[tuple[Integers, list[int]]]:
    """The rows of each pattern of missing values, and the columns that they have; without rows that miss all of them."""
    present = ~np.isnan(np.column_stack([column.values for column in columns]))
    pattern = joint_codes(list(present.T), len(present))
    found = ((np.flatnonzero(pattern == code), present[np.argmax(pattern == code)]) for code in range(int(pattern.max()) + 1))
    return [(rows, np.flatnonzero(has).tolist()) for rows, has in found if has.any()]


def refuse_small_patterns(columns: list[BlockColumn], k: int, *, where: str, persons: Integers | None = None) -> None:
    """InputError where fewer than k records share a pattern of missing values within a block, so also where k > n.

    persons: shape (n,), the person of each record, where k counts persons.
    """
    for rows, having in patterns(columns):
        size = len(rows) if persons is None else len(np.unique(persons[rows]))
        if size < k:
            lacking = tuple(column.attribute.name for j, column in enumerate(columns) if j not in having)
            raise _too_small(size, k, lacking, where, "record" if persons is None else "person")


def _too_small(size: int, k: int, lacking: tuple[str, ...], where: str, unit: str) -> InputError:
    allowed = f"k at most the number of {unit}s that have the same attributes"
    if not lacking:
        what = f"k is {k}, but only {size} {unit}s have all attributes of a block"
        return InputError("group-too-small", f"{where}.k", what, allowed, "lower k, or mask fewer attributes together", k)
    which = " and ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
    who = f"1 {unit} has" if size == 1 else f"{size} {unit}s have"
    what = f"only {who} no value of {which} (and all others of the block), fewer than k = {k}: they cannot hide in a group"
    remedy = (
        f"fill the gaps or leave those rows out at the source, or keep {lacking[0]} back (`role: withheld`); a block of its "
        "own (`blocks`) would mask it too, but who combines the blocks finds nearly everybody"
    )
    return InputError("group-too-small", f"{where}.k", what, allowed, remedy, k)
