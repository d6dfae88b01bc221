"""The groups of a microaggregation step, block by block, and what replaces the values of each attribute."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tasks.mask.groups.block import (
    AttributeBlock,
    BlockColumn,
    PatternGroups,
    compute_coordinates,
    create_block_column,
    patterns,
    refuse_small_patterns,
)
from tasks.mask.groups.group_aggregates import Aggregate, aggregate_groups
from tasks.mask.groups.partition_choice import ORDER_BASED_PARTITIONS, partition_records
from tasks.mask.groups.person_groups import find_persons, join_to_k_persons
from tasks.mask.partitions.nested import join_groups
from tasks.mask.partitions.v_mdav import GAMMA
from tasks.mask.step import MaskContext
from tasks.microdata.errors import InputError
from tasks.microdata.schema import CATEGORICAL, Attribute, Role, Scale
from tasks.microdata.table import Floats, Integers
from tasks.microdata.words import join_with_and

if TYPE_CHECKING:
    from tasks.mask.groups.microaggregation import Microaggregation


def group_blocks(site: MaskContext, spec: Microaggregation) -> list[AttributeBlock]:
    """The groups of each block; InputError for what `microaggregate` refuses."""
    blocks = []
    for number, (names, k) in enumerate(spec.groups):
        columns = create_columns(site, spec, names)
        if spec.kept is None:  # else whoever is not grouped here has a group already (`freeze_groups`)
            refuse_small_groups(site, spec, columns, k)
        blocks.append(AttributeBlock(columns, k, _groups(site, columns, spec, k, rng=partial(site.draw, f"block {number}"))))
    return blocks


def _groups(
    site: MaskContext, columns: list[BlockColumn], spec: Microaggregation, k: int, *, rng: partial[np.random.Generator]
) -> list[PatternGroups]:
    persons = None if spec.count == "rows" else find_persons(site)
    by_median = all(column.aggregate in ("median", "median category") for column in columns)
    finest = k if spec.nested_in is None else spec.nested_in
    new = None if spec.kept is None else spec.kept.newcomers
    found = []
    for i, (of_pattern, having) in enumerate(patterns(columns)):
        rows = like = of_pattern if new is None else of_pattern[new[of_pattern]]
        if not len(like):
            continue
        if persons is not None:  # equal records of different persons are taken in the persons' order, whatever that of the rows
            rows = like[np.lexsort((persons[like], *compute_coordinates(columns, like, having).T))]
        points = compute_coordinates(columns, rows, having)
        groups = partition_records(
            points,
            finest,
            spec.partition,
            by_median=by_median,
            most=spec.records_per_part,
            gamma=GAMMA if spec.gamma is None else spec.gamma,
            axis=spec.axis or "first_principal_component",
            rng=partial(rng, f"pattern {i}"),
        )
        if persons is not None:
            groups = join_to_k_persons(points, groups, persons[rows], finest)
        if finest < k:
            groups = _join_to_larger_groups(points, groups, None if persons is None else persons[rows], k)
        found.append(PatternGroups(rows, having, groups))
    return found


def _join_to_larger_groups(points: Floats, groups: Integers, persons: Integers | None, k: int) -> Integers:
    joined = join_groups(points, groups, k)
    return joined if persons is None else join_to_k_persons(points, joined, persons, k)


def aggregate_block(block: AttributeBlock) -> list[Floats]:
    """The values of each column, shape (n,): of a record with a group its aggregate, of the others what they were."""
    values = [column.values.copy() for column in block.columns]
    for part in block.groups:
        for j in part.columns:
            values[j][part.rows] = aggregate_groups(values[j][part.rows], part.of_row, block.columns[j].aggregate)
    return values


def create_columns(site: MaskContext, spec: Microaggregation, names: tuple[str, ...]) -> list[BlockColumn]:
    """The attributes of a block as the partition sees them; InputError for what it cannot group."""
    _refuse_other_partitions(site, spec, names)
    if spec.count == "persons" and not site.schema.find_by_role(Role.PERSON):
        what, remedy = (
            "k is to count persons, and no attribute joins the rows of one person",
            "take `count` out, or name the key",
        )
        raise InputError("no-person-key", f"{site.where}.count", what, "an attribute of `role: person`", remedy, spec.count)
    attributes = site.schema.select(names)
    return [
        create_block_column(site, one.name, choose_aggregate(spec, one), standardize=spec.standardize) for one in attributes
    ]


def refuse_small_groups(site: MaskContext, spec: Microaggregation, columns: list[BlockColumn], k: int) -> None:
    """InputError where fewer than k records (persons) share a pattern of missing values within a block."""
    refuse_small_patterns(columns, k, where=site.where, persons=None if spec.count == "rows" else find_persons(site))


def _refuse_other_partitions(site: MaskContext, spec: Microaggregation, names: tuple[str, ...]) -> None:
    location = f"{site.where}.partition"
    if spec.partition == "optimal_univariate" and len(names) > 1:
        what = f"optimal_univariate groups by a single attribute, and the block has {len(names)}: {join_with_and(names)}"
        remedy = "individual_ranking takes each attribute by itself; `refined` or `mdav` take several together"
        raise InputError("partition-needs-one-attribute", location, what, "one attribute", remedy, spec.partition)
    nominal = [name for name in names if site.schema[name].scale in CATEGORICAL]
    if spec.partition in ORDER_BASED_PARTITIONS and nominal:
        what = f"{spec.partition} orders the records, and `{nominal[0]}` has no order"
        allowed = "numeric or ordinal attributes, dates or times"
        raise InputError(
            "partition-needs-order", location, what, allowed, "use mdav, or mask it in another step", spec.partition
        )


def choose_aggregate(spec: Microaggregation, attribute: Attribute) -> Aggregate:
    """What replaces the values of an attribute."""
    if spec.aggregate == "plurality" or attribute.scale in CATEGORICAL:
        return "plurality"
    if attribute.scale is Scale.ORDINAL:
        return "median category"
    return "median" if spec.aggregate == "median" else "mean"
