"""Microaggregation: records are grouped by MDAV, and each value is replaced by that of its group."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from tasks.mask.fitting import checked_positions
from tasks.mask.images import Knowledge, joint_codes
from tasks.mask.partitions.mdav import partition
from tasks.mask.precision import at_precision
from tasks.mask.repetition import repeated_on_all
from tasks.mask.step import Description, Site, Step, View
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale
from tasks.microdata.spec import Names
from tasks.microdata.table import Booleans, Floats, Integers, Microdata
from tasks.microdata.words import listed


class Microaggregation(Step):
    """Parameters of microaggregation.

    attributes: what is masked; default: the quasi-identifiers that are numeric, ordinal, dates or times.
    k: size of the smallest group.
    blocks: parts of the attributes that are grouped separately; default: all attributes jointly.
    """

    method: Literal["microaggregation"]
    k: Annotated[int, Field(ge=2)]
    blocks: tuple[Names, ...] | None = None

    @model_validator(mode="after")
    def _blocks_are_a_partition(self) -> Self:
        blocked = [name for block in self.blocks or () for name in block]
        if len(set(blocked)) < len(blocked):
            raise ValueError("blocks name an attribute twice; each attribute belongs to one block")
        if self.blocks is not None and not blocked:
            raise ValueError("blocks must hold at least one block; leave it out to group all attributes jointly")
        if blocked and self.attributes is not None and set(blocked) != set(self.attributes):
            raise ValueError("blocks must hold the same attributes as `attributes`, or `attributes` be left out")
        return self

    @property
    def named(self) -> tuple[str, ...] | None:
        return self.attributes if self.blocks is None else tuple(name for block in self.blocks for name in block)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The attributes that are grouped together, once `attributes` is resolved."""
        return self.blocks if self.blocks is not None else (self.masked,)

    @property
    def rule(self) -> str:
        blocks = " and of ".join(listed(block) for block in self.groups)
        return f"microaggregation of {blocks}, each group of {self.k} or more"


SCALES = (Scale.NUMERIC, Scale.DATE, Scale.TIME, Scale.ORDINAL)
DESCRIPTION = Description(
    method="microaggregation",
    what_it_does="groups records by MDAV and publishes the group's mean (ordinal: its median category)",
    scales=SCALES,
    parameters="k (smallest group), attributes, blocks (parts grouped separately; default: all jointly), by",
    intruder="repeats the partition on his own file and is left with one group; the groups of two or more blocks "
    "intersect, and little is left to guess",
)


def microaggregate(site: Site, spec: Microaggregation) -> Microdata:
    """Replace each value by the aggregate of its group of k..2k-1 records.

    Meaning: in each block at least k records show the same combination of values.
    Formula in words: coordinates are scaled by the column's mean and standard deviation (n - 1), MDAV groups the records, a
    numeric value becomes the group's mean, an ordinal one its median category (of an even number the lower of the middle two).
    Dates count in days and times in seconds of the day: the mean of dates is a date, that of times of day a time between them.

    Missing values stay missing, and every present value is masked: within a block, records are grouped among those that miss
    the same attributes, by the attributes they have.

    Parameters
    ----------
    site: a table whose columns include the step's attributes, and the grid to which means are rounded (halves to even).
    spec: with its attributes resolved.

    Returns the table with those columns replaced; the result depends on the multiset of records, not on their order. Before
    rounding the column means of numeric attributes stay; k = n gives every record the mean or median of the column.

    Raises InputError if fewer than k records share a pattern of missing values (so also if k > n), for a constant column, an
    infinite value, or a text without order. Cost: O(n^2 p / k) per block.
    Source: see `partition`; medians after Torra (2004), "Microaggregation for categorical variables".
    """
    data, schema = site.data, site.schema
    for block in spec.groups:
        positions = _positions(site, block, spec.k)
        ordinal = np.array([schema[name].scale is Scale.ORDINAL for name in block])
        masked = aggregated(positions, ordinal, spec.k)
        for j, name in enumerate(block):
            values = masked[:, j] if ordinal[j] else at_precision(masked[:, j], site.precision[name])
            data = data.with_positions(schema[name], values)
    return data


def refuse_unfit(site: Site, spec: Microaggregation) -> None:
    """Refuse before anything is masked what `microaggregate` would refuse. spec: with its attributes resolved."""
    for block in spec.groups:
        _positions(site, block, spec.k)


def _positions(site: Site, block: tuple[str, ...], k: int) -> Floats:
    positions = np.column_stack([checked_positions(site.data, site.schema, name, site.where) for name in block])
    refuse_small_patterns(positions, block, k, where=site.where)
    return positions


def aggregated(positions: Floats, ordinal: Booleans, k: int) -> Floats:
    """The values of one block after microaggregation, before rounding.

    positions: shape (n, p), NaN is missing; ordinal: shape (p,). Every pattern of missing values has k records.
    """
    result = positions.copy()
    for rows, columns, groups in pattern_groups(positions, k):
        for j in columns:
            summary = _group_medians if ordinal[j] else _group_means
            result[rows, j] = summary(positions[rows, j], groups)
    return result


def pattern_groups(positions: Floats, k: int) -> list[tuple[Integers, Integers, Integers]]:
    """For each pattern of missing values: its rows, the columns they have, and the group of each row."""
    scaled = _scaled(positions)
    present = ~np.isnan(positions)
    pattern = joint_codes(list(present.T), len(positions))
    found = []
    for code in range(int(pattern.max(initial=-1)) + 1):
        rows = np.flatnonzero(pattern == code)
        columns = np.flatnonzero(present[rows[0]])
        if len(columns) == 0:
            continue
        # in lexicographic order, so that sums come out the same to the last bit whatever the order of the file
        rows = rows[np.lexsort(positions[np.ix_(rows, columns)].T[::-1])]
        found.append((rows, columns, partition(scaled[np.ix_(rows, columns)], k)))
    return found


def conclude(view: View, spec: Microaggregation) -> Knowledge:
    """What the step lets an intruder conclude who knows it: MDAV draws nothing at random, and he repeats it block by block."""
    for block in spec.groups:
        step = spec.model_copy(update={"attributes": block, "blocks": None})
        view = replace(view, knowledge=repeated_on_all(view, block, partial(microaggregate, spec=step)))
    return view.knowledge


def _scaled(positions: Floats) -> Floats:
    ascending = np.sort(positions, axis=0)
    spread = np.nanstd(ascending, axis=0, ddof=1)
    scaled: Floats = (positions - np.nanmean(ascending, axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


def refuse_small_patterns(positions: Floats, block: tuple[str, ...], k: int, *, where: str) -> None:
    """InputError where fewer than k records share a pattern of missing values within a block, so also where k > n.

    positions: shape (n, p), one column for each name of `block`, NaN is missing.
    """
    present = ~np.isnan(positions)
    pattern = joint_codes(list(present.T), len(positions))
    for code, size in enumerate(np.bincount(pattern)):
        lacking = tuple(np.array(block)[~present[np.argmax(pattern == code)]])
        if size < k and len(lacking) < len(block):
            raise _too_small(int(size), k, lacking, where)


def _too_small(size: int, k: int, lacking: tuple[str, ...], where: str) -> InputError:
    allowed = "k at most the number of records that have the same attributes"
    if not lacking:
        what = f"k is {k}, but only {size} records have all attributes of a block"
        return InputError("group-too-small", f"{where}.k", what, allowed, "lower k, or mask fewer attributes together", k)
    which = " and ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
    who = "1 record has" if size == 1 else f"{size} records have"
    what = f"only {who} no value of {which} (and all others of the block), fewer than k = {k}: they cannot hide in a group"
    remedy = (
        f"fill the gaps or leave those rows out at the source, or keep {lacking[0]} back (`role: withheld`); a block of its "
        "own (`blocks`) would mask it too, but who combines the blocks finds nearly everybody"
    )
    return InputError("group-too-small", f"{where}.k", what, allowed, remedy, k)


def _group_means(values: Floats, groups: Integers) -> Floats:
    means: Floats = (np.bincount(groups, weights=values) / np.bincount(groups))[groups]
    return means


def _group_medians(values: Floats, groups: Integers) -> Floats:
    ordered = values[np.lexsort((values, groups))]
    sizes = np.bincount(groups)
    medians: Floats = ordered[np.cumsum(sizes) - sizes + (sizes - 1) // 2][groups]
    return medians
