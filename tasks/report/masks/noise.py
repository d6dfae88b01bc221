"""Noise in words."""

from __future__ import annotations

from tasks.mask.noise.law import contraction
from tasks.mask.noise.noise import Noise
from tasks.microdata.words import join_with_and
from tasks.report.masks.mask_text import MaskText
from tasks.report.wording.numbers import SPACE, number

_KINDS = {
    "independent": "independent",
    "correlated": "correlated",
    "variance_restoring": "variance-restoring",
    "multiplicative": "multiplicative",
}
_ROUNDED = (
    "Results are rounded as the source is, which adds an error of its own (its variance is a twelfth of the squared step)."
)
_ADDED = (
    "Values may lie outside what is possible, such as a negative age or a date to come: they are published as they came: "
    "cutting them off would bias an analysis."
)
_MULTIPLIED = (
    "Signs stay, but for small numbers that are rounded to 0, and a zero stays a zero, so that it is certain who has nothing; "
    "values may be larger than any true one."
)


def describe_noise(step: Noise) -> MaskText:
    percent, factors = f"{number(step.sd_percent)}{SPACE}%", step.kind == "multiplicative"
    verb = "multiplies" if factors else "is added to"
    return MaskText(
        title=f"{_KINDS[step.kind].capitalize()} noise, {percent} of the standard deviation",
        text=f"{_what_was_done(step, percent)} {_ROUNDED} {_MULTIPLIED if factors else _ADDED}",
        missing=f"Noise {verb} present values; a gap stays a gap, so that it is certain who gave no answer.",
        attribute=lambda _: f"{_KINDS[step.kind]} noise with {percent} of its standard deviation",
        analysts=(*_for_analysts(step), *_strata(step)),
    )


def _what_was_done(step: Noise, percent: str) -> str:
    names = join_with_and(step.target_attributes)
    each = f"{'the' if len(step.target_attributes) == 1 else 'each'} attribute's own standard deviation"
    if step.kind == "multiplicative":
        return (
            f"In {names}, every value was multiplied by a random factor around 1, drawn cell by cell. The error that "
            f"this makes has, over all records, a standard deviation of {percent} of {each}."
        )
    added = f"In {names}, a random error with mean 0 and {percent} of {each} was added to every value"
    if step.kind == "independent":
        return f"{added}, for each cell by itself."
    together = f"{added}; the errors of one record are correlated as the attributes are."
    if step.kind == "correlated":
        return together
    return f"{together} Then all deviations from the mean were shortened, so that variances are again what they were."


def _for_analysts(step: Noise) -> tuple[str, ...]:
    names, root, share = (
        join_with_and(step.target_attributes),
        number(contraction(step.share), 4),
        number(contraction(step.share) ** 2, 4),
    )
    if step.kind == "variance_restoring":
        return (
            f"Noise in {names}: means, variances, covariances and correlations of these attributes are kept on average and "
            "need no correction.",
            f"Covariances and correlations of these with other attributes are {root} of the true ones, and so is the slope of "
            f"a regression of another attribute on these: divide by {root}.",
        )
    if step.kind == "correlated":
        return (
            _describe_inflation(step, names, "variances and covariances"),
            "Correlations and regressions among these attributes are kept on average, and so are covariances with other "
            f"attributes. Correlations with other attributes are {root} of the true ones, and the slope of a regression of "
            f"another attribute on these is {share} of the true one: divide by that.",
        )
    return (
        _describe_inflation(step, names, "variances"),
        f"Covariances are kept on average. The correlation of two of these attributes is {share} of the true one, that of one "
        f"of them with another attribute {root}: divide by that.",
        f"The slope of a regression on one of them is {share} of the true one; for a regression on several, take the inverse "
        "of the corrected covariance matrix instead of that of the file.",
    )


def _describe_inflation(step: Noise, names: str, what: str) -> str:
    factor = number(1 + step.share**2, 4)
    return (
        f"Noise in {names}: means are kept on average; {what} of these attributes are 1 + k = {factor} times as large as in "
        f"the original, k being the square of {number(step.share, 4)}. Divide them by {factor}."
    )


def _strata(step: Noise) -> tuple[str, ...]:
    if step.by is None:
        return ()
    return (f"The noise was made within each combination of values of {join_with_and(step.by)}: correct within each of them.",)
