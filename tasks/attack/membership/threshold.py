"""Where to draw the line between members and others, from records whose membership is known."""

from __future__ import annotations

import numpy as np

from tasks.microdata.table import Booleans, Floats


def best_threshold(scores: Floats, member: Booleans) -> float:
    """The threshold whose flags (score >= it) have the largest share of members flagged less that of the others.

    Halfway between two scores; of equally good ones the highest, infinite where no threshold is better than none. The
    difference that it reaches HERE is biased upwards: it is to be judged on others.

    scores: shape (m,), finite. member: shape (m,), with both kinds (ValueError otherwise). Cost: O(m log m).
    Example: scores 1, 2, 3, 4, the last two of members: 2.5.
    """
    if member.all() or not member.any():
        raise ValueError("a threshold is found from members and others")
    values, position = np.unique(scores, return_inverse=True)
    flagged = [np.cumsum(np.bincount(position[of], minlength=len(values))[::-1]) for of in (member, ~member)]
    gained = flagged[0] / member.sum() - flagged[1] / (~member).sum()
    best = int(np.argmax(gained))
    if gained[best] <= 0:
        return np.inf
    at = len(values) - 1 - best
    below = values[at - 1] if at else values[at] - 1.0
    middle = values[at] / 2 + below / 2
    return float(middle if middle > below else values[at])
