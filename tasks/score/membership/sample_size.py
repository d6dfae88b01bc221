"""What a limit on membership needs: how many people must be asked about before a release that tells nothing can keep it."""

from __future__ import annotations

from tasks.score.measures.membership import MEMBERSHIP_ADVANTAGE, MEMBERSHIP_AUC, MEMBERSHIP_PRECISION
from tasks.score.membership.intervals import difference_interval, share_interval

LARGEST = 10_000_000  # people of each kind; more than any table has
GUESSES = {
    MEMBERSHIP_AUC.name: 0.5,
    MEMBERSHIP_ADVANTAGE.name: 0.0,
    MEMBERSHIP_PRECISION.name: 0.5,
}


def compute_guess_bound(measure: str, asked: int) -> float:
    """The upper 95 % bound of a figure that is exactly what a guess reaches.

    Meaning: the bound is what is held against a limit. Few people leave it far above chance, whatever the release tells; a
    limit between the two is kept by luck alone. An attack that flags half of those it judges is supposed; one that flags
    nearly nobody or everybody has a narrower interval.

    measure: one of `GUESSES`. asked: members and non-members, so many of each, at least 2; half of them choose the threshold of
    an attack that has none of its own, and are not judged by it. Cost: O(1).
    Example: 20 of each, of whom 10 are judged: advantage 0.39 (5 of 10: [0.22, 0.78]; 0.28 root 2); AUC 0.66.
    """
    judged = asked - asked // 2
    half = judged / 2
    match measure:
        case MEMBERSHIP_AUC.name:
            worth = 3 * asked**2 / (2 * asked + 1)
            return share_interval(worth / 2, worth).high
        case MEMBERSHIP_ADVANTAGE.name:
            return difference_interval(half, judged, half, judged).high
        case MEMBERSHIP_PRECISION.name:
            return share_interval(half, judged).high
        case _:
            raise ValueError(f"no guess is known of {measure}")


def find_sample_size(measure: str, limit: float) -> int | None:
    """The fewest members, and as many non-members, with which a release that tells nothing keeps an upper limit.

    None: none, since a guess is beyond the limit or at it. Cost: O(log of the number).
    Example: an advantage of at most 0.1: 295 of each.
    """
    if limit <= GUESSES[measure]:
        return None
    few, many = 2, LARGEST
    if compute_guess_bound(measure, many) > limit:
        return None
    while few < many:
        middle = (few + many) // 2
        few, many = (few, middle) if compute_guess_bound(measure, middle) <= limit else (middle + 1, many)
    return many
