"""Reverse mapping: after other steps, each value is replaced by the source's value of the same rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, Self

import numpy as np
import pyarrow as pa

from tasks.mask.carrying import carry_bounds
from tasks.mask.intruder_belief import Belief, DiscreteLikelihood
from tasks.mask.mask_text import MaskText
from tasks.mask.ranks.by_rank import KEPT_COLUMNS
from tasks.mask.shared_advice import Fields
from tasks.mask.step import Description, IntruderView, MaskContext, MaskingMethod, MaskStep, Randomness
from tasks.mask.value_bounds import ValueBounds, move_by_ranks
from tasks.microdata.errors import InputError
from tasks.microdata.positions import extract_positions
from tasks.microdata.random_order import order_with_random_ties
from tasks.microdata.schema import Scale, Schema
from tasks.microdata.spec import Public
from tasks.microdata.table import Floats, Microdata
from tasks.microdata.words import join_with_and


class ReverseMapping(MaskingMethod):
    """Parameters of reverse mapping.

    attributes: what is mapped back, after steps that masked it; default: the quasi-identifiers that are numeric, ordinal, dates
        or times.
    """

    method: Public[Literal["reverse_mapping"]]

    @property
    def moves_values(self) -> bool:
        return True

    @property
    def rule(self) -> str:
        return (
            f"reverse mapping of {join_with_and(self.target_attributes)} to the source's values of the same "
            "ranks, equal ones in random order"
        )

    @property
    def no_attack_reason(self) -> None:
        return None

    @property
    def randomness(self) -> Randomness:
        return "by_row"

    @property
    def is_rule_for_values(self) -> bool:
        return False

    @classmethod
    def description(cls) -> Description:
        return DESCRIPTION

    def apply(self, context: MaskContext) -> Microdata:
        return map_back(context, self)

    def infer(self, view: IntruderView) -> Belief:
        return infer(view, self)

    def move_bounds(self, view: IntruderView, bounds: ValueBounds) -> ValueBounds | None:
        source = view.originals.positions(view.schema[bounds.name])
        if bounds.lowest is None or (np.isnan(bounds.low) != np.isnan(source)).any():
            return None
        column = np.sort(source[~np.isnan(source)])
        moved = move_by_ranks(bounds, 0, column) if len(column) == len(bounds.lowest) else None
        return None if moved is None else replace(moved, lowest=column, highest=column)

    def spread_ranks(self, view: IntruderView, law: DiscreteLikelihood) -> DiscreteLikelihood | None:
        return law

    def describe(self, schema: Schema) -> MaskText:
        return describe_reverse_mapping(self)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        return (cls(method="reverse_mapping", attributes=("age", "size")),)

    @classmethod
    def suggest_stronger(cls, fields: Fields, named: str, line: Fields) -> Iterator[str]:
        yield f"{named.capitalize()} (reverse_mapping) hands values back by rank: mask more in the steps before it."

    @classmethod
    def suggest_weaker(cls, fields: Fields, named: str) -> Iterator[str]:
        yield f"take {named} (reverse_mapping) out: the masked values lose less than values at their ranks"


SCALES = (Scale.NUMERIC, Scale.DATE, Scale.TIME, Scale.ORDINAL)
DESCRIPTION = Description(
    method="reverse_mapping",
    what_it_does="after other steps: hands out the source's values by the ranks of the masked ones, equal ones in random order",
    scales=SCALES,
    parameters="attributes, by",
    intruder="knows among which ranks a value can have fallen, if they can repeat the steps before; after joint "
    "microaggregation that leaves each record's own group, in which nothing tells the rows apart",
    answered_by=("transparency",),
)


def map_back(site: MaskContext, spec: ReverseMapping) -> Microdata:
    """Replace each value by the source's value of the same rank.

    Meaning: the column keeps exactly its values, as after a swap, but somebody who has which is decided by the steps before.
    After joint microaggregation all records of a group have the same means, so that the values at the ranks of each mean go to
    them
    in random order: of k rows of the group each is each record's with the same chance, whatever somebody knows who lacks the
    seed (of the masked attributes; what is published as it is tells more). A swap or jitter of many attributes has no such
    bound. It loses more than the means alone, because the values spread again.
    Formula in words: sort the masked values, equal ones in random order, in each attribute anew; the j-th of them becomes the
    j-th smallest of the source's values. Missing values stay missing.

    Parameters
    ----------
    site: a table after the steps before, and the same rows of the source. spec: with its attributes resolved.

    Returns the table with those columns replaced; each is a permutation of the source's.

    Raises InputError where a step before has made values missing, for an infinite value, or a text without order.
    Cost: O(n log n) per attribute. Source: Muralidhar, Sarathy and Domingo-Ferrer (2014), "Reverse mapping to preserve the
    marginal distributions of attributes in masked microdata"; equal values at random is what the chance of 1 in k rests on.
    Example: 1, 2, 8, 9 in groups of two have the means 1.5, 1.5, 8.5, 8.5, and become 1, 2 and 8, 9, in either order.
    """
    data, rng = site.data, site.draw()
    for name in spec.target_attributes:
        location = f"{site.where}.attributes: {name}"
        now, source = (extract_positions(one, site.schema, name, location) for one in (data, site.source))
        _refuse_unfit(now, source, name, location)
        rows = np.flatnonzero(~np.isnan(now))
        taken = np.arange(data.n)
        taken[order_with_random_ties(now, rng=rng)] = rows[np.argsort(source[rows], kind="stable")]
        data = data.replace_column(name, site.source.column(name).take(pa.array(taken)))
    return data


def _refuse_unfit(now: Floats, source: Floats, name: str, location: str) -> None:
    if (np.isnan(now) != np.isnan(source)).any():
        what = f"`{name}` is missing in other rows than in the source, so that ranks do not correspond"
        raise InputError(
            "other-rows-missing", location, what, "steps that keep missing values", "put this step before that one"
        )


def refuse_unmasked_attributes(steps: Sequence[MaskStep], where: str) -> None:
    """InputError for a reverse mapping of an attribute that no step has masked before: each value would become itself."""
    masked: set[str] = set()
    for i, step in enumerate(steps):
        for name in step.target_attributes if isinstance(step, ReverseMapping) else ():
            if name not in masked:
                what = f"no step has masked `{name}` before: each value would become itself"
                remedy = "put the step after microaggregation or noise of the attribute, or name other attributes"
                allowed = ", ".join(sorted(masked)) or "none: it is the first step"
                raise InputError("nothing-masked-before", f"{where}[{i}].attributes", what, allowed, remedy, name)
        masked |= set(step.target_attributes)


def infer(view: IntruderView, spec: ReverseMapping) -> Belief:
    """What the step lets an intruder conclude who knows it.

    If they can repeat what came before they know the masked values of all records, and so the ranks among which each value
    fell: the row shows one of the source's values at those ranks. Of records that they could not tell apart before the step
    (`EqualTo`) the values of any. Where they only have bounds on the values before, those bound the ranks.
    """
    for name in spec.target_attributes:
        view = replace(view, knowledge=carry_bounds(view, spec, name))
    return view.knowledge


def describe_reverse_mapping(step: ReverseMapping) -> MaskText:
    return MaskText(
        title="Reverse mapping",
        text=f"In {join_with_and(step.target_attributes)} the masked values were replaced, in order, by the source's "
        "own: the lowest by the "
        "lowest, and so on, equal ones in random order. Each column keeps exactly its values; which record holds which is "
        "as the steps before left it, in ranks.",
        missing="Reverse mapping hands out values among the records that have one; records without a value take no part.",
        attribute=lambda _: "mapped back to the source's values of the same ranks",
        analysts=KEPT_COLUMNS,
    )
