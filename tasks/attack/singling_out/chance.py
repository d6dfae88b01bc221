"""How often a predicate isolates somebody by chance: by its weight, which people tell who are not in the release."""

from __future__ import annotations

import numpy as np
import scipy
from scipy.special import betaln

from tasks.microdata.table import Floats, Integers

PRECISION = 0.01
NARROWEST, WIDEST = -8.0, 12.0  # of the logarithm of the prior's strength, less that of the number of predicates


def compute_isolation_chance(weight: float | Floats, n: int) -> float | Floats:
    """The chance that exactly one of n people satisfies a predicate that each satisfies with a chance of `weight`.

    Formula: n w (1 - w)^(n - 1). Source: Cohen and Nissim (2020). Example: n = 1000: 0.37 at w = 1/n, 0.0099 at w = 0.00001.
    """
    return n * weight * (1 - weight) ** (n - 1)


def estimate_isolation_chances(satisfied: Integers, others: int, n: int) -> Floats:
    """Shape (count,): for each predicate the chance that it isolates one of n people who are not in the release.

    Meaning: of `others` people, `satisfied` satisfy each predicate, so that its weight w is known roughly, and
    n w (1 - w)^(n - 1) would err if the share were taken for w: most predicates are satisfied by none of few people. With n
    others or more the figure is exact on average without knowing w: the chance that of n drawn from them exactly one
    satisfies the predicate. With fewer it is the mean of n w (1 - w)^(n - 1) over what w may be: a beta law, fitted to all
    predicates over the set together (empirical Bayes), and the predicate's own count.

    satisfied: shape (count,). others, n: at least 1. Returns numbers between 0 and 1.
    Example: 3 others, n = 3: 1 where exactly one of them satisfies it, else 0.
    Cost: O(count log count). Source: docs/SCIENCE.md section 5b; Robbins (1956) for the fitted law.
    """
    from scipy.stats import betabinom, hypergeom

    if not len(satisfied):
        return np.zeros(0)
    counts, place, times = np.unique(satisfied, return_inverse=True, return_counts=True)
    if others >= n:
        chances = hypergeom.pmf(1, others, counts, n)
    else:
        a, b = _fit_weights(counts, times, others)
        chances = betabinom.pmf(1, n, a + counts, b + others - counts)
    return np.asarray(chances)[place]


def _fit_weights(counts: Integers, times: Integers, others: int) -> tuple[float, float]:
    """The beta law of the weights: its mean is that of the shares (with half a person more), its strength the likeliest."""
    predicates = times.sum()
    mean = (float(counts @ times) + 0.5) / (float(predicates) * (others + 1))

    def lose(strength: float) -> float:
        a, b = _split(mean, strength, predicates)
        return -float(times @ (betaln(a + counts, b + others - counts) - betaln(a, b)))

    found = scipy.optimize.minimize_scalar(lose, bounds=(NARROWEST, WIDEST), method="bounded", options={"xatol": PRECISION})
    return _split(mean, float(found.x), predicates)


def _split(mean: float, strength: float, predicates: int) -> tuple[float, float]:
    total = float(np.exp(strength)) * predicates
    return mean * total, (1 - mean) * total
