"""Rounding: each value is published as a multiple of a base next to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Annotated, Literal, Self, assert_never

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from tasks.mask.carrying import carry_bounds, find_bounds
from tasks.mask.coding.rounding_text import describe_rounding
from tasks.mask.intruder_belief import Belief, DiscreteLikelihood, GaussianLikelihood, InInterval
from tasks.mask.mask_text import MaskText
from tasks.mask.precision_grid import round_to_grid
from tasks.mask.repetition import can_repeat_rule, create_mask_context, infer_by_value_rule
from tasks.mask.shared_advice import JOINTLY, MORE_RISK, Fields, state_values
from tasks.mask.step import Description, IntruderView, MaskContext, MaskingMethod, Randomness
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.by_attribute import WrittenMapping, refuse_other_attributes
from tasks.microdata.errors import InputError
from tasks.microdata.positions import extract_positions
from tasks.microdata.schema import Scale, Schema
from tasks.microdata.spec import Name, Public
from tasks.microdata.table import MOMENT, SECONDS_OF_A_DAY, Booleans, Floats, Integers, Microdata
from tasks.microdata.words import join_with_and

RoundingKind = Literal["deterministic", "random", "controlled"]
Base = Annotated[float, Field(gt=0)]
Bases = Annotated[
    tuple[tuple[Name, Base], ...],
    Field(min_length=1),
    BeforeValidator(WrittenMapping(Base)),
    PlainSerializer(dict),
    WithJsonSchema({"type": "object", "minProperties": 1, "additionalProperties": {"type": "number", "exclusiveMinimum": 0}}),
]

_STEPS = 256  # of chances
_MOST_NOISE = 3.0  # standard deviations of noise that a base may be long, so that rounding counts as noise as well


class Rounding(MaskingMethod):
    """Parameters of rounding.

    bases: for each attribute that is masked the number whose multiples are published: `{age: 5, income: 500}`; for dates in
        days, for times and moments in seconds.
    kind: `deterministic`: to the nearest multiple; `random`: to the one below or above, such that the expectation is the value;
        `controlled`: likewise, but the column's total is kept as nearly as the base allows.
    """

    method: Public[Literal["rounding"]]
    bases: Public[Bases]
    kind: Public[RoundingKind]

    @model_validator(mode="after")
    def _strata_change_something(self) -> Self:
        refuse_other_attributes(self.attributes, self.attribute_keys, "`bases`")
        if self.by is not None and self.kind != "controlled":
            raise ValueError(f"{self.kind} rounding takes each value by itself: strata would change nothing; take `by` out")
        return self

    @property
    def attribute_keys(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.bases)

    @property
    def explicit_attributes(self) -> tuple[str, ...] | None:
        return self.attribute_keys

    @property
    def rule(self) -> str:
        return f"{self.kind} rounding of {join_with_and(f'{name} to multiples of {base:g}' for name, base in self.bases)}"

    @property
    def no_attack_reason(self) -> None:
        return None

    @property
    def moves_values(self) -> bool:
        return self.kind != "deterministic"

    @property
    def randomness(self) -> Randomness:
        return "none" if self.kind == "deterministic" else "by_row"

    @property
    def is_rule_for_values(self) -> bool:
        return self.kind == "deterministic"

    @classmethod
    def description(cls) -> Description:
        return DESCRIPTION

    def apply(self, context: MaskContext) -> Microdata:
        return round_to_base(context, self)

    def infer(self, view: IntruderView) -> Belief:
        return infer(view, self)

    def move_bounds(self, view: IntruderView, bounds: ValueBounds) -> ValueBounds | None:
        return move_bounds_by_rounding(view, self, bounds)

    def spread_ranks(self, view: IntruderView, law: DiscreteLikelihood) -> DiscreteLikelihood | None:
        return law

    def describe(self, schema: Schema) -> MaskText:
        return describe_rounding(self)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        kinds: tuple[RoundingKind, ...] = ("deterministic", "random", "controlled")
        return tuple(cls(method="rounding", bases=(("age", 5.0), ("size", 2.0)), kind=kind) for kind in kinds)

    @classmethod
    def suggest_stronger(cls, fields: Fields, named: str, line: Fields) -> Iterator[str]:
        now = state_values(fields, "bases")
        yield f"Raise the `bases` of {named}{now}, or {JOINTLY}: an intruder who rounds their own records finds them."

    @classmethod
    def suggest_weaker(cls, fields: Fields, named: str) -> Iterator[str]:
        yield f"lower the `bases` of {named}{state_values(fields, 'bases', MORE_RISK)}"

    @classmethod
    def list_attributes(cls, fields: Fields) -> set[str] | None:
        named = super().list_attributes(fields)
        return set(fields.get("bases") or ()) if named is None else named


SCALES = (Scale.NUMERIC, Scale.DATE, Scale.TIME)
DESCRIPTION = Description(
    method="rounding",
    what_it_does="publishes each value as a multiple of a base next to it",
    scales=SCALES,
    parameters="bases (for each attribute; dates in days, times in seconds), kind (deterministic, random: unbiased, "
    "controlled: keeps the column's total), by",
    intruder="rounds their own records, or leaves out every row that shows none of the two multiples next to their value, of "
    "which the nearer one is the likelier",
    answered_by=("transparency",),
)


def round_to_base(site: MaskContext, spec: Rounding) -> Microdata:
    """Replace each value by a multiple of the attribute's base: the one below or the one above.

    Meaning: a released value is off by less than one base (deterministic: by at most half), and hides among all that near.
    Formula in words: with q = x / base, deterministic takes the whole number nearest to q, halves to the even one; random
    takes floor(q) + 1 with probability q - floor(q), else floor(q), so that the expectation is x; controlled takes floor(q) + 1
    for as many values as bring the column's total nearest to the true one, chosen by systematic sampling: the values in random
    order, their q - floor(q) added up, one value up at each whole step from a random start. Multiples and missing values stay.
    Dates count from 1970-01-01 in days, times from midnight in seconds, moments (a date with a time) from 1970 in seconds.
    A multiple after the last or before the first time of a day, or date of the years 1 to 9999, is not taken: the other one is.

    Parameters
    ----------
    site: a table whose columns include the step's attributes. spec: with its attributes resolved. Each attribute has a stream
        of its own.

    Returns the table with those columns replaced; whole numbers stay whole. A column may become constant, which the measures
    of loss show. Controlled: the total is off by at most base / 2 and not at all if it is a multiple (times and dates whose
    next multiple does not exist aside); where it is none, the expectation of the column's mean is off by at most
    base / (2 n). Deterministic rounding twice is rounding once.

    Raises InputError for a base that is no multiple of the column's precision (0.5 for whole numbers), an infinite value, and
    a column of multiples, of which nothing would be changed (not within strata).
    Cost: O(n) per attribute. Source: Hundepool et al. (2012), Statistical Disclosure Control, 3.2.4, and 5.4 for tables;
    systematic sampling after Madow (1949). Done otherwise than there: controlled rounding of a column, not of a table with
    its margins.
    Example: base 10, deterministic: 14, 15, 25 become 10, 20, 20.
    """
    data = site.data
    for name, base in spec.bases:
        location = f"{site.where}.bases.{name}"
        before = extract_positions(data, site.schema, name, location)
        length = _length(site, name, base, location)
        lower, upper = _multiples(site, name, before, length)
        if spec.by is None:
            _refuse_idle(name, before, lower, upper, location)
        up = _goes_up(before, length, lower < upper, spec.kind, rng=partial(site.draw, name))
        data = data.replace_positions(site.schema[name], np.where(up, upper, lower))
    return data


def _refuse_idle(name: str, before: Floats, lower: Floats, upper: Floats, location: str) -> None:
    if (lower < upper).any():
        return
    if np.array_equal(lower, before, equal_nan=True):
        what = f"all values of `{name}` are multiples of the base: rounding would change nothing"
        raise InputError("nothing-to-round", location, what, "a base that some value is no multiple of", "take a larger base")
    what = f"the base is so large that no value of `{name}` lies between two multiples that can be published"
    raise InputError("base-too-large", location, what, "a base well inside the range of the column", "take a smaller base")


def quotients(values: Floats, base: float) -> Floats:
    """values / base without the last bits of the division: 0.15 / 0.05 is 3. NaN stays."""
    divided = values / base
    halves = np.rint(2 * divided) / 2
    close = np.abs(divided - halves) <= 8 * np.finfo(np.float64).eps * np.abs(divided)
    return np.where(close, halves, divided)


def systematic(fractions: Floats, *, rng: np.random.Generator) -> Integers:
    """The places of those that are chosen: about the sum of the fractions, each with a chance of its own fraction.

    fractions: shape (n,), in [0, 1); a 0 is never chosen. Chosen are as many as the sum rounded to the nearest whole number; if
    it is whole, the chances are exactly the fractions.
    """
    order = rng.permutation(np.flatnonzero(fractions > 0))
    reached = np.cumsum(fractions[order])
    total = float(reached[-1]) if len(order) else 0.0
    n_chosen = round(total)
    start = rng.uniform(max(0.0, n_chosen - total), min(1.0, n_chosen + 1 - total))
    locations = np.searchsorted(reached, np.arange(1, n_chosen + 1) - start, side="left")
    return np.sort(order[np.minimum(locations, len(order) - 1)])


def infer(view: IntruderView, spec: Rounding) -> Belief:
    """What the step lets an intruder conclude who knows it.

    They repeat deterministic rounding; after noise, it counts as normal noise with its variance, a twelfth of the base squared,
    where the base is at most 3 standard deviations of the noise. Of random and controlled rounding they know the two multiples
    next to each of their values, and that the one above is published with the chance (x - below) / base. Of an attribute of
    which they knew neither before the step, bounds are carried through it.
    """
    for name, base in spec.bases:
        blurred = next((part for part in view.knowledge.blurred if name in part.names and not part.factors), None)
        if spec.kind == "deterministic" and blurred is not None:
            known = _add_rounding_variance(view, spec, name, base, blurred)
        elif spec.kind == "deterministic" and can_repeat_rule(view.knowledge, name):
            known = infer_by_value_rule(view, name, partial(_repeat_rounding, name=name, base=base))
        elif view.knowledge.is_certain((name,)):
            between, moved = _infer_interval(view, name, base), find_bounds(view, name)
            rest = view.knowledge.drop_attributes((name,))
            known = replace(
                rest,
                between=(*rest.between, between),
                likelihoods=(*rest.likelihoods, _infer_likelihood(view, name, base, between)),
                bounds=rest.bounds if moved is None else (*rest.bounds, move_bounds_by_rounding(view, spec, moved)),
            )
        else:
            known = carry_bounds(view, spec, name)
        view = replace(view, knowledge=known)
    return view.knowledge


def move_bounds_by_rounding(view: IntruderView, spec: Rounding, bounds: ValueBounds) -> ValueBounds:
    """The bounds after rounding: rounded themselves, or, where either multiple can be taken, the multiples around them."""
    site, name = create_mask_context(view), bounds.name
    length = _length(site, name, dict(spec.bases)[name], site.where)

    def round_end(values: Floats, end: int) -> Floats:
        multiples = _multiples(site, name, values, length)
        if spec.kind == "deterministic":
            return np.where(_to_nearest(values, length), multiples[1], multiples[0])
        return multiples[end]

    return bounds.map_ends(partial(round_end, end=0), partial(round_end, end=1))


def _repeat_rounding(site: MaskContext, name: str, base: float) -> Microdata:
    before = site.data.positions(site.schema[name])
    length = _length(site, name, base, site.where)
    lower, upper = _multiples(site, name, before, length)
    return site.data.replace_positions(site.schema[name], np.where(_to_nearest(before, length), upper, lower))


def _infer_interval(view: IntruderView, name: str, base: float) -> InInterval:
    believed, attribute = view.knowledge.believed, view.schema[name]
    site = create_mask_context(view)
    ends = _multiples(site, name, believed.positions(attribute), _length(site, name, base, "masking"))
    # through the column's own type, so that a limit equals the released value to the last bit
    low, high = (believed.replace_positions(attribute, end).positions(attribute) for end in ends)
    return InInterval(name, low, high)


def _add_rounding_variance(view: IntruderView, spec: Rounding, name: str, base: float, part: GaussianLikelihood) -> Belief:
    at, length = part.names.index(name), _length(create_mask_context(view), name, base, "masking")
    if length > _MOST_NOISE * np.sqrt(part.covariance[:, at, at].min()):
        return carry_bounds(view, spec, name)
    covariance = part.covariance.copy()
    covariance[:, at, at] += length**2 / 12
    rest = (one for one in view.knowledge.blurred if one is not part)
    moved = (spec.move_bounds(view, one) if one.name == name else one for one in view.knowledge.bounds)
    bounds = tuple(one for one in moved if one is not None)
    return replace(view.knowledge, blurred=(*rest, replace(part, covariance=covariance)), bounds=bounds)


def _infer_likelihood(view: IntruderView, name: str, base: float, between: InInterval) -> DiscreteLikelihood:
    """Which of the two multiples that the interval leaves is published: of neighbours one is even, the other odd.

    The chances are taken in steps of 1/256. Codes of the records: twice the step, and 1 more where the one above is odd; of the
    rows: 0 even, 1 odd; 2 and 3 for what is missing, and for what no record can show.
    """
    attribute, length = view.schema[name], _length(create_mask_context(view), name, base, "masking")
    own = view.knowledge.believed.positions(attribute)
    missing = np.isnan(own)
    up = np.where(missing | (between.low == between.high), 1.0, chance_above(own, length))
    odd = np.where(missing, 0, _round_to_multiple(between.high, length) % 2).astype(np.int64)
    steps = np.linspace(0, 1, _STEPS + 1)
    size = 2 * len(steps) + 2
    probability = np.zeros((size, size))
    probability[0 : size - 2 : 2, :2] = np.column_stack([steps, 1 - steps])
    probability[1 : size - 2 : 2, :2] = np.column_stack([1 - steps, steps])
    probability[size - 2, 2] = 1.0
    released = view.released.positions(attribute)
    shown = np.where(np.isnan(released), 2, _round_to_multiple(released, length) % 2).astype(np.int64)
    return DiscreteLikelihood(
        (name,), np.where(missing, size - 2, 2 * np.rint(up * _STEPS).astype(np.int64) + odd), shown, probability
    )


def chance_above(values: Floats, length: float) -> Floats:
    """Shape (n,): the chance that random rounding takes the multiple above, at least half a step of 1/256."""
    quotient = quotients(values, length)
    return np.clip(quotient - np.floor(quotient), 1 / _STEPS, 1 - 1 / _STEPS)


def _round_to_multiple(positions: Floats, length: float) -> Floats:
    """Of what multiple of the base each position is, a whole number; 0 for a missing one."""
    return np.where(np.isnan(positions), 0.0, np.rint(positions / length))


def _length(site: MaskContext, name: str, base: float, location: str) -> float:
    """The base as a difference of positions: moments count in days."""
    length = base / SECONDS_OF_A_DAY if site.data.column(name).type == MOMENT else base
    if round_to_grid(np.array([length]), site.precision[name])[0] != length:
        what = f"the base is no multiple of the precision of `{name}`: its multiples are no values of the column"
        raise InputError("base-off-the-grid", location, what, "a multiple of the smallest difference that the column can show",
                         "take a whole base for whole numbers and dates", base)  # fmt: skip
    return length


def _multiples(site: MaskContext, name: str, values: Floats, length: float) -> tuple[Floats, Floats]:
    """The multiples below and above each value, equal where it is one itself or the other one cannot be published."""
    quotient, grid = quotients(values, length), site.precision[name]
    lower, upper = (round_to_grid(whole(quotient) * length, grid) for whole in (np.floor, np.ceil))
    first, end = _calendar(site, name)
    reachable = np.where(lower < first, upper, lower)
    return reachable, np.where(upper >= end, reachable, upper)


def _calendar(site: MaskContext, name: str) -> tuple[float, float]:
    """The first position that a column can hold, and the first that it cannot hold any more."""
    if not site.data.is_calendar(name):
        return -np.inf, np.inf
    if site.schema[name].scale is Scale.TIME:
        return 0.0, SECONDS_OF_A_DAY
    beginning = date(1970, 1, 1).toordinal()
    return date.min.toordinal() - beginning, date.max.toordinal() - beginning + 1


def _goes_up(
    values: Floats, length: float, open_: Booleans, kind: RoundingKind, *, rng: partial[np.random.Generator]
) -> Booleans:
    """Shape (n,): is the multiple above taken? open_: where there are two to choose from."""
    quotient = quotients(values, length)
    fractions = np.where(open_, quotient - np.floor(quotient), 0.0)
    match kind:
        case "deterministic":
            return _to_nearest(values, length)
        case "random":
            return rng().random(len(values)) < fractions
        case "controlled":
            up = np.zeros(len(values), dtype=np.bool_)
            up[systematic(fractions, rng=rng())] = True
            return up
        case _:
            assert_never(kind)


def _to_nearest(values: Floats, length: float) -> Booleans:
    quotient = quotients(values, length)
    return np.asarray(np.rint(quotient) > np.floor(quotient), dtype=np.bool_)
