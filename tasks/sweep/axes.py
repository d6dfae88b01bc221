"""The axes of a sweep: which values a parameter takes, and when."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import Field, model_validator

from tasks.microdata.errors import InputError
from tasks.microdata.spec import Name, Spec
from tasks.microdata.suggestion import did_you_mean

Scalar = bool | int | float | str
Value = Scalar | tuple[Scalar, ...] | tuple[tuple[Scalar, ...], ...]
AxisBounds = tuple[float, float]
AxisValues = tuple[tuple[str, Value], ...]

DIGITS = 6  # of a number between the ends of a range: enough to tell values apart, few enough to read
MOST_VALUES = 1_000_000


class AxisSpec(Spec):
    """The values of one parameter: exactly one of `values`, `range` and `log_range`.

    values: a list. range, log_range: from the first number to the second, both included, in equal steps or equal factors.
    steps: how many values a range has (whole numbers are rounded, and each is taken once). Without `steps` a range of whole
        numbers has all of them; of any other number it is continuous, and a random or frontier sweep can draw from it.
    when: the axis exists only where other axes have these values: `{"masking[0].partition": v_mdav}`, or a list of them.
    """

    values: Annotated[tuple[Value, ...], Field(min_length=1)] | None = None
    range: tuple[float, float] | None = None
    log_range: tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)]] | None = None
    steps: Annotated[int, Field(ge=2, le=MOST_VALUES)] | None = None
    when: Annotated[dict[Name, Scalar | tuple[Value, ...]], Field(default_factory=dict)]

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if sum(form is not None for form in (self.values, self.range, self.log_range)) != 1:
            raise ValueError("an axis has exactly one of `values`, `range` and `log_range`")
        if self.values is not None and self.steps is not None:
            raise ValueError("`steps` belongs to `range` and `log_range`")
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise ValueError("a range goes from a smaller number to a larger one: [2, 20]")
        return self

    @property
    def bounds(self) -> AxisBounds | None:
        return self.range or self.log_range

    @property
    def conditions(self) -> tuple[tuple[str, tuple[Value, ...]], ...]:
        return tuple((path, allowed if isinstance(allowed, tuple) else (allowed,)) for path, allowed in self.when.items())


@dataclass(frozen=True, slots=True)
class SweepAxis:
    """One parameter of one pipeline.

    path: its place in the release file. choices: its values, distinct, in order; empty: any number within `bounds`.
    bounds: the ends of a range; None for a list of values. log: are its factors equal rather than its steps? whole: is the
    parameter a whole number? Then the axis is not continuous.
    when: the axis exists where each of these axes has one of these values.
    """

    path: str
    choices: Sequence[Value]
    bounds: AxisBounds | None = None
    log: bool = False
    whole: bool = False
    when: tuple[tuple[str, tuple[Value, ...]], ...] = ()

    @property
    def continuous(self) -> bool:
        return not self.choices

    @property
    def is_ordered(self) -> bool:
        """Do neighbouring values mean similar things?"""
        return self.bounds is not None or all(
            isinstance(one, int | float) and not isinstance(one, bool) for one in self.choices
        )

    def exists(self, chosen: dict[str, Value]) -> bool:
        """Does the axis exist where the others have these values? Those that do not exist themselves are absent."""
        return all(path in chosen and is_one_of(chosen[path], allowed) for path, allowed in self.when)

    def get_value_at(self, share: float) -> Value:
        """The value at a share (0 <= share < 1) of the way from the first to the last, on a log range in equal factors."""
        if isinstance(self.choices, range):
            last = self.choices[-1]
            return min(last, int(_interpolate((self.choices[0], last + 1), share, log=self.log)))
        if self.choices or self.bounds is None:
            return self.choices[int(share * len(self.choices))]
        return _interpolate_rounded(self.bounds, share, log=self.log)


def axis(path: str, spec: AxisSpec, *, whole: bool, real: bool) -> SweepAxis:
    """The axis of a parameter. whole: is the parameter a whole number? real: is it any number?

    Raises InputError (with `where` inside the axis) for a range of a parameter that is no number, or without a whole number.
    """
    if spec.bounds is None:
        values = (
            float(one) if real and isinstance(one, int) and not isinstance(one, bool) else one for one in spec.values or ()
        )
        return SweepAxis(path, distinct(values), when=spec.conditions)
    form = "range" if spec.range is not None else "log_range"
    if not whole and not real:
        raise InputError("axis", form, f"`{path}` is no number", "`values`, a list", "write its `values`")
    log = spec.log_range is not None
    choices = _whole_steps(spec, spec.bounds, path, form) if whole else _steps(spec.bounds, spec.steps, log=log)
    return SweepAxis(path, choices, spec.bounds, log, whole, spec.conditions)


def sort_axes(axes: tuple[SweepAxis, ...]) -> tuple[SweepAxis, ...]:
    """The axes in the order given, but each after those that its `when` names.

    Raises InputError (where: the axis' path) for a `when` that names no axis or none of its values, and for a circle.
    """
    known = {one.path: one for one in axes}
    for one in axes:
        for path, allowed in one.when:
            _refuse_unknown(one, path, allowed, known)
    placed: dict[str, SweepAxis] = {}
    while len(placed) < len(axes):
        ready = [one for one in axes if one.path not in placed and all(path in placed for path, _ in one.when)]
        if not ready:
            circle = [one.path for one in axes if one.path not in placed]
            raise InputError("axis", circle[0], "axes depend on each other in a circle", "conditions that end somewhere",
                             f"take a `when` out of {', '.join(circle)}")  # fmt: skip
        placed[ready[0].path] = ready[0]
    return tuple(placed.values())


def is_one_of(value: Value, allowed: Iterable[Value]) -> bool:
    """Is the value one of these? 1 is 1.0, and neither is `true`."""
    return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed)


def distinct(values: Iterable[Value]) -> tuple[Value, ...]:
    """The values without repetitions, in order."""
    return tuple({(isinstance(one, bool), one): one for one in values}.values())


def _refuse_unknown(one: SweepAxis, path: str, allowed: tuple[Value, ...], known: dict[str, SweepAxis]) -> None:
    if path not in known or path == one.path:
        others = [other for other in known if other != one.path]
        remedy = did_you_mean(path, others, "name another axis, or take the condition out")
        what = f"`when` names no other axis of this pipeline: {path}"
        raise InputError("axis", f"{one.path}.when", what, ", ".join(others) or "no condition: it is the only axis", remedy)
    choices = known[path].choices
    for value in allowed:
        if choices and not is_one_of(value, choices):
            text = ", ".join(str(choice) for choice in choices[:20])
            what = f"the axis {path} never has the value that `when` asks for"
            raise InputError(
                "axis", f"{one.path}.when", what, text, did_you_mean(str(value), text.split(", "), "correct it"), value
            )


def _steps(bounds: AxisBounds, steps: int | None, *, log: bool) -> tuple[float, ...]:
    if steps is None:
        return ()
    inner = (_interpolate_rounded(bounds, i / (steps - 1), log=log) for i in range(1, steps - 1))
    return tuple(dict.fromkeys((bounds[0], *inner, bounds[1])))


def _whole_steps(spec: AxisSpec, bounds: AxisBounds, path: str, form: str) -> Sequence[int]:
    low, high = math.ceil(bounds[0]), math.floor(bounds[1])
    if low > high or high - low >= MOST_VALUES:
        what = f"`{path}` is a whole number, and the range holds {max(high - low + 1, 0):,} of them"
        raise InputError("axis", form, what, f"1 to {MOST_VALUES:,} whole numbers", "choose other ends", list(bounds))
    if spec.steps is None:
        return range(low, high + 1)
    shares = (i / (spec.steps - 1) for i in range(spec.steps))
    return tuple(dict.fromkeys(round(_interpolate((low, high), share, log=form == "log_range")) for share in shares))


def _interpolate(bounds: AxisBounds, share: float, *, log: bool) -> float:
    low, high = bounds
    return low * (high / low) ** share if log else low + share * (high - low)


def _interpolate_rounded(bounds: AxisBounds, share: float, *, log: bool) -> float:
    """The number at a share of the way, written shortly; it stays between the ends."""
    low, high = bounds
    return min(high, max(low, float(f"{_interpolate(bounds, share, log=log):.{DIGITS}g}")))
