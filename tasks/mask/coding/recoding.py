"""Recoding: numbers and dates are put into bands, categories are joined by a mapping or their first digits, for all records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from tasks.mask.carrying import carry_bounds
from tasks.mask.coding.bands import apply_bands, bound_bands, find_bands, refuse_idle_bands
from tasks.mask.coding.first_digits import DigitGrouping, first_digits, refuse_no_digits
from tasks.mask.coding.joined_categories import Become, join_categories, refuse_unfit_mapping
from tasks.mask.coding.mapping import CategoryPairs, read_mapping
from tasks.mask.coding.written import Written
from tasks.mask.intruder_belief import Belief, DiscreteLikelihood
from tasks.mask.mask_text import MaskText
from tasks.mask.repetition import can_repeat_rule, create_mask_context, infer_by_repeating_step, infer_by_value_rule
from tasks.mask.shared_advice import JOINTLY, MORE_RISK, Fields
from tasks.mask.step import Description, IntruderView, MaskContext, MaskingMethod, MaskStep, Randomness
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.by_attribute import MappingForm, WrittenMapping, refuse_other_attributes
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale, Schema
from tasks.microdata.spec import Name, Public, PublicField, Spec
from tasks.microdata.table import Floats, Microdata
from tasks.microdata.words import join_with_and

AnyStep = TypeVar("AnyStep", bound=MaskStep)


def _bands_in_numbers(one: Recode) -> dict[str, object]:
    """How many bands there are; their limits and stated values are values of the scale."""
    return {"bands": len(one.intervals or ()) + 1, "publish": one.publish or "a stated value"}


def _mapping_in_numbers(one: Recode) -> dict[str, object]:
    """How many categories become how many; the mapping names them."""
    pairs = one.map or ()
    others = "become one category" if isinstance(one.others, Become) else one.others
    return {"categories": len(pairs), "become": len({new for _, new in pairs}), "others": others}


class Recode(Spec):
    """How one attribute is recoded: by `intervals`, or by `map`, `file` or `group`.

    intervals: ascending limits; each band holds its lower limit and not its upper one, the first and the last are open.
    publish: what stands for a band: `midpoint` of its limits, its `lower` limit, the `mean` or `median` of its records.
    values: instead of `publish` one value for each band, that is one more than there are limits; each lies in its band.
    map: for each category what it becomes; categories are written as text (`{"1": "1", "2": "1"}`).
    file: the same in a file, relative to the release file: CSV with the header `old,new`, or YAML.
    group: codes are joined by their first digits: `{digits: 1}` makes 2310 and 2411 the code 2. Numbers are read with the
        leading zeros that they lost.
    others: what becomes of categories that the mapping does not list: `refuse` (default), `keep`, or `{become: category}`.
    unused: may the mapping list categories that the table does not have? `refuse` or `ignore`; default: only from a file.
    """

    intervals: Annotated[Annotated[tuple[Written, ...], Field(min_length=1)] | None, PublicField(_bands_in_numbers)] = None
    publish: Literal["midpoint", "lower", "mean", "median"] | None = None
    values: Annotated[tuple[Written, ...], Field(min_length=2)] | None = None
    map: Annotated[CategoryPairs | None, PublicField(_mapping_in_numbers)] = None
    file: Name | None = None
    group: Public[DigitGrouping | None] = None
    others: Literal["refuse", "keep"] | Become = "refuse"
    unused: Literal["refuse", "ignore"] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if sum(given is not None for given in (self.intervals, self.map, self.file, self.group)) != 1:
            raise ValueError("an attribute is recoded by exactly one of `intervals`, `map`, `file` and `group`")
        if self.group is not None and (self.others != "refuse" or self.unused is not None):
            raise ValueError("`others` and `unused` belong to `map` or `file`")
        if self.intervals is None and (self.publish or self.values):
            raise ValueError("`publish` and `values` belong to `intervals`")
        if self.intervals is None:
            return self
        if (self.publish is None) == (self.values is None):
            raise ValueError("`intervals` need one of `publish` and `values`: what stands for a band")
        if self.values is not None and len(self.values) != len(self.intervals) + 1:
            raise ValueError(f"{len(self.intervals)} limits make {len(self.intervals) + 1} bands: give a value for each")
        if self.others != "refuse" or self.unused is not None:
            raise ValueError("`others` and `unused` belong to `map` or `file`")
        return self

    @property
    def depends_on_all(self) -> bool:
        """Is what is published computed from the records of a band?"""
        return self.publish in ("mean", "median")


Recodes = Annotated[
    tuple[tuple[Name, Recode], ...],
    Field(min_length=1),
    BeforeValidator(WrittenMapping(Recode)),
    PlainSerializer(dict),
    MappingForm(Recode),
]


class Recoding(MaskingMethod):
    """Parameters of recoding.

    recode: for each attribute that is masked how: `{age: {intervals: [30, 45, 65], publish: median}, town: {file: towns.csv}}`.
    """

    method: Public[Literal["recoding"]]
    recode: Public[Recodes]

    @model_validator(mode="after")
    def _strata_change_something(self) -> Self:
        refuse_other_attributes(self.attributes, self.attribute_keys, "`recode`")
        if self.by is not None and not all(recode.depends_on_all for _, recode in self.recode):
            raise ValueError(
                "only a mean or median of bands differs by stratum: take `by` out, or recode the rest in another step"
            )
        return self

    @property
    def attribute_keys(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.recode)

    @property
    def explicit_attributes(self) -> tuple[str, ...] | None:
        return self.attribute_keys

    @property
    def rule(self) -> str:
        return f"recoding of {join_with_and(f'{name} into {outcome_in_words(recode)}' for name, recode in self.recode)}"

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
        return recode(context, self)

    def infer(self, view: IntruderView) -> Belief:
        return infer(view, self)

    def describe(self, schema: Schema) -> MaskText:
        return describe_recoding(self)

    def move_bounds(self, view: IntruderView, bounds: ValueBounds) -> ValueBounds | None:
        return move_bounds_by_recoding(view, self, bounds)

    def spread_ranks(self, view: IntruderView, law: DiscreteLikelihood) -> DiscreteLikelihood | None:
        return law

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        return (
            cls.model_validate({"method": "recoding", "recode": {"group": {"map": {"a": "b"}, "others": "keep"}}}),
            cls.model_validate({"method": "recoding", "recode": {"age": {"intervals": (12, 30), "publish": "median"}}}),
        )

    @classmethod
    def suggest_stronger(cls, fields: Fields, named: str, line: Fields) -> Iterator[str]:
        yield f"Recode into fewer categories or wider bands in {named} (`recode`), or {JOINTLY}."

    @classmethod
    def suggest_weaker(cls, fields: Fields, named: str) -> Iterator[str]:
        yield f"recode into more categories or narrower bands in {named} ({MORE_RISK})"

    @classmethod
    def list_attributes(cls, fields: Fields) -> set[str] | None:
        named = super().list_attributes(fields)
        return set(fields.get("recode") or ()) if named is None else named


def outcome_in_words(recode: Recode) -> str:
    """`4 bands`, `coarser categories`, `groups of one first digit`."""
    if recode.group is not None:
        count = recode.group.digits
        return f"groups of {'one first digit' if count == 1 else f'{count} first digits'}"
    return "coarser categories" if recode.intervals is None else f"{len(recode.intervals) + 1} bands"


_STANDS_FOR_BAND = {
    "midpoint": "the midpoint of the band's limits",
    "lower": "the band's lower limit",
    "mean": "the mean of the band's records",
    "median": "the median of the band's records",
}
SCALES = (Scale.NUMERIC, Scale.DATE, Scale.TIME, Scale.ORDINAL, Scale.NOMINAL, Scale.CODE)
DESCRIPTION = Description(
    method="recoding",
    what_it_does="puts numbers and dates into bands, each published as one value, and joins categories by a mapping or codes "
    "by their first digits",
    scales=SCALES,
    parameters="recode: for each attribute intervals with publish (midpoint, lower, mean, median) or values; or map or file "
    "(category: what it becomes) with others (refuse, keep, {become: category}); or group (codes by their first digits); by. "
    "Examples: {age: {intervals: [30, 45, 65], publish: median}}, {age: {intervals: [18, 65], values: [9, 40, 75]}}, "
    '{town: {map: {"1": "1", "2": "1"}, others: keep}}, {town: {file: towns.csv}}, {occupation: {group: {digits: 1}}}',
    intruder="recodes their own records by the same rule, which comparing a category with the one it became does not; all "
    "records of one band or category are left",
    answered_by=("transparency",),
)


def recode(site: MaskContext, spec: Recoding) -> Microdata:
    """Replace each value by that of its band, and each category by what the mapping says.

    Meaning: all records of a band, or of the categories that were joined, show the same.
    Formula in words: with limits a < b < c the bands are below a, [a, b), [b, c) and from c on. A band is published as the
    midpoint of its limits (between two points of the column's grid the lower one), its lower limit, the mean or median of its
    records (ordinal: the median category, of an even number the lower of the middle two), or a stated value inside it. The open
    bands have no midpoint, and the first no lower limit. A category becomes what the mapping lists for it, a code
    its first digits. Missing values stay missing. Types stay: text becomes text, whole numbers whole numbers, ordered
    categories those of the declared order.

    Parameters
    ----------
    site: a table whose columns include the step's attributes. spec: with its attributes resolved, and no `file` left.

    Returns the table with those columns replaced. The order of values of numbers, dates and ordinal attributes is kept.

    Raises InputError for intervals of an attribute without order and a mapping of one that is measured; limits that do not
    ascend or are no values of the scale; a value in an open band that has no midpoint or lower limit; a mean or median of
    fewer than 3 records (persons, where there is a person key); a category that the mapping does not list (`others:
    refuse`) or that the table does not have (`unused: refuse`), one that the column cannot hold, or a mapping that reverses
    a declared order; a recoding that changes nothing, or bands that leave one value (not within strata).
    Cost: O(n log n) per attribute. Source: Hundepool et al. (2012), Statistical Disclosure Control, 3.2.3 (global recoding).
    Example: intervals [20, 40] with the midpoint: 39 becomes 30; 40 is in the open band and refused.
    """
    data = site.data
    for name, one in spec.recode:
        location = f"{site.where}.recode.{name}"
        here = replace(site, data=data)
        refuse_wrong_way(here, name, one, location)
        data = _recode_attribute(here, name, one, location, protected=True)
        if spec.by is None:
            _refuse_idle(here.data, data, name, one, location)
    return data


def refuse_wrong_way(site: MaskContext, name: str, one: Recode, location: str) -> None:
    """InputError for bands of what has no order, a mapping of what is measured, and a mapping that does not fit."""
    scale = site.schema[name].scale
    if one.file is not None:
        what = "the mapping file has not been read"
        raise InputError(
            "unread-mapping", f"{location}.file", what, "a release file that is loaded as a whole", "load it again"
        )
    if one.group is not None:
        _refuse_ungroupable(site, name, location)
        return
    fits = scale in (_MAPPED if one.intervals is None else _BANDED)
    if not fits:
        way, other = ("a mapping", "intervals") if one.intervals is None else ("intervals", "map")
        what, allowed = f"`{name}` is {scale}: it cannot be recoded by {way}", f"`{other}`"
        raise InputError("wrong-scale", location, what, allowed, f"recode it by `{other}`, or declare its scale", name)
    if one.map is not None:
        refuse_unfit_mapping(site, name, one.map, one.others, location, unused_is_fine=one.unused == "ignore")


def _refuse_ungroupable(site: MaskContext, name: str, location: str) -> None:
    scale = site.schema[name].scale
    if scale not in _MAPPED:
        what, allowed = f"`{name}` is {scale}: its first digits say nothing", "`intervals`, or the scale nominal or code"
        raise InputError("wrong-scale", location, what, allowed, "recode it by `intervals`, or declare its scale", name)
    refuse_no_digits(site, name, location)


_BANDED = frozenset({Scale.NUMERIC, Scale.DATE, Scale.TIME, Scale.ORDINAL})
_MAPPED = frozenset({Scale.ORDINAL, Scale.NOMINAL, Scale.CODE})


def infer(view: IntruderView, spec: Recoding) -> Belief:
    """What the step lets an intruder conclude who knows it: they recode their own records by the same rule.

    A mapping, a midpoint, a lower limit or a stated value is a rule for single values; a mean or median depends on all records.
    Of an attribute that they did not know for certain before, the bounds are put into bands.
    """
    for name, one in spec.recode:
        again = partial(_recode_attribute, name=name, one=one, location="masking", protected=False)
        if one.depends_on_all and view.knowledge.is_certain((name,)):
            known = infer_by_repeating_step(view, (name,), again)
        elif not one.depends_on_all and can_repeat_rule(view.knowledge, name):
            known = infer_by_value_rule(view, name, again)
        else:
            known = carry_bounds(view, spec, name)
        view = replace(view, knowledge=known)
    return view.knowledge


def move_bounds_by_recoding(view: IntruderView, spec: Recoding, bounds: ValueBounds) -> ValueBounds | None:
    """The bounds after recoding into bands; None: the step joins categories, whose order says nothing."""
    one, site = dict(spec.recode)[bounds.name], create_mask_context(view)
    if one.intervals is None or np.isnan(bounds.low).all():
        return None
    outermost = float(np.nanmin(bounds.low)), float(np.nanmax(bounds.high))
    try:
        banded = bound_bands(site, bounds.name, one.intervals, one.values or one.publish or "median", outermost, site.where)
    except InputError:  # the rule does not fit the attribute
        return None
    limits, low, high = banded
    if np.isnan(low).any():  # no band of so few limits has such a value
        return None
    return bounds.map_ends(lambda x: _in_band(x, limits, low), lambda x: _in_band(x, limits, high))


def _in_band(values: Floats, limits: Floats, of_band: Floats) -> Floats:
    return np.where(np.isnan(values), np.nan, of_band[find_bands(values, limits)])


def load_mappings(steps: Iterable[AnyStep], base: Path, where: str) -> tuple[AnyStep, ...]:
    """The steps with every mapping file read into them, so that what the file says is part of what the run is made of.

    base: the folder of the release file. where: the place of the list in it. Raises InputError for a file that cannot be read.
    """
    return tuple(
        _load_step_mappings(step, base, f"{where}[{i}].recode") if isinstance(step, Recoding) else step
        for i, step in enumerate(steps)
    )


def _load_step_mappings(step: Any, base: Path, location: str) -> Any:
    read = ((name, _read(one, base, f"{location}.{name}.file")) for name, one in step.recode)
    return step.model_copy(update={"recode": tuple(read)})


def _read(one: Recode, base: Path, location: str) -> Recode:
    if one.file is None:
        return one
    pairs = read_mapping((base / one.file).absolute(), location)
    return one.model_copy(update={"map": pairs, "file": None, "unused": one.unused or "ignore"})


def _recode_attribute(site: MaskContext, name: str, one: Recode, location: str, *, protected: bool) -> Microdata:
    """protected: refuse what would tell the value of one person; the intruder repeats what has been done."""
    if one.group is not None:
        return site.data.replace_column(name, first_digits(site, name, one.group))
    if one.map is not None:
        return site.data.replace_column(name, join_categories(site.data.column(name), one.map, one.others, location, name))
    return apply_bands(site, name, one.intervals or (), one.values or one.publish or "median", location, protected=protected)


def _refuse_idle(before: Microdata, after: Microdata, name: str, one: Recode, location: str) -> None:
    if after.column(name).equals(before.column(name)):
        what = f"recoding changes no value of `{name}`"
        raise InputError("nothing-recoded", location, what, "fewer values than before", "take the attribute out of the step")
    if one.intervals is not None:
        refuse_idle_bands(before, after, name, location)


def describe_recoding(step: Recoding) -> MaskText:
    recodes = dict(step.recode)
    each = (f"in {name} {_outcome(one)}" for name, one in recodes.items())
    return MaskText(
        title="Recoding",
        text=f"Values were replaced by coarser ones, by one rule for all records: {'; '.join(each)}.",
        missing="Recoding replaces present values; a gap stays a gap.",
        attribute=lambda attribute: _outcome(recodes[attribute.name]),
        analysts=_advise_on_recoding(step),
    )


def _outcome(one: Recode) -> str:
    if one.intervals is not None:
        shown = _STANDS_FOR_BAND[one.publish] if one.publish is not None else "a stated value inside the band"
        n_open = {"midpoint": 0, "lower": 1}.get(one.publish or "", 2)  # an open band has no midpoint
        return f"{len(one.intervals) - 1 + n_open} bands, each published as {shown}"
    return "categories joined into coarser ones" if one.group is None else f"codes joined into {outcome_in_words(one)}"


def _advise_on_recoding(step: Recoding) -> tuple[str, ...]:
    if all(one.intervals is None for _, one in step.recode):
        return ()
    to_mean = any(one.publish == "mean" for _, one in step.recode)
    kept = (
        "Where the mean stands for a band, the mean of the whole column is kept, but for the rounding of the published values."
    )
    return (
        "A band stands for an interval: variances lack what varies within the bands, and counts are exact for whole "
        "bands alone.",
        *((kept,) if to_mean else ()),
    )
