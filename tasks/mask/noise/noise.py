"""Noise: every value is replaced by itself and a random error of known spread."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa

from tasks.mask.fitting import extract_varying_positions
from tasks.mask.noise.law import Kind, correlation_of, noisy, spread_of
from tasks.mask.precision import PrecisionGrid, round_to_grid
from tasks.mask.step import Description, MaskContext, MaskStep
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale
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


class Noise(MaskStep):
    """Parameters of noise.

    attributes: what is masked; default: the quasi-identifiers that are numeric or dates.
    kind: `independent`: each attribute by itself; `correlated`: correlations are kept; `variance_restoring`: variances too;
        `multiplicative`: by factors, so that signs and zeros stay.
    sd_percent: the standard deviation of the noise, for every kind in percent of that of the attribute.
    """

    method: Public[Literal["noise"]]
    kind: Public[Kind]
    sd_percent: Public[Percent]

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


SCALES = (Scale.NUMERIC, Scale.DATE)
DESCRIPTION = Description(
    method="noise",
    what_it_does="adds a random error to each value, or multiplies it by a random factor",
    scales=SCALES,
    parameters="kind (independent, correlated, variance_restoring, multiplicative), sd_percent (standard deviation of the "
    "noise in percent of the attribute's, for every kind), attributes, by",
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

    Raises InputError for a constant column, an infinite value, noise under a tenth of the grid's step (hardly a value would
    change), `multiplicative` noise on dates (their zero is arbitrary), correlations that fewer than two records show, and a
    result that the column cannot hold. Times of day cannot be masked: they would leave their day.
    Cost: O(n d^2). Source: Kim (1986), Tendick (1991), Tendick and Matloff (1994). Done otherwise than in sdcMicro: there
    `noise` is a percentage of the standard deviation in one method and of the variance in another, and "restr" adds none.
    Example: multiplicative noise leaves a zero as it is.
    """
    data, names = site.data, spec.target_attributes
    positions = np.column_stack([_positions(site, name, spec) for name in names])
    _refuse_unknown_correlations(positions, spec, site.where)
    with np.errstate(over="ignore", invalid="ignore"):
        masked = noisy(positions, spec.kind, spec.share, site.draw().standard_normal(positions.shape))
    for j, name in enumerate(names):
        data = _publish_column(data, site, name, masked[:, j], np.isnan(positions[:, j]))
    return data


def step_of(grid: PrecisionGrid) -> float:
    """The distance of two neighbouring points of a grid, in units of positions."""
    return grid.units / grid.parts


def _positions(site: MaskContext, name: str, spec: Noise) -> Floats:
    place = f"{site.where}.attributes: {name}"
    positions = extract_varying_positions(site.data, site.schema, name, site.where)
    if site.data.column(name).type == pa.bool_():
        what, allowed = f"`{name}` is true or false: noise would make other numbers of it", "numbers or dates"
        raise InputError("wrong-scale", place, what, allowed, "declare it nominal, and randomise it (`method: pram`)")
    if spec.kind == "multiplicative" and site.schema[name].scale is Scale.DATE:
        what = f"`{name}` holds dates: a factor would depend on the day that counts as 0"
        remedy = "take another kind of noise for it"
        raise InputError("wrong-scale", place, what, "numeric attributes", remedy)
    with np.errstate(over="ignore", invalid="ignore"):
        spread, step = float(spread_of(positions[:, np.newaxis])[0]), step_of(site.precision[name])
    if spread * spec.share < LEAST_STEPS * step:
        raise _create_noise_under_grid_error(name, 100 * LEAST_STEPS * step / spread, spec, site.where)
    return positions


def _create_noise_under_grid_error(name: str, least_percent: float, spec: Noise, where: str) -> InputError:
    what = f"{spec.sd_percent:g} percent of the standard deviation of `{name}` is lost in rounding: it changes hardly a value"
    enough = f"{1.005 * least_percent:.3g}"  # three digits must not fall below it
    allowed = f"at least {enough} percent" if float(enough) <= 100 else "an attribute that varies more"
    remedy = "add more noise, or take the attribute out of the step"
    return InputError("noise-under-grid", f"{where}.sd_percent", what, allowed, remedy, spec.sd_percent)


def _refuse_unknown_correlations(positions: Floats, spec: Noise, where: str) -> None:
    if spec.kind not in ("correlated", "variance_restoring") or positions.shape[1] == 1:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        unknown = bool(np.isnan(correlation_of(positions)).any())
    if unknown:
        what = "the correlations are not known: the records that have all of the attributes are fewer than two, or agree"
        allowed = "attributes that differ among the records that have all of them"
        remedy = "mask fewer attributes together, or take `kind: independent`"
        raise InputError("unknown-correlations", f"{where}.attributes", what, allowed, remedy)


def _publish_column(data: Microdata, site: MaskContext, name: str, values: Floats, missing: np.ndarray) -> Microdata:
    place = f"{site.where}.attributes: {name}"
    if not np.isfinite(values[~missing]).all():
        raise _not_held(name, place)
    try:
        return data.replace_positions(site.schema[name], round_to_grid(values, site.precision[name]))
    except (ValueError, OverflowError):
        raise _not_held(name, place) from None  # the cause names a value


def _not_held(name: str, place: str) -> InputError:
    what = f"with noise `{name}` holds what cannot be published: a number too large, or a date outside the years 1 to 9999"
    remedy = "declare placeholders such as 9999-12-31 as missing, add less noise, or take it out of the step"
    return InputError("noise-out-of-range", place, what, "values well inside what the column can hold", remedy)
