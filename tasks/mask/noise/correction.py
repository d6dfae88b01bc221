"""How an analyst corrects for noise: variances, covariances and regressions of the original from the released file alone."""

from __future__ import annotations

import numpy as np

from tasks.mask.noise.law import Kind, contraction
from tasks.microdata.table import Floats


def estimate_original_covariance(released: Floats, kind: Kind, sd_percent: float) -> Floats:
    """The covariance matrix of the original, estimated from the released file.

    Formula in words, with k = (sd_percent / 100)^2 and C the covariance of the released file (n - 1): `independent` and
    `multiplicative` noise: variances are divided by 1 + k, covariances stay; `correlated`: all of C is divided by 1 + k;
    `variance_restoring`: C itself.

    released: shape (n, d), n >= 2, without gaps; attributes that the step masked together, all of them by the same standard
    deviation (not by strata).

    Returns shape (d, d), unbiased over the draw of the noise but for rounding, which adds a twelfth of the grid's step squared
    to the variances. It may be indefinite in a small file; it is not mended. Raises ValueError where n < 2.
    Cost: O(n d^2). Source: Kim (1986); of factors: Muralidhar, Batra and Kirs (1995), by this step's `sd_percent`.
    Example: sd_percent 100 halves the variances of independent noise.
    """
    if released.ndim != 2 or len(released) < 2:
        raise ValueError("a covariance takes a table of two records at least")
    covariance: Floats = np.atleast_2d(np.cov(released, rowvar=False)).astype(np.float64)
    if kind == "variance_restoring":
        return covariance
    whole: Floats = covariance * contraction(sd_percent / 100) ** 2
    return whole if kind == "correlated" else np.where(np.eye(len(covariance), dtype=bool), whole, covariance)


def estimate_original_slopes(released: Floats, response: Floats, kind: Kind, sd_percent: float) -> Floats:
    """The slopes of the least-squares regression of a response on the original attributes, from the released ones.

    Formula in words: the inverse of `estimate_original_covariance`, times the covariances of response and released attributes.
    Covariances with what the step did not mask are kept by noise, and multiplied by 1 / sqrt(1 + k) by `variance_restoring`,
    which is taken back.

    released: shape (n, d). response: shape (n,), not masked by the step. Returns shape (d,), consistent as n grows. Raises
    numpy.linalg.LinAlgError where the estimated covariance is singular, ValueError where n < 2. Source: Fuller (1987).
    Example: one attribute, independent noise with sd_percent 50: the slope on the released attribute is 0.8 of the true one.
    """
    covariance = estimate_original_covariance(released, kind, sd_percent)
    joint: Floats = np.cov(np.column_stack([released, response]), rowvar=False).astype(np.float64)[:-1, -1]
    if kind == "variance_restoring":
        joint = joint / contraction(sd_percent / 100)
    slopes: Floats = np.linalg.solve(covariance, joint).astype(np.float64)
    return slopes
