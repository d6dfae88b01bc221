"""Top and bottom coding, rounding and recoding in words. Limits and categories are left out: they are values of the table."""

from __future__ import annotations

from tasks.mask.coding.recoding import Recode, Recoding, outcome_in_words
from tasks.mask.coding.rounding import Rounding
from tasks.mask.coding.top_bottom_coding import CodingLimits, TopBottomCoding, ends_in_words
from tasks.microdata.words import join_with_and
from tasks.report.masks.mask_text import MaskText
from tasks.report.wording.numbers import number


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


def describe_rounding(step: Rounding) -> MaskText:
    bases = {name: number(base) for name, base in step.bases}
    each = join_with_and(f"{name} to multiples of {base}" for name, base in bases.items())
    unit = "Dates count in days, times in seconds."
    return MaskText(
        title=f"{step.kind.capitalize()} rounding",
        text=f"Values were rounded: {each}. {_ROUNDED[step.kind]} {unit}",
        missing="Rounding replaces present values; a gap stays a gap.",
        attribute=lambda attribute: f"rounded to multiples of {bases[attribute.name]} ({step.kind})",
        analysts=(f"Rounding of {join_with_and(bases)}: {_AFTER_ROUNDING[step.kind]}", *_strata(step)),
    )


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


_STANDS_FOR_END = {
    "limit": "the limit, which is the outermost value that this step leaves",
    "mean": "the mean of the records that lie there",
    "median": "the median of the records that lie there",
}
_STANDS_FOR_BAND = {
    "midpoint": "the midpoint of the band's limits",
    "lower": "the band's lower limit",
    "mean": "the mean of the band's records",
    "median": "the median of the band's records",
}
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


def _strata(step: Rounding) -> tuple[str, ...]:
    if step.by is None:
        return ()
    return (
        f"That holds of the total within each combination of values of {join_with_and(step.by)}; the errors of several add up.",
    )


def _stands_for_end(limits: CodingLimits) -> str:
    return _STANDS_FOR_END[limits.publish]


def _outcome(one: Recode) -> str:
    if one.intervals is not None:
        shown = _STANDS_FOR_BAND[one.publish] if one.publish is not None else "a stated value inside the band"
        n_open = {"midpoint": 0, "lower": 1}.get(one.publish or "", 2)  # an open band has no midpoint
        return f"{len(one.intervals) - 1 + n_open} bands, each published as {shown}"
    return "categories joined into coarser ones" if one.group is None else f"codes joined into {outcome_in_words(one)}"


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
