"""Whether two tables share values as two samples of one population do, or as a table and a copy of it."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

from tasks.microdata.table import Floats, Integers

ERROR = 1e-4  # how often, at most, two samples of one population are taken for copies
_RARE = ((1, 1), (4, 1), (64, 1), (1, 64), (4, 64), (64, 64))  # a, b: likelier in both tables, rarer mostly in `mine`
_EVENNESS = (0.0, 1.0, 8.0, 64.0, 4096.0)  # e: common values are spread less, 1 + e times in variance
_COMMON = 2.0  # a value is common if each table should hold so many of it


def measure_copy_evidence(mine: Integers, theirs: Integers) -> float:
    """The logarithm of how much likelier it is that one table is a copy than that both are samples of one population.

    Meaning: two samples of one population share values by chance. Then all units of both may change places: of a value that k
    units have in both tables together, chance says how many of them are in one. Of a copy, or a part of one, a rare value has
    units in both tables, and seldom more in `mine`; a common one has as large a share of one table as of the other, more evenly
    than by chance. So a whole copy of a coarse table, in which every value repeats, is noticed as well if there are some ten
    values. A small part of such a table is not: it is what another sample would be. Parts that were stratified on every
    attribute share as a copy does, and are taken for one; on all but one they are not (40 of 40, 0 of 40; 24 to 1,800 values).

    Formula: mean over the alternatives of prod_v g(c_v) / E[g(C)], times P, where c_v is how many of the k units of the value v
    are in `mine`; C is binomial (k, f), f the share of `mine` in both tables; g(c) = a^[0 < c < k] b^-[c > k / 2] for a rare
    value, exp(-e (c - f k)^2 / (2 f (1 - f) k)) for a common one. Each product is the ratio of two laws, whatever a, b and e
    are: if every unit came into `mine` by a toss of its own, its mean would be 1. P is the probability that tosses make tables
    of these sizes: with it the mean is 1 at most for samples of these sizes. So the exponential is 1 / ERROR or more with
    probability ERROR at most (Markov): exact, for any size and any population.

    mine, theirs: shapes (m,) and (n,): the codes of what each unit says, equal where the units say the same. Units are what was
        sampled: persons, or households.
    Returns minus infinity to infinity; 0: the tables say nothing; -ln(ERROR) = 9.2 and more: a copy.
    Cost: O((m + n) log(m + n)).
    Source: the test is an e-value (Vovk and Wang 2021, Annals of Statistics 49); the alternatives are ours.
    Example: 20 values, each of one unit in each table: 10.5, a copy; each of two units of one table: below 0.
    """
    if not len(mine) or not len(theirs):
        return 0.0
    _, position = np.unique(np.concatenate([mine, theirs]), return_inverse=True)
    size, held = np.bincount(position), np.bincount(position[: len(mine)], minlength=position.max() + 1)
    share = len(mine) / len(position)
    rare, common = np.zeros(len(_RARE)), np.zeros(len(_EVENNESS))
    for k in np.unique(size).tolist():
        c = held[size == k]
        if min(share, 1 - share) * k < _COMMON:
            rare += _gain(c, k, share, _weigh_rare_value(k))
        else:
            common += _gain(c, k, share, _weigh_common_value(k, share))
    pairs = [one + other for one, other in product(rare, common)]
    of_sizes = _log_binomial(len(position), share)[len(mine)]
    return float(logsumexp(pairs) - np.log(len(pairs)) + of_sizes)


def _weigh_rare_value(k: int) -> Floats:
    """Shape (number of alternatives, k + 1): log g(c) of a rare value."""
    c, (both, mostly) = np.arange(k + 1), np.log(_RARE).T
    return np.outer(both, (c > 0) & (c < k)) - np.outer(mostly, 2 * c > k)


def _weigh_common_value(k: int, share: float) -> Floats:
    """Shape (number of alternatives, k + 1): log g(c) of a common value."""
    return -np.outer(_EVENNESS, (np.arange(k + 1) - share * k) ** 2 / (2 * share * (1 - share) * k))


def _gain(c: Integers, k: int, share: float, weights: Floats) -> Floats:
    """Shape (number of alternatives,): the sum of log g(c) - log E[g(C)] over the values of k units, of which c are in one."""
    expected = logsumexp(_log_binomial(k, share) + weights, axis=1)
    return np.asarray(weights[:, c].sum(axis=1) - len(c) * expected)


def _log_binomial(k: int, share: float) -> Floats:
    """Shape (k + 1,): the logarithm of the probability of 0..k of k."""
    c = np.arange(k + 1)
    choices = gammaln(k + 1) - gammaln(c + 1) - gammaln(k - c + 1)
    return np.asarray(choices + xlogy(c, share) + xlogy(k - c, 1 - share))
