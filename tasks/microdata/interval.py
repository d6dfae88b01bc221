"""Confidence intervals for a mean over a finite population of targets of which a simple random sample was scored.

Both intervals are design-based: the population is fixed, the draw of the sample is the only chance. `low` and `high` are each
a one-sided 95 % bound (together 90 %, `CONFIDENCE`), because a policy decides on one of them; `error` asks for other bounds.
Nothing here draws numbers: the same sample in the same order gives the same interval.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from tasks.microdata.compiled import njit
from tasks.microdata.estimate import CONFIDENCE
from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.microdata.table import Floats

ERROR = (1 - CONFIDENCE) / 2  # of each one-sided bound
_HALVINGS = 45
_GOAL = 1 / 0.75  # the option pays this multiple of what rejects, so that a small hedging error still rejects
_STAKE = 0.97  # the largest share of the capital that one value may cost
_PRIOR_WEIGHT = 0.25  # of the prior variance 1/4, the largest that a value in [0, 1] can have
_LEAST_LOG_PRICE = -30.0
_CELLS = 4000
_PRICES: Floats = np.exp(np.linspace(_LEAST_LOG_PRICE, 0.0, _CELLS + 1))
_HEDGES: Floats = np.exp(-(ndtri(_PRICES) ** 2) / 2.0) / np.sqrt(2.0 * np.pi)


@dataclass(frozen=True, slots=True)
class Interval:
    """Two one-sided bounds, of 95 % where nothing else was asked for."""

    low: float
    high: float


def hypergeometric_interval(successes: int, n: int, population: int, error: float = ERROR) -> Interval:
    """Exact bounds for the share of successes in a population of which n were drawn without replacement.

    The number of successes drawn is hypergeometric. The lower bound is the smallest number of successes K in the population
    under which so many or more are drawn with probability of at least 5 %; the upper bound mirrors it. K is found by bisection.
    SciPy and statsmodels have only binomial intervals, which are wider: 3 times where 90 % was drawn, 10 times at 99 %.

    successes: in the sample, 0..n. n: sample size, 1..population. population: up to some 1e7. error: of each bound; 5 %, unless
    another level is given.

    Returns shares in [0, 1]; each bound errs in at most `error` of the samples. n = population gives the share itself.
    Raises ValueError where the counts contradict each other.
    Cost: log2(population) tail probabilities, about a millisecond.
    Source: Clopper and Pearson's inversion for sampling without replacement (Wang 2015 states both bounds).

    Example: none of 10 drawn from 20 is a success: with K = 4 that has probability 0.043, with K = 3 0.105; so `high` is 3/20.
    """
    _check_counts(n, population)
    if not 0 <= successes <= n:
        raise ValueError("the successes are some of those drawn")
    fewest = _find_fewest_successes(successes, n, population, error)
    fewest_failures = _find_fewest_successes(n - successes, n, population, error)
    return Interval(low=fewest / population, high=(population - fewest_failures) / population)


def compute_bounded_mean_interval(values: Floats, population: int, error: float = ERROR) -> Interval:
    """Bounds for the mean of a population of numbers in [0, 1] of which n were drawn without replacement.

    Valid for every population and every n, however skewed, and yet nearly as narrow as the normal law allows: on shared
    credits of 1,000 targets 2-15 % wider than 1.645 standard errors, where Hoeffding's bound is 3-16 times as wide.

    A gambler bets, value by value, that the mean is above m; if it is not, the expected capital never grows, so it
    reaches 20 times the start with probability at most 1/20 (Ville). `low` is the largest m at which it does. At each value
    they stake what hedges an option that pays if the sum of all n ends above the normal law's 5 % point: the betting that
    is most likely to arrive at 20 and no more. The stakes are concave in the capital and never cost more than 97 % of it nor
    overshoot, so that the capital falls as m grows and bisection finds the bound exactly. `high` is 1 - the low of 1 - values.

    values: shape (n,), the sample in the order of the draw. A fixed permutation of the places is applied first: an order of
    the draw stays an order of the draw, and a sample that came sorted is mixed.
    population: N >= n. error: of each bound, instead of 5 %: the capital has to reach 1/error times the start.

    Returns bounds within [sum/N, (sum + N - n)/N], what is possible whatever the unseen values are, around the sample's mean.
    n = N gives the mean itself.
    Raises ValueError where n is 0, n > N, or a value is outside [0, 1].
    Cost: O(n) for each of 90 trial means; 0.4 s at n = 1e5.
    Source: Waudby-Smith and Ramdas 2020 (betting without replacement); the stakes are not theirs, which aim at the growth of
    the capital and leave intervals about 1.4 times as wide, but the delta hedge of a digital option.

    Example: three of three targets have credit 1 in a population of 4: the fourth is unknown, and `high` is 1, `low` at least
    3/4.
    """
    n = len(values)
    _check_counts(n, population)
    check_shares(values)
    mean = math.fsum(values) / n
    if n == population:
        return Interval(low=mean, high=mean)
    mixed = values[stream(bytes(SEED_BYTES), "order of a sample", str(n)).permutation(n)]
    low = _lower_bound(mixed, mean, population, error)
    high = 1 - _lower_bound(1 - mixed, 1 - mean, population, error)
    return Interval(low=min(low, mean), high=max(high, mean))


def check_shares(values: Floats) -> None:
    """Raise ValueError where a value is outside [0, 1]."""
    if not (np.all(values >= 0) and np.all(values <= 1)):  # written so that NaN is refused too
        raise ValueError("the values are in [0, 1]")


def _check_counts(n: int, population: int) -> None:
    if not 1 <= n <= population:
        raise ValueError("a sample has 1 to N members")


def _find_fewest_successes(successes: int, n: int, population: int, error: float) -> int:
    if n == population:  # nothing was sampled, and the import takes a second
        return successes
    from scipy.stats import hypergeom

    def credible(k: int) -> bool:
        return bool(
            hypergeom.sf(successes - 1, population, k, n) > error * (1 - 1e-9)
        )  # exactly the error is credible, as computed too

    return successes + bisect_left(range(successes, population - n + successes), True, key=credible)


def _lower_bound(values: Floats, mean: float, population: int, error: float) -> float:
    deviations = _predict_deviations(values)
    weights = 1.0 / (population - 1.0 - np.arange(len(values)))
    spread_left = np.sqrt(np.cumsum(weights[::-1] ** 2)[::-1])
    scale = weights / (deviations * spread_left)
    rejected, kept = math.fsum(values) / population, mean
    for _ in range(_HALVINGS):
        middle = (rejected + kept) / 2
        if _compute_price(values, middle, population, scale, _PRICES, _HEDGES, error) >= 1 / _GOAL:
            rejected = middle
        else:
            kept = middle
    return rejected


def _predict_deviations(values: Floats) -> Floats:
    """The standard deviation that each value is expected to have, from the values before it alone."""
    count = np.arange(len(values))
    running_mean = (0.5 + np.cumsum(values)) / (count + 2.0)
    squares = np.concatenate([[0.0], np.cumsum((values - running_mean) ** 2)[:-1]])
    return np.asarray(np.sqrt((_PRIOR_WEIGHT / 4 + squares) / (count + _PRIOR_WEIGHT)))


@njit
def _compute_price(
    values: Floats, mean: float, population: int, scale: Floats, prices: Floats, hedges: Floats, error: float
) -> float:
    """The final capital as a share of what the option pays; the gambler stops once it is 1 / _GOAL, which rejects `mean`."""
    price = error / _GOAL
    total = 0.0
    cell_width = -_LEAST_LOG_PRICE / _CELLS
    for position in range(len(values)):
        if price >= 1.0 / _GOAL:
            return price
        expected = (population * mean - total) / (population - position)
        total += values[position]
        if expected <= 0.0:
            continue
        cell = int((math.log(price) - _LEAST_LOG_PRICE) / cell_width)
        if cell < 0:
            hedge = hedges[0] * price / prices[0]
        else:
            cell = min(cell, _CELLS - 1)
            slope = (hedges[cell + 1] - hedges[cell]) / (prices[cell + 1] - prices[cell])
            hedge = hedges[cell] + slope * (price - prices[cell])
        stake = min(hedge * scale[position], _STAKE * price / expected)
        stake = min(stake, (1.0 - price) / max(1.0 - expected, 1e-12))
        price += stake * (values[position] - expected)
    return price
