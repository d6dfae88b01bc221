"""Microaggregation: records are put into groups of near ones, and each value is replaced by the aggregate of its group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from tasks.mask.carrying import carry_bounds
from tasks.mask.groups import beside_mdav
from tasks.mask.groups.adjacent_groups import infer_neighbour_interval
from tasks.mask.groups.block import publish_column
from tasks.mask.groups.grouping import aggregate_block, choose_aggregate, create_columns, group_blocks, refuse_small_groups
from tasks.mask.groups.kept_groups import KeptGroups
from tasks.mask.groups.microaggregation_text import (
    describe_microaggregation,
    describe_repeatable_partition,
    list_blocks,
    suggest_larger_groups,
    suggest_smaller_groups,
)
from tasks.mask.groups.moved_bounds import move_bounds_by_groups, move_bounds_within_groups
from tasks.mask.groups.partition_choice import NAMES, NESTABLE_PARTITIONS, ORDER_BASED_PARTITIONS, Partition
from tasks.mask.groups.unrepeatable_groups import infer_unknown_groups
from tasks.mask.intruder_belief import Belief, DiscreteLikelihood
from tasks.mask.mask_text import MaskText
from tasks.mask.partitions.projection import ProjectionAxis
from tasks.mask.repetition import infer_by_repeating_step
from tasks.mask.shared_advice import Fields
from tasks.mask.step import Description, IntruderView, MaskContext, MaskingMethod, Randomness
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.schema import Role, Scale, Schema
from tasks.microdata.spec import Names, Public, Spec
from tasks.microdata.table import Microdata
from tasks.microdata.words import join_with_and

GroupSize = Annotated[int, Field(ge=2)]


class BlockSpec(Spec):
    """Attributes that are grouped together, with a smallest group of their own (default: that of the step)."""

    attributes: Public[Names]
    k: Public[GroupSize | None] = None


class Microaggregation(MaskingMethod):
    """Parameters of microaggregation.

    attributes: what is masked; default: the quasi-identifiers that are numeric, ordinal, dates or times. Nominal ones can be
        named as well: they get the most frequent category of their group.
    k: size of the smallest group; the largest has 2k - 1 records, or more where persons have several or groups are nested.
    nested_in: the k of a finer partition whose whole groups are joined, so that a release of each can be published.
    frozen: do people who are in the series' last release keep their groups and published values? Then newcomers are grouped
        among themselves, and fewer than k of them wait. kept: those groups; the program writes them, never a release file.
    count: what k counts: `persons` (default where the schema names a person key) or `rows` (default for tables masked
        elsewhere).
    partition: how records are put into groups: `mdav`; `v_mdav`, groups of a size that varies with the data; `refined`, the
        best found here; `randomised`, one that nobody repeats without the seed; `projection` to one axis; `individual_ranking`
        takes each attribute by itself, `optimal_univariate` a single one.
    blocks: parts of the attributes that are grouped separately, each a list, or a mapping with a `k` of its own; default: all
        attributes jointly.
    aggregate: what replaces the values: `mean` (numbers, dates, times), `median` (these and ordinal ones), `plurality` (any);
        attributes of a scale that it does not fit, and all if it is left out, get the mean, the median category or the
        plurality by their scale.
    standardize: are attributes brought to one scale before distances are taken?
    gamma: of `v_mdav`: how near a record must be for a group to grow beyond k. axis: of `projection`.
    records_per_part: at most so many records are grouped together, for large tables: near ones, by a k-d tree; default: all.
    """

    method: Public[Literal["microaggregation"]]
    k: Public[GroupSize]
    partition: Public[Partition] = "mdav"
    blocks: Public[tuple[Names | BlockSpec, ...] | None] = None
    aggregate: Public[Literal["mean", "median", "plurality"] | None] = None
    standardize: Public[bool] = True
    count: Public[Literal["persons", "rows"] | None] = Field(None, exclude_if=lambda given: given is None)
    gamma: Public[Annotated[float, Field(ge=0)] | None] = None
    axis: Public[ProjectionAxis | None] = None
    records_per_part: Public[int | None] = Field(None, ge=8, exclude_if=lambda given: given is None)
    nested_in: Public[GroupSize | None] = Field(None, exclude_if=lambda given: given is None)
    frozen: Public[bool | None] = Field(None, exclude_if=lambda given: not given)
    kept: SkipJsonSchema[KeptGroups | None] = Field(None, exclude_if=lambda given: given is None)

    @model_validator(mode="after")
    def _blocks_are_a_partition(self) -> Self:
        blocked = [name for block in self.blocks or () for name in _names(block)]
        if len(set(blocked)) < len(blocked):
            raise ValueError("blocks name an attribute twice; each attribute belongs to one block")
        if self.blocks is not None and not blocked:
            raise ValueError("blocks must hold at least one block; leave it out to group all attributes jointly")
        if blocked and self.attributes is not None and set(blocked) != set(self.attributes):
            raise ValueError("blocks must hold the same attributes as `attributes`, or `attributes` be left out")
        if blocked and self.partition == "individual_ranking":
            raise ValueError("individual_ranking takes each attribute by itself: leave `blocks` out")
        return self

    @model_validator(mode="after")
    def _parameters_belong_to_the_partition(self) -> Self:
        if self.gamma is not None and self.partition != "v_mdav":
            raise ValueError("gamma belongs to `partition: v_mdav`; take it out")
        if self.axis is not None and self.partition != "projection":
            raise ValueError("axis belongs to `partition: projection`; take it out")
        return self

    @field_validator("records_per_part", mode="before")
    @classmethod
    def _parts_hold_groups(cls, given: object, info: ValidationInfo) -> object:
        """Before the bound of the type, whose message would not name k."""
        if type(given) is int and {"k", "blocks"} <= set(info.data):
            _refuse_small_parts(given, info.data["k"], info.data["blocks"])
        return given

    @model_validator(mode="after")
    def _parts_fit_the_partition(self) -> Self:
        if self.records_per_part is None:
            return self
        if self.partition not in NESTABLE_PARTITIONS:
            raise ValueError(f"records_per_part belongs to `partition: {' or '.join(NESTABLE_PARTITIONS)}`; take it out")
        if self.frozen:
            raise ValueError("frozen keeps groups and forms those of newcomers: take `records_per_part` out")
        _refuse_small_parts(self.records_per_part, self.k, self.blocks)  # again, for numbers that were written as texts
        return self

    @model_validator(mode="after")
    def _groups_can_be_nested(self) -> Self:
        if self.nested_in is None:
            return self
        if self.partition not in NESTABLE_PARTITIONS:
            raise ValueError(f"nested_in joins whole groups of `partition: {' or '.join(NESTABLE_PARTITIONS)}`; take it out")
        if self.nested_in > min(_size(block) or self.k for block in self.blocks or ((),)):
            raise ValueError("nested_in is the k of the finer partition: it can be no larger than the k of a block")
        return self

    @model_validator(mode="after")
    def _groups_can_be_frozen(self) -> Self:
        if self.frozen and self.partition not in NESTABLE_PARTITIONS:
            raise ValueError(f"frozen keeps the groups of `partition: {' or '.join(NESTABLE_PARTITIONS)}`; take it out")
        if self.frozen and (self.by is not None or self.nested_in is not None):
            raise ValueError("frozen keeps groups as they were published: take `by` and `nested_in` out")
        return self

    @property
    def explicit_attributes(self) -> tuple[str, ...] | None:
        return self.attributes if self.blocks is None else tuple(name for block in self.blocks for name in _names(block))

    @property
    def groups(self) -> tuple[tuple[tuple[str, ...], int], ...]:
        """The attributes that are grouped together and the smallest group, block by block, once `attributes` is resolved."""
        if self.partition == "individual_ranking":
            return tuple(((name,), self.k) for name in self.target_attributes)
        return tuple((_names(block), _size(block) or self.k) for block in self.blocks or (self.target_attributes,))

    @property
    def no_attack_reason(self) -> str | None:
        return (
            "nobody repeats a partition that was drawn at random without its seed" if self.partition == "randomised" else None
        )

    @property
    def rule(self) -> str:
        blocks = " and of ".join(f"{join_with_and(names)}, each group of {k} or more" for names, k in self.groups)
        return f"microaggregation ({NAMES[self.partition]}) of {blocks}"

    @property
    def moves_values(self) -> bool:
        return False

    @property
    def randomness(self) -> Randomness:
        return "by_row" if self.partition == "randomised" else "none"

    @property
    def is_rule_for_values(self) -> bool:
        return False

    @classmethod
    def description(cls) -> Description:
        return DESCRIPTION

    def apply(self, context: MaskContext) -> Microdata:
        return microaggregate(context, self)

    def infer(self, view: IntruderView) -> Belief:
        return infer(view, self)

    def move_bounds(self, view: IntruderView, bounds: ValueBounds) -> ValueBounds | None:
        return move_bounds_by_microaggregation(view, self, bounds)

    def spread_ranks(self, view: IntruderView, law: DiscreteLikelihood) -> DiscreteLikelihood | None:
        return law if law.names in [names for names, _ in self.groups] else None

    def describe(self, schema: Schema) -> MaskText:
        return describe_microaggregation(self, {name: choose_aggregate(self, schema[name]) for name in self.target_attributes})

    def describe_knowledge(self) -> str | None:
        return super().describe_knowledge() or describe_repeatable_partition(self)

    def check(self, context: MaskContext) -> Microdata:
        refuse_unfit(context, self)
        return context.data

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        together: tuple[Partition, ...] = ("mdav", "v_mdav", "refined", "randomised", "individual_ranking", "projection")
        return (
            *(cls(method="microaggregation", attributes=("age", "size"), k=3, partition=partition) for partition in together),
            cls(method="microaggregation", attributes=("age",), k=3, partition="optimal_univariate"),
            cls(method="microaggregation", attributes=("age", "size", "group", "grade"), k=3),
            cls(method="microaggregation", attributes=("age", "size"), k=2, by=("group",)),
            cls(method="microaggregation", attributes=("age", "size"), k=5, nested_in=3),
            cls(method="microaggregation", attributes=("age", "size"), k=3, records_per_part=12),
            cls(method="microaggregation", blocks=(("age",), BlockSpec(attributes=("size", "grade"), k=4)), k=3),
        )

    @classmethod
    def suggest_stronger(cls, fields: Fields, named: str, line: Fields) -> Iterator[str]:
        yield from suggest_larger_groups(fields, named, line, cls.list_attributes(fields))

    @classmethod
    def suggest_weaker(cls, fields: Fields, named: str) -> Iterator[str]:
        yield from suggest_smaller_groups(fields, named)

    @classmethod
    def list_attributes(cls, fields: Fields) -> set[str] | None:
        named = super().list_attributes(fields)
        return {name for names, _ in list_blocks(fields) for name in names} or None if named is None else named


SCALES = (Scale.NUMERIC, Scale.DATE, Scale.TIME, Scale.ORDINAL, Scale.NOMINAL, Scale.CODE)
SCALES_BY_DEFAULT = (Scale.NUMERIC, Scale.DATE, Scale.TIME, Scale.ORDINAL)
DESCRIPTION = Description(
    method="microaggregation",
    what_it_does="puts records into groups of k or more that are alike, and publishes the group's mean (ordinal: its median "
    "category; nominal: its most frequent one)",
    scales=SCALES,
    parameters="k (smallest group), count (what k counts: persons, where there is a person key, or rows), partition (mdav, "
    "v_mdav, refined, randomised, optimal_univariate, individual_ranking, projection), attributes, "
    "blocks (parts grouped separately, each a list, or {attributes, k} where its k differs; default: all jointly), aggregate "
    "(mean, median, plurality; default: by scale), standardize (one scale before distances; default: true), gamma (of "
    "v_mdav: how readily groups grow), axis (of projection: first_principal_component, sum_of_z_scores), records_per_part (at "
    "most so many near records are grouped together, of large tables; 100000 is a good choice), nested_in (the k of "
    "a finer partition whose whole groups are joined: a release of each size tells no more than the finer one), frozen "
    "(people of the series' last release keep their groups; newcomers are grouped among themselves, fewer than k wait), by",
    intruder="repeats the partition on their own file (not a randomised one) and is left with one group; the groups of two or "
    "more blocks, or of each attribute alone, intersect, and little is left to guess",
    answered_by=("transparency",),
    by_default=SCALES_BY_DEFAULT,
)


def microaggregate(site: MaskContext, spec: Microaggregation) -> Microdata:
    """Replace each value by the aggregate of its group of k..2k-1 records.

    Meaning: in each block at least k records show the same combination of values, and where there is a person key the rows of
    at least k different persons.
    Formula in words: coordinates are scaled so that every attribute weighs the same (see `block`), the partition groups the
    records, a numeric value becomes the group's mean, an ordinal one its median category (of an even number the lower of the
    middle two), a nominal one its most frequent category. Dates count in days and times in seconds of the day: the mean of
    dates is a date, that of times of day a time between them.

    With `nested_in` the partition forms groups of at least that many records, whole groups are joined until they hold k
    (`join_groups`), and of two releases, of k and of `nested_in`, each group of one is a union of groups of the other.
    With `frozen` the records of an earlier release show what they showed there (`kept`), and only newcomers are grouped.

    Missing values stay missing, and every present value is masked: within a block, records are grouped among those that miss
    the same attributes, by the attributes they have. Where persons have several rows, groups of fewer than k persons are
    joined to the nearest other group (`join_to_k_persons`).

    Parameters
    ----------
    site: a table whose columns include the step's attributes, and the grid to which means are rounded (halves to even).
    spec: with its attributes resolved.

    Returns the table with those columns replaced; unless the partition draws at random, the result depends on the multiset of
    records, not on their order. Before rounding, means of groups keep the mean of the column; k = n gives every record the
    aggregate of the column.

    A randomised partition tells the steward its loss beside that of MDAV, and one in parts of a small table that of the same
    partition of all records together (neither within strata).

    Raises InputError for `count: persons` without a person key, if fewer than k records (persons) share a pattern of missing
    values (so also if k > n), for a constant column, an infinite value, a text without order, a univariate partition of several
    attributes, and a partition that orders the records by an attribute without an order. Cost: that of the partition.
    Source: see the partitions; medians after Torra (2004), "Microaggregation for categorical variables".
    """
    blocks = group_blocks(site, spec)
    if spec.partition == "randomised":
        site.tell(lambda: beside_mdav.describe_partition_loss(blocks, site.where))
    elif beside_mdav.is_small_and_in_parts(blocks, spec.records_per_part):
        whole = spec.model_copy(update={"records_per_part": None})
        site.tell(lambda: beside_mdav.describe_loss_of_parts(blocks, group_blocks(site, whole), site.where))
    data = site.data
    for block in blocks:
        for column, masked in zip(block.columns, aggregate_block(block), strict=True):
            data = publish_column(data, column, masked, site)
    return data if spec.kept is None else spec.kept.restore_values(data, spec.target_attributes)


def refuse_unfit(site: MaskContext, spec: Microaggregation) -> None:
    """Refuse before anything is masked what `microaggregate` would refuse. spec: with its attributes resolved."""
    for names, k in spec.groups:
        columns = create_columns(site, spec, names)
        if not spec.frozen:  # else those who are too few wait
            refuse_small_groups(site, spec, columns, k)


def infer(view: IntruderView, spec: Microaggregation) -> Belief:
    """What the step lets an intruder conclude who knows it: they repeat the partition, block by block.

    A randomised partition they cannot repeat without the seed: nothing sound follows, and only the distance is left to them.
    Who does not hold all records cannot repeat any, but groups along one attribute lie side by side
    (`infer_neighbour_interval`). The same holds for who does not know which rows belong to one person, where k counts persons.
    Of attributes that they do not know for certain any more, bounds and a law are left (`infer_unknown_groups`).
    """
    knows_persons = spec.count == "rows" or all(name in view.originals.names for name in view.schema.find_by_role(Role.PERSON))
    if spec.partition == "randomised":
        return view.knowledge.forget(spec.target_attributes)
    for names, k in spec.groups:
        if len(names) == 1 and view.knowledge.complete and not view.knowledge.is_certain(names):
            view = replace(view, knowledge=carry_bounds(view, spec, names[0]))
            continue
        if len(names) == 1 and spec.partition in ORDER_BASED_PARTITIONS and not (view.knowledge.complete and knows_persons):
            view = replace(view, knowledge=infer_neighbour_interval(view, names[0]))
            continue
        if not knows_persons:
            view = replace(view, knowledge=view.knowledge.forget(names))
            continue
        known = [name for name in names if name in view.knowledge.believed.names]
        if view.knowledge.complete and not view.knowledge.is_certain(known):
            by_mean = all(choose_aggregate(spec, attribute) == "mean" for attribute in view.schema.select(names))
            view = replace(view, knowledge=infer_unknown_groups(view, names, by_mean=by_mean))
            continue
        step = spec.model_copy(update={"attributes": names, "blocks": None, "k": k})
        groups = None if spec.kept is None else spec.kept.groups
        view = replace(view, knowledge=infer_by_repeating_step(view, names, partial(microaggregate, spec=step), groups))
    return view.knowledge


def move_bounds_by_microaggregation(view: IntruderView, spec: Microaggregation, bounds: ValueBounds) -> ValueBounds | None:
    """The bounds after a step that groups the attribute by itself, and does not count persons; of others nothing is said."""
    (k,) = (k for names, k in spec.groups if bounds.name in names)
    alone = (bounds.name,) in [names for names, _ in spec.groups]
    counts_persons = spec.count != "rows" and bool(view.schema.find_by_role(Role.PERSON))
    if not alone or counts_persons or spec.partition == "randomised" or spec.kept is not None:
        return None
    if bounds.knows_column:
        step = spec.model_copy(update={"attributes": (bounds.name,), "blocks": None, "k": k})
        return move_bounds_by_groups(view, bounds, partial(microaggregate, spec=step))
    return move_bounds_within_groups(bounds, 2 * k - 1) if spec.partition in ORDER_BASED_PARTITIONS else None


def _names(block: tuple[str, ...] | BlockSpec) -> tuple[str, ...]:
    return block.attributes if isinstance(block, BlockSpec) else block


def _refuse_small_parts(records_per_part: int, k: int, blocks: tuple[Names | BlockSpec, ...] | None) -> None:
    largest = max(_size(block) or k for block in blocks or ((),))
    if records_per_part < 4 * largest:
        raise ValueError(f"must be at least 4 k, here {4 * largest} (k is {largest}): parts hold half as many or more")


def _size(block: tuple[str, ...] | BlockSpec) -> int | None:
    return block.k if isinstance(block, BlockSpec) else None
