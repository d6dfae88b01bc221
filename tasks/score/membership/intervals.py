"""Intervals of two samples, members and non-members: each end alone is a one-sided 95 % bound.

Both samples are taken as drawn from large populations: that the members are finitely many narrows nothing.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaincinv

from tasks.microdata.interval import ERROR, Interval
from tasks.microdata.table import Booleans, Floats
from tasks.score.membership.roc_curve import RocCurve, compute_auc, compute_delong_placements, true_positive_rate


def share_interval(hits: float, n: float, error: float = ERROR) -> Interval:
    """Clopper and Pearson's exact bounds for a share, `hits` of n; both may be fractions, of effective sizes.

    error: of each bound. SciPy's `binomtest` takes whole numbers only, and its bounds are found to 12 digits.

    Example: 0 of 10: [0, 0.26]: 0.74^10 = 0.05.
    """
    low = 0.0 if hits <= 0 else float(betaincinv(hits, n - hits + 1, error))
    high = 1.0 if hits >= n else float(betaincinv(hits + 1, n - hits, 1 - error))
    return Interval(low, high)


def auc_interval(scores: Floats, member: Booleans) -> Interval:
    """Bounds for the area under the curve.

    Meaning: DeLong's variance says how many independent pairs of a member and a non-member the figure is worth; the bounds are
    the exact ones of a share of so many. The number is never taken to be less than min(m, n), which holds for every law (the
    variance is at most AUC (1 - AUC) / min(m, n)), nor more than 3 m n / (m + n + 1), what it is where nothing is told. So the
    interval has a width where all scores are in order, or all the wrong way round; DeLong's has none there, and three targets
    would prove that a release is safe.

    scores, member: as `compute_auc`. Returns bounds around `compute_auc`; each errs in at most about 5 % of the
    samples: measured in the tests.
    Cost: O(m log m).
    Source: DeLong, DeLong and Clarke-Pearson (1988); Korn and Graubard (1998) for a share by its effective size; Birnbaum and
    Klose (1957) for the largest variance.
    """
    m, n = int(member.sum()), int((~member).sum())
    area = compute_auc(scores, member)
    below, above = compute_delong_placements(scores, member)
    variance = sum(float(np.var(of, ddof=1)) / len(of) if len(of) > 1 else math.inf for of in (below, above))
    fewest, most = min(m, n), max(3 * m * n / (m + n + 1), min(m, n))
    worth = most if variance == 0 else area * (1 - area) / variance
    worth = fewest if area in (0.0, 1.0) else min(max(worth, fewest), most)
    return share_interval(area * worth, worth)


def difference_interval(hits: float, n: float, other_hits: float, other_n: float, error: float = ERROR) -> Interval:
    """Bounds for a share less the share of an independent sample.

    In words: the distance of each bound from the figure is the root of the sum of squares of those of the two shares' own
    bounds. error: of each bound. Source: Newcombe (1998) and Zou and Donner (2008), with Clopper and
    Pearson's bounds.
    Example: 10 of 10 and 0 of 10: [1 - 0.26 root 2, 1] = [0.63, 1].
    """
    first, second = hits / n, other_hits / other_n
    a, b = share_interval(hits, n, error), share_interval(other_hits, other_n, error)
    low = first - second - math.hypot(first - a.low, b.high - second)
    high = first - second + math.hypot(a.high - first, second - b.low)
    return Interval(max(low, -1.0), min(high, 1.0))


def left_end_interval(of: RocCurve, rate: float) -> Interval:
    """Bounds for the share of members above the score that a share `rate` of all non-members exceeds.

    Meaning: two things are uncertain: where that score is, and how many members are above it. Of n non-members the number above
    it is binomial; the bounds of that number (each errs in 2.5 %) bound the score, and each end is the exact bound (2.5 %) of
    the share of members above that.

    rate: > 0; n at least 10 / rate. Example: scores that tell everything, m members: [0.025^(1/m), 1].
    """
    from scipy.stats import binom

    m, n = int(of.members[-1]), int(of.others[-1])
    fewest, most = (int(binom.ppf(tail, n, rate)) for tail in (ERROR / 2, 1 - ERROR / 2))
    least = m * true_positive_rate(of, fewest - 1) if fewest else 0.0
    largest = m * true_positive_rate(of, most)
    return Interval(
        share_interval(least, m, ERROR / 2).low,
        share_interval(largest, m, ERROR / 2).high,
    )
