"""How well scores tell members from others: the area under the curve, the curve, and its left end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.microdata.table import Booleans, Floats, Integers


@dataclass(frozen=True, slots=True)
class RocCurve:
    """The receiver operating characteristic by counts: point i flags all scores >= thresholds[i]; point 0 flags nobody.

    members, others: shape (points,), how many of each are flagged, ascending up to all. thresholds: descending from infinity.
    """

    thresholds: Floats
    members: Integers
    others: Integers

    @property
    def true_positive_rates(self) -> Floats:
        return np.asarray(self.members / self.members[-1])

    @property
    def false_positive_rates(self) -> Floats:
        return np.asarray(self.others / self.others[-1])


def compute_auc(scores: Floats, member: Booleans) -> float:
    """The area under the curve: the probability that a random member scores above a random non-member, a tie counting 1/2.

    In words: (the sum of the members' mid-ranks - m (m + 1) / 2) / (m n): the statistic of Mann and Whitney over the pairs.

    scores: shape (m + n,), finite. member: shape (m + n,), m of them true, n false, each at least 1.

    Returns a share; chance 1/2, whatever the prevalence. Below 1/2 the scores are the wrong way round.
    Cost: O((m + n) log(m + n)). Example: all scores equal: 0.5. Members 1, 3, others 2: 0.5.
    """
    from scipy.stats import rankdata

    m, n = int(member.sum()), int((~member).sum())
    ranks = rankdata(scores)
    return float((ranks[member].sum() - m * (m + 1) / 2) / (m * n))


def compute_delong_placements(scores: Floats, member: Booleans) -> tuple[Floats, Floats]:
    """For each member the share of non-members below, for each other the share of members above, ties 1/2.

    Their means are `compute_auc`.
    """
    from scipy.stats import rankdata

    joint, m, n = rankdata(scores), int(member.sum()), int((~member).sum())
    below = (joint[member] - rankdata(scores[member])) / n
    above = 1 - (joint[~member] - rankdata(scores[~member])) / m
    return below, above


def compute_roc_curve(scores: Floats, member: Booleans) -> RocCurve:
    """The curve of all thresholds; equal scores make one step. Cost: O(m log m).

    scikit-learn's `confusion_matrix_at_thresholds` gives the same counts in ten times the time (1,000 scores).
    """
    values, position = np.unique(scores, return_inverse=True)
    counts = (np.bincount(position[of], minlength=len(values))[::-1] for of in (member, ~member))
    members, others = (np.append(0, np.cumsum(of)).astype(np.int64) for of in counts)
    return RocCurve(np.append(np.inf, values[::-1]), members, others)


def true_positive_rate(of: RocCurve, allowed: float) -> float:
    """The largest share of members that can be flagged with at most `allowed` (maybe a fraction) of the non-members.

    Where members and non-members of one score straddle the limit, the intruder flags a part of them by lot; so a score that is
    the same for everybody has the share that is allowed.

    Example: members 3, 1 and others 2, 0: none allowed: 1/2; one allowed: 1.
    """
    last = int(np.searchsorted(of.others, allowed, side="right")) - 1
    flagged = float(of.members[last])
    if last + 1 < len(of.others):
        straddling = (allowed - of.others[last]) / (of.others[last + 1] - of.others[last])
        flagged += float(straddling * (of.members[last + 1] - of.members[last]))
    return flagged / float(of.members[-1])
