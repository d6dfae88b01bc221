"""Noise: every value is replaced by itself and a random error of known spread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from tasks.mask.fitting import extract_varying_positions
from tasks.mask.intruder_belief import Belief, DiscreteLikelihood
from tasks.mask.mask_text import MaskText
from tasks.mask.noise.noise_bounds import move_bounds_by_noise, spread_ranks_by_noise
from tasks.mask.noise.noise_distribution import CORRELATED_KINDS, NoiseKind, contraction, measure_moments, noisy
from tasks.mask.noise.noise_inference import infer
from tasks.mask.noise.noise_law import PersonalNoise
from tasks.mask.personal_draws import describe_personal_draws, draw_personal_normals, list_persons, list_values
from tasks.mask.precision_grid import grid_step, round_to_grid
from tasks.mask.shared_advice import JOINTLY, MORE_RISK, Fields, state_value
from tasks.mask.step import Description, IntruderView, MaskContext, MaskingMethod, Randomness
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.errors import InputError
from tasks.microdata.numbers import SPACE, number
from tasks.microdata.schema import Scale, Schema
from tasks.microdata.spec import Percent, Public
from tasks.microdata.table import Floats, Microdata
from tasks.microdata.words import join_with_and

LEAST_STEPS = 0.1  # noise of a tenth of the grid's step moves one value in two million
IN_WORDS = {
    "independent": "independent normal noise",
    "correlated": "normal noise that is correlated as the attributes are",
    "variance_restoring": "normal noise that is correlated as the attributes are, brought back to their variance,",
    "multiplicative": "lognormal factors of mean 1",
}


class Noise(MaskingMethod):
    """Parameters of noise.

    attributes: what is masked; default: the quasi-identifiers that are numeric or dates.
    kind: `independent`: each attribute by itself; `correlated`: correlations are kept; `variance_restoring`: variances too;
        `multiplicative`: by factors, so that signs and zeros stay.
    sd_percent: the standard deviation of the noise, for every kind in percent of that of the attribute.
    draw: `per_person`: drawn once for each person and value, so that all releases of the series show the same; default: anew
        for every version of the source. personal: the law of the first release; the program writes it, never a release file.
    """

    method: Public[Literal["noise"]]
    kind: Public[NoiseKind]
    sd_percent: Public[Percent]
    draw: Public[Literal["per_person"] | None] = Field(None, exclude_if=lambda given: given is None)
    personal: SkipJsonSchema[PersonalNoise | None] = Field(None, exclude_if=lambda given: given is None)

    @model_validator(mode="after")
    def _draws_do_not_depend_on_strata(self) -> Self:
        if self.draw is not None and self.by is not None:
            raise ValueError("a draw per person depends on no other row, and strata have scales of their own: take `by` out")
        return self

    @property
    def share(self) -> float:
        """The standard deviation of the noise over that of the attribute."""
        return self.sd_percent / 100

    @property
    def moves_values(self) -> bool:
        return True

    @property
    def rule(self) -> str:
        how = IN_WORDS[self.kind]
        return (
            f"{how} in {join_with_and(self.target_attributes)} with {self.sd_percent:g} percent of each one's "
            "standard deviation"
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
        return add_noise(context, self)

    def infer(self, view: IntruderView) -> Belief:
        return infer(view, self)

    def move_bounds(self, view: IntruderView, bounds: ValueBounds) -> ValueBounds | None:
        return move_bounds_by_noise(view, self, bounds)

    def spread_ranks(self, view: IntruderView, law: DiscreteLikelihood) -> DiscreteLikelihood | None:
        return spread_ranks_by_noise(view, self, law)

    def describe(self, schema: Schema) -> MaskText:
        return describe_noise(self)

    def describe_residual_risk(self) -> str | None:
        return None if self.draw is None else describe_personal_draws(self.target_attributes)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        return (
            cls(method="noise", attributes=("age", "size"), kind="independent", sd_percent=20.0),
            cls(method="noise", attributes=("age", "size"), kind="correlated", sd_percent=20.0),
            cls(method="noise", attributes=("age", "size"), kind="variance_restoring", sd_percent=20.0),
            cls(method="noise", attributes=("age", "size"), kind="multiplicative", sd_percent=20.0),
            cls(method="noise", attributes=("age", "size"), kind="correlated", sd_percent=20.0, by=("vote",)),
            cls(method="noise", attributes=("age", "size"), kind="independent", sd_percent=20.0, draw="per_person"),
        )

    @classmethod
    def suggest_stronger(cls, fields: Fields, named: str, line: Fields) -> Iterator[str]:
        yield f"Raise `sd_percent` of {named}{state_value(fields, 'sd_percent')}, or {JOINTLY}."

    @classmethod
    def suggest_weaker(cls, fields: Fields, named: str) -> Iterator[str]:
        yield f"lower `sd_percent` of {named}{state_value(fields, 'sd_percent', MORE_RISK)}"


SCALES = (Scale.NUMERIC, Scale.DATE)
DESCRIPTION = Description(
    method="noise",
    what_it_does="adds a random error to each value, or multiplies it by a random factor",
    scales=SCALES,
    parameters="kind (independent, correlated, variance_restoring, multiplicative), sd_percent (standard deviation of the "
    "noise in percent of the attribute's, for every kind), draw (per_person: once for each person and value in all releases of "
    "the series), attributes, by",
    intruder="weighs each row by Bayes' rule with the law of the noise: many attributes with independent noise, or correlated "
    "noise, give away far more than the distance shows",
    answered_by=("transparency",),
)


def add_noise(site: MaskContext, spec: Noise) -> Microdata:
    """Add normal noise to each value, or multiply it by a lognormal factor.

    Meaning: nobody can say of a released number whether it is the true one, and how far off it is on average is known.
    Formula in words: `noisy`, then rounding to the grid of the source.
    The standard deviation of the noise is `sd_percent` percent of that of the attribute (n - 1, its present values), for every
    kind: of multiplicative noise that of the product's error over all records. Dates count in days. Of a step with `by` each
    stratum has its own standard deviations and means. Missing values stay missing: who has no value is known for certain.

    Parameters
    ----------
    site: a table whose columns include the step's attributes. spec: with its attributes resolved.

    Returns the table with those columns replaced. In expectation, before rounding: means stay; variances are
    1 + (sd_percent / 100)^2 times as large (`variance_restoring`: as before); `correction` takes this back. Rounding to a grid
    of step g adds an error of variance about g^2 / 12. Values may leave the range of the original (negative ages, dates
    to come): they are published as they are, because clipping them would bias what an analysis corrects. `multiplicative` keeps
    signs (a small number may be rounded to 0) and publishes zeros as zeros: who has none is known for certain.

    With `draw: per_person` the standard deviations, correlations, means and the grid are those of the first release of the
    series, and the normal numbers belong to the person and the value (`draw_personal_normals`).

    Raises InputError for a constant column, an infinite value, noise under a tenth of the grid's step (hardly a value would
    change), `multiplicative` noise on dates (their zero is arbitrary), correlations that fewer than two records show, and a
    result that the column cannot hold. Times of day cannot be masked: they would leave their day.
    Cost: O(n d^2). Source: Kim (1986), Tendick (1991), Tendick and Matloff (1994). Done otherwise than in sdcMicro: there
    `noise` is a percentage of the standard deviation in one method and of the variance in another, and "restr" adds none.
    Example: multiplicative noise leaves a zero as it is.
    """
    data, names = site.data, spec.target_attributes
    positions = np.empty((data.n, len(names)))
    for j, name in enumerate(names):
        positions[:, j] = _positions(site, name, spec)
    with np.errstate(over="ignore", invalid="ignore"):
        measured = measure_moments(positions, spec.kind if spec.personal is None else "independent")
        moments = measured if spec.personal is None else spec.personal.moments
        _refuse_unfit_moments(site, spec, measured.deviations, moments.correlation)
        masked = noisy(positions, spec.kind, spec.share, _draw_normals(site, spec, positions), moments)
    for j, name in enumerate(names):
        grid = site.precision[name] if spec.personal is None else spec.personal.get_grid(j)
        data = _publish_column(data, site, name, round_to_grid(masked[:, j], grid), np.isnan(positions[:, j]))
    return data


def _draw_normals(site: MaskContext, spec: Noise, positions: Floats) -> Floats:
    """Shape (n, d). Per person: of correlated noise the value is the combination, and one that changed draws all anew."""
    law, names = spec.personal, spec.target_attributes
    if law is None or site.secret is None:  # a release of its own, or somebody who simulates the law
        return site.draw().standard_normal(positions.shape)
    columns, persons = [site.data.column(name) for name in names], list_persons(site.source, law.key)
    together = spec.kind in CORRELATED_KINDS
    normals = np.empty_like(positions)
    for j, name in enumerate(names):
        purpose = ("noise", *names, str(j)) if together else ("noise", name)
        values = list_values(columns if together else [columns[j]])
        normals[:, j] = draw_personal_normals(site.secret, purpose, persons, values)
    return normals


def _positions(site: MaskContext, name: str, spec: Noise) -> Floats:
    location = f"{site.where}.attributes: {name}"
    positions = extract_varying_positions(site.data, site.schema, name, site.where)
    if site.data.column(name).type == pa.bool_():
        what, allowed = f"`{name}` is true or false: noise would make other numbers of it", "numbers or dates"
        raise InputError("wrong-scale", location, what, allowed, "declare it nominal, and randomise it (`method: pram`)")
    if spec.kind == "multiplicative" and site.schema[name].scale is Scale.DATE:
        what = f"`{name}` holds dates: a factor would depend on the day that counts as 0"
        remedy = "take another kind of noise for it"
        raise InputError("wrong-scale", location, what, "numeric attributes", remedy)
    return positions


def _refuse_unfit_moments(site: MaskContext, spec: Noise, deviations: Floats, correlation: Floats) -> None:
    """deviations: of the columns as they are. correlation: of the law, which may be that of an earlier release."""
    for name, spread in zip(spec.target_attributes, deviations.tolist(), strict=True):
        step = grid_step(site.precision[name])
        if spread * spec.share < LEAST_STEPS * step:
            least_percent = 100 * LEAST_STEPS * step / spread if spread > 0 else np.inf
            raise _create_noise_under_grid_error(name, least_percent, spec, site.where)
    if spec.kind in CORRELATED_KINDS and len(spec.target_attributes) > 1 and np.isnan(correlation).any():
        what = "the correlations are not known: the records that have all of the attributes are fewer than two, or agree"
        allowed = "attributes that differ among the records that have all of them"
        remedy = "mask fewer attributes together, or take `kind: independent`"
        raise InputError("unknown-correlations", f"{site.where}.attributes", what, allowed, remedy)


def _create_noise_under_grid_error(name: str, least_percent: float, spec: Noise, where: str) -> InputError:
    what = f"{spec.sd_percent:g} percent of the standard deviation of `{name}` is lost in rounding: it changes hardly a value"
    enough = f"{1.005 * least_percent:.3g}"  # three digits must not fall below it
    allowed = f"at least {enough} percent" if float(enough) <= 100 else "an attribute that varies more"
    remedy = "add more noise, or take the attribute out of the step"
    return InputError("noise-under-grid", f"{where}.sd_percent", what, allowed, remedy, spec.sd_percent)


def _publish_column(data: Microdata, site: MaskContext, name: str, values: Floats, missing: np.ndarray) -> Microdata:
    """values: rounded."""
    location = f"{site.where}.attributes: {name}"
    if not (np.isfinite(values) | missing).all():
        raise _not_held(name, location)
    try:
        return data.replace_positions(site.schema[name], values)
    except (ValueError, OverflowError):
        raise _not_held(name, location) from None  # the cause names a value


def _not_held(name: str, location: str) -> InputError:
    what = f"with noise `{name}` holds what cannot be published: a number too large, or a date outside the years 1 to 9999"
    remedy = "declare placeholders such as 9999-12-31 as missing, add less noise, or take it out of the step"
    return InputError("noise-out-of-range", location, what, "values well inside what the column can hold", remedy)


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
        analysts=(*_for_analysts(step), *_describe_strata(step), *_describe_draw(step)),
    )


def _describe_draw(step: Noise) -> tuple[str, ...]:
    if step.draw is None:
        return ()
    return (
        "The error belongs to the person and the value: it is the same in all releases of the series, so their average has the "
        "same error, and its scale is that of the first release.",
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


def _describe_strata(step: Noise) -> tuple[str, ...]:
    if step.by is None:
        return ()
    return (f"The noise was made within each combination of values of {join_with_and(step.by)}: correct within each of them.",)
