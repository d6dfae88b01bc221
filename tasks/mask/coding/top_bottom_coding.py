"""Top and bottom coding: all values beyond a limit are published as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from tasks.mask.carrying import carry_bounds
from tasks.mask.coding.centres import compute_centre, refuse_centre_of_few
from tasks.mask.coding.written import Written, parse_position
from tasks.mask.intruder_belief import Belief, DiscreteLikelihood
from tasks.mask.mask_text import MaskText
from tasks.mask.precision_grid import round_to_grid
from tasks.mask.repetition import create_mask_context, infer_by_repeating_step, infer_by_value_rule
from tasks.mask.shared_advice import JOINTLY, MORE_RISK, Fields
from tasks.mask.step import Description, IntruderView, MaskContext, MaskingMethod, Randomness
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.by_attribute import MappingForm, WrittenMapping, refuse_other_attributes
from tasks.microdata.errors import InputError
from tasks.microdata.positions import extract_positions
from tasks.microdata.schema import Scale, Schema
from tasks.microdata.spec import Name, Public, PublicField, Spec
from tasks.microdata.table import Booleans, Floats, Microdata
from tasks.microdata.words import join_with_and

BelowAll = Annotated[float, Field(gt=0, lt=100)]


class CodingLimits(Spec):
    """Where one attribute is coded, and what is published there: at least one limit.

    top, bottom: the limit itself, a value on the attribute's scale; values at or beyond it are coded.
    top_percent, bottom_percent: the share of the present values that is coded at least; equal values are coded together.
    publish: what stands for the coded ones: the limit, or their mean or median (of at least 3 records).
    """

    top: Annotated[Written | None, PublicField(lambda _: {"top": "stated"})] = None
    bottom: Annotated[Written | None, PublicField(lambda _: {"bottom": "stated"})] = None
    top_percent: Public[BelowAll | None] = None
    bottom_percent: Public[BelowAll | None] = None
    publish: Public[Literal["limit", "mean", "median"]] = "limit"

    @model_validator(mode="after")
    def _one_limit_at_an_end(self) -> Self:
        ends = ((self.top, self.top_percent, "top"), (self.bottom, self.bottom_percent, "bottom"))
        for stated, percent, end in ends:
            if stated is not None and percent is not None:
                raise ValueError(f"an attribute takes one of `{end}` and `{end}_percent`")
        if all(stated is None and percent is None for stated, percent, _ in ends):
            raise ValueError("at least one of `top`, `bottom`, `top_percent` and `bottom_percent` must be given")
        if (self.top_percent or 0.0) + (self.bottom_percent or 0.0) >= 100:
            raise ValueError("`top_percent` and `bottom_percent` together must be below 100")
        return self

    @property
    def depends_on_all(self) -> bool:
        """Does what is published depend on the records, and not on the stated limits alone?"""
        return self.publish != "limit" or self.top_percent is not None or self.bottom_percent is not None


Limits = Annotated[
    tuple[tuple[Name, CodingLimits], ...],
    Field(min_length=1),
    BeforeValidator(WrittenMapping(CodingLimits)),
    PlainSerializer(dict),
    MappingForm(CodingLimits),
]


class TopBottomCoding(MaskingMethod):
    """Parameters of top and bottom coding.

    limits: for each attribute that is masked where it is coded: `{age: {top: 85}, income: {top_percent: 2, publish: median}}`.
    """

    method: Public[Literal["top_bottom_coding"]]
    limits: Public[Limits]

    @model_validator(mode="after")
    def _strata_change_something(self) -> Self:
        refuse_other_attributes(self.attributes, self.attribute_keys, "`limits`")
        if self.by is not None and not all(limits.depends_on_all for _, limits in self.limits):
            raise ValueError("a stated limit that is published itself is the same in every stratum: take `by` out")
        return self

    @property
    def attribute_keys(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.limits)

    @property
    def explicit_attributes(self) -> tuple[str, ...] | None:
        return self.attribute_keys

    @property
    def rule(self) -> str:
        return f"coding of {join_with_and(f'{ends_in_words(limits)} of {name}' for name, limits in self.limits)}"

    @property
    def moves_values(self) -> bool:
        return False

    @property
    def no_attack_reason(self) -> None:
        return None

    @property
    def randomness(self) -> Randomness:
        return "none"

    @property
    def is_rule_for_values(self) -> bool:
        return True

    @classmethod
    def description(cls) -> Description:
        return DESCRIPTION

    def apply(self, context: MaskContext) -> Microdata:
        return top_bottom_code(context, self)

    def infer(self, view: IntruderView) -> Belief:
        return infer(view, self)

    def move_bounds(self, view: IntruderView, bounds: ValueBounds) -> ValueBounds | None:
        return move_bounds_by_coding(view, self, bounds)

    def spread_ranks(self, view: IntruderView, law: DiscreteLikelihood) -> DiscreteLikelihood | None:
        return law

    def describe(self, schema: Schema) -> MaskText:
        return describe_coding(self)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        return (
            cls.model_validate({"method": "top_bottom_coding", "limits": {"age": {"top": 25.0, "publish": "limit"}}}),
            cls.model_validate({"method": "top_bottom_coding", "limits": {"size": {"top_percent": 20.0, "publish": "mean"}}}),
        )

    @classmethod
    def suggest_stronger(cls, fields: Fields, named: str, line: Fields) -> Iterator[str]:
        limits = _list_limits(fields)
        yield f"{named.capitalize()} (top_bottom_coding) hides the ends alone: {JOINTLY}, or code more ({limits})."

    @classmethod
    def suggest_weaker(cls, fields: Fields, named: str) -> Iterator[str]:
        yield f"code less in {named} ({_list_limits(fields)}; {MORE_RISK})"

    @classmethod
    def list_attributes(cls, fields: Fields) -> set[str] | None:
        named = super().list_attributes(fields)
        return set(fields.get("limits") or ()) if named is None else named


def ends_in_words(limits: CodingLimits) -> str:
    """`the top 2 percent and the bottom`: what is coded, without a stated limit."""
    ends = []
    for end, stated, percent in (
        ("top", limits.top, limits.top_percent),
        ("bottom", limits.bottom, limits.bottom_percent),
    ):
        if stated is not None or percent is not None:
            ends.append(f"the {end}" if percent is None else f"the {end} {percent:g} percent")
    return join_with_and(ends)


_LIMITS = ("top", "bottom", "top_percent", "bottom_percent")
_STANDS_FOR_END = {
    "limit": "the limit, which is the outermost value that this step leaves",
    "mean": "the mean of the records that lie there",
    "median": "the median of the records that lie there",
}
SCALES = (Scale.NUMERIC, Scale.DATE, Scale.TIME, Scale.ORDINAL)
DESCRIPTION = Description(
    method="top_bottom_coding",
    what_it_does="publishes all values at or beyond a limit as one: the limit, or their mean or median",
    scales=SCALES,
    parameters="limits: for each attribute top, bottom (values), top_percent, bottom_percent (share coded), publish (limit, "
    "mean, median); by",
    intruder="codes their own records in the same way; a value inside the limits is as good a key as before, one beyond them "
    "leaves all that were coded",
    answered_by=("transparency",),
)


def top_bottom_code(site: MaskContext, spec: TopBottomCoding) -> Microdata:
    """Replace the values at or beyond each limit by one value.

    Meaning: who stands out by a value at the end of a scale is hidden among all who are beyond the limit.
    Formula in words: x at or above the top limit becomes the limit, or the mean or median of all such x; likewise at the
    bottom; between the limits x stays. With `top_percent` p the limit is the m-th largest of the n present values,
    m = p n / 100 rounded up, so that at least p percent are coded, and values equal to the limit with them. Missing values
    stay missing.
    Of ordinal attributes `median` is the median category (of an even number the lower of the middle two); they have no mean.

    Parameters
    ----------
    site: a table whose columns include the step's attributes. spec: with its attributes resolved.

    Returns the table with those columns replaced; means and medians stand on the grid of the source (halves to even). The order
    of values is kept. Coding with a published limit twice is coding once.

    Raises InputError for a limit that is no value of the scale, one that changes nothing or codes everybody (not within
    strata, some of which may lie on one side of it), top and bottom limits that meet, a mean of an ordinal attribute, and a
    mean or median of fewer than 3 records (persons, where there is a person key): it would be, or tell, the value of one
    person. A mean of 3 may still be nearly the value of one of them, where theirs is far larger: the median is not.
    Cost: O(n log n) per attribute. Source: Hundepool et al. (2012), Statistical Disclosure Control, 3.2.3. Done otherwise than
    in sdcMicro: no share is coded unless it is asked for, and ties are coded together.
    Example: limit 80 published as the limit: 79, 80, 81, 95 become 79, 80, 80, 80.
    """
    data = site.data
    for name, limits in spec.limits:
        location = f"{site.where}.limits.{name}"
        here = replace(site, data=data)
        before = extract_positions(data, site.schema, name, location)
        ends = _ends(here, name, limits, before, location)
        if site.schema[name].scale is Scale.ORDINAL and limits.publish == "mean":
            what = f"`{name}` is ordinal, and its categories have no mean"
            raise InputError("no-mean", f"{location}.publish", what, "limit or median", "publish: median", "mean")
        _refuse_few(here, before, ends, limits, name, location)
        coded = _code_attribute(here, name, limits, before, ends)
        if spec.by is None:
            _refuse_no_or_all(data, coded, ends, before, name, location)
        data = coded
    return data


def code_positions(before: Floats, ends: tuple[float, float], publish: str, *, ordinal: bool) -> Floats:
    """Shape (n,): the positions after coding, before rounding. ends: the bottom and the top limit, infinite for none."""
    after = before.copy()
    for limit, coded in zip(ends, _flag_coded_values(before, ends), strict=True):
        if coded.any():
            after[coded] = limit if publish == "limit" else compute_centre(before[coded], _centre(publish), ordinal=ordinal)
    return after


def infer(view: IntruderView, spec: TopBottomCoding) -> Belief:
    """What the step lets an intruder conclude who knows it: they code their own records in the same way.

    Stated limits that are published themselves are a rule for single values; everything else depends on all records.
    """
    for name, limits in spec.limits:
        coded, knowledge = partial(_repeat_coding, name=name, limits=limits), view.knowledge
        by_law = any(name in law.names and law.values is not None for law in knowledge.likelihoods)
        if not knowledge.is_certain((name,)) and (limits.depends_on_all or not by_law):
            known = carry_bounds(view, spec, name)
        elif limits.depends_on_all:
            known = infer_by_repeating_step(view, (name,), coded)
        else:
            known = infer_by_value_rule(view, name, coded)
        view = replace(view, knowledge=known)
    return view.knowledge


def move_bounds_by_coding(view: IntruderView, spec: TopBottomCoding, bounds: ValueBounds) -> ValueBounds | None:
    """The bounds after coding.

    Formula in words: the limits of a column between two others lie between the limits of these, and what is published for
    coded values, between the limit and the outermost value. Where the column is known the bounds are coded themselves.
    """
    name, limits, site = bounds.name, dict(spec.limits)[bounds.name], create_mask_context(view)
    lowest, highest = bounds.lowest, bounds.highest
    if lowest is None or highest is None or not len(lowest):
        if limits.depends_on_all:
            return None
        lowest = highest = np.empty(0)
    try:
        ends = [_ends(site, name, limits, one, site.where) for one in (lowest, highest)]
    except InputError:  # limits that meet in a column which is possible, but is not the one that was coded
        return None
    (low_bottom, low_top), (high_bottom, high_top) = ends
    ordinal = view.schema[name].scale is Scale.ORDINAL
    if limits.publish == "limit":
        return bounds.map_ends(lambda x: np.clip(x, low_bottom, low_top), lambda x: np.clip(x, high_bottom, high_top))
    if bounds.knows_column:
        tails = _flag_coded_values(lowest, (low_bottom, low_top))
        centres = [
            compute_centre(lowest[tail], _centre(limits.publish), ordinal=ordinal) if tail.any() else np.nan for tail in tails
        ]
        bottom, top = (one if ordinal else round_to_grid(np.array([one]), site.precision[name])[0] for one in centres)

        def code(x: Floats) -> Floats:
            return np.where(x >= low_top, top, np.where(x <= low_bottom, bottom, x))

        return bounds.map_ends(code, code)
    return bounds.map_ends(
        lambda x: np.where(x <= high_bottom, np.minimum(x, lowest[0]), np.minimum(x, low_top)),
        lambda x: np.where(x >= low_top, np.maximum(x, highest[-1]), np.maximum(x, high_bottom)),
    )


def _repeat_coding(site: MaskContext, name: str, limits: CodingLimits) -> Microdata:
    """Without the refusals that protect a release: the step was carried out."""
    before = site.data.positions(site.schema[name])
    return _code_attribute(site, name, limits, before, _ends(site, name, limits, before, site.where))


def _code_attribute(site: MaskContext, name: str, limits: CodingLimits, before: Floats, ends: tuple[float, float]) -> Microdata:
    ordinal = site.schema[name].scale is Scale.ORDINAL
    after = code_positions(before, ends, limits.publish, ordinal=ordinal)
    return site.data.replace_positions(site.schema[name], after if ordinal else round_to_grid(after, site.precision[name]))


def _ends(site: MaskContext, name: str, limits: CodingLimits, before: Floats, location: str) -> tuple[float, float]:
    """The bottom and the top limit as positions, infinite where there is none."""
    ascending = np.sort(before[~np.isnan(before)])
    bottom, top = -np.inf, np.inf
    if limits.bottom is not None:
        bottom = parse_position(site, name, limits.bottom, f"{location}.bottom")
    elif limits.bottom_percent is not None and len(ascending):
        bottom = float(ascending[_n_coded(limits.bottom_percent, len(ascending)) - 1])
    if limits.top is not None:
        top = parse_position(site, name, limits.top, f"{location}.top")
    elif limits.top_percent is not None and len(ascending):
        top = float(ascending[-_n_coded(limits.top_percent, len(ascending))])
    if bottom >= top:
        what = f"the bottom and the top limit of `{name}` meet, so that no value is left between them"
        raise InputError("limits-meet", location, what, "a bottom limit below the top limit", "move one of them")
    return bottom, top


def _n_coded(percent: float, n: int) -> int:
    """percent * n / 100 rounded up, exactly."""
    return ceil(Fraction(str(percent)) * n / 100)


def _flag_coded_values(before: Floats, ends: tuple[float, float]) -> tuple[Booleans, Booleans]:
    return before <= ends[0], before >= ends[1]


def _centre(publish: str) -> Literal["mean", "median"]:
    return "mean" if publish == "mean" else "median"


def _refuse_few(
    site: MaskContext, before: Floats, ends: tuple[float, float], limits: CodingLimits, name: str, location: str
) -> None:
    if limits.publish != "limit":
        for coded in _flag_coded_values(before, ends):
            refuse_centre_of_few(site, coded, _centre(limits.publish), name, f"{location}.publish")


def _refuse_no_or_all(
    data: Microdata, coded: Microdata, ends: tuple[float, float], before: Floats, name: str, location: str
) -> None:
    if coded.column(name).equals(data.column(name)):
        what = f"coding changes no value of `{name}`: none lies beyond the limits"
        raise InputError("nothing-coded", location, what, "limits within the values", "move a limit, or take the attribute out")
    n_present = int((~np.isnan(before)).sum())
    if any(int(beyond.sum()) == n_present for beyond in _flag_coded_values(before, ends)):
        what = f"coding makes all values of `{name}` one: all lie beyond one limit"
        raise InputError("all-coded", location, what, "limits within the values", "move the limit, or withhold the attribute")


def _list_limits(step: Fields) -> str:
    fields = {field for limits in (step.get("limits") or {}).values() for field in _LIMITS if limits.get(field) is not None}
    return f"`limits`: {join_with_and([f'`{field}`' for field in _LIMITS if field in fields])}" if fields else "`limits`"


def describe_coding(step: TopBottomCoding) -> MaskText:
    limits = dict(step.limits)
    each = (f"in {name} {ends_in_words(one)} published as {_stands_for_end(one)}" for name, one in limits.items())
    return MaskText(
        title="Top and bottom coding",
        text=f"Values at the ends of a scale were replaced, the same for all that lie there: {'; '.join(each)}. "
        "All other values are as they were.",
        missing="Top and bottom coding replaces present values; a gap stays a gap.",
        attribute=lambda attribute: f"values at the ends coded, published as {_stands_for_end(limits[attribute.name])}",
        analysts=_advise_on_coding(step),
    )


def _stands_for_end(limits: CodingLimits) -> str:
    return _STANDS_FOR_END[limits.publish]


def _advise_on_coding(step: TopBottomCoding) -> tuple[str, ...]:
    kinds = {limits.publish for _, limits in step.limits}
    to_mean = "Where the mean stands for the coded values, that of the whole column is kept, but for its rounding."
    return (
        f"The coded values of {join_with_and(name for name, _ in step.limits)} are censored: medians and quantiles "
        "inside the limits "
        "are what they were before this step, and variances are mostly too small. Where the limit is published, a coded top "
        "makes means too small, a coded bottom too large; models for censored data (tobit) take that into account.",
        *((to_mean,) if "mean" in kinds else ()),
    )
