"""The law of noise by its definition, and attacks on noisy tables, for the tests of the transparency attack."""

from __future__ import annotations

import numpy as np
from scipy.stats import multivariate_normal

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise

SEED = bytes(range(32))
KINDS = ("independent", "correlated", "variance_restoring", "multiplicative")
PLAIN = DistanceLinkage(method="distance_linkage")


def noise(*attributes, kind="independent", sd_percent=30.0, by=None):
    return Noise(method="noise", kind=kind, sd_percent=sd_percent, attributes=attributes, by=by)


def attacked(original, schema, *steps, knows=None, path=(), order=None):
    done = mask(original, schema, steps, seed=SEED, path=path)
    masked = done.data if order is None else done.data.take(order)
    return link_by_mechanism(original, masked, schema, done.mechanisms, knows or schema.names)[0], masked


def rate(links):
    everybody = np.arange(len(links.search_class))
    return float(links.guesses(everybody).credit(everybody).mean())


def columns(n, seed, *, gaps=False, whole=False):
    """Three correlated attributes."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, 3)) @ [[1.0, 0.8, 0.0], [0.0, 0.6, -0.7], [0.0, 0.0, 0.7]]
    values = np.column_stack([50 + 10 * values[:, 0], 3000 + 900 * values[:, 1], values[:, 2]])
    values = np.rint(values * [1, 1, 10]) if whole else values.round(6)
    if gaps:
        values[rng.random(n) < 0.2, 0] = np.nan
        values[rng.random(n) < 0.2, 2] = np.nan
        values[:4] = np.arange(4)[:, np.newaxis] * [10, 1000, 2] + [40, 2000, -3]
    return dict(zip("abc", values.T, strict=True))


def expectation(original, kind, share, step):
    """Where the rows are expected and with which covariance, by the definition of the noise. original: shape (n, d)."""
    complete = original[~np.isnan(original).any(axis=1)]
    spread = np.nanstd(original, axis=0, ddof=1)
    correlation = np.eye(original.shape[1]) if kind == "independent" else np.corrcoef(complete, rowvar=False)
    covariance = share**2 * correlation * np.outer(spread, spread)
    if kind != "variance_restoring":
        return original, covariance + np.eye(len(spread)) * step**2 / 12
    centre = np.nanmean(original, axis=0)
    return centre + (original - centre) / np.sqrt(1 + share**2), covariance / (1 + share**2) + np.eye(
        len(spread)
    ) * step**2 / 12


def log_densities(expected, covariance, shown):
    """log P of every record and row: shape (n, m); -inf where the gaps differ."""
    found = np.full((len(expected), len(shown)), -np.inf)
    for i, x in enumerate(expected):
        has = ~np.isnan(x)
        rows = (~np.isnan(shown) == has).all(axis=1)
        if not has.any():
            found[i, rows] = 0.0
            continue
        law = multivariate_normal(x[has], covariance[np.ix_(has, has)])
        found[i, rows] = law.logpdf(shown[np.ix_(rows, has)])
    return found


def likeliest(log_chance):
    """Bayes: P / q, q the sum of P over all records; the rows of the largest share, ties shared."""
    with np.errstate(invalid="ignore"):
        largest = log_chance.max(axis=0)
        q = largest + np.log(np.exp(log_chance - largest).sum(axis=0))
        score = np.where(log_chance == -np.inf, -np.inf, log_chance - q)
    best = score >= score.max(axis=1, keepdims=True) - 1e-7
    return best / best.sum(axis=1, keepdims=True)


def stacked(data):
    return np.column_stack([data.floats(name) for name in data.names])
