"""Sampling: a part of the records is released, the others are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from tasks.mask.intruder_belief import Belief
from tasks.mask.mask_text import MaskText
from tasks.mask.shared_advice import MORE_RISK, Fields, state_value
from tasks.mask.step import Description, IntruderView, MaskContext, MaskingMethod, Randomness
from tasks.microdata.codes import row_codes
from tasks.microdata.errors import InputError
from tasks.microdata.numbers import SPACE, count, number
from tasks.microdata.schema import Role, Scale, Schema
from tasks.microdata.spec import Public
from tasks.microdata.table import Booleans, Integers, Microdata
from tasks.microdata.units import Units, find_units
from tasks.microdata.words import join_with_and

LEAST = 2  # of one record no spread can be told


class Sampling(MaskingMethod):
    """Parameters of sampling: exactly one of share and size.

    share: of the records (of the persons, where the schema names a person key) that is kept. size: how many are kept.
    by: strata, from each of which a part is sampled; default: one simple random sample.
    allocation: `proportional`: each stratum gives its share of the sample; `equal`: all give the same number.
    """

    method: Public[Literal["sampling"]]
    share: Public[Annotated[float, Field(gt=0, lt=1)] | None] = None
    size: Public[Annotated[int, Field(ge=LEAST)] | None] = None
    allocation: Public[Literal["proportional", "equal"]] = "proportional"

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.share is None) == (self.size is None):
            raise ValueError("sampling takes exactly one of share and size")
        if self.attributes is not None:
            raise ValueError("sampling leaves out whole records: take `attributes` out")
        if self.allocation == "equal" and self.by is None:
            raise ValueError("allocation is how a sample is divided among strata: name them under `by`")
        return self

    @property
    def explicit_attributes(self) -> tuple[str, ...]:
        return ()

    @property
    def rule(self) -> str:
        kept = f"{100 * self.share:g} percent" if self.share is not None else f"{self.size}"
        return f"a {'simple' if self.by is None else f'stratified ({self.allocation})'} random sample of {kept} of the records"

    @property
    def moves_values(self) -> bool:
        return False

    @property
    def no_attack_reason(self) -> str:
        return "who is in the sample was drawn at random, and the records that are in it stay as easy to find"

    @property
    def strata(self) -> None:
        return None  # it divides its sample among them itself

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
        return context.data.take(sample_rows(context, self))

    def infer(self, view: IntruderView) -> Belief:
        return infer(view, self)

    def describe(self, schema: Schema) -> MaskText:
        return describe_sampling(self, schema)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        return (
            cls(method="sampling", share=0.5),
            cls(method="sampling", size=20, by=("group",), allocation="equal"),
        )

    @classmethod
    def suggest_stronger(cls, fields: Fields, named: str, line: Fields) -> Iterator[str]:
        field = _choose_field(fields)
        yield (
            f"Lower `{field}` of {named}{state_value(fields, field)}; but who is in the sample stays as easy to "
            "find: mask the other columns more strongly as well."
        )

    @classmethod
    def suggest_weaker(cls, fields: Fields, named: str) -> Iterator[str]:
        field = _choose_field(fields)
        yield f"raise `{field}` of {named}{state_value(fields, field, MORE_RISK)}"

    @classmethod
    def list_attributes(cls, fields: Fields) -> set[str] | None:
        return set()


SCALES: tuple[Scale, ...] = ()
DESCRIPTION = Description(
    method="sampling",
    what_it_does="releases a random sample of the records, without replacement; with `by` a stratified one",
    scales=SCALES,
    parameters="one of share and size (of persons where there is a person key), by, allocation (proportional, equal)",
    intruder="does not know whether their record is there, unless they know who took part; the records that are there stay as "
    "easy to find",
    answered_by=("distance_linkage",),
)


def sample_rows(site: MaskContext, spec: Sampling) -> Integers:
    """The rows that are kept, ascending: a random sample without replacement.

    Meaning: an intruder cannot be sure that a record they know is in the release; those that are there change in nothing.
    Formula in words: of N units m are drawn, every set of m with the same probability; m is the size, or the share of N rounded
    to the nearest whole number (halves up). With strata, `allocate_sample` says how many each gives; each is sampled so by
    itself. Units are records; where the schema names a person key they are persons, all of whose rows are kept or left out
    together.

    Parameters
    ----------
    site: its source holds the columns of `by` as they were before the first step. A missing value is a stratum of its own.

    Returns rows of the site: shape (m,), or as many as the m persons have.

    Raises InputError where fewer than two units are drawn, nobody is left out, there are more strata than units to draw, or a
    person has rows in several strata.
    Cost: O(n log n). Source: Cochran (1977), Sampling Techniques, chapters 2 and 5.
    Example: share 0.5 of 5 records keeps 3.
    """
    units = find_units(site.source, site.schema)
    strata = _find_stratum_of_units(site, spec, units)
    sizes = np.bincount(strata)
    taken = allocate_sample(sizes, _sample_size(spec, units, len(sizes), site.where), spec.allocation)
    order = np.lexsort((site.draw().permutation(units.n_units), strata))
    position = np.arange(units.n_units) - (np.cumsum(sizes) - sizes)[strata[order]]
    kept = np.zeros(units.n_units, dtype=bool)
    kept[order[position < taken[strata[order]]]] = True
    return np.flatnonzero(kept[units.of_row]).astype(np.int64)


def allocate_sample(sizes: Integers, m: int, allocation: Literal["proportional", "equal"]) -> Integers:
    """Shape (h,): how many of m units each stratum gives, at least 1 and at most all it has.

    Formula in words: the quota of a stratum is m times its size over the size of all (`equal`: m / h). A stratum whose quota is
    under 1 gives 1, and one whose quota is over its size gives all; what is left to draw is divided among the others in the
    same way until no quota is outside. Quotas are rounded down; what is left over goes to the largest remainders, of equal ones
    to the larger stratum, then to the first.

    sizes: shape (h,), each >= 1, in the order of the strata's values. m: h <= m <= their sum.
    Source: largest remainders (Hamilton's method). Example: sizes 50, 30, 20 and m = 7: quotas 3.5, 2.1, 1.4, so 4, 2, 1.
    """
    weight = sizes.astype(np.int64) if allocation == "proportional" else np.ones(len(sizes), dtype=np.int64)
    taken, open_ = np.zeros(len(sizes), dtype=np.int64), np.ones(len(sizes), dtype=bool)
    while open_.any():
        left, total = m - int(taken.sum()), int(weight[open_].sum())
        small, large = open_ & (left * weight < total), open_ & (left * weight > sizes * total)
        if not (small | large).any():
            return taken + _apply_largest_remainder(sizes, weight, open_, left)
        taken = np.where(small, 1, np.where(large, sizes, taken))
        open_ &= ~(small | large)
    return taken


def _apply_largest_remainder(sizes: Integers, weight: Integers, open_: Booleans, left: int) -> Integers:
    total = int(weight[open_].sum())
    whole, remainder = np.divmod(np.where(open_, left * weight, 0), total)
    ranked = np.lexsort((np.arange(len(sizes)), -sizes, -remainder))
    whole[ranked[: left - int(whole.sum())]] += 1
    return whole


def infer(view: IntruderView, spec: Sampling) -> Belief:
    """What the step lets an intruder conclude: no record shows anything else, but they no longer know which the next step saw.

    A swap that was made after an earlier sampling and before this one ranked records that are neither all nor those that are
    left, so that no interval is sound: it is forgotten. The law of noise needs no ranks.
    """
    knowledge = view.knowledge
    if not knowledge.complete:
        blurred = {name for part in knowledge.blurred for name in part.names}
        knowledge = knowledge.forget(part.name for part in knowledge.between if part.name not in blurred)
        knowledge = replace(knowledge, between=())
    bounds = tuple(replace(part, lowest=None, highest=None) for part in knowledge.bounds)
    return replace(knowledge, complete=False, bounds=bounds)


def restrict_to_sample(view: IntruderView, present: Integers) -> IntruderView:
    """The view of somebody who knows who was sampled: from here on these are all the records there are.

    present: rows of their records, of which each is in a released row. Where they could not tell some records apart, what the
    others show can be what one that was left out would show: of those attributes nothing is concluded any more.
    """
    unclear = [name for part in view.knowledge.shown if not part.certain for name in part.names]
    rows = np.arange(view.released.n, dtype=np.int64)
    knowledge = replace(view.knowledge.forget(unclear).select_rows(present, rows), complete=len(present) == view.released.n)
    return replace(view, knowledge=knowledge, originals=view.originals.take(present), all_released=True)


def count_sampled(spec: Sampling, n_units: int) -> int:
    """How many of n units are to be drawn: the size, or the share rounded to the nearest whole number (halves up)."""
    return spec.size if spec.size is not None else int(Fraction(str(spec.share)) * n_units + Fraction(1, 2))


def _sample_size(spec: Sampling, units: Units, n_strata: int, where: str) -> int:
    m = count_sampled(spec, units.n_units)
    location, value = (f"{where}.share", spec.share) if spec.size is None else (f"{where}.size", spec.size)
    least = max(LEAST, n_strata)
    most = units.n_units - 1
    allowed = f"{least:,} to {most:,} of {units.n_units:,} {units.counts}" if least <= most else "fewer strata than units"
    if m >= units.n_units:
        what = f"a sample of {m:,} of {units.n_units:,} {units.counts} leaves nobody out"
        raise InputError("sample-too-large", location, what, allowed, "lower it, or take the step out", value)
    if m < least:
        strata = f", and there are {n_strata:,} strata by {join_with_and(spec.by)}" if spec.by is not None else ""
        what = f"a sample of {m:,} of {units.n_units:,} {units.counts} is too small{strata}"
        remedy = "raise it, or sample with fewer strata" if strata else "raise it"
        raise InputError("sample-too-small", location, what, allowed, remedy, value)
    return m


def _find_stratum_of_units(site: MaskContext, spec: Sampling, units: Units) -> Integers:
    strata = np.zeros(units.n_units, dtype=np.int64)
    if spec.by is None:
        return strata
    of_row = row_codes(site.source, spec.by)
    strata[units.of_row] = of_row
    if (strata[units.of_row] != of_row).any():
        what = f"persons have rows in several strata by {join_with_and(spec.by)}, and a person is sampled as a whole"
        allowed, remedy = "attributes that are the same in all rows of a person", "sample by other attributes, or without `by`"
        raise InputError("person-in-several-strata", f"{site.where}.by", what, allowed, remedy)
    return strata


def _choose_field(fields: Fields) -> str:
    return "size" if fields.get("size") is not None else "share"


def describe_sampling(step: Sampling, schema: Schema) -> MaskText:
    persons = bool(schema.find_by_role(Role.PERSON))
    who, whose = ("persons", ", each with all rows or none") if persons else ("records", "")
    kept = f"{count(step.size)} {who}" if step.size is not None else f"{number(100 * (step.share or 0))}{SPACE}% of the {who}"
    kind = "simple" if step.by is None else "stratified"
    return MaskText(
        title=f"{kind.capitalize()} random sample of {kept}" + ("" if step.by is None else f", by {join_with_and(step.by)}"),
        text=(
            f"A random sample of {kept} was drawn without replacement{whose}; the others are not in the release. "
            f"{_describe_strata(step)}"
            "Where a person is in the release, sampling hides nothing of them. The losses compare each released row with "
            "its own original: that a sample differs from the whole by chance is not in them."
        ),
        missing="",
        attribute=lambda _: "as it is",
        analysts=(*_weighting(step, schema, who), *_errors(step, persons=persons)),
    )


def _describe_strata(step: Sampling) -> str:
    if step.by is None:
        return ""
    divided = "in proportion to their numbers" if step.allocation == "proportional" else "in equal numbers"
    return f"Each combination of values of {join_with_and(step.by)} was sampled by itself: {divided}, each at least one. "


def _weighting(step: Sampling, schema: Schema, who: str) -> tuple[str, ...]:
    weights = schema.find_by_role(Role.WEIGHT)
    where = "" if step.by is None else f"within each combination of {join_with_and(step.by)} "
    text = (
        f"Totals and counts of the source need a factor: {where}the number of {who} in the source over their number in the "
        "release."
    )
    if step.by is not None and step.allocation == "equal":
        text += (
            " Means need it too: small strata have as many rows here as large ones. The numbers in the source are not in the "
            "release: the publisher has them."
        )
    elif step.share is not None:
        text += f" It is about {number(1 / step.share)}."
    if not weights:
        return (text,)
    return (
        f"{text} The weights in {join_with_and(weights)} are those of the source and were not changed: multiply them by it.",
    )


def _errors(step: Sampling, *, persons: bool) -> tuple[str, ...]:
    if persons:
        return (
            "Standard errors: those of a sample of clusters, as the rows of a person came or were left out together"
            f"{'' if step.by is None else ', drawn in strata'}; with one row to a person those of a sample of rows.",
        )
    if step.by is not None:
        return ("Standard errors: those of a stratified sample, the finite population correction 1 - m/n in each stratum.",)
    return (
        "As estimates of the source's means, the released means have a standard error of s * sqrt((1 - m/n) / m), s being the "
        "standard deviation and m of n the number sampled.",
    )
