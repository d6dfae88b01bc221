"""Rounding in words, for who uses the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasks.mask.mask_text import MaskText
from tasks.microdata.numbers import number
from tasks.microdata.words import join_with_and

if TYPE_CHECKING:
    from tasks.mask.coding.rounding import Rounding

_ROUNDED = {
    "deterministic": "Each went to the nearest multiple, halfway between two to the even one.",
    "random": "Each went to the multiple below or above, at random, more often to the nearer one, so that nothing is "
    "shifted in the mean.",
    "controlled": "Each went to the multiple below or above, at random, more often to the nearer one, such that the total "
    "of the column is kept as nearly as multiples allow.",
}
_AFTER_ROUNDING = {
    "deterministic": "a rounded value is off by at most half a base; where values are spread evenly within a base, their "
    "variance is enlarged by base\u00b2 / 12 (Sheppard's correction takes that off).",
    "random": "values are unbiased, so that means and totals need no correction. It adds at most base\u00b2 / 4 to the "
    "variance, and base\u00b2 / 6 where values are spread evenly within a base.",
    "controlled": "the total of the column is what it was before, to within half a base, and its mean hardly moves; totals "
    "of parts of the table are unbiased, or nearly so. It adds base\u00b2 / 6 to the variance where values are spread evenly "
    "within a base.",
}


def describe_rounding(step: Rounding) -> MaskText:
    bases = {name: number(base) for name, base in step.bases}
    each = join_with_and(f"{name} to multiples of {base}" for name, base in bases.items())
    unit = "Dates count in days, times in seconds."
    return MaskText(
        title=f"{step.kind.capitalize()} rounding",
        text=f"Values were rounded: {each}. {_ROUNDED[step.kind]} {unit}",
        missing="Rounding replaces present values; a gap stays a gap.",
        attribute=lambda attribute: f"rounded to multiples of {bases[attribute.name]} ({step.kind})",
        analysts=(f"Rounding of {join_with_and(bases)}: {_AFTER_ROUNDING[step.kind]}", *_describe_strata(step)),
    )


def _describe_strata(step: Rounding) -> tuple[str, ...]:
    if step.by is None:
        return ()
    return (
        f"That holds of the total within each combination of values of {join_with_and(step.by)}; the errors of several add up.",
    )
