"""The laws of the noise: how far it spreads, for every kind in percent of the attribute's own standard deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np

from tasks.microdata.table import Floats, Integers

NoiseKind = Literal["independent", "correlated", "variance_restoring", "multiplicative"]
CORRELATED_KINDS = ("correlated", "variance_restoring")  # whose noise is drawn for all attributes together


@dataclass(frozen=True, slots=True)
class NoiseMoments:
    """What the law of noise is made of; what is not known or not used is NaN.

    deviations, means, mean_squares: shape (d,). correlation: shape (d, d).
    """

    deviations: Floats
    means: Floats
    mean_squares: Floats
    correlation: Floats

    @property
    def covariance(self) -> Floats:
        found: Floats = self.correlation * np.outer(self.deviations, self.deviations)
        return found


def noisy(positions: Floats, kind: NoiseKind, share: float, normals: Floats, moments: NoiseMoments | None = None) -> Floats:
    """Values with noise, before rounding.

    Formulae in words, with s the share, e normal noise of mean 0 and m the mean of the attribute's present values:
    `independent`: x + e, the variance of e being s^2 times that of the attribute, attributes independent of each other.
    `correlated`: x + e, the covariance of e being s^2 times that of the attributes (`compute_covariance`).
    `variance_restoring`: m + (x + e - m) / sqrt(1 + s^2) with correlated e: means and covariances are kept in expectation.
    `multiplicative`: x * f, f lognormal with mean 1 and the variance of `log_variances`, attributes independent.

    positions: shape (n, d), NaN is missing and stays so. share: the noise's standard deviation over the attribute's.
    normals: shape (n, d), independent standard normal numbers; those beside missing values are not used, so that the noise of
    present values has the same law whatever is missing.

    Example: x = (0, 2), sd sqrt(2), s = 0.5, normals (1, -1), independent: (0.7071, 1.2929).
    """
    found = measure_moments(positions, kind) if moments is None else moments
    match kind:
        case "independent":
            return positions + share * found.deviations * normals
        case "correlated":
            return positions + _compute_correlated_noise(found, share, normals)
        case "variance_restoring":
            blurred = positions + _compute_correlated_noise(found, share, normals)
            restored: Floats = found.means + (blurred - found.means) * contraction(share)
            return restored
        case "multiplicative":
            variances = compute_log_variances(found.deviations**2, found.mean_squares, share)
            factors: Floats = np.exp(np.sqrt(variances) * normals - variances / 2)
            return positions * factors
        case _:
            assert_never(kind)


def measure_moments(positions: Floats, kind: NoiseKind) -> NoiseMoments:
    """The moments of present values that a kind of noise is made of; the others are NaN. positions: shape (n, d)."""
    d = positions.shape[1]
    unused = np.full(d, np.nan)
    return NoiseMoments(
        compute_standard_deviations(positions),
        compute_column_means(positions) if kind == "variance_restoring" else unused,
        compute_column_means(positions**2) if kind == "multiplicative" else unused,
        compute_correlation(positions) if kind in CORRELATED_KINDS else np.full((d, d), np.nan),
    )


def _compute_correlated_noise(moments: NoiseMoments, share: float, normals: Floats) -> Floats:
    """Noise with share^2 times the covariance of the attributes; singular ones too."""
    noise: Floats = share * moments.deviations * (normals @ symmetric_root(moments.correlation))
    return noise


def contraction(share: float) -> float:
    """1 / sqrt(1 + share^2): what deviations are multiplied by so that their variance is what it was before the noise."""
    return float(1 / np.sqrt(1 + share**2))


def compute_column_means(positions: Floats) -> Floats:
    """Shape (d,): the mean of the present values of each attribute; the same to the last bit whatever the order of the rows."""
    ordered, counts = _sort_present(positions)
    with np.errstate(invalid="ignore"):
        means: Floats = ordered.sum(axis=0) / counts
    return means


def compute_standard_deviations(positions: Floats) -> Floats:
    """Shape (d,): the standard deviation (n - 1) of the present values of each attribute; NaN of fewer than two."""
    ordered, counts = _sort_present(positions)
    with np.errstate(invalid="ignore", divide="ignore"):
        ordered -= ordered.sum(axis=0) / counts
        for column, count in zip(ordered.T, counts, strict=True):
            column[count:] = 0.0
        np.square(ordered, out=ordered)
        variances = np.where(counts > 1, ordered.sum(axis=0) / (counts - 1), np.nan)
    deviations: Floats = np.sqrt(variances)
    return deviations


def _sort_present(positions: Floats) -> tuple[Floats, Integers]:
    """Shape (n, d): the present values of each attribute, ascending, then zeros; shape (d,): how many are present."""
    ordered = np.sort(positions, axis=0)  # NaN comes last
    counts = len(ordered) - np.isnan(ordered).sum(axis=0)
    for column, count in zip(ordered.T, counts, strict=True):
        column[count:] = 0.0
    return ordered, counts


def compute_covariance(positions: Floats) -> Floats:
    """Shape (d, d): the covariance of attributes with gaps, never indefinite.

    Formula in words: standard deviations of each attribute's present values, correlations of the records that have all of the
    attributes. NaN where two of these records are not there, or agree in an attribute. Without gaps: the usual (n - 1).
    """
    spread = compute_standard_deviations(positions)
    covariance: Floats = compute_correlation(positions) * np.outer(spread, spread)
    return covariance


def compute_correlation(positions: Floats) -> Floats:
    """Shape (d, d): the correlations of the complete records; NaN where there are fewer than two, or they agree in one."""
    complete = positions[~np.isnan(positions).any(axis=1)]
    if len(complete) < 2:
        return np.full((positions.shape[1],) * 2, np.nan)
    complete = complete[np.lexsort(complete.T[::-1])]  # the same to the last bit whatever the order of the rows
    spread = np.where(complete.min(axis=0) < complete.max(axis=0), complete.std(axis=0, ddof=1), np.nan)
    scaled = (complete - complete.mean(axis=0)) / spread
    correlation: Floats = scaled.T @ scaled / (len(complete) - 1)
    return correlation


def log_variances(positions: Floats, share: float) -> Floats:
    """Shape (d,): the variance of the logarithm of the factors of each attribute.

    The factor has mean 1 and the variance v at which the noise x * (f - 1) varies, over all records, s^2 times as much as the
    attribute: v = s^2 * variance / mean of x^2. Of a lognormal factor the logarithm then has variance ln(1 + v).
    """
    return compute_log_variances(compute_standard_deviations(positions) ** 2, compute_column_means(positions**2), share)


def compute_log_variances(variance: Floats, mean_square: Floats, share: float) -> Floats:
    """`log_variances` of attributes of which the variance and the mean of the squares are known."""
    logarithms: Floats = np.log1p(share**2 * variance / mean_square)
    return logarithms


def symmetric_root(covariance: Floats) -> Floats:
    """The symmetric matrix whose square is a covariance, singular or not: that of a multiple of normal noise."""
    values, vectors = np.linalg.eigh(covariance)
    root: Floats = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return root
